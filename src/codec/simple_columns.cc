// SPDX-License-Identifier: MIT
#include "codec/simple_columns.h"

#include <algorithm>
#include <cstring>

namespace tracker::internal {
namespace {

constexpr size_t kVarintBytesMax = 10;

uint64_t zigzag(uint64_t v) { return (v << 1) ^ (0 - (v >> 63)); }

void append_word(uint64_t v, size_t width, std::string* out) { out->append(reinterpret_cast<const char*>(&v), width); }

template <typename Word>
void append_plain(std::span<const uint64_t> bits, std::string* out) {
  const size_t start = out->size();
  out->resize(start + bits.size() * sizeof(Word));
  char* at = out->data() + start;
  if constexpr (sizeof(Word) == 8) {
    if (!bits.empty()) std::memcpy(at, bits.data(), bits.size_bytes());
  } else {
    for (size_t i = 0; i < bits.size(); ++i) {
      const Word word = static_cast<Word>(bits[i]);
      std::memcpy(at + i * sizeof(Word), &word, sizeof word);
    }
  }
}

template <typename Word>
bool all_same(std::span<const uint64_t> bits) {
  return std::none_of(bits.begin(), bits.end(),
                      [&bits](uint64_t v) { return static_cast<Word>(v) != static_cast<Word>(bits.front()); });
}

template <typename Word>
void fill(const ColumnRows& c) {
  Word word;
  std::memcpy(&word, c.body.data(), sizeof word);
  std::fill_n(static_cast<Word*>(c.out), c.end - c.begin, word);
}

}  // namespace

bool encode_plain(std::span<const uint64_t> bits, ValueType type, std::string* out) {
  switch (value_width(type)) {
    case 1: append_plain<uint8_t>(bits, out); break;
    case 2: append_plain<uint16_t>(bits, out); break;
    case 4: append_plain<uint32_t>(bits, out); break;
    default: append_plain<uint64_t>(bits, out); break;
  }
  return true;
}

Status check_plain(std::string_view body, uint64_t rows, ValueType type) {
  return body.size() / value_width(type) == rows ? Status() : corrupt_column("wrong length", body.size());
}

Status decode_plain(const ColumnRows& c) {
  const size_t width = value_width(c.type);
  if (c.body.size() % width != 0 || c.body.size() / width != c.rows)
    return corrupt_column("wrong length", c.body.size());
  if (c.begin < c.end) std::memcpy(c.out, c.body.data() + c.begin * width, (c.end - c.begin) * width);
  return {};
}

bool encode_constant(std::span<const uint64_t> bits, ValueType type, std::string* out) {
  const size_t width = value_width(type);
  const bool same = !bits.empty() && (width == 1   ? all_same<uint8_t>(bits)
                                      : width == 2 ? all_same<uint16_t>(bits)
                                      : width == 4 ? all_same<uint32_t>(bits)
                                                   : all_same<uint64_t>(bits));
  if (same) append_word(bits.front(), width, out);
  return same;
}

Status decode_constant(const ColumnRows& c) {
  const size_t width = value_width(c.type);
  if (c.body.size() != width) return corrupt_column("a constant of the wrong size", 1);
  switch (width) {
    case 1: fill<uint8_t>(c); break;
    case 2: fill<uint16_t>(c); break;
    case 4: fill<uint32_t>(c); break;
    default: fill<uint64_t>(c); break;
  }
  return {};
}

bool is_arithmetic(std::span<const uint64_t> v) {
  if (v.size() < 3) return false;
  const uint64_t stride = v[1] - v[0];
  for (size_t i = 2; i < v.size(); ++i)
    if (v[i] - v[i - 1] != stride) return false;
  return true;
}

bool encode_arithmetic(std::span<const uint64_t> v, ValueType /*type*/, std::string* out) {
  if (!is_arithmetic(v)) return false;
  append_word(v[0], 8, out);
  append_word(v[1] - v[0], 8, out);
  return true;
}

Status decode_arithmetic(const ColumnRows& c) {
  if (c.body.size() != 16) return corrupt_column("a sequence of the wrong size", 1);
  uint64_t head[2];
  std::memcpy(head, c.body.data(), sizeof head);
  auto* const to = static_cast<uint64_t*>(c.out);
  const uint64_t rows = c.end - c.begin, first = head[0] + c.begin * head[1], stride = head[1];
  for (uint64_t i = 0; i < rows; ++i) to[i] = first + i * stride;
  return {};
}

bool encode_delta(std::span<const uint64_t> v, ValueType /*type*/, std::string* out) {
  const size_t start = out->size();
  const size_t limit = v.size() * 8;
  out->resize(start + limit + kVarintBytesMax);
  char* const first = out->data() + start;
  char* const last = first + limit;
  char* at = first;
  uint64_t before = 0;
  for (const uint64_t value : v) {
    uint64_t code = zigzag(value - before);
    before = value;
    for (; code >= 0x80; code >>= 7) *at++ = static_cast<char>(code | 0x80);
    *at++ = static_cast<char>(code);
    if (at >= last) return false;
  }
  out->resize(start + static_cast<size_t>(at - first));
  return true;
}

Status check_delta(std::string_view body, uint64_t rows, ValueType /*type*/) {
  return rows <= body.size() ? Status() : corrupt_column("fewer deltas than rows", body.size());
}

Status decode_delta(const ColumnRows& c) {
  TRACKER_RETURN_IF_ERROR(check_delta(c.body, c.rows, c.type));
  auto* const to = static_cast<uint64_t*>(c.out);
  const char* at = c.body.data();
  const char* const last = at + c.body.size();
  const auto offset = [&] { return 1 + static_cast<size_t>(at - c.body.data()); };
  uint64_t value = 0;
  for (uint64_t row = 0; row < c.rows; ++row) {
    uint64_t code = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at == last || shift > 63) return corrupt_column("a bad delta", offset());
      const auto byte = static_cast<uint8_t>(*at++);
      code |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    value += (code >> 1) ^ (0 - (code & 1));
    if (row >= c.begin && row < c.end) to[row - c.begin] = value;
  }
  return at == last ? Status() : corrupt_column("bytes after the last delta", offset());
}

}  // namespace tracker::internal
