// SPDX-License-Identifier: MIT
// Goal: exports follow the C data interface to the letter: who holds an array holds its memory, each release frees its
// part once, and what was moved away is not released twice. (Other libraries read them in tests/python.)
// Method: structs walked and released as a consumer does; the sanitizer builds see what is lost or freed twice.
#include "query/table/arrow.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace tracker::internal {
namespace {

PackedHistory history(size_t rows, ValueType type = ValueType::kFloat64) {
  History out;
  out.type = type;
  for (size_t i = 0; i < rows; ++i) {
    out.steps.push_back(static_cast<int64_t>(i));
    out.bits.push_back(i % 2);
    out.times_us.push_back(static_cast<int64_t>(i) * 10);
  }
  out.sources.push_back({3, 7, {}});
  return pack_history("loss", std::move(out));
}

// As a consumer moves: the source is marked released, nothing is called.
template <typename T>
T moved(T* from) {
  T out = *from;
  from->release = nullptr;
  return out;
}

TEST(ArrowTest, TheSchemaNamesColumnsTypesAndNulls) {
  PackedHistory rows = history(2, ValueType::kFloat16);
  rows.has_step = pack_flags({1, 0});
  ArrowSchema schema;
  export_schema(*arrow_table(rows), &schema);
  EXPECT_STREQ(schema.format, "+s");
  std::string text;
  for (int64_t i = 0; i < schema.n_children; ++i)
    text += std::string(schema.children[i]->name) + ":" + schema.children[i]->format +
            ((schema.children[i]->flags & ARROW_FLAG_NULLABLE) != 0 ? "? " : " ");
  EXPECT_EQ(text, "step:l? value:e time:tsu:UTC attempt:l rank:l ");
  schema.release(&schema);
  EXPECT_EQ(schema.release, nullptr);
}

TEST(ArrowTest, ArraysShareTheMemoryOfTheRowsAndKeepIt) {
  ArrowArray array;
  const void* memory = nullptr;
  std::weak_ptr<const ArrowTable> table;
  {
    const auto owner = arrow_table(history(100));
    table = owner;
    memory = owner->columns()[1].values.data;
    export_array(owner, 0, 100, &array);
  }
  EXPECT_FALSE(table.expired());
  EXPECT_EQ(array.children[1]->buffers[1], memory);
  EXPECT_EQ(array.children[1]->buffers[0], nullptr);
  EXPECT_EQ(static_cast<const int64_t*>(array.children[4]->buffers[1])[99], 7);
  array.release(&array);
  EXPECT_EQ(array.release, nullptr);
  EXPECT_TRUE(table.expired());
}

TEST(ArrowTest, AChildThatWasMovedOutOutlivesItsParent) {
  std::weak_ptr<const ArrowTable> table;
  ArrowArray array;
  {
    const auto owner = arrow_table(history(10));
    table = owner;
    export_array(owner, 0, 10, &array);
  }
  ArrowArray values = moved(array.children[1]);
  array.release(&array);
  EXPECT_FALSE(table.expired());
  EXPECT_EQ(static_cast<const uint64_t*>(values.buffers[1])[3], 1u);
  values.release(&values);
  EXPECT_TRUE(table.expired());
}

TEST(ArrowTest, NullsAndBoolsAreBits) {
  PackedHistory rows = history(70, ValueType::kBool);
  std::vector<uint8_t> has_step(70, 1);
  has_step[0] = has_step[65] = 0;
  rows.has_step = pack_flags(has_step);
  ArrowArray array;
  export_array(arrow_table(rows), 64, 6, &array);
  EXPECT_EQ(array.children[0]->null_count, 1);
  EXPECT_EQ(static_cast<const uint8_t*>(array.children[0]->buffers[0])[0], 0b111101);
  EXPECT_EQ(static_cast<const int64_t*>(array.children[0]->buffers[1])[0], 64);
  EXPECT_EQ(static_cast<const uint8_t*>(array.children[1]->buffers[1])[0], 0b101010);
  array.release(&array);
}

TEST(ArrowTest, BFloat16IsTheFloat32OfTheSameValue) {
  History one;
  one.type = ValueType::kBFloat16;
  one.bits = {0x3fc0, 0x7fc1};
  one.steps = one.times_us = {0, 1};
  one.sources.push_back({});
  const auto table = arrow_table(pack_history("x", std::move(one)));
  EXPECT_EQ(table->columns()[1].values.as<float>()[0], 1.5f);
  EXPECT_EQ(table->columns()[1].values.as<uint32_t>()[1], 0x7fc10000u);
}

TEST(ArrowTest, AStreamGivesBoundedArraysThenItsEnd) {
  const size_t rows = kArrowChunkRows * 2 + 5;
  ArrowArrayStream stream;
  export_stream(arrow_table(history(rows)), &stream);
  ArrowSchema schema;
  ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
  schema.release(&schema);
  size_t seen = 0;
  for (;;) {
    ArrowArray array;
    ASSERT_EQ(stream.get_next(&stream, &array), 0);
    if (array.release == nullptr) break;
    EXPECT_LE(static_cast<size_t>(array.length), kArrowChunkRows);
    EXPECT_EQ(static_cast<const int64_t*>(array.children[0]->buffers[1])[0], static_cast<int64_t>(seen));
    EXPECT_EQ(static_cast<const int64_t*>(array.children[3]->buffers[1])[array.length - 1], 3);
    seen += static_cast<size_t>(array.length);
    array.release(&array);
  }
  EXPECT_EQ(seen, rows);
  EXPECT_EQ(stream.get_last_error(&stream), nullptr);
  stream.release(&stream);
  EXPECT_EQ(stream.release, nullptr);
}

TEST(ArrowTest, AnArrayOutlivesTheStreamItCameFrom) {
  ArrowArrayStream stream;
  export_stream(arrow_table(history(3)), &stream);
  ArrowArray array;
  ASSERT_EQ(stream.get_next(&stream, &array), 0);
  stream.release(&stream);
  EXPECT_EQ(static_cast<const int64_t*>(array.children[0]->buffers[1])[2], 2);
  array.release(&array);
}

}  // namespace
}  // namespace tracker::internal
