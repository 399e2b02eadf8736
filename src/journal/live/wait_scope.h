// SPDX-License-Identifier: MIT
// Whether a call that finds its ring full goes on waiting: asked of the caller, which may know of a signal.
#pragma once

#include <chrono>

namespace tracker::internal {

constexpr std::chrono::milliseconds kWaitAskInterval{50};  // of a log call that waits for room, whether to wait on

// While one lives, what waits for room on its thread asks it each kWaitAskInterval; its first false ends that wait and
// all later ones under it: what finds no room is dropped and counted. It is asked with no lock of the journal held, so
// it may log itself. Scopes nest, the innermost is asked. Cost: two accesses to the thread's memory.
class WaitScope {
 public:
  using Ask = bool (*)(void* context);

  WaitScope(Ask which, void* context) : ask_(which), context_(context), outer_(innermost_) { innermost_ = this; }
  WaitScope() : WaitScope(nullptr, nullptr) { ended_ = true; }  // nothing waits under it
  ~WaitScope() { innermost_ = outer_; }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

  // Of the calling thread. True where there is no scope.
  static bool may_wait() { return innermost_ == nullptr || !innermost_->ended_; }
  static bool ask() {
    WaitScope* const scope = innermost_;
    if (scope != nullptr && !scope->ended_) scope->ended_ = !scope->ask_(scope->context_);
    return may_wait();
  }

 private:
  static inline thread_local constinit WaitScope* innermost_ = nullptr;

  const Ask ask_;
  void* const context_;
  WaitScope* const outer_;
  bool ended_ = false;
};

}  // namespace tracker::internal
