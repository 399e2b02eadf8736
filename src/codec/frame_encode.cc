// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "codec/columns.h"
#include "codec/frame.h"
#include "codec/frame_layout.h"

namespace tracker::internal {
namespace {

constexpr size_t kEntryBytes = 32;  // the most that a definition or an event takes besides its name or payload

// Writes kind and length before the bytes that `body` appends.
template <typename Body>
void put_section(ByteWriter& out, SectionKind kind, Body&& body) {
  out.u8(static_cast<uint8_t>(kind));
  const size_t length_at = out.size();
  out.u32(0);
  body();
  out.patch_u32(length_at, static_cast<uint32_t>(out.size() - length_at - 4));
}

void put_defs(ByteWriter& out, const std::vector<SeriesDef>& defs) {
  out.varint(defs.size());
  for (const SeriesDef& def : defs) {
    out.varint(def.id);
    out.u8(static_cast<uint8_t>(def.type));
    out.sized(def.name);
  }
}

// The directory (ids, types, lengths) comes before the columns, so that a reader finds one without decoding another.
// `columns`, `lengths`: reused memory.
void put_block(ByteWriter& out, const Block& block, std::string* columns, std::vector<size_t>* lengths) {
  columns->clear();
  lengths->clear();
  size_t before = 0;
  const auto column_done = [&] {
    lengths->push_back(columns->size() - before);
    before = columns->size();
  };
  if (block.has_steps) {
    encode_int_column(block.steps, columns);
    column_done();
  }
  encode_int_column(block.times_us, columns);
  column_done();
  if (!block.order.empty()) {
    encode_int_column(block.order, columns);
    column_done();
  }
  const auto type_of = [&block](size_t i) { return block.types.empty() ? ValueType::kFloat64 : block.types[i]; };
  for (size_t i = 0; i < block.series.size(); ++i) {
    encode_value_column(block.values[i], type_of(i), columns);
    column_done();
  }
  out.varint(block.rows());
  out.u8(static_cast<uint8_t>((block.has_steps ? kBlockHasSteps : 0) | (block.order.empty() ? 0 : kBlockHasOrder)));
  out.varint(block.series.size());
  for (size_t i = 0; i < block.series.size(); ++i) {
    out.varint(block.series[i]);
    out.u8(static_cast<uint8_t>(type_of(i)));
  }
  for (const size_t length : *lengths) out.varint(length);
  out.bytes(*columns);
}

void put_events(ByteWriter& out, const std::vector<Event>& events) {
  out.varint(events.size());
  for (const Event& event : events) {
    out.u8(static_cast<uint8_t>(event.type));
    out.u8(event.has_step ? kEventHasStep : 0);
    if (event.has_step) out.zigzag(event.step);
    out.zigzag(event.time_us);
    out.sized(event.payload);
  }
}

void put_losses(ByteWriter& out, const std::vector<Loss>& losses) {
  out.varint(losses.size());
  for (const Loss& loss : losses) {
    out.varint(loss.series);
    out.u8(static_cast<uint8_t>(loss.reason));
    out.varint(loss.count);
  }
}

}  // namespace

std::string counted_text(const Logged& logged) {
  const auto counted = [](uint64_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  };
  const std::string points = counted(logged.points, "point");
  return logged.texts == 0 ? points : points + " and " + counted(logged.texts, "text");
}

uint64_t Frame::texts() const {
  return static_cast<uint64_t>(
      std::count_if(events.begin(), events.end(), [](const Event& event) { return event.type == EventType::kText; }));
}

uint64_t Frame::points() const {
  uint64_t points = 0;
  for (const Block& block : blocks) points += block.rows() * block.series.size();
  return points;
}

std::string encode_frame(const Frame& frame) {
  // Reserve room for plain columns: growing a string in steps costs more than everything else here.
  size_t cells = 0;
  size_t block_cells_max = 0;
  for (const Block& block : frame.blocks) {
    const size_t block_cells = block.rows() * (block.series.size() + 3);
    cells += block_cells;
    block_cells_max = std::max(block_cells_max, block_cells);
  }
  size_t named = 0;  // definitions and events
  for (const SeriesDef& def : frame.defs) named += def.name.size() + kEntryBytes;
  for (const Event& event : frame.events) named += event.payload.size() + kEntryBytes;
  ByteWriter out;
  out.buffer().reserve(kFrameHeaderBytes + cells * 8 + named + 1024);
  out.bytes(kFrameMagic);
  out.u16(kFrameVersion);
  out.u16(0);
  out.u32(0);  // the size, known at the end
  out.bytes(frame.writer.view());
  out.u64(frame.seq);
  if (!frame.defs.empty()) put_section(out, SectionKind::kDefs, [&] { put_defs(out, frame.defs); });
  std::string columns;
  columns.reserve(block_cells_max * 8 + 256);
  std::vector<size_t> lengths;
  for (const Block& block : frame.blocks)
    put_section(out, SectionKind::kBlock, [&] { put_block(out, block, &columns, &lengths); });
  if (!frame.events.empty()) put_section(out, SectionKind::kEvents, [&] { put_events(out, frame.events); });
  if (!frame.losses.empty()) put_section(out, SectionKind::kLosses, [&] { put_losses(out, frame.losses); });
  out.patch_u32(kFrameSizeAt, static_cast<uint32_t>(out.size() + kFrameCrcBytes));
  out.u32(crc32c(out.buffer()));
  return out.take();
}

}  // namespace tracker::internal
