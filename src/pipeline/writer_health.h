// SPDX-License-Identifier: MIT
// Whether a writer stores what is logged, and why not: the store cannot be written, a background thread failed, a file
// was removed, the run was given up. Each is printed once. Threads: any. Cost: a short lock.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "pipeline/lock_order.h"
#include "pipeline/warnings.h"

namespace tracker::internal {

class WriterHealth {
 public:
  enum class Thread { kDrain, kStore };
  WriterHealth(Warnings* warnings, std::string store_path, bool keeps_in_memory)
      : warnings_(*warnings), store_path_(std::move(store_path)), keeps_in_memory_(keeps_in_memory) {}

  void note_failure(const Status& status);  // of the store; it is tried again
  void note_success();
  // A background thread caught an exception. Waits for kRetryFirst.
  void note_fault(Thread thread, const char* what) noexcept;
  void end_fault(Thread thread);
  uint64_t faults() const;  // how many there were
  // The run that this rank waited for was not found: nothing is recorded any more.
  void note_gave_up(std::string text);
  void set_lost_text(std::string text);  // what went with a part of the files

  struct Reading {
    bool degraded = false;  // the store's
    bool fault = false;     // a background thread's
    std::string store_error, fault_text, lost_text, gave_up;
    bool is_newer = false;      // the error is that the store is of a newer version
    bool is_forbidden = false;  // this user may not write there
  };
  Reading read() const;

 private:
  // Text without an allocation: there may be no memory.
  struct Fault {
    bool now = false;
    char what[128] = "";
  };
  Warnings& warnings_;
  const std::string store_path_;
  const bool keeps_in_memory_;
  mutable std::mutex mutex_;  // guards all below
  bool degraded_ = false, is_newer_ = false, is_forbidden_ = false;
  std::string store_error_, lost_text_, gave_up_;
  Fault faults_now_[2];
  uint64_t faults_ = 0;
};

}  // namespace tracker::internal
