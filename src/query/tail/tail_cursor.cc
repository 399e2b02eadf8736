// SPDX-License-Identifier: MIT
#include "query/tail/tail_cursor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace tracker::internal {
namespace {

constexpr std::string_view kCursorPrefix = "t1.";
constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string to_base64url(std::string_view bytes) {
  std::string out;
  uint32_t bits = 0;
  int held = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(c);
    for (held += 8; held >= 6; held -= 6) out.push_back(kDigits[bits >> (held - 6) & 63]);
  }
  if (held > 0) out.push_back(kDigits[bits << (6 - held) & 63]);
  return out;
}

std::optional<std::string> from_base64url(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    held += 6;
    if (held >= 8) {
      held -= 8;
      out.push_back(static_cast<char>(bits >> held & 0xff));
    }
  }
  return out;
}

Id128 read_id(ByteReader* in) {
  Id128 id;
  const std::string_view bytes = in->bytes(id.bytes.size());
  if (bytes.size() == id.bytes.size()) std::memcpy(id.bytes.data(), bytes.data(), bytes.size());
  return id;
}

void read_writers(ByteReader* in, TailCursor* out) {
  const uint64_t writers = in->varint();
  for (uint64_t i = 0; i < writers && in->ok(); ++i) {
    LogPosition& at = out->writers[read_id(in)];
    at.seq = in->varint();
    at.points = in->varint();
  }
}

}  // namespace

std::string TailCursor::token() const {
  ByteWriter out;
  out.bytes(run.view());
  out.u64(selection);
  out.varint(writers.size());
  for (const auto& [id, at] : writers) {
    out.bytes(id.view());
    out.varint(at.seq);
    out.varint(at.points);
  }
  out.u32(crc32c(out.buffer()));
  return std::string(kCursorPrefix) + to_base64url(out.buffer());
}

Result<TailCursor> TailCursor::parse(std::string_view token) {
  const Status bad(Code::kInvalid, "not a cursor of tail(), or not a whole one");
  if (token.size() > kTailCursorBytesMax) return bad;
  if (token.size() > kCursorPrefix.size() && token[0] == 't' && token[1] > '1' && token[1] <= '9' && token[2] == '.')
    return Status(Code::kVersion, "a cursor of a newer version");
  if (token.substr(0, kCursorPrefix.size()) != kCursorPrefix) return bad;
  const auto bytes = from_base64url(token.substr(kCursorPrefix.size()));
  if (!bytes || bytes->size() < sizeof(uint32_t)) return bad;
  const std::string_view body(bytes->data(), bytes->size() - sizeof(uint32_t));
  uint32_t crc;
  std::memcpy(&crc, bytes->data() + body.size(), sizeof crc);
  if (crc != crc32c(body)) return bad;
  ByteReader in(body);
  TailCursor out;
  out.run = read_id(&in);
  out.selection = in.u64();
  read_writers(&in, &out);
  if (!in.ok() || !in.at_end()) return bad;
  return out;
}

}  // namespace tracker::internal
