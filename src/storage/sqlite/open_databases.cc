// SPDX-License-Identifier: MIT
#include "storage/sqlite/open_databases.h"

#include <algorithm>

#include "journal/ring/wipe_memory.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kBeingAdded = UINT64_MAX;  // in place of an inode

OpenDatabase g_databases[kOpenDatabasesMax];
std::atomic<int> g_count{0};  // places from here on were never taken
// the first generation in which a database was opened without a place in the list
std::atomic<uint64_t> g_unlisted_in{0};

}  // namespace

OpenDatabase* add_open_database(uint64_t device, uint64_t inode) {
  for (int i = 0; i < kOpenDatabasesMax; ++i) {
    OpenDatabase& place = g_databases[i];
    uint64_t free = 0;
    if (!place.inode.compare_exchange_strong(free, kBeingAdded)) continue;
    place.device.store(device);
    place.generation.store(process_generation());
    place.inode.store(inode);
    int count = g_count.load();
    while (count <= i && !g_count.compare_exchange_weak(count, i + 1)) continue;
    return &place;
  }
  uint64_t none = 0;
  g_unlisted_in.compare_exchange_strong(none, process_generation());
  return nullptr;
}

void remove_open_database(OpenDatabase* database) {
  if (database->generation.load() == process_generation() && !database->is_lost.load()) database->inode.store(0);
}

uint64_t unusable_entries(uint64_t device, uint64_t inode) {
  const uint64_t generation = process_generation(), unlisted_in = g_unlisted_in.load();
  uint64_t forks = unlisted_in != 0 ? generation - unlisted_in : 0, lost = 0;
  const int count = g_count.load();
  for (int i = 0; i < count; ++i) {
    const OpenDatabase& one = g_databases[i];
    if (one.inode.load() != inode || one.device.load() != device) continue;
    forks = std::max(forks, generation - one.generation.load());
    lost += one.is_lost.load() ? 1 : 0;
  }
  return forks + lost;
}

}  // namespace tracker::internal
