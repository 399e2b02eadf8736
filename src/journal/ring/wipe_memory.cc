// SPDX-License-Identifier: MIT
#include "journal/ring/wipe_memory.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <new>
#include <vector>

namespace tracker::internal {
namespace {

constexpr size_t kPage = 4096;

struct State {
  std::mutex mutex;
  std::vector<HotRun*> free_runs;
  std::vector<HotRing*> free_rings;
};
// Counts threads inside SQLite; a fork shuts the gate for a moment. Leaked on purpose, made again in a child. A thread
// that enters raises `inside` and then reads `shut`, a fork raises `shut` and then reads `inside`: one sees the other.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<int> inside{0};
  std::atomic<int> shut{0};  // forks under way
};
std::atomic<Gate*> g_gate{nullptr};  // another thread may fork as soon as it is there
State* g_state = nullptr;            // leaked on purpose: nothing of ours runs at static destruction
uint64_t g_generation = 1;

Gate* gate() { return g_gate.load(std::memory_order_acquire); }

// In the child the lock may be held by a thread that does not exist there, and the free lists name wiped memory: make
// new ones.
void child_after_fork() {
  g_gate.store(new (std::nothrow) Gate);
  g_state = new (std::nothrow) State;
  ++g_generation;
}

// Later ones wait outside while those inside come out; who does not (a disk that hangs) keeps no fork waiting.
void before_fork() {
  std::unique_lock<std::mutex> lock(gate()->mutex);
  gate()->shut.fetch_add(1);
  gate()->changed.wait_for(lock, kForkWaitMax, [] { return gate()->inside.load() == 0; });
}

void parent_after_fork() {
  const std::lock_guard<std::mutex> lock(gate()->mutex);
  gate()->shut.fetch_sub(1);
  gate()->changed.notify_all();
}

State* state() {
  static std::once_flag once;
  std::call_once(once, [] {
    g_state = new State;
    g_gate.store(new Gate, std::memory_order_release);
    ::pthread_atfork(before_fork, parent_after_fork, child_after_fork);
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  });
  return g_state;
}

void* map_page() {
  void* page = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  ::madvise(page, kPage, MADV_WIPEONFORK);
  return page;
}

}  // namespace

ForkGate::ForkGate() {
  state();
  gate()->inside.fetch_add(1);
  if (gate()->shut.load() == 0) return;
  std::unique_lock<std::mutex> lock(gate()->mutex);
  gate()->inside.fetch_sub(1);
  gate()->changed.notify_all();
  // Bounded too: a process that forks without a pause must not keep the store thread out.
  gate()->changed.wait_for(lock, 2 * kForkWaitMax, [] { return gate()->shut.load() == 0; });
  gate()->inside.fetch_add(1);
}
ForkGate::~ForkGate() {
  if (gate()->inside.fetch_sub(1) != 1 || gate()->shut.load() == 0) return;
  const std::lock_guard<std::mutex> lock(gate()->mutex);
  gate()->changed.notify_all();
}

ProcessLock::ProcessLock() { state()->mutex.lock(); }
ProcessLock::~ProcessLock() { g_state->mutex.unlock(); }

uint64_t process_generation() {
  state();
  return g_generation;
}

HotRun* allocate_hot_run() {
  const ProcessLock lock;
  HotRun* run = nullptr;
  if (!g_state->free_runs.empty()) {
    run = g_state->free_runs.back();
    g_state->free_runs.pop_back();
  } else if (void* page = map_page()) {
    run = new (page) HotRun();
  }
  if (run != nullptr) revive_hot_run(run, INT64_MIN);
  return run;
}

void revive_hot_run(HotRun* run, int64_t step_base) {
  run->step_base = step_base;
  run->step_claimed.store(INT64_MIN, std::memory_order_relaxed);
  run->alive = 1;
  run->late.store(0, std::memory_order_relaxed);
  run->late_texts.store(0, std::memory_order_relaxed);
  run->tells_late.store(0, std::memory_order_relaxed);
}

void free_hot_run(HotRun* run) {
  const ProcessLock lock;
  for (auto& entry : run->table) entry.store(nullptr, std::memory_order_relaxed);
  for (auto& entry : run->rings) entry.store(nullptr, std::memory_order_relaxed);
  run->ring_count.store(0, std::memory_order_relaxed);
  run->journal.store(nullptr, std::memory_order_relaxed);
  g_state->free_runs.push_back(run);
}

HotRing* allocate_hot_ring_locked() {
  if (g_state->free_rings.empty()) {
    void* page = map_page();
    if (page == nullptr) return nullptr;
    for (size_t at = 0; at + sizeof(HotRing) <= kPage; at += sizeof(HotRing))
      g_state->free_rings.push_back(new (static_cast<char*>(page) + at) HotRing());
  }
  HotRing* ring = g_state->free_rings.back();
  g_state->free_rings.pop_back();
  ring->step_max.store(INT64_MIN, std::memory_order_relaxed);
  ring->accepted_at = 0;
  return ring;
}

void free_hot_ring_locked(HotRing* ring) { g_state->free_rings.push_back(ring); }

bool barrier_all_threads() {
  state();
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace tracker::internal
