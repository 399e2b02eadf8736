// SPDX-License-Identifier: MIT
// The bytes of a .frames file: as documented, a prefix of it is a prefix of its records, and damage affects only the
// damaged records. Method: the worked example of docs/formats/frames-file.md; every truncation; random flipped bytes,
// the seed is printed.
#include "storage/frames/frames_format.h"

#include <gtest/gtest.h>

#include <map>

#include "base/bytes.h"

#include "support/random_frame.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

std::string hex_of(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[static_cast<uint8_t>(c) >> 4];
    out += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return out;
}

struct Found {
  std::map<uint64_t, std::string> bodies;  // by offset
  uint64_t damaged_bytes = 0;
  uint64_t end = 0;
};

Found scan(std::string_view bytes, const Id128& writer) {
  Found out;
  MemoryBytes memory(bytes);
  FramesVisitor visitor;
  visitor.entry = [&out](const FramesEntry& entry) {
    out.bodies[entry.offset] = std::string(entry.body);
    return Status();
  };
  visitor.damage = [&out](const FramesDamage& damage) { out.damaged_bytes += damage.bytes; };
  auto end = scan_frames(memory, writer, kFramesHeaderBytes, visitor);
  EXPECT_TRUE(end.ok());
  out.end = *end;
  return out;
}

std::string file_with(const WriterIdentity& identity, uint64_t frames) {
  std::string out = frames_header(identity.writer);
  put_frames_record(identity.writer, out.size(), FramesKind::kIdentity, encode_cbor(identity.to_value()), &out);
  for (uint64_t seq = 1; seq <= frames; ++seq)
    put_frames_record(identity.writer, out.size(), FramesKind::kFrame, frame_body(test_record(identity, seq)), &out);
  return out;
}

TEST(FramesFormatTest, TheWorkedExampleHasTheDocumentedBytes) {
  Id128 writer;
  for (uint8_t i = 0; i < 16; ++i) writer.bytes[i] = i;
  std::string file = frames_header(writer);
  EXPECT_EQ(hex_of(file), "54524b464c4f4731000102030405060708090a0b0c0d0e0f00000000388f88c6");
  ByteWriter time;
  time.i64(1'700'000'000'000'000);
  put_frames_record(writer, file.size(), FramesKind::kHeartbeat, time.buffer(), &file);
  EXPECT_EQ(hex_of(file.substr(32)), "54464c310300000008000000a5785fc7fec6bdb800401e18240a0600");
  put_frames_record(writer, file.size(), FramesKind::kFrame, frame_body({1, "frame", {{0x100, 40}}}), &file);
  EXPECT_EQ(hex_of(file.substr(60)),
            "54464c310200000019000000e61a7c806bf1fe9d"
            "01000000000100000000000028000000000000006672616d65");
  EXPECT_EQ(scan(file, writer).bodies.size(), 2u);
}

TEST(FramesFormatTest, EveryPrefixIsReadToItsLastWholeRecordWithoutDamage) {
  const WriterIdentity identity = test_identity();
  const std::string file = file_with(identity, 4);
  const Found whole = scan(file, identity.writer);
  ASSERT_EQ(whole.bodies.size(), 5u);
  for (size_t size = kFramesHeaderBytes; size <= file.size(); ++size) {
    const Found found = scan(file.substr(0, size), identity.writer);
    ASSERT_EQ(found.damaged_bytes, 0u) << size;
    ASSERT_LE(found.end, size);
    for (const auto& [offset, body] : found.bodies) ASSERT_EQ(body, whole.bodies.at(offset));
    const auto next = whole.bodies.lower_bound(found.end);
    ASSERT_TRUE(next == whole.bodies.end() || next->first + kFramesHeadBytes + next->second.size() > size) << size;
  }
}

TEST(FramesFormatTest, AFlippedByteCostsTheRecordItHitsAndNoOther) {
  const WriterIdentity identity = test_identity();
  const std::string file = file_with(identity, 6);
  const Found whole = scan(file, identity.writer);
  const uint64_t last = whole.bodies.rbegin()->first;
  for (size_t at = kFramesHeaderBytes; at < file.size(); ++at) {
    std::string bad = file;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    const Found found = scan(bad, identity.writer);
    ASSERT_EQ(found.bodies.size(), 6u) << at;
    for (const auto& [offset, body] : found.bodies) ASSERT_EQ(body, whole.bodies.at(offset)) << at;
    ASSERT_EQ(found.damaged_bytes > 0, at < last) << at;  // in the last record it may be unfinished
  }
}

TEST(FramesFormatTest, ARecordInsideAnotherOnesBodyOrOfAnotherWriterIsNone) {
  const WriterIdentity identity = test_identity(), other = test_identity();
  std::string file = frames_header(identity.writer);
  const std::string copy = file_with(identity, 2);
  put_frames_record(identity.writer, file.size(), FramesKind::kFrame, copy, &file);
  file[kFramesHeaderBytes] = 'x';  // the outer head is damaged, so the body is searched
  put_frames_record(other.writer, file.size(), FramesKind::kHeartbeat, "12345678", &file);
  const Found found = scan(file, identity.writer);
  EXPECT_TRUE(found.bodies.empty());
  EXPECT_EQ(found.end, kFramesHeaderBytes);
}

TEST(FramesFormatTest, HeadersThatAreDamagedOrNewerAreRefusedByName) {
  const std::string header = frames_header(Id128::random());
  for (size_t at = 0; at < header.size(); ++at) {
    std::string bad = header;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    EXPECT_EQ(read_frames_header(bad).status().code(), Code::kCorrupt) << at;
    EXPECT_EQ(read_frames_header(header.substr(0, at)).status().code(), Code::kCorrupt) << at;
  }
  std::string newer = header;
  newer[7] = '2';
  EXPECT_EQ(read_frames_header(newer).status().code(), Code::kVersion);
}

TEST(FramesFormatTest, RandomBytesBetweenRecordsHideNoneOfThem) {
  auto random = seeded_random();
  const WriterIdentity identity = test_identity();
  for (int round = 0; round < 50; ++round) {
    std::string file = frames_header(identity.writer);
    std::map<uint64_t, std::string> put;
    for (uint64_t seq = 1; seq <= 8; ++seq) {
      if (random() % 2 == 0)
        for (size_t n = random() % 200; n > 0; --n)
          file.push_back(random() % 4 == 0 ? 'T' : static_cast<char>(random()));
      const std::string body = frame_body(test_record(identity, seq));
      put[file.size()] = body;
      put_frames_record(identity.writer, file.size(), FramesKind::kFrame, body, &file);
    }
    EXPECT_EQ(scan(file, identity.writer).bodies, put);
  }
}

}  // namespace
}  // namespace tracker::internal
