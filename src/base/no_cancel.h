// SPDX-License-Identifier: MIT
// A thread that is cancelled (pthread_cancel) is unwound out of whatever waits or writes; where a function is noexcept
// on the way, as each of the C ABI is, that ends the process. Threads: the one that has made it. Cost: some 20 ns, no
// system call; not for the hot path.
#pragma once

#include <pthread.h>

namespace tracker::internal {

// While it lives, a cancellation of this thread stays pending; it comes at the next point where the caller allows one.
class NoCancel {
 public:
  NoCancel() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancel() { ::pthread_setcancelstate(before_, nullptr); }
  NoCancel(const NoCancel&) = delete;
  NoCancel& operator=(const NoCancel&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace tracker::internal
