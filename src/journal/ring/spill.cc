// SPDX-License-Identifier: MIT
#include "journal/ring/spill.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "journal/ring/place.h"
#include "journal/ring/ring_reader.h"

namespace tracker::internal {
namespace {

constexpr uint32_t kSpillMagic = 0x31534a54;  // "TJS1"
constexpr size_t kSpillHead = 16;             // magic, body bytes, crc of nonce and body, zero

uint32_t body_crc(uint64_t nonce, std::string_view body) {
  return crc32c(body, crc32c({reinterpret_cast<const char*>(&nonce), sizeof nonce}));
}

}  // namespace

void SpillFile::move_to(const std::string& dir, uint64_t nonce) {
  path_ = dir.empty() ? "" : join_path(dir, "spill");
  nonce_ = nonce;
  fd_.reset();
  bytes_ = 0;
}

bool SpillFile::append(const FrameRecord& record, uint64_t limit_bytes) {
  if (path_.empty()) return false;
  ByteWriter body;
  body.u64(record.seq);
  body.u32(static_cast<uint32_t>(record.positions.size()));
  for (const RingPosition& position : record.positions) {
    body.u64(position.nonce);
    body.u64(position.position);
  }
  body.bytes(record.bytes);
  if (bytes_ + kSpillHead + body.size() > limit_bytes) return false;
  if (!fd_) {
    auto fd = open_file(path_, O_RDWR | O_CREAT | O_NOFOLLOW | O_APPEND, 0600);
    if (!fd.ok()) return false;
    fd_ = GuardedFd(std::move(*fd));
  }
  // A torn record that a failure left is cut off first: records after it would not be found.
  struct stat st;
  if (!regain() || ::fstat(fd_.get(), &st) != 0 ||
      (static_cast<uint64_t>(st.st_size) != bytes_ && ::ftruncate(fd_.get(), static_cast<off_t>(bytes_)) != 0))
    return false;
  ByteWriter out;
  out.u32(kSpillMagic);
  out.u32(static_cast<uint32_t>(body.size()));
  out.u32(body_crc(nonce_, body.buffer()));
  out.u32(0);
  out.bytes(body.buffer());
  if (!write_all(fd_.get(), out.buffer()).ok()) {
    (void)!::ftruncate(fd_.get(), static_cast<off_t>(bytes_));  // tmpfs is full; else done before the next one
    return false;
  }
  bytes_ += out.size();
  return true;
}

void SpillFile::clear() {
  if (fd_ && regain() && ::ftruncate(fd_.get(), 0) == 0) bytes_ = 0;
}

// The file that somebody closed is opened again: what is in it is in no ring any more.
bool SpillFile::regain() {
  if (fd_.is_ours()) return true;
  auto fd = open_file(path_, O_RDWR | O_NOFOLLOW | O_APPEND);
  if (!fd.ok()) return false;
  GuardedFd found(std::move(*fd));
  if (found.file() != fd_.file()) return false;
  fd_ = std::move(found);
  return true;
}

bool SpillFile::still_linked() {
  struct stat st;
  return !fd_ || (regain() && ::fstat(fd_.get(), &st) == 0 && st.st_nlink > 0);
}

void SpillFile::unlink_file() {
  if (!path_.empty()) remove_file(path_);
  fd_.reset();
  bytes_ = 0;
}

namespace {

std::string_view spill_magic() { return {reinterpret_cast<const char*>(&kSpillMagic), sizeof kSpillMagic}; }

// The record that `bytes` begin with, and in `size` what it takes; nothing where none verifies.
std::optional<FrameRecord> first_record(std::string_view bytes, uint64_t nonce, size_t* size) {
  ByteReader in(bytes);
  const uint32_t magic = in.u32();
  const uint32_t body_bytes = in.u32();
  const uint32_t crc = in.u32();
  in.u32();
  const std::string_view body = in.bytes(body_bytes);
  *size = kSpillHead + body.size();
  if (!in.ok() || magic != kSpillMagic || body_crc(nonce, body) != crc) return std::nullopt;
  ByteReader record(body);
  FrameRecord frame;
  frame.seq = record.u64();
  const uint32_t positions = record.u32();
  if (positions > record.remaining() / 16) return std::nullopt;
  for (uint32_t i = 0; i < positions; ++i) {
    RingPosition position;
    position.nonce = record.u64();
    position.position = record.u64();
    frame.positions.push_back(position);
  }
  frame.bytes = std::string(record.bytes(record.remaining()));
  if (!record.ok()) return std::nullopt;
  return frame;
}

// Where the next record that verifies begins, else the end.
size_t next_record(std::string_view bytes, size_t at, uint64_t nonce) {
  uint64_t checked = 0;
  for (at = bytes.find(spill_magic(), at); at != std::string_view::npos && checked < kResyncBytesMax;
       at = bytes.find(spill_magic(), at + 1)) {
    size_t size = 0;
    if (first_record(bytes.substr(at), nonce, &size)) return at;
    checked += size;
  }
  return bytes.size();
}

// That of the first record: the last byte of its magic.
int version_of(std::string_view bytes) {
  const std::string_view magic = spill_magic();
  if (bytes.size() < magic.size() || bytes.substr(0, magic.size() - 1) != magic.substr(0, magic.size() - 1))
    return kSpillVersion;
  const char digit = bytes[magic.size() - 1];
  return digit > '1' && digit <= '9' ? digit - '0' : kSpillVersion;
}

// The digit is in no CRC: a first record that verifies beside it is one of version 1 whose digit is damaged.
bool is_ours_with_another_digit(std::string_view bytes, uint64_t nonce) {
  ByteReader head(bytes);
  head.u32();
  const uint64_t body_bytes = head.u32();
  if (!head.ok()) return false;
  std::string record(bytes.substr(0, kSpillHead + body_bytes));
  record.replace(0, spill_magic().size(), spill_magic());
  size_t size = 0;
  return first_record(record, nonce, &size).has_value();
}

bool is_cut(std::string_view rest) {
  const std::string_view magic = spill_magic();
  if (rest.size() < kSpillHead) return rest.substr(0, magic.size()) == magic.substr(0, rest.size());
  ByteReader in(rest);
  return in.u32() == kSpillMagic && in.u32() > rest.size() - kSpillHead;
}

}  // namespace

SpillContents parse_spill(std::string_view bytes, uint64_t nonce) {
  SpillContents out;
  for (size_t at = 0; at < bytes.size();) {
    size_t size = 0;
    if (auto frame = first_record(bytes.substr(at), nonce, &size)) {
      out.frames.push_back(std::move(*frame));
      at += size;
      continue;
    }
    const size_t next = next_record(bytes, at + 1, nonce);
    if (next == bytes.size() && is_cut(bytes.substr(at))) break;
    if (out.problem.empty()) out.problem = fmt::format("does not verify from byte {} on", at);
    out.damaged_bytes += next - at;
    at = next;
  }
  if (out.damaged_bytes > 0) out.problem += fmt::format("; {} bytes are damaged", out.damaged_bytes);
  return out;
}

SpillContents read_spill(const std::string& dir, uint64_t nonce) {
  const std::string path = join_path(dir, "spill");
  struct stat st;
  if (::lstat(path.c_str(), &st) != 0 && errno == ENOENT) return {};
  SpillContents out;
  auto bytes = read_file(path, 2 * kSpillBytesMax);
  if (bytes.ok() && bytes->starts_with("TSP1")) {
    out.refused = Status(Code::kVersion, fmt::format("{} {}", path, kUnreleasedState));
    return out;
  }
  if (bytes.ok() && version_of(*bytes) > kSpillVersion && !is_ours_with_another_digit(*bytes, nonce)) {
    out.version = version_of(*bytes);
    return out;
  }
  if (bytes.ok()) out = parse_spill(*bytes, nonce);
  else if (may_be_read_later(bytes.status())) out.refused = bytes.status();
  else out.problem = "cannot be read: " + bytes.status().message();
  if (!out.problem.empty()) out.problem = path + ": " + out.problem;
  return out;
}

}  // namespace tracker::internal
