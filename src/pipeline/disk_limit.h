// SPDX-License-Identifier: MIT
// max_disk: whether the store has room for more (decision 0014). Measures the run's own folder often and the whole
// store seldom; what others may add between two measurements is bounded: each takes a share of the room. Threads: one
// at a time (the store thread), room() any. Cost: of measure() a stat a file; at most 1 % of the time, 5 % near the
// bound.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace tracker::internal {

// Limit: least bytes of max_disk. Beyond it: an error of init.
constexpr uint64_t kMaxDiskMin = 32ull << 20;
// Limit: bytes below max_disk at which a store takes no more. Beyond it: points, texts and media are dropped and
// counted, reported once; a download is an error.
constexpr uint64_t kDiskReserve = 8ull << 20;  // kept for what ends a run: the WAL's way into its file, compaction
// Limit: bytes below max_disk at which only the end of a run is stored. Beyond it: dropped and counted.
constexpr uint64_t kDiskEndReserve = 4ull << 20;
constexpr uint64_t kDiskAgain = 2ull << 20;       // room beside the reserve that lets points in again
constexpr uint64_t kDiskRingRoom = 256ull << 10;  // what a ring may hold when all rings full would not fit
constexpr uint64_t kDiskShare = 4;                // of the room left a writer takes one part before it measures again
constexpr std::chrono::milliseconds kDiskLookInterval{1000};
constexpr std::chrono::milliseconds kDiskOthersInterval{50};  // between two measurements of the rest of the store

enum class DiskRoom : uint8_t {
  kEnough,
  kNoPoints,   // points and texts are dropped and counted
  kOnlyTheEnd  // config, summary and attributes too: what is stored alone comes near the bound
};

// Bytes that were accepted and are not in the store: with what rings may take until the next measure(), when each may
// take all it holds, and when it may take kDiskRingRoom. Each counts twice: it goes into a WAL and then into its file.
struct DiskWaiting {
  uint64_t wide = 0, narrow = 0;
};

class DiskLimit {
 public:
  // max_bytes 0: no bound, measure() does nothing.
  explicit DiskLimit(uint64_t max_bytes) : max_(max_bytes) {}

  uint64_t max_bytes() const { return max_; }
  DiskRoom room() const { return room_.load(std::memory_order_relaxed); }
  // The answer is room(); narrow(): it goes by `waiting.narrow`.
  // `written`: the file in the run's folder that is written here, measured each time, with its log; or empty.
  DiskRoom measure(const std::string& store_path, const std::string& run_path, const std::string& written,
                   const DiskWaiting& waiting);
  bool narrow() const { return narrow_; }
  // After measure(): bytes that may be accepted until the next one beside what `waiting` had.
  uint64_t credit() const { return credit_; }
  uint64_t used() const { return others_ + own_; }
  // What is stored leaves kDiskReserve: enough for the steps of compaction of kDiskShare writers at once.
  bool reserve_is_free() const { return max_ == 0 || used() <= max_ - kDiskReserve; }
  // The next measure() reads the run's folder, however long the last time took.
  void own_has_changed() { next_own_ = {}; }

 private:
  using Clock = std::chrono::steady_clock;
  void measure_store(const std::string& store_path, const std::string& run_path, Clock::time_point now);

  const uint64_t max_;
  std::atomic<DiskRoom> room_{DiskRoom::kEnough};
  bool narrow_ = false;
  uint64_t credit_ = 0;
  uint64_t others_ = 0, own_ = 0;              // bytes without and within the run's folder
  uint64_t own_found_ = 0, written_then_ = 0;  // when the folder was measured: all of it, and the file that is written
  uint64_t measure_at_ = 0;                    // the store is measured again when own and waiting bytes reach this
  Clock::time_point next_own_, next_store_, not_before_;
};

}  // namespace tracker::internal
