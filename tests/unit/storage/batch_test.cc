// SPDX-License-Identifier: MIT
// Goal: a batch is as in docs/formats/http.md, byte for byte, and parse_batch() refuses anything else. Method: the
// page's example, and batches in which one thing is wrong.
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "storage/writer/batch.h"
#include "support/storage.h"

namespace tracker::internal {
namespace {

// The example of docs/formats/http.md.
constexpr std::string_view kExample =
    "54424154010000005a010000cc01a266777269746572a366777269746572782030303031303230333034303530363037303830393061"
    "306230633064306530666372756ea4637569647820616263646566303030303030303030303030303030303030303030303030303167"
    "70726f6a656374656d6e6973746269646b627269736b2d6f747465726a637265617465645f75731b00060a24181e40006573746f7265"
    "782035663063366133653964316234376432386136346333663165326237613930356c6865617274626561745f75731b00060a24181f"
    "c6a0010100010100755446524d0100000075000000000102030405060708090a0b0c0d0e0f0100000000000000010800000001010104"
    "6c6f737302320000000301010101040d1903000202038080f28183898506d00fb81700000000000000e03f000000000000d03f000000"
    "000000c03f0404000000010101025d1bac6e809f56a3";

std::string bytes_of(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i < hex.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return out;
}

WriterIdentity example_writer() {
  WriterIdentity out = test_identity();
  out.run.project = "mnist";
  return out;
}

class BatchTest : public ::testing::Test {
 protected:
  BatchUnit unit_of(uint64_t seq, uint64_t prev) {
    frames_.push_back(encode_frame(test_frame(writer_, seq)));
    return {BatchUnitKind::kFrame, prev, seq, seq, 0, frames_.back()};
  }
  static std::string with_crc(std::string bytes) {
    bytes.resize(bytes.size() - 4);
    ByteWriter out;
    out.bytes(bytes);
    out.u32(crc32c(bytes));
    return out.take();
  }
  Code code_of(const std::string& bytes) { return parse_batch(bytes).status().code(); }

  WriterIdentity writer_ = example_writer();
  std::deque<std::string> frames_;
};

TEST_F(BatchTest, TheExampleOfTheDocumentationIsOne) {
  const std::string bytes = bytes_of(kExample);
  const auto batch = parse_batch(bytes);
  ASSERT_TRUE(batch.ok()) << batch.status().to_string();
  EXPECT_EQ(batch->writer.run.id, "brisk-otter");
  EXPECT_EQ(batch->heartbeat_us, 1'700'000'000'100'000);
  ASSERT_EQ(batch->units.size(), 1U);
  EXPECT_EQ(batch->units[0].last, 1U);
  EXPECT_EQ(batch->units[0].bytes.size(), 117U);
}

TEST_F(BatchTest, WhatWasEncodedIsParsed) {
  Batch batch{writer_, 1'700'000'000'100'000, {unit_of(1, 0), unit_of(5, 1)}};
  batch.units[1].lost = 7;
  const std::string bytes = encode_batch(batch);
  const auto parsed = parse_batch(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed->writer.writer, writer_.writer);
  EXPECT_EQ(parsed->writer.run.project, "mnist");
  EXPECT_EQ(parsed->heartbeat_us, 1'700'000'000'100'000);
  ASSERT_EQ(parsed->units.size(), 2U);
  EXPECT_EQ(parsed->units[1].prev, 1U);
  EXPECT_EQ(parsed->units[1].first, 5U);
  EXPECT_EQ(parsed->units[1].lost, 7U);
  EXPECT_EQ(parsed->units[1].bytes, frames_[1]);
}

TEST_F(BatchTest, ABatchWithoutUnitsIsASignOfLife) {
  const auto parsed = parse_batch(encode_batch({writer_, 1, {}}));
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->units.empty());
}

TEST_F(BatchTest, EachWrongByteIsFound) {
  const std::string bytes = encode_batch({writer_, 1, {unit_of(1, 0)}});
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string wrong = bytes;
    wrong[at] ^= 1;
    EXPECT_NE(code_of(wrong), Code::kOk) << at;
    EXPECT_NE(code_of(bytes.substr(0, at)), Code::kOk) << at;
  }
}

TEST_F(BatchTest, AUnitOfAnotherWriterIsRefused) {
  WriterIdentity other = writer_;
  other.writer = Id128{42, 42};
  const Batch batch{other, 0, {unit_of(1, 0)}};
  EXPECT_EQ(code_of(encode_batch(batch)), Code::kCorrupt);
}

TEST_F(BatchTest, AUnitThatHoldsOtherNumbersThanItSaysIsRefused) {
  BatchUnit unit = unit_of(3, 0);
  unit.first = unit.last = 2;
  EXPECT_EQ(code_of(encode_batch({writer_, 0, {unit}})), Code::kCorrupt);
}

TEST_F(BatchTest, UnitsThatDoNotFollowEachOtherAreRefused) {
  EXPECT_EQ(code_of(encode_batch({writer_, 0, {unit_of(1, 0), unit_of(3, 2)}})), Code::kCorrupt);
  EXPECT_EQ(code_of(encode_batch({writer_, 0, {unit_of(4, 4)}})), Code::kCorrupt);
}

TEST_F(BatchTest, ANewerVersionIsSaidToBeOne) {
  std::string newer = encode_batch({writer_, 0, {}});
  newer[4] = 2;
  EXPECT_EQ(code_of(with_crc(newer)), Code::kVersion);
  BatchUnit unit = unit_of(1, 0);
  unit.kind = static_cast<BatchUnitKind>(3);
  EXPECT_EQ(code_of(encode_batch({writer_, 0, {unit}})), Code::kVersion);
}

TEST_F(BatchTest, TooManyUnitsAreRefused) {
  Batch batch{writer_, 0, {}};
  for (uint64_t seq = 1; seq <= kBatchUnitsMax + 1; ++seq) batch.units.push_back(unit_of(seq, seq - 1));
  EXPECT_EQ(code_of(encode_batch(batch)), Code::kLimit);
}

}  // namespace
}  // namespace tracker::internal
