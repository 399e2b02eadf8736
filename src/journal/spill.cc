// SPDX-License-Identifier: MIT
#include "journal/spill.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "journal/place.h"

namespace tracker::internal {
namespace {

constexpr uint32_t kSpillMagic = 0x31505354;  // "TSP1"
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
    fd_ = LastingFd(std::move(*fd));
  }
  // What a failure left torn goes first, else the sound records behind it would not be found.
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
  LastingFd found(std::move(*fd));
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

std::vector<FrameRecord> parse_spill(std::string_view bytes, uint64_t nonce) {
  std::vector<FrameRecord> out;
  ByteReader in(bytes);
  while (!in.at_end()) {
    const uint32_t magic = in.u32();
    const uint32_t size = in.u32();
    const uint32_t crc = in.u32();
    in.u32();
    const std::string_view body = in.bytes(size);
    if (!in.ok() || magic != kSpillMagic || body_crc(nonce, body) != crc) break;
    ByteReader record(body);
    FrameRecord frame;
    frame.seq = record.u64();
    const uint32_t positions = record.u32();
    if (positions > record.remaining() / 16) break;
    for (uint32_t i = 0; i < positions; ++i) {
      RingPosition position;
      position.nonce = record.u64();
      position.position = record.u64();
      frame.positions.push_back(position);
    }
    frame.bytes = std::string(record.bytes(record.remaining()));
    if (!record.ok()) break;
    out.push_back(std::move(frame));
  }
  return out;
}

std::vector<FrameRecord> read_spill(const std::string& dir, uint64_t nonce) {
  auto bytes = read_file(join_path(dir, "spill"), 2 * kSpillBytesMax);
  return bytes.ok() ? parse_spill(*bytes, nonce) : std::vector<FrameRecord>();
}

}  // namespace tracker::internal
