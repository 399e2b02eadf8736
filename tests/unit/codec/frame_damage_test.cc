// SPDX-License-Identifier: MIT
// The frame decoder gets arbitrary bytes: it returns an error with an offset, never crashes and never allocates memory
// that the bytes do not justify. Method: every truncation, random bit flips with and without a repaired CRC, hostile
// counts.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "support/random_frame.h"

namespace tracker::internal {
namespace {

void repair(std::string* bytes) {
  const auto size = static_cast<uint32_t>(bytes->size());
  std::memcpy(bytes->data() + 8, &size, 4);
  const uint32_t crc = crc32c(std::string_view(*bytes).substr(0, bytes->size() - 4));
  std::memcpy(bytes->data() + bytes->size() - 4, &crc, 4);
}

// A frame with the sections in `body`, a valid header and CRC.
std::string frame_of(std::string_view body) {
  std::string bytes = encode_frame(Frame());
  bytes.insert(bytes.size() - 4, body);
  repair(&bytes);
  return bytes;
}

std::string section(uint8_t kind, const std::string& payload) {
  ByteWriter out;
  out.u8(kind);
  out.u32(static_cast<uint32_t>(payload.size()));
  out.bytes(payload);
  return out.take();
}

// Memory that was never written, so it takes none.
TEST(FrameDamageTest, AFrameThatIsLargerThanTheLimitIsRefusedBeforeItIsRead) {
  const size_t room = kFrameBytesMax + 1;
  void* const at = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  const std::string head = encode_frame(Frame()).substr(0, 8);
  std::memcpy(at, head.data(), head.size());
  const auto message = [at](size_t bytes) {
    const auto size = static_cast<uint32_t>(bytes);
    std::memcpy(static_cast<char*>(at) + 8, &size, 4);
    const auto frame = FrameView::parse({static_cast<const char*>(at), bytes}, false);
    EXPECT_EQ(frame.status().code(), Code::kCorrupt);
    return frame.status().message();
  };
  EXPECT_NE(message(room).find("larger than a frame may be"), std::string::npos) << message(room);
  EXPECT_EQ(message(kFrameBytesMax).find("larger than a frame may be"), std::string::npos) << message(kFrameBytesMax);
  ::munmap(at, room);
}

TEST(FrameDamageTest, EveryTruncationIsCorrupt) {
  auto random = seeded_random();
  for (int round = 0; round < 20; ++round) {
    const std::string whole = encode_frame(random_frame(random, 20));
    for (size_t size = 0; size < whole.size(); ++size) {
      auto frame = decode_frame(std::string_view(whole).substr(0, size));
      ASSERT_FALSE(frame.ok()) << size;
      ASSERT_EQ(frame.status().code(), Code::kCorrupt);
      ASSERT_NE(frame.status().message().find("at byte"), std::string::npos);
    }
  }
}

TEST(FrameDamageTest, TruncationsWithARepairedCrcNeverCrash) {
  auto random = seeded_random();
  for (int round = 0; round < 20; ++round) {
    const std::string whole = encode_frame(random_frame(random, 20));
    for (size_t size = 40; size < whole.size(); ++size) {
      std::string cut = whole.substr(0, size);
      repair(&cut);
      (void)decode_frame(cut);
    }
  }
}

TEST(FrameDamageTest, EveryFlippedBitIsNoticed) {
  auto random = seeded_random();
  const std::string whole = encode_frame(random_frame(random, 10));
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_FALSE(decode_frame(bytes).ok()) << "bit " << bit;
  }
}

TEST(FrameDamageTest, FlippedBitsWithARepairedCrcNeverCrash) {
  auto random = seeded_random();
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = encode_frame(random_frame(random, 10));
    for (size_t flips = 1 + random() % 4; flips > 0; --flips) {
      const size_t bit = random() % (bytes.size() * 8);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    }
    repair(&bytes);
    auto frame = decode_frame(bytes);
    if (frame.ok()) (void)encode_frame(*frame);
  }
}

TEST(FrameDamageTest, RandomBytesAreRefused) {
  auto random = seeded_random();
  for (int round = 0; round < 5000; ++round) {
    std::string body(random() % 200, '\0');
    std::generate(body.begin(), body.end(), [&] { return static_cast<char>(random() >> (random() % 60)); });
    EXPECT_FALSE(decode_frame(body).ok());
    (void)decode_frame(frame_of(body));
  }
}

TEST(FrameDamageTest, HostileCountsTakeNoMemory) {
  for (const uint8_t kind : {uint8_t{1}, uint8_t{3}, uint8_t{4}}) {
    ByteWriter payload;
    payload.varint(~0ull);
    EXPECT_EQ(decode_frame(frame_of(section(kind, payload.take()))).status().code(), Code::kCorrupt);
  }
}

TEST(FrameDamageTest, TooManyRowsAreRefused) {
  ByteWriter payload;
  payload.varint(kFrameRowsMax + 1);
  payload.u8(0);
  payload.varint(0);
  payload.varint(9);
  payload.u8(1);
  payload.i64(5);
  auto frame = decode_frame(frame_of(section(2, payload.take())));
  EXPECT_EQ(frame.status().code(), Code::kCorrupt);
  EXPECT_NE(frame.status().message().find("too many rows"), std::string::npos);
}

TEST(FrameDamageTest, ManyConstantColumnsOfManyRowsAreRefused) {
  ByteWriter payload;
  constexpr uint64_t kSeries = 1000;
  payload.varint(kFrameRowsMax);
  payload.u8(0);
  payload.varint(kSeries);
  for (uint64_t i = 0; i < kSeries; ++i) {
    payload.varint(i);
    payload.u8(static_cast<uint8_t>(ValueType::kBool));
  }
  for (uint64_t i = 0; i <= kSeries; ++i) payload.varint(2);
  for (uint64_t i = 0; i <= kSeries; ++i) payload.u16(1);
  auto frame = decode_frame(frame_of(section(2, payload.take())));
  EXPECT_NE(frame.status().message().find("too many cells"), std::string::npos);
}

TEST(FrameDamageTest, ANewerVersionIsNamedAsSuch) {
  std::string bytes = encode_frame(Frame());
  bytes[4] = 2;
  repair(&bytes);
  EXPECT_EQ(decode_frame(bytes).status().code(), Code::kVersion);
  EXPECT_EQ(decode_frame(frame_of(section(5, "?"))).status().code(), Code::kVersion);
}

TEST(FrameDamageTest, SkippableSectionsAreSkipped) {
  auto frame = decode_frame(frame_of(section(200, "whatever")));
  ASSERT_TRUE(frame.ok()) << frame.status().to_string();
  EXPECT_TRUE(frame->empty());
}

TEST(FrameDamageTest, EventsOfUnknownTypesAreKept) {
  Frame frame;
  frame.events.push_back({static_cast<EventType>(77), false, 0, 1, "x"});
  auto back = decode_frame(encode_frame(frame));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->events, frame.events);
}

}  // namespace
}  // namespace tracker::internal
