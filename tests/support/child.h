// SPDX-License-Identifier: MIT
// Processes for tests that kill: a child made by fork from a process without threads, memory shared with it, random
// instants. EXPECT in a child would go unseen: CHILD_CHECK writes a line and ends the child with a number.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <random>

namespace tracker::internal {

#if defined(__SANITIZE_THREAD__)
constexpr int kSlowDown = 10;  // times longer under ThreadSanitizer
#elif defined(__SANITIZE_ADDRESS__)
constexpr int kSlowDown = 3;
#else
constexpr int kSlowDown = 1;
#endif

#define CHILD_CHECK(condition)                                             \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ::_exit(99);                                                         \
    }                                                                      \
  } while (false)

inline void sleep_ms(int ms) {
  timespec nap{ms / 1000, ms % 1000 * 1'000'000L};
  while (::nanosleep(&nap, &nap) != 0) {}
}

inline int64_t now_ns() {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

// Zeroed memory that a child and its parent both see, and that outlives either.
template <typename T>
class Shared {
 public:
  Shared() {
    void* at = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) std::abort();
    value_ = static_cast<T*>(at);
  }
  ~Shared() { ::munmap(static_cast<void*>(value_), sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T* operator->() { return value_; }
  T& operator*() { return *value_; }

 private:
  T* value_;
};

inline pid_t start_child(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  return child;
}

inline int wait_child(pid_t child) {
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return status;
}

inline int run_child(const std::function<int()>& body) { return wait_child(start_child(body)); }

// Status of a child that ended by itself with `code`, or -1 - signal.
inline int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1 - WTERMSIG(status); }

// Kills it when `done` returns true or after `ms`; false if it had to be killed.
inline bool wait_child_at_most(pid_t child, int ms, int* status) {
  const int64_t deadline = now_ns() + int64_t{ms} * 1'000'000;
  for (;;) {
    const pid_t ended = ::waitpid(child, status, WNOHANG);
    if (ended == child) return true;
    if (now_ns() > deadline) {
      ::kill(child, SIGKILL);
      ::waitpid(child, status, 0);
      return false;
    }
    ::usleep(500);
  }
}

// TRACKER_TEST_SEED replays a run of a randomised test; its seed is printed.
inline uint64_t test_seed(const char* test) {
  const char* given = std::getenv("TRACKER_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("%s: TRACKER_TEST_SEED=%llu\n", test, static_cast<unsigned long long>(seed));
  return seed;
}

// TRACKER_TEST_KILLS makes the soak of the same test.
inline int test_count(int usual) {
  const char* given = std::getenv("TRACKER_TEST_KILLS");
  const int wanted = given != nullptr ? std::atoi(given) : 0;
  if (wanted > 0) return wanted;
  return kSlowDown == 1 ? usual : usual / 5 + 1;
}

}  // namespace tracker::internal
