// SPDX-License-Identifier: MIT
// Goal: media of event files become media of the run, once, with exact bins and their own bytes; other values are
// counted. Method: messages written here as torch and TensorFlow write them.
#include "exchange/event_media.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "exchange/wire.h"
#include "model/media.h"
#include "query/view/media.h"
#include "support/import_test.h"

namespace tracker::internal {
namespace {

const std::string kPng = "\x89PNG\r\n\x1a\n and the rest";

std::string packed(const std::vector<double>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)};
}

// HistogramProto
std::string histogram_message(double least, double largest, const std::vector<double>& limits,
                              const std::vector<double>& counts) {
  std::string out;
  wire_fixed64(1, bits_of(least), &out);
  wire_fixed64(2, bits_of(largest), &out);
  wire_bytes(6, packed(limits), &out);
  wire_bytes(7, packed(counts), &out);
  return out;
}

Value histogram_in(const std::string& message) {
  EventValue value;
  value.kind = "histograms";
  value.message = message;
  const auto out = read_event_media(value, "");
  return out.empty() ? Value() : *out[0].said.find("data");
}

Value list_of(const std::vector<double>& numbers, bool whole) {
  Value::List out;
  for (const double number : numbers) out.push_back(whole ? Value(static_cast<int64_t>(number)) : Value(number));
  return out;
}

void expect_bins(const Value& data, const std::vector<double>& edges, const std::vector<double>& counts) {
  ASSERT_TRUE(data.is_map());
  EXPECT_EQ(*data.find("edges"), list_of(edges, false));
  EXPECT_EQ(*data.find("counts"), list_of(counts, true));
}

// A summary value in an event in a record.
void append_value(const std::string& tag, uint32_t field, const std::string& message, const std::string& plugin,
                  int64_t step, std::string* out) {
  std::string value, summary, event, name, metadata;
  wire_bytes(1, tag, &value);
  wire_bytes(field, message, &value);
  if (!plugin.empty()) {
    wire_bytes(1, plugin, &name);
    wire_bytes(1, name, &metadata);
    wire_bytes(9, metadata, &value);
  }
  wire_bytes(1, value, &summary);
  wire_fixed64(1, bits_of(1.7e9), &event);
  wire_varint(2, static_cast<uint64_t>(step), &event);
  wire_bytes(5, summary, &event);
  append_event_record(event, out);
}

std::string texts_tensor(const std::vector<std::string>& texts) {
  std::string out;
  wire_varint(1, 7, &out);
  for (const std::string& text : texts) wire_bytes(8, text, &out);
  return out;
}

Result<Value> store_here(const std::string& run_dir, std::string_view bytes, std::string_view extension) {
  const std::string digest(64, bytes.size() % 2 == 0 ? 'a' : 'b');
  const std::string path = run_dir + "/" + media_file_name(digest, extension);
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  return Value(Value::Map{{"digest", digest}, {"ext", extension}, {"bytes", static_cast<int64_t>(bytes.size())}});
}

TEST(EventMediaTest, AHistogramHasTheBinsThatTensorBoardShows) {
  constexpr double kFar = std::numeric_limits<double>::max();
  expect_bins(histogram_in(histogram_message(0.5, 9, {-1, 1, 2, 8, kFar}, {0, 2, 0, 3, 4})), {0.5, 1, 2, 8, 9},
              {2, 0, 3, 4});
  // All values are the same; and a bin without width is merged into its neighbour.
  expect_bins(histogram_in(histogram_message(3, 3, {2, 3, kFar}, {0, 5, 0})), {2.5, 3.5}, {5});
  expect_bins(histogram_in(histogram_message(1, 4, {1, 2, 4}, {7, 1, 2})), {1, 2, 4}, {8, 2});
  for (const std::string& none :
       {histogram_message(0, 1, {}, {}), histogram_message(0, 1, {1, 2}, {1}), histogram_message(0, 1, {1}, {0}),
        histogram_message(0, 3, {1, 2, 3}, {1, -1, 1}), histogram_message(std::nan(""), 1, {1, 2}, {1, 1})})
    EXPECT_TRUE(histogram_in(none).as_map() == nullptr);
  std::vector<double> limits(kEventBinsMax + 1);
  for (size_t i = 0; i < limits.size(); ++i) limits[i] = static_cast<double>(i) + 1;
  EXPECT_FALSE(
      histogram_in(histogram_message(0, limits.back(), limits, std::vector<double>(limits.size(), 1))).is_map());
  limits.pop_back();
  EXPECT_TRUE(
      histogram_in(histogram_message(0, limits.back(), limits, std::vector<double>(limits.size(), 1))).is_map());
}

TEST(EventMediaTest, AListOfImagesIsCutAtTheLimit) {
  std::vector<std::string> texts{"4", "3"};
  texts.resize(kEventMediaMax + 10, kPng);
  const std::string message = texts_tensor(texts);
  EventValue value;
  value.kind = "tensors";
  value.message = message;
  const auto out = read_event_media(value, "images");
  ASSERT_EQ(out.size(), kEventMediaMax);
  EXPECT_EQ(out[1].said.int_or("width", 0), 4);
  EXPECT_EQ(out[1].said.int_or("index", 0), 1);
  EXPECT_TRUE(read_event_media(value, "text").empty());
}

TEST_F(ImportTest, MediaOfEventFilesBecomeMediaOnce) {
  std::string image, sound, bins, bytes;
  wire_varint(1, 3, &image);
  wire_varint(2, 4, &image);
  wire_bytes(4, kPng, &image);
  wire_fixed32(1, bits_of(8000.0f) & 0xffffffff, &sound);
  wire_bytes(4, std::string("RIFF....WAVEfmt ") + "odd", &sound);
  wire_varint(1, 2, &bins);
  wire_bytes(4, packed({0, 1, 2, 1, 3, 5}), &bins);
  append_value("img", 4, image, "", 1, &bytes);
  append_value("sound", 6, sound, "", 2, &bytes);
  append_value("weights", 5, histogram_message(0, 2, {1, 2}, {1, 3}), "", 3, &bytes);
  append_value("bins", 8, bins, "histograms", 4, &bytes);
  append_value("many", 8, texts_tensor({"4", "3", kPng, kPng + "!"}), "images", 5, &bytes);
  append_value("bmp", 4, "\x22\x02BM", "", 6, &bytes);  // a format that no reader opens
  write("events.out.tfevents.1.a", bytes);
  store_media_ = store_here;
  ASSERT_TRUE(import("tensorboard").ok());
  EXPECT_EQ(report_.runs.at(0).media, 6u);
  EXPECT_EQ(report_.left_out, (std::map<std::string, uint64_t>{{"images", 1}}));
  auto run = view();
  EXPECT_EQ(media_names(*run), (std::vector<std::string>{"bins", "img", "many", "sound", "weights"}));
  const auto rows = read_media(run.get(), "", false);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 6u);
  expect_bins(*rows->at(0).value.find("data"), {0, 1, 3}, {2, 5});
  EXPECT_EQ(rows->at(1).kind, "image");
  EXPECT_EQ(rows->at(1).step, 1);
  EXPECT_EQ(rows->at(1).time_us, 1'700'000'000'000'000);
  EXPECT_EQ(rows->at(1).value.int_or("width", 0), 4);
  EXPECT_TRUE(std::filesystem::exists(store_path() + "/runs/p/" + report_.runs[0].run.id + "/" + rows->at(1).file));
  EXPECT_EQ(rows->at(3).value.int_or("index", 0), 1);
  EXPECT_EQ(rows->at(4).value.int_or("sample_rate", 0), 8000);
  expect_bins(*rows->at(5).value.find("data"), {0, 1, 2}, {1, 3});

  ASSERT_TRUE(import("tensorboard").ok());
  EXPECT_FALSE(report_.runs.at(0).changed);
}

TEST_F(ImportTest, MediaThatFindNoRoomAreNamedAndTheRestIsTaken) {
  std::string image, bytes;
  wire_bytes(4, kPng, &image);
  append_value("img", 4, image, "", 1, &bytes);
  write("events.out.tfevents.1.a", bytes + scalars(0, 3));
  store_media_ = [](const std::string&, std::string_view, std::string_view) -> Result<Value> {
    return Status(Code::kLimit, "the disk is full");
  };
  ASSERT_TRUE(import("tensorboard").ok());
  EXPECT_EQ(report_.runs.at(0).points, 3u);
  ASSERT_EQ(report_.problems.size(), 1u);
  EXPECT_EQ(report_.left_out.at("images"), 1u);
}

}  // namespace
}  // namespace tracker::internal
