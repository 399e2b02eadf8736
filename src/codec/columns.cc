// SPDX-License-Identifier: MIT
#include "codec/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tracker::internal {
namespace {

constexpr size_t kVarintBytesMax = 10;

uint64_t zigzag(uint64_t v) { return (v << 1) ^ (0 - (v >> 63)); }
uint64_t unzigzag(uint64_t v) { return (v >> 1) ^ (0 - (v & 1)); }

void put_word(uint64_t v, size_t width, std::string* out) { out->append(reinterpret_cast<const char*>(&v), width); }

void put_encoding(ColumnEncoding encoding, std::string* out) { out->push_back(static_cast<char>(encoding)); }

template <typename Word>
void put_plain(std::span<const uint64_t> bits, std::string* out) {
  put_encoding(ColumnEncoding::kPlain, out);
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
void encode_narrow(std::span<const uint64_t> bits, std::string* out) {
  const auto differs = [&bits](uint64_t v) { return static_cast<Word>(v) != static_cast<Word>(bits.front()); };
  if (bits.size() > 1 && std::none_of(bits.begin(), bits.end(), differs)) {
    put_encoding(ColumnEncoding::kConstant, out);
    return put_word(bits.front(), sizeof(Word), out);
  }
  put_plain<Word>(bits, out);
}

bool is_arithmetic(std::span<const uint64_t> v) {
  if (v.size() < 3) return false;
  const uint64_t stride = v[1] - v[0];
  for (size_t i = 2; i < v.size(); ++i)
    if (v[i] - v[i - 1] != stride) return false;
  return true;
}

// Deltas as varints, unless they would take more than the plain column: then `out` is left as it was.
bool put_delta(std::span<const uint64_t> v, std::string* out) {
  const size_t start = out->size();
  const size_t limit = v.size() * 8;
  out->resize(start + 1 + limit + kVarintBytesMax);
  char* const first = out->data() + start + 1;
  char* const last = first + limit;
  char* at = first;
  uint64_t before = 0;
  for (const uint64_t value : v) {
    uint64_t code = zigzag(value - before);
    before = value;
    for (; code >= 0x80; code >>= 7) *at++ = static_cast<char>(code | 0x80);
    *at++ = static_cast<char>(code);
    if (at >= last) {
      out->resize(start);
      return false;
    }
  }
  (*out)[start] = static_cast<char>(ColumnEncoding::kDelta);
  out->resize(start + 1 + static_cast<size_t>(at - first));
  return true;
}

void encode_words(std::span<const uint64_t> v, std::string* out) {
  const bool same = v.size() > 1 && std::all_of(v.begin(), v.end(), [&v](uint64_t x) { return x == v.front(); });
  if (same && v.size() < 8 && put_delta(v, out)) return;  // a few small equal numbers: shorter than 8 bytes
  if (same) {
    put_encoding(ColumnEncoding::kConstant, out);
    return put_word(v.front(), 8, out);
  }
  // Short sequences are often shorter as deltas than the 16 bytes of an arithmetic one.
  if (is_arithmetic(v)) {
    const size_t start = out->size();
    if (v.size() < 16 && put_delta(v, out)) {
      if (out->size() - start <= 17) return;
      out->resize(start);
    }
    put_encoding(ColumnEncoding::kArithmetic, out);
    put_word(v[0], 8, out);
    return put_word(v[1] - v[0], 8, out);
  }
  if (!put_delta(v, out)) put_plain<uint64_t>(v, out);
}

Status corrupt(std::string_view what, size_t offset) {
  return Status(Code::kCorrupt, fmt::format("column: {} at byte {}", what, offset));
}

// A pointer to `rows` new values at the end of `out`.
template <typename T>
T* grow(std::vector<T>* out, uint64_t rows) {
  const size_t start = out->size();
  out->resize(start + rows);
  return out->data() + start;
}

template <typename Word>
Status decode_narrow(ColumnEncoding encoding, std::string_view body, uint64_t rows, std::vector<uint64_t>* out) {
  if (encoding == ColumnEncoding::kConstant) {
    if (body.size() != sizeof(Word)) return corrupt("a constant of the wrong size", 1);
    Word word;
    std::memcpy(&word, body.data(), sizeof word);
    out->insert(out->end(), rows, word);
    return {};
  }
  if (encoding != ColumnEncoding::kPlain) return corrupt("an encoding this type does not have", 0);
  if (body.size() % sizeof(Word) != 0 || body.size() / sizeof(Word) != rows)
    return corrupt("wrong length", body.size());
  uint64_t* to = grow(out, rows);
  for (size_t i = 0; i < rows; ++i) {
    Word word;
    std::memcpy(&word, body.data() + i * sizeof word, sizeof word);
    to[i] = word;
  }
  return {};
}

template <typename T>
Status decode_delta(std::string_view body, uint64_t rows, std::vector<T>* out) {
  if (rows > body.size()) return corrupt("fewer deltas than rows", body.size());
  T* to = grow(out, rows);
  const char* at = body.data();
  const char* const end = at + body.size();
  uint64_t value = 0;
  for (uint64_t i = 0; i < rows; ++i) {
    uint64_t code = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at == end || shift > 63) return corrupt("a bad delta", 1 + static_cast<size_t>(at - body.data()));
      const auto byte = static_cast<uint8_t>(*at++);
      code |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    value += unzigzag(code);
    to[i] = static_cast<T>(value);
  }
  return at == end ? Status() : corrupt("bytes behind the last delta", 1 + static_cast<size_t>(at - body.data()));
}

template <typename T>
Status decode_words(ColumnEncoding encoding, std::string_view body, uint64_t rows, bool integers, std::vector<T>* out) {
  static_assert(sizeof(T) == 8);
  uint64_t head[2] = {0, 0};
  switch (encoding) {
    case ColumnEncoding::kPlain:
      if (body.size() % 8 != 0 || body.size() / 8 != rows) return corrupt("wrong length", body.size());
      if (rows > 0) std::memcpy(grow(out, rows), body.data(), body.size());
      return {};
    case ColumnEncoding::kConstant:
      if (body.size() != 8) return corrupt("a constant of the wrong size", 1);
      std::memcpy(head, body.data(), 8);
      out->insert(out->end(), rows, static_cast<T>(head[0]));
      return {};
    case ColumnEncoding::kArithmetic: {
      if (!integers) break;
      if (body.size() != 16) return corrupt("a sequence of the wrong size", 1);
      std::memcpy(head, body.data(), 16);
      T* to = grow(out, rows);
      for (uint64_t i = 0; i < rows; ++i) to[i] = static_cast<T>(head[0] + i * head[1]);
      return {};
    }
    case ColumnEncoding::kDelta:
      if (!integers) break;
      return decode_delta(body, rows, out);
  }
  return corrupt("an encoding this type does not have", 0);
}

Status split(std::string_view column, ColumnEncoding* encoding, std::string_view* body) {
  if (column.empty()) return corrupt("empty", 0);
  const auto byte = static_cast<uint8_t>(column.front());
  if (byte > 3) return Status(Code::kVersion, fmt::format("column encoding {} is of a newer version", byte));
  *encoding = static_cast<ColumnEncoding>(byte);
  *body = column.substr(1);
  return {};
}

}  // namespace

void encode_int_column(std::span<const int64_t> values, std::string* out) {
  // int64_t and uint64_t may alias each other.
  encode_words({reinterpret_cast<const uint64_t*>(values.data()), values.size()}, out);
}

void encode_value_column(std::span<const uint64_t> bits, ValueType type, std::string* out) {
  if (type == ValueType::kInt64) return encode_words(bits, out);
  switch (value_width(type)) {
    case 1: return encode_narrow<uint8_t>(bits, out);
    case 2: return encode_narrow<uint16_t>(bits, out);
    case 4: return encode_narrow<uint32_t>(bits, out);
    default: return encode_narrow<uint64_t>(bits, out);
  }
}

Status decode_int_column(std::string_view column, uint64_t rows, std::vector<int64_t>* out) {
  ColumnEncoding encoding{};
  std::string_view body;
  TRACKER_RETURN_IF_ERROR(split(column, &encoding, &body));
  return decode_words(encoding, body, rows, true, out);
}

Status decode_value_column(std::string_view column, uint64_t rows, ValueType type, std::vector<uint64_t>* out) {
  ColumnEncoding encoding{};
  std::string_view body;
  TRACKER_RETURN_IF_ERROR(split(column, &encoding, &body));
  switch (value_width(type)) {
    case 1: return decode_narrow<uint8_t>(encoding, body, rows, out);
    case 2: return decode_narrow<uint16_t>(encoding, body, rows, out);
    case 4: return decode_narrow<uint32_t>(encoding, body, rows, out);
    default: return decode_words(encoding, body, rows, type == ValueType::kInt64, out);
  }
}

}  // namespace tracker::internal
