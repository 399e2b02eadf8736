// SPDX-License-Identifier: MIT
// A journal without its threads: tests log into it, drain it when they like and say what is committed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "journal/live/journal.h"
#include "journal/ring/wipe_memory.h"
#include "support/sandbox_folders.h"

namespace tracker::internal {

class LiveJournal {
 public:
  LiveJournal(const Sandbox& sandbox, JournalOptions options) : hot_(allocate_hot_run()) {
    options.store_path = sandbox.store();
    identity_ = this_process();
    identity_.writer = Id128::random();
    identity_.run = {Id128::random(), "p", "r", 1};
    auto journal = Journal::open(options, &identity_, hot_);
    if (journal.ok()) journal_ = std::move(*journal);
  }
  ~LiveJournal() {
    if (journal_ == nullptr) return;
    if (!closed_) (void)journal_->close();
    journal_->remove_files();
    journal_.reset();
    free_hot_run(hot_);
  }
  LiveJournal(const LiveJournal&) = delete;
  LiveJournal& operator=(const LiveJournal&) = delete;

  HotRun* hot() { return hot_; }
  Journal* operator->() { return journal_.get(); }
  Journal* get() { return journal_.get(); }
  const WriterIdentity& identity() const { return identity_; }
  bool close() { return closed_ = journal_->close(); }

  Code log(uint32_t series, uint64_t bits, int64_t step) {
    const ValuePair pair{bits, series, 0};
    return log_pairs(hot_, &pair, 1, step);
  }
  Code log_many(uint32_t series, size_t count, int64_t step) {
    std::vector<ValuePair> pairs(count);
    for (size_t i = 0; i < count; ++i)
      pairs[i] = {static_cast<uint64_t>(step) * 1000 + i, series + static_cast<uint32_t>(i), 0};
    return log_pairs(hot_, pairs.data(), pairs.size(), step);
  }

  // Everything that is published now; `commit` releases it.
  std::vector<Frame> drain(bool commit = true) {
    std::vector<Frame> out;
    journal_->begin_drain();
    for (;;) {
      FrameBuilder builder;
      std::vector<RingPosition> positions;
      if (!journal_->next_frame(&builder, &positions)) break;
      out.push_back(builder.take());
      journal_->frame_kept();
      if (commit) journal_->release(positions);
      all_positions_.insert(all_positions_.end(), positions.begin(), positions.end());
    }
    return out;
  }
  void commit_all() { journal_->release(std::exchange(all_positions_, {})); }

 private:
  HotRun* hot_;
  WriterIdentity identity_;
  std::unique_ptr<Journal> journal_;
  std::vector<RingPosition> all_positions_;
  bool closed_ = false;
};

struct Cell {
  uint32_t series;
  int64_t step;
  uint64_t bits;
  bool operator==(const Cell&) const = default;
};

// The cells of frames, block by block; a block holds the rows of one shape.
inline std::vector<Cell> cells_of(const std::vector<Frame>& frames) {
  std::vector<Cell> out;
  for (const Frame& frame : frames)
    for (const Block& block : frame.blocks)
      for (size_t row = 0; row < block.rows(); ++row)
        for (size_t i = 0; i < block.series.size(); ++i)
          out.push_back({block.series[i], block.has_steps ? block.steps[row] : INT64_MIN, block.values[i][row]});
  return out;
}

inline uint64_t losses_of(const std::vector<Frame>& frames, LossReason reason) {
  uint64_t out = 0;
  for (const Frame& frame : frames)
    for (const Loss& loss : frame.losses)
      if (loss.reason == reason) out += loss.count;
  return out;
}

}  // namespace tracker::internal
