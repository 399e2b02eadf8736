// SPDX-License-Identifier: MIT
#include "storage/writer/batch.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "codec/frame.h"
#include "codec/segment.h"
#include "model/value.h"

namespace tracker::internal {
namespace {

constexpr std::string_view kMagic = "TBAT";
constexpr uint16_t kVersion = 1;
constexpr size_t kSizeAt = 8, kHeaderBytes = 12, kCrcBytes = 4;

Status damaged(std::string_view what) { return {Code::kCorrupt, fmt::format("a batch is damaged: {}", what)}; }

Status newer(std::string_view what) { return {Code::kVersion, fmt::format("a batch is of a newer version: {}", what)}; }

// The head, without the units.
Result<Batch> parse_head(std::string_view cbor) {
  const auto head = decode_cbor(cbor);
  if (!head.ok() || !head->is_map()) return damaged("its head is no CBOR map");
  const Value* writer = head->find("writer");
  if (writer == nullptr) return damaged("its head names no writer");
  auto identity = WriterIdentity::from_value(*writer);
  if (!identity.ok()) return identity.status();
  Batch out;
  out.writer = std::move(*identity);
  out.heartbeat_us = head->int_or("heartbeat_us", 0);
  return out;
}

// The content of a unit, from its own bytes.
struct Contents {
  Id128 writer;
  uint64_t first = 0, last = 0;
};

Result<Contents> contents(const BatchUnit& unit) {
  if (unit.kind == BatchUnitKind::kFrame) {
    const auto frame = FrameView::parse(unit.bytes);
    if (!frame.ok()) return frame.status();
    return Contents{frame->writer(), frame->seq(), frame->seq()};
  }
  const auto segment = SegmentView::parse(unit.bytes);
  if (!segment.ok()) return segment.status();
  return Contents{segment->writer(), segment->first_seq(), segment->last_seq()};
}

Status check_unit(const BatchUnit& unit, const Id128& writer) {
  const auto found = contents(unit);
  if (!found.ok()) return found.status();
  if (found->writer != writer) return damaged("a unit is of another writer");
  if (found->first != unit.first || found->last != unit.last) return damaged("a unit holds other numbers than it says");
  return {};
}

}  // namespace

std::string encode_batch(const Batch& batch) {
  Value head = Value::Map{{"writer", batch.writer.to_value()}};
  if (batch.heartbeat_us != 0) head.set("heartbeat_us", batch.heartbeat_us);
  ByteWriter out;
  out.bytes(kMagic);
  out.u16(kVersion);
  out.u16(0);
  out.u32(0);
  out.sized(encode_cbor(head));
  out.varint(batch.units.size());
  for (const BatchUnit& unit : batch.units) {
    out.u8(static_cast<uint8_t>(unit.kind));
    for (const uint64_t number : {unit.prev, unit.first, unit.last, unit.lost}) out.varint(number);
    out.sized(unit.bytes);
  }
  out.patch_u32(kSizeAt, static_cast<uint32_t>(out.size() + kCrcBytes));
  out.u32(crc32c(out.buffer()));
  return out.take();
}

bool is_whole_batch(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes + kCrcBytes || !bytes.starts_with(kMagic)) return false;
  if (ByteReader(bytes.substr(kSizeAt)).u32() != bytes.size()) return false;
  const std::string_view body = bytes.substr(0, bytes.size() - kCrcBytes);
  return ByteReader(bytes.substr(body.size())).u32() == crc32c(body);
}

Result<Batch> parse_batch(std::string_view bytes) {
  if (bytes.size() > kBatchBytesMax)
    return Status(Code::kLimit,
                  fmt::format("a batch has {} bytes, at most {} are taken", bytes.size(), kBatchBytesMax));
  if (bytes.size() < kHeaderBytes + kCrcBytes || !bytes.starts_with(kMagic)) return damaged("it does not begin as one");
  ByteReader header(bytes.substr(kMagic.size()));
  const uint16_t version = header.u16(), flags = header.u16();
  if (version != kVersion || flags != 0) return newer(fmt::format("version {}, flags {}", version, flags));
  if (header.u32() != bytes.size()) return damaged("it has another size than it says");
  const std::string_view body = bytes.substr(0, bytes.size() - kCrcBytes);
  if (ByteReader(bytes.substr(body.size())).u32() != crc32c(body)) return damaged("its CRC is wrong");

  ByteReader in(body.substr(kHeaderBytes));
  auto out = parse_head(in.sized());
  if (!out.ok()) return out;
  const uint64_t units = in.varint();
  if (units > kBatchUnitsMax)
    return Status(Code::kLimit, fmt::format("a batch has {} units, at most {} are taken", units, kBatchUnitsMax));
  for (uint64_t i = 0; i < units && in.ok(); ++i) {
    BatchUnit unit;
    const uint8_t kind = in.u8();
    unit.prev = in.varint();
    unit.first = in.varint();
    unit.last = in.varint();
    unit.lost = in.varint();
    unit.bytes = in.sized();
    if (!in.ok()) break;
    if (kind != 1 && kind != 2) return newer(fmt::format("a unit of kind {}", kind));
    unit.kind = static_cast<BatchUnitKind>(kind);
    if (unit.prev >= unit.first || unit.first > unit.last) return damaged("the numbers of a unit do not rise");
    if (unit.lost > 0 && unit.prev + 1 == unit.first) return damaged("points are lost in a gap that is none");
    if (!out->units.empty() && unit.prev != out->units.back().last)
      return damaged("a unit does not follow the one before it");
    TRACKER_RETURN_IF_ERROR(check_unit(unit, out->writer.writer));
    out->units.push_back(unit);
  }
  if (!in.ok() || !in.at_end()) return damaged("its units do not end where it does");
  return out;
}

}  // namespace tracker::internal
