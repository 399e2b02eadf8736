// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "codec/columns.h"
#include "codec/shuffled.h"

namespace tracker::internal {
namespace {

Status corrupt(std::string_view what, size_t offset) {
  return Status(Code::kCorrupt, fmt::format("column: {} at byte {}", what, offset));
}

// A column of one of the encodings 0 to 3, cut to a range of rows.
struct Simple {
  std::string_view body;
  uint64_t rows;
  size_t width;
  uint64_t begin, end;
  char* out;

  Status plain() const {
    if (body.size() % width != 0 || body.size() / width != rows) return corrupt("wrong length", body.size());
    if (begin < end) std::memcpy(out, body.data() + begin * width, (end - begin) * width);
    return {};
  }
  Status constant() const {
    if (body.size() != width) return corrupt("a constant of the wrong size", 1);
    switch (width) {
      case 1: fill<uint8_t>(); break;
      case 2: fill<uint16_t>(); break;
      case 4: fill<uint32_t>(); break;
      default: fill<uint64_t>(); break;
    }
    return {};
  }
  Status arithmetic() const {
    if (body.size() != 16) return corrupt("a sequence of the wrong size", 1);
    uint64_t head[2];
    std::memcpy(head, body.data(), sizeof head);
    auto* const to = reinterpret_cast<uint64_t*>(out);
    for (uint64_t row = begin; row < end; ++row) to[row - begin] = head[0] + row * head[1];
    return {};
  }
  Status delta() const {
    if (rows > body.size()) return corrupt("fewer deltas than rows", body.size());
    auto* const to = reinterpret_cast<uint64_t*>(out);
    const char* at = body.data();
    const char* const last = at + body.size();
    uint64_t value = 0;
    for (uint64_t row = 0; row < rows; ++row) {
      uint64_t code = 0;
      for (unsigned shift = 0;; shift += 7) {
        if (at == last || shift > 63) return corrupt("a bad delta", 1 + static_cast<size_t>(at - body.data()));
        const auto byte = static_cast<uint8_t>(*at++);
        code |= static_cast<uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) break;
      }
      value += (code >> 1) ^ (0 - (code & 1));
      if (row >= begin && row < end) to[row - begin] = value;
    }
    return at == last ? Status() : corrupt("bytes behind the last delta", 1 + static_cast<size_t>(at - body.data()));
  }

  template <typename Word>
  void fill() const {
    Word word;
    std::memcpy(&word, body.data(), sizeof word);
    std::fill_n(reinterpret_cast<Word*>(out), end - begin, word);
  }
};

Status split_column(std::string_view column, ColumnEncoding* encoding, std::string_view* body) {
  if (column.empty()) return corrupt("empty", 0);
  const auto byte = static_cast<uint8_t>(column.front());
  if (byte > static_cast<uint8_t>(ColumnEncoding::kShuffled))
    return Status(Code::kVersion, fmt::format("column encoding {} is of a newer version", byte));
  *encoding = static_cast<ColumnEncoding>(byte);
  *body = column.substr(1);
  return {};
}

}  // namespace

Status check_length(std::string_view column, uint64_t rows, ValueType type) {
  ColumnEncoding encoding{};
  std::string_view body;
  TRACKER_RETURN_IF_ERROR(split_column(column, &encoding, &body));
  switch (encoding) {
    case ColumnEncoding::kPlain:
      if (body.size() / value_width(type) == rows) return {};
      return corrupt("wrong length", body.size());
    case ColumnEncoding::kDelta:
      if (rows <= body.size()) return {};
      return corrupt("fewer deltas than rows", body.size());
    case ColumnEncoding::kPacked:
    case ColumnEncoding::kPackedDeltas:
      if (rows / kMiniRows <= body.size()) return {};
      return corrupt("fewer mini-blocks than rows", body.size());
    default: return {};  // a few bytes stand for any number of rows
  }
}

bool decodes_by_parts(std::string_view column) {
  ColumnEncoding encoding{};
  std::string_view body;
  return split_column(column, &encoding, &body).ok() && encoding != ColumnEncoding::kDelta &&
         encoding != ColumnEncoding::kShuffled;
}

Status decode_rows(std::string_view column, uint64_t rows, ValueType type, RowRange range, void* out, bool checked) {
  ColumnEncoding encoding{};
  std::string_view body;
  TRACKER_RETURN_IF_ERROR(split_column(column, &encoding, &body));
  const uint64_t end = std::min(range.end, rows);
  const uint64_t begin = std::min(range.begin, end);
  const Simple simple{body, rows, value_width(type), begin, end, static_cast<char*>(out)};
  const bool integers = type == ValueType::kInt64;
  switch (encoding) {
    case ColumnEncoding::kPlain: return simple.plain();
    case ColumnEncoding::kConstant: return simple.constant();
    case ColumnEncoding::kArithmetic:
      if (integers) return simple.arithmetic();
      break;
    case ColumnEncoding::kDelta:
      if (integers) return simple.delta();
      break;
    case ColumnEncoding::kPacked: return decode_packed(body, rows, type, false, begin, end, out, checked);
    case ColumnEncoding::kPackedDeltas: return decode_packed(body, rows, type, true, begin, end, out, checked);
    case ColumnEncoding::kShuffled: return decode_shuffled(body, rows, value_width(type), begin, end, out);
  }
  return corrupt("an encoding this type does not have", 0);
}

}  // namespace tracker::internal
