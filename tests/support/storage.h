// SPDX-License-Identifier: MIT
// Builders for tests of the storage room: identities, frames of known content.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "codec/frame.h"
#include "storage/database/writer_db.h"
#include "storage/writer/writer_reader.h"
#include "support/temp_folder.h"

namespace tracker::internal {

inline WriterIdentity test_identity() {
  WriterIdentity out = this_process();
  out.writer = Id128::random();
  out.store = Id128::random();
  out.run.uid = Id128::random();
  out.run.project = "p";
  out.run.id = "r";
  out.started_us = 1'700'000'000'000'000;
  return out;
}

// Frame `seq` of a writer that logs `series` float64 series, `rows` rows a frame: value = step + series id, steps
// from 0 on.
inline Frame test_frame(const WriterIdentity& identity, uint64_t seq, size_t series = 2, size_t rows = 3) {
  Frame frame;
  frame.writer = identity.writer;
  frame.seq = seq;
  Block block;
  for (uint32_t id = 1; id <= series; ++id) {
    if (seq == 1) frame.defs.push_back({id, ValueType::kFloat64, "metric/" + std::to_string(id)});
    block.series.push_back(id);
    block.types.push_back(ValueType::kFloat64);
  }
  block.values.resize(series);
  for (size_t row = 0; row < rows; ++row) {
    const auto step = static_cast<int64_t>((seq - 1) * rows + row);
    block.steps.push_back(step);
    block.times_us.push_back(identity.started_us + step * 1000);
    for (size_t s = 0; s < series; ++s)
      block.values[s].push_back(bits_of(static_cast<double>(step) + static_cast<double>(s + 1)));
  }
  frame.blocks.push_back(std::move(block));
  return frame;
}

inline FrameRecord record_of(const Frame& frame, std::vector<RingPosition> positions = {}) {
  return {frame.seq, encode_frame(frame), std::move(positions)};
}

inline FrameRecord test_record(const WriterIdentity& identity, uint64_t seq) {
  return record_of(test_frame(identity, seq), {{7, seq * 100}});
}

inline Frame event_frame(const WriterIdentity& identity, uint64_t seq, EventType type, const Value& payload,
                         int64_t time_us = 1) {
  Frame frame;
  frame.writer = identity.writer;
  frame.seq = seq;
  frame.events.push_back({type, false, 0, time_us, encode_cbor(payload)});
  return frame;
}

inline std::string db_path(const std::string& folder, const WriterIdentity& identity) {
  return join_path(folder, identity.writer.hex() + ".db");
}

// Calls `visit` with each sequence number in the log, those within segments too, until it returns false.
class SeqVisitor : public LogVisitor {
 public:
  explicit SeqVisitor(std::function<bool(uint64_t)> visit) : visit_(std::move(visit)) {}
  Result<bool> frame(const FrameView& frame) override { return visit_(frame.seq()); }
  Result<bool> segment(SegmentView* segment, PointRange*) override {
    EXPECT_EQ(segment->frames(), segment->last_seq() - segment->first_seq() + 1);
    TRACKER_RETURN_IF_ERROR(segment->check());
    bool more = true;
    for (uint64_t seq = segment->first_seq(); more && seq <= segment->last_seq(); ++seq) more = visit_(seq);
    return more;
  }

 private:
  std::function<bool(uint64_t)> visit_;
};

constexpr LogPosition kEndOfLog{INT64_MAX, INT64_MAX};

template <typename Reader>
Status visit_seqs(Reader* reader, uint64_t after, std::function<bool(uint64_t)> visit,
                  std::vector<LogDamage>* damage = nullptr) {
  SeqVisitor visitor(std::move(visit));
  LogPosition at{after, 0};
  return reader->read(&at, kEndOfLog, &visitor, damage);
}

// The sequence numbers that a reader finds; -1 at the end for a failure.
inline std::vector<int64_t> stored_frames(const std::string& path, std::vector<LogDamage>* damage = nullptr) {
  std::vector<int64_t> out;
  auto reader = WriterReader::open(path);
  if (!reader.ok()) return {-1};
  const auto visit = [&out](uint64_t seq) {
    out.push_back(static_cast<int64_t>(seq));
    return true;
  };
  const Status status = visit_seqs(reader->get(), 0, visit, damage);
  if (!status.ok()) out.push_back(-1);
  return out;
}

struct LookedAt {
  uint64_t seq = 0;
  size_t definitions = 0, event_bytes = 0;
  std::vector<Value> notes;
};

// What a reader finds in each frame; frames within segments are not read.
inline std::vector<LookedAt> frames_of(const std::string& path) {
  class Visitor : public LogVisitor {
   public:
    std::vector<LookedAt> out;
    Result<bool> frame(const FrameView& frame) override {
      LookedAt one{frame.seq(), frame.defs().size(), 0, {}};
      for (const Event& event : frame.events()) {
        one.event_bytes += event.payload.size();
        if (event.type == EventType::kNote) one.notes.push_back(*decode_cbor(event.payload));
      }
      out.push_back(std::move(one));
      return true;
    }
    Result<bool> segment(SegmentView*, PointRange*) override { return true; }
  };
  Visitor visitor;
  auto reader = WriterReader::open(path);
  LogPosition at;
  EXPECT_TRUE(reader.ok() && (*reader)->read(&at, kEndOfLog, &visitor, nullptr).ok()) << path;
  return visitor.out;
}

inline std::vector<int64_t> one_to(int64_t last) {
  std::vector<int64_t> out;
  for (int64_t i = 1; i <= last; ++i) out.push_back(i);
  return out;
}

}  // namespace tracker::internal
