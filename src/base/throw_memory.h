// SPDX-License-Identifier: MIT
// Allocates beforehand what the first throw of a thread allocates. libstdc++ counts exceptions in flight in
// thread-local memory. If libstdc++ was loaded at run time (by an interpreter that loads our module), glibc allocates
// this memory at the first throw of each thread, and without memory it ends the process with exit code 127, where
// std::bad_alloc would have been caught.
#pragma once

#include <cstdlib>
#include <exception>

namespace tracker::internal {

// Returns false if there is no memory now; nothing was called then that would end the process. Each of our threads
// calls it until it returns true; other threads call it once before they record. Threads: any. Cost: an allocation.
inline bool take_throw_memory() {
  constexpr size_t kMoreThanItTakes = 4096;
  // volatile, here and below: else the compiler removes the calls
  void* volatile const probe = std::malloc(kMoreThanItTakes);
  if (probe == nullptr) return false;
  std::free(probe);
  [[maybe_unused]] const volatile int asked = std::uncaught_exceptions();
  [[maybe_unused]] static thread_local volatile char own = 0;  // the thread-local memory of this library itself
  own = 1;
  return true;
}

}  // namespace tracker::internal
