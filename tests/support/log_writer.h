// SPDX-License-Identifier: MIT
// A writer whose rows come in bulk: frames of thousands of rows of a few series, for tests of long runs. Failures end
// the test program, as in store_builder.h. Threads: one at a time.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/database/writer_db.h"
#include "support/store_builder.h"

namespace tracker::internal {

struct BulkSeries {
  std::string name;
  ValueType type = ValueType::kFloat64;
};

// A process of this machine before it was last started: of a writer that is not waited for.
inline WriterIdentity dead_writer(const RunFolder& run, const Store& store) {
  WriterIdentity out = this_process();
  out.writer = Id128::random();
  out.run = run.identity;
  out.store = store.id();
  out.boot_id = "a boot that is over";
  out.started_us = kBuilderStartUs;
  return out;
}

class BulkWriter {
 public:
  BulkWriter(const RunFolder& run, const WriterIdentity& identity, std::vector<BulkSeries> series)
      : identity_(identity), series_(std::move(series)) {
    auto db = WriterDb::create(run.path, identity);
    if (!db.ok()) std::abort();
    db_ = std::move(*db);
    begin_frame();
  }

  // A row of the series [0, count); bits[i] of the i-th one. Rows of different shapes are in different blocks.
  void row(std::optional<int64_t> step, const std::vector<uint64_t>& bits) {
    Block& block = block_of(bits.size(), step.has_value());
    if (step) block.steps.push_back(*step);
    block.times_us.push_back(now_us_ += 1000);
    block.order.push_back(ordinal_++);
    for (size_t i = 0; i < bits.size(); ++i) block.values[i].push_back(bits[i]);
  }
  size_t rows() const { return static_cast<size_t>(ordinal_); }  // of the frame

  // What comes next is that much later; less than 0: the clock was set back.
  void pass(int64_t us) { now_us_ += us; }

  void commit() {
    if (ordinal_ == 0) return;
    if (!db_->append({{frame_.seq, encode_frame(frame_), {}}}, false).ok()) std::abort();
    begin_frame();
  }
  void compact() {
    commit();
    while (db_->compact(UINT64_MAX)) continue;
  }
  // Compacts whatever is due, however slow the machine is: a writer that ends gives it some time only.
  void finish() {
    commit();
    if (!db_->compact_all(true).ok()) std::abort();
    if (!db_->finish().ok()) std::abort();
  }
  std::string path() const { return db_->path(); }

 private:
  void begin_frame() {
    frame_ = Frame();
    frame_.writer = identity_.writer;
    frame_.seq = db_->last_seq() + 1;
    ordinal_ = 0;
    if (frame_.seq > 1) return;
    for (uint32_t id = 1; id <= series_.size(); ++id)
      frame_.defs.push_back({id, series_[id - 1].type, series_[id - 1].name});
  }
  Block& block_of(size_t count, bool has_steps) {
    for (Block& block : frame_.blocks)
      if (block.series.size() == count && block.has_steps == has_steps) return block;
    Block block;
    block.has_steps = has_steps;
    for (uint32_t id = 1; id <= count; ++id) {
      block.series.push_back(id);
      block.types.push_back(series_[id - 1].type);
    }
    block.values.resize(count);
    frame_.blocks.push_back(std::move(block));
    return frame_.blocks.back();
  }

  WriterIdentity identity_;
  std::vector<BulkSeries> series_;
  std::unique_ptr<WriterDb> db_;
  Frame frame_;
  int64_t ordinal_ = 0, now_us_ = kBuilderStartUs;
};

}  // namespace tracker::internal
