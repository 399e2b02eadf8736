// SPDX-License-Identifier: MIT
#include "pipeline/disk_limit.h"

#include <algorithm>

#include "pipeline/writer.h"
#include "storage/upkeep/disk_use.h"

namespace tracker::internal {
namespace {

constexpr int kSeldom = 100, kOften = 20;  // a measurement is repeated after so many times what it took

}  // namespace

void DiskLimit::measure_store(const std::string& store_path, const std::string& run_path, Clock::time_point now) {
  const uint64_t before = thread_cpu_ns();
  others_ = disk_bytes(store_path, run_path, true);
  const std::chrono::nanoseconds cpu(thread_cpu_ns() - before);
  const auto end = Clock::now();
  // A measurement that waited for a processor does not show its cost, and others write meanwhile; one that waited for
  // the disk takes half of the time at the most.
  next_store_ = end + std::max<Clock::duration>({kDiskOthersInterval, kSeldom * cpu, end - now});
  not_before_ = end + std::max<Clock::duration>(kOften * cpu, end - now);
}

DiskRoom DiskLimit::measure(const std::string& store_path, const std::string& run_path, const std::string& written,
                            const DiskWaiting& waiting) {
  if (max_ == 0) return DiskRoom::kEnough;
  const auto now = Clock::now();
  const uint64_t written_now =
      written.empty() ? 0 : disk_bytes(written, "", true) + disk_bytes(written + "-wal", "", true);
  if (now >= next_own_) {
    const uint64_t before = thread_cpu_ns();
    own_found_ = disk_bytes(run_path, "", true);
    written_then_ = written_now;
    // By CPU: on a busy machine the wall clock would make the measurements rare just when much is written.
    next_own_ = Clock::now() + (narrow_ ? kOften : kSeldom) * std::chrono::nanoseconds(thread_cpu_ns() - before);
  }
  // A folder may hold many files, and is measured seldom; what a commit brings there counts at once.
  own_ = own_found_ + (written_now - std::min(written_now, written_then_));
  const uint64_t limit = max_ - kDiskReserve;
  const auto left = [&](uint64_t bytes) { return limit - std::min(limit, others_ + own_ + bytes); };
  const uint64_t likely = narrow_ ? waiting.narrow : waiting.wide;
  if (now >= next_store_ || (own_ + likely >= measure_at_ && now >= not_before_)) {
    measure_store(store_path, run_path, Clock::now());
    measure_at_ = own_ + likely + left(likely) / kDiskShare;
  }
  // Once stopped, points come back when there is some room more, not one by one.
  const uint64_t again = room() == DiskRoom::kEnough ? 0 : kDiskAgain;
  narrow_ = left(waiting.wide) <= again;
  credit_ = left(narrow_ ? waiting.narrow : waiting.wide) / 2 / kDiskShare;  // others measure the same room
  const DiskRoom room = others_ + own_ + kDiskEndReserve > max_                  ? DiskRoom::kOnlyTheEnd
                        : left(narrow_ ? waiting.narrow : waiting.wide) <= again ? DiskRoom::kNoPoints
                                                                                 : DiskRoom::kEnough;
  room_.store(room, std::memory_order_relaxed);
  return room;
}

}  // namespace tracker::internal
