// SPDX-License-Identifier: MIT
// WakeEvent: one thread sleeps with a time-out, any thread wakes it. A wake while no thread sleeps is remembered once.
// It is a futex and not a condition variable: waking takes no lock, so a thread that logs never waits for the thread
// that it wakes. Threads: wait() by one, the rest by any. Cost: wake() is one atomic and at most one system call.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tracker::internal {

class WakeEvent {
 public:
  void wake() {
    if (word_.exchange(1, std::memory_order_acq_rel) == 0)
      ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word_), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  // Returns true if woken, false after `timeout`.
  bool wait(std::chrono::nanoseconds timeout) {
    if (word_.exchange(0, std::memory_order_acq_rel) != 0) return true;
    const auto ns = timeout.count();
    if (ns <= 0) return false;
    timespec time;
    time.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
    time.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    ::syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word_), FUTEX_WAIT_PRIVATE, 0, &time, nullptr, 0);
    return word_.exchange(0, std::memory_order_acq_rel) != 0;
  }

 private:
  std::atomic<uint32_t> word_{0};
};

}  // namespace tracker::internal
