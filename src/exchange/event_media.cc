// SPDX-License-Identifier: MIT
#include "exchange/event_media.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "exchange/wire.h"

namespace tracker::internal {
namespace {

constexpr double kWholeCounts = 0x1p53;
constexpr uint64_t kSideLimit = 1u << 20;  // of an image's sides; larger numbers are not trusted

bool is_riff(std::string_view bytes, std::string_view form) {
  return bytes.size() > 12 && bytes.starts_with("RIFF") && bytes.substr(8).starts_with(form);
}

std::string_view image_extension(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "png";
  if (bytes.starts_with("\xff\xd8\xff")) return "jpg";
  if (bytes.starts_with("GIF8")) return "gif";
  return is_riff(bytes, "WEBP") ? "webp" : "";
}

std::string_view audio_extension(std::string_view bytes) {
  if (is_riff(bytes, "WAVE")) return "wav";
  if (bytes.starts_with("fLaC")) return "flac";
  if (bytes.starts_with("OggS")) return "ogg";
  return bytes.starts_with("ID3") ? "mp3" : "";
}

void add_medium(Value said, std::string_view bytes, std::string_view extension, std::vector<EventMedium>* out) {
  if (!extension.empty()) out->push_back({std::move(said), bytes, extension});
}

Value count_of(double count) {
  const bool whole = count < kWholeCounts && count == std::trunc(count);
  return whole ? Value(static_cast<int64_t>(count)) : Value(count);
}

// Doubles of a repeated field, packed or not. Returns false if there are too many.
bool take_doubles(const WireField& field, std::vector<double>* out) {
  if (field.type == WireType::kFixed64) out->push_back(std::bit_cast<double>(field.value));
  for (size_t at = 0; field.type == WireType::kBytes && at + 8 <= field.bytes.size(); at += 8) {
    double one = 0;
    std::memcpy(&one, field.bytes.data() + at, 8);
    out->push_back(one);
    if (out->size() > 3 * kEventBinsMax) return false;
  }
  return out->size() <= 3 * kEventBinsMax;
}

// Our histograms have rising edges: bins without width are merged into their neighbours, a single value gets a bin
// around it.
bool add_histogram(const std::vector<double>& edges, const std::vector<double>& counts, Value said,
                   std::vector<EventMedium>* out) {
  const auto is_count = [](double count) { return std::isfinite(count) && count >= 0; };
  const auto is_edge = [](double edge) { return std::isfinite(edge); };
  if (counts.empty() || counts.size() > kEventBinsMax || edges.size() != counts.size() + 1 ||
      !std::all_of(counts.begin(), counts.end(), is_count) || !std::all_of(edges.begin(), edges.end(), is_edge))
    return false;
  std::vector<double> rising{edges[0]}, held;
  double waiting = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (edges[i + 1] > rising.back()) {
      rising.push_back(edges[i + 1]);
      held.push_back(counts[i] + std::exchange(waiting, 0.0));
    } else {
      (held.empty() ? waiting : held.back()) += counts[i];
    }
  }
  if (held.empty()) {
    constexpr double kFar = std::numeric_limits<double>::max();
    const double middle = edges[0];
    rising = {std::min(middle - 0.5, std::nextafter(middle, -kFar)),
              std::max(middle + 0.5, std::nextafter(middle, kFar))};
    held = {waiting};
  }
  Value::List count_list, edge_list;
  for (const double count : held) count_list.push_back(count_of(count));
  for (const double edge : rising) edge_list.emplace_back(edge);
  said.set("counts", Value(std::move(count_list)));
  said.set("edges", Value(std::move(edge_list)));
  out->push_back({Value::Map{{"kind", "histogram"}, {"data", std::move(said)}}, {}, {}});
  return true;
}

// HistogramProto{1 min, 2 max, 4 sum, 6 bucket_limit, 7 bucket}. Its outermost limits are those of a double: they are
// replaced by the smallest and the largest value, as TensorBoard does.
void read_histogram(std::string_view message, std::vector<EventMedium>* out) {
  WireReader reader(message);
  WireField field;
  double least = 0, largest = 0, sum = 0;
  std::vector<double> limits, counts;
  while (reader.next(&field)) {
    if (field.is(1, WireType::kFixed64)) least = std::bit_cast<double>(field.value);
    if (field.is(2, WireType::kFixed64)) largest = std::bit_cast<double>(field.value);
    if (field.is(4, WireType::kFixed64)) sum = std::bit_cast<double>(field.value);
    if (field.number == 6 && !take_doubles(field, &limits)) return;
    if (field.number == 7 && !take_doubles(field, &counts)) return;
  }
  if (!reader.ok() || limits.size() != counts.size()) return;
  const auto is_held = [](double count) { return count > 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), is_held);
  const auto last = std::find_if(counts.rbegin(), counts.rend(), is_held).base();
  if (first == counts.end()) return;
  std::vector<double> edges{least};
  edges.insert(edges.end(), limits.begin() + (first - counts.begin()), limits.begin() + (last - counts.begin()) - 1);
  edges.push_back(largest);
  Value said = Value::Map{{"min", least}, {"max", largest}};
  if (std::isfinite(sum)) said.set("sum", sum);
  (void)add_histogram(edges, {first, last}, std::move(said), out);
}

// A tensor of (left, right, count).
void read_histogram_tensor(std::string_view message, std::vector<EventMedium>* out) {
  constexpr uint64_t kTensorDouble = 2;
  WireReader reader(message);
  WireField field;
  std::vector<double> numbers;
  uint64_t dtype = 0;
  while (reader.next(&field)) {
    if (field.is(1, WireType::kVarint)) dtype = field.value;
    if ((field.is(4, WireType::kBytes) || field.number == 6) && !take_doubles(field, &numbers)) return;
  }
  if (!reader.ok() || dtype != kTensorDouble || numbers.empty() || numbers.size() % 3 != 0) return;
  std::vector<double> edges{numbers[0]}, counts;
  for (size_t i = 0; i < numbers.size(); i += 3) {
    edges.push_back(numbers[i + 1]);
    counts.push_back(numbers[i + 2]);
  }
  if (std::none_of(counts.begin(), counts.end(), [](double count) { return count > 0; })) return;
  (void)add_histogram(edges, counts, Value::map(), out);
}

// Summary.Image{1 height, 2 width, 4 encoded_image_string}
void read_image(std::string_view message, std::vector<EventMedium>* out) {
  WireReader reader(message);
  WireField field;
  Value said = Value::Map{{"kind", "image"}};
  std::string_view bytes;
  while (reader.next(&field)) {
    const bool is_size = field.type == WireType::kVarint && field.value <= kSideLimit;
    if (field.number == 1 && is_size) said.set("height", static_cast<int64_t>(field.value));
    if (field.number == 2 && is_size) said.set("width", static_cast<int64_t>(field.value));
    if (field.is(4, WireType::kBytes)) bytes = field.bytes;
  }
  if (reader.ok()) add_medium(std::move(said), bytes, image_extension(bytes), out);
}

// Summary.Audio{1 sample_rate, 2 num_channels, 3 length_frames, 4 encoded_audio_string}
void read_audio(std::string_view message, std::vector<EventMedium>* out) {
  WireReader reader(message);
  WireField field;
  Value said = Value::Map{{"kind", "audio"}};
  std::string_view bytes;
  while (reader.next(&field)) {
    const bool is_count = field.type == WireType::kVarint && field.value <= INT64_MAX;
    if (field.is(1, WireType::kFixed32)) {
      const auto rate = std::bit_cast<float>(static_cast<uint32_t>(field.value));
      if (rate >= 1 && rate <= 1e9f) said.set("sample_rate", static_cast<int64_t>(rate));
    }
    if (field.number == 2 && is_count) said.set("channels", static_cast<int64_t>(field.value));
    if (field.number == 3 && is_count) said.set("samples", static_cast<int64_t>(field.value));
    if (field.is(4, WireType::kBytes)) bytes = field.bytes;
  }
  if (reader.ok()) add_medium(std::move(said), bytes, audio_extension(bytes), out);
}

// The texts of a tensor, as many as the longest allowed list has.
std::vector<std::string_view> texts_of(std::string_view message) {
  constexpr size_t kTextsMax = 2 * kEventMediaMax + 2;
  WireReader reader(message);
  WireField field;
  std::vector<std::string_view> out;
  while (reader.next(&field) && out.size() < kTextsMax)
    if (field.is(8, WireType::kBytes)) out.push_back(field.bytes);
  return out;
}

int64_t size_in(std::string_view text) {
  uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out <= kSideLimit ? static_cast<int64_t>(out) : 0;
}

// Width, height, and images.
void read_image_tensor(std::string_view message, std::vector<EventMedium>* out) {
  const auto texts = texts_of(message);
  if (texts.size() < 3) return;
  const Value said = Value::Map{{"kind", "image"}, {"width", size_in(texts[0])}, {"height", size_in(texts[1])}};
  for (size_t i = 2; i < texts.size() && out->size() < kEventMediaMax; ++i)
    add_medium(said, texts[i], image_extension(texts[i]), out);
}

// Each sound, and a label.
void read_audio_tensor(std::string_view message, std::vector<EventMedium>* out) {
  const auto texts = texts_of(message);
  for (size_t i = 0; i < texts.size() && out->size() < kEventMediaMax; i += 2)
    add_medium(Value::Map{{"kind", "audio"}}, texts[i], audio_extension(texts[i]), out);
}

}  // namespace

std::vector<EventMedium> read_event_media(const EventValue& value, std::string_view plugin) {
  std::vector<EventMedium> out;
  const std::string_view kind = value.kind;
  if (kind == "images") read_image(value.message, &out);
  else if (kind == "histograms") read_histogram(value.message, &out);
  else if (kind == "audio") read_audio(value.message, &out);
  else if (kind == "tensors" && plugin == "images") read_image_tensor(value.message, &out);
  else if (kind == "tensors" && plugin == "histograms") read_histogram_tensor(value.message, &out);
  else if (kind == "tensors" && plugin == "audio") read_audio_tensor(value.message, &out);
  if (out.size() > 1)
    for (size_t i = 0; i < out.size(); ++i) out[i].said.set("index", static_cast<int64_t>(i));
  return out;
}

}  // namespace tracker::internal
