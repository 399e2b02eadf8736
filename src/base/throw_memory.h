// SPDX-License-Identifier: MIT
// What a throw allocates the first time in a thread, taken beforehand. The counters of exceptions in flight lie in
// thread-local memory of libstdc++; where that was loaded at run time (an interpreter that loads our module) glibc
// allocates it at the first throw of each thread, and ends the process with exit code 127 where there is no memory:
// just where std::bad_alloc would have been caught.
#pragma once

#include <cstdlib>
#include <exception>

namespace tracker::internal {

// False: there is no memory now, and nothing was asked for that would end the process. Called by each thread of ours
// until it is true, and once by others before they begin to record. Threads: any. Cost: an allocation.
inline bool take_throw_memory() {
  constexpr size_t kMoreThanItTakes = 4096;
  void* volatile const probe = std::malloc(kMoreThanItTakes);  // volatile, here and below: else nothing is called
  if (probe == nullptr) return false;
  std::free(probe);
  [[maybe_unused]] const volatile int asked = std::uncaught_exceptions();
  [[maybe_unused]] static thread_local volatile char own = 0;  // the thread-local memory of this library itself
  own = 1;
  return true;
}

}  // namespace tracker::internal
