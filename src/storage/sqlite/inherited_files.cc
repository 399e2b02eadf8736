// SPDX-License-Identifier: MIT
#include "storage/sqlite/inherited_files.h"

#include <sched.h>

#include "journal/wipe_memory.h"

namespace tracker::internal {
namespace {

struct Inherited {
  uint64_t device = 0, inode = 0;
  uint64_t generation = 0;  // the first that inherited it
};

Inherited g_files[kInheritedFilesMax];
std::atomic<int> g_count{0};
std::atomic<uint64_t> g_too_many{0};  // the first generation that inherited more than there is room for

// Twice the generation whose files are being listed, one more when they are. A child forked in between lists anew.
std::atomic<uint64_t> g_listed{0};

const Inherited* find(uint64_t device, uint64_t inode) {
  const int count = g_count.load(std::memory_order_relaxed);
  for (int i = 0; i < count; ++i)
    if (g_files[i].inode == inode && g_files[i].device == device) return &g_files[i];
  return nullptr;
}

void add(const Inherited& file) {
  const int count = g_count.load(std::memory_order_relaxed);
  if (find(file.device, file.inode) != nullptr) return;
  if (count == kInheritedFilesMax) {
    if (g_too_many.load() == 0) g_too_many.store(file.generation);
    return;
  }
  g_files[count] = file;
  g_count.store(count + 1, std::memory_order_release);
}

void list(const SqliteFile* opened, int count, uint64_t generation) {
  for (int i = 0; i < count; ++i) {
    const uint64_t inode = opened[i].inode.load(std::memory_order_relaxed);
    if (inode != 0) add({opened[i].device.load(std::memory_order_relaxed), inode, generation});
  }
  if (count < 0 && g_too_many.load() == 0) g_too_many.store(generation);
}

}  // namespace

void begin_inheriting() { g_listed.store(2 * process_generation() + 1); }

void list_inherited(const SqliteFile* opened, int count) {
  const uint64_t generation = process_generation();
  uint64_t state = g_listed.load(std::memory_order_acquire);
  while (state != 2 * generation + 1) {
    if (state == 2 * generation) {  // by another thread
      ::sched_yield();
      state = g_listed.load(std::memory_order_acquire);
    } else if (g_listed.compare_exchange_weak(state, 2 * generation, std::memory_order_acquire)) {
      list(opened, count, generation);
      state = 2 * generation + 1;
      g_listed.store(state, std::memory_order_release);
    }
  }
}

uint64_t forks_since_open(uint64_t device, uint64_t inode) {
  const uint64_t generation = process_generation();
  if (const Inherited* const file = find(device, inode)) return generation - file->generation + 1;
  const uint64_t too_many = g_too_many.load();
  return too_many != 0 ? generation - too_many + 1 : 0;
}

}  // namespace tracker::internal
