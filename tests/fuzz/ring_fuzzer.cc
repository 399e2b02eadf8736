// SPDX-License-Identifier: MIT
// Goal: no bytes in a ring file make recovery crash, run for ever or write an unreadable frame, and what it reads of a
// ring ends at the ring's tail. Method: an odd first byte makes the rest the file as it is. Else the input is header
// fields and records, whose CRCs, which a fuzzer cannot guess, are corrected if the first byte asks for it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "journal/dead/dead_journal.h"
#include "scratch.h"

using namespace tracker::internal;

namespace {

constexpr uint64_t kNonce = 0x1122334455667700;
constexpr size_t kRoundsMax = 100'000;

const WriterIdentity& identity() {
  static const WriterIdentity out = [] {
    WriterIdentity writer;
    writer.writer = Id128::hash_of("ring");
    writer.run = {Id128::hash_of("run"), "project", "label", 1'700'000'000'000'000};
    return writer;
  }();
  return out;
}

// A journal's folder with definitions of six series, one a type.
const Scratch& folder() {
  static const Scratch out;
  static const bool made = [] {
    auto file = DefinitionsFile::create(out.file("defs"), identity());
    for (uint32_t id = 1; file.ok() && id <= 6; ++id)
      if (!file->append({id, static_cast<ValueType>(id), "metric/" + std::to_string(id)}).ok()) std::abort();
    return file.ok();
  }();
  if (!made) std::abort();
  return out;
}

struct Image {
  std::string header = std::string(kRingHeaderBytes, '\0');
  std::string data;
  uint64_t from = 0, tail = 0;

  void put(size_t at, uint64_t value) { std::memcpy(header.data() + at, &value, sizeof value); }
  uint64_t word(uint64_t position) const {
    uint64_t out;
    std::memcpy(&out, data.data() + position % data.size(), sizeof out);
    return out;
  }
  // The bytes of the record at `position`, by its own header; 0 for none.
  uint64_t record_bytes(uint64_t position, uint32_t head) const {
    const uint64_t left = data.size() - position % data.size();
    uint64_t size = 0;
    if (head_kind(head) == RecordKind::kPad) return left;
    if (left < kRecordHeadBytes + 8) return 0;
    if (head_kind(head) == RecordKind::kValues) size = kRecordHeadBytes + head_count(head) * sizeof(ValuePair);
    if (head_kind(head) == RecordKind::kEvent)
      size = kRecordHeadBytes + 8 + ((word(position + kRecordHeadBytes) >> 32) + 7) / 8 * 8;
    return size > left ? 0 : size;
  }
  // One record's CRC; its size, or 8 where no record can be.
  uint64_t repair(uint64_t position) {
    const auto head = static_cast<uint32_t>(word(position) >> 32);
    const uint64_t size = record_bytes(position, head);
    if (size == 0) return 8;
    uint32_t crc = record_crc_begin(ring_seed(kNonce), position, head);
    for (uint64_t at = 8; head_kind(head) != RecordKind::kPad && at < size; at += 8)
      crc = crc32c_word(crc, word(position + at));
    std::memcpy(data.data() + position % data.size(), &crc, sizeof crc);
    return size;
  }
};

Image image_of(ByteReader* in, bool repaired) {
  Image out;
  const uint64_t size = uint64_t{4096} << (in->u8() % 3);
  out.from = uint64_t{in->u16()} * 8;
  out.tail = out.from + in->u16() % (size + 64);
  out.put(0, kRingMagic);
  out.put(8, kRingVersion | uint64_t{in->u8()} << 32);
  out.put(16, kNonce);
  out.put(24, size);
  std::memcpy(out.header.data() + 32, identity().writer.bytes.data(), 16);
  out.put(48, in->u64());
  out.put(64, out.tail);
  out.put(72, in->u16());
  const uint64_t anchors = in->u8() % (kAnchorSlots + 4);
  out.put(192, anchors);
  for (size_t i = 0; i < std::min<size_t>(anchors, 3) * 3; ++i) out.put(200 + i * 8, in->u64());
  const size_t losses = in->u8() % 4;
  for (size_t i = 0; i < losses; ++i) {
    out.put(640 + i * 16, in->u16());
    out.put(640 + i * 16 + 8, in->u64());
  }
  out.data.assign(size, '\0');
  const std::string_view records = in->bytes(std::min<size_t>(in->remaining(), size));
  for (size_t i = 0; i < records.size(); ++i) out.data[(out.from + i) % size] = records[i];
  for (uint64_t at = out.from; repaired && at < out.tail;) at += out.repair(at);
  return out;
}

// A value's bits are the low bytes of its word, and without a step the word of a step has no meaning: a frame keeps
// neither.
void drop_what_means_nothing(Frame* frame) {
  for (Event& event : frame->events)
    if (!event.has_step) event.step = 0;
  for (Block& block : frame->blocks)
    for (size_t i = 0; i < block.series.size(); ++i)
      for (uint64_t& bits : block.values[i])
        if (const size_t width = value_width(block.types[i]); width < 8) bits &= (uint64_t{1} << (8 * width)) - 1;
}

// What recovery does with it. Where the ring was taken (`tail`), the positions end there.
void recover(const std::vector<RingPosition>& known, const uint64_t* tail) {
  auto journal = DeadJournal::look(folder().path());
  if (!journal.ok()) return;
  (*journal)->start(known);
  uint64_t reached = known.front().position;
  for (size_t rounds = 0;; ++rounds) {
    if (rounds > kRoundsMax) std::abort();
    FrameBuilder builder;
    std::vector<RingPosition> positions;
    if (!(*journal)->next(&builder, &positions)) break;
    Frame frame = builder.take();
    frame.seq = rounds + 1;
    drop_what_means_nothing(&frame);
    auto back = decode_frame(encode_frame(frame));
    if (!back.ok() || !(*back == frame)) std::abort();
    for (const RingPosition& position : positions)
      if (position.nonce == kNonce) reached = position.position;
  }
  if (tail != nullptr && reached < *tail) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteReader in({reinterpret_cast<const char*>(data), size});
  const uint8_t mode = in.u8();
  if ((mode & 1) != 0) {
    folder().write("ring-1122334455667700", in.bytes(in.remaining()));
    recover({{kNonce, uint64_t{mode} >> 1}}, nullptr);
    return 0;
  }
  const Image image = image_of(&in, (mode & 2) == 0);
  const size_t cut = (mode & 4) != 0 ? mode : 0;
  folder().write("ring-1122334455667700", image.header + image.data.substr(0, image.data.size() - cut));
  const bool fits = image.tail - image.from <= image.data.size();
  recover({{kNonce, image.from}}, fits ? &image.tail : nullptr);
  return 0;
}
