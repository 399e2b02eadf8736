// SPDX-License-Identifier: MIT
#include "codec/columns.h"

#include <algorithm>
#include <cstring>

namespace tracker::internal {
namespace {

constexpr size_t kVarintBytesMax = 10;

uint64_t zigzag(uint64_t v) { return (v << 1) ^ (0 - (v >> 63)); }

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

// A pointer to `rows` new values at the end of `out`.
template <typename T>
T* grow(std::vector<T>* out, uint64_t rows) {
  const size_t start = out->size();
  out->resize(start + rows);
  return out->data() + start;
}

template <typename Word>
void widen(const std::string& values, uint64_t* to) {
  for (size_t i = 0; i < values.size() / sizeof(Word); ++i) {
    Word word;
    std::memcpy(&word, values.data() + i * sizeof word, sizeof word);
    to[i] = word;
  }
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
  TRACKER_RETURN_IF_ERROR(check_length(column, rows, ValueType::kInt64));
  return decode_rows(column, rows, ValueType::kInt64, {0, rows}, grow(out, rows));
}

Status decode_value_column(std::string_view column, uint64_t rows, ValueType type, std::vector<uint64_t>* out) {
  TRACKER_RETURN_IF_ERROR(check_length(column, rows, type));
  const size_t width = value_width(type);
  uint64_t* const to = grow(out, rows);
  if (width == 8) return decode_rows(column, rows, type, {0, rows}, to);
  std::string values(rows * width, '\0');
  TRACKER_RETURN_IF_ERROR(decode_rows(column, rows, type, {0, rows}, values.data()));
  if (width == 4) widen<uint32_t>(values, to);
  if (width == 2) widen<uint16_t>(values, to);
  if (width == 1) widen<uint8_t>(values, to);
  return {};
}

}  // namespace tracker::internal
