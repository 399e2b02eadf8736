// SPDX-License-Identifier: MIT
#include "storage/frames/frames_tail.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/fs.h"
#include "storage/frames/copy_beside.h"

namespace tracker::internal {
namespace {

constexpr size_t kAsideChunkBytes = 1u << 20;

// Of a record that does not verify, as far as its head can be believed: its end, or 0 where it is not in the file as a
// whole, or is no record.
Result<uint64_t> end_of_whole_record(FramesBytes& bytes, uint64_t at) {
  const uint64_t behind_head = at + kFramesHeadBytes;
  if (behind_head > bytes.size()) return uint64_t{0};
  auto head = bytes.view(at, kFramesHeadBytes);
  if (!head.ok()) return head.status();
  if (head->size() < kFramesHeadBytes) return uint64_t{0};  // it was cut meanwhile
  const bool has_magic = head->starts_with(kFramesRecordMagic);
  ByteReader in(head->substr(kFramesRecordMagic.size() + sizeof(uint32_t)));  // behind the kind
  const uint32_t body_bytes = in.u32(), body_crc = in.u32();
  const bool fits = body_bytes <= kFramesBodyBytesMax && behind_head + body_bytes <= bytes.size();
  if (fits && has_magic) return behind_head + body_bytes;
  // The head may be what was damaged: then the body is as its CRC says, up to the length there, or to the file's end.
  const uint64_t wanted = fits ? body_bytes : std::min<uint64_t>(bytes.size() - behind_head, kFramesBodyBytesMax + 1);
  if (wanted == 0 || wanted > kFramesBodyBytesMax) return uint64_t{0};
  auto body = bytes.view(behind_head, wanted);
  if (!body.ok()) return body.status();
  return body->size() == wanted && crc32c(*body) == body_crc ? behind_head + wanted : uint64_t{0};
}

// Whether all is zero that one sector of the file has of a record.
Result<bool> lacks_a_sector(FramesBytes& bytes, uint64_t from, uint64_t to) {
  for (uint64_t at = from; at < to;) {
    const uint64_t next = std::min(to, (at / kTornSectorBytes + 1) * kTornSectorBytes);
    auto part = bytes.view(at, next - at);
    if (!part.ok()) return part.status();
    if (part->find_first_not_of('\0') == std::string_view::npos) return true;
    at = next;
  }
  return false;
}

}  // namespace

// A process that dies leaves the begin of what it was appending: the record is not in the file as a whole. A machine
// that dies may leave the file as long as it was to be, with what had not reached the disk reading as zeros, sector by
// sector, and on some file systems as bytes of another file. A record of which all is there, sector by sector, and that
// does not verify all the same is neither: it was whole, and a bit of it has changed on the disk.
Result<FramesTail> judge_tail(FramesBytes& bytes, uint64_t end) {
  if (end >= bytes.size()) return FramesTail::kNone;
  auto record_end = end_of_whole_record(bytes, end);
  if (!record_end.ok()) return record_end.status();
  if (*record_end == 0) return FramesTail::kUnfinished;
  auto torn = lacks_a_sector(bytes, end, *record_end);
  if (!torn.ok()) return torn.status();
  return *torn ? FramesTail::kUnfinished : FramesTail::kDamaged;
}

std::string tail_damage_text(uint64_t size, uint64_t end) {
  return fmt::format("{} bytes at {} do not verify: its last record was whole, and was changed since", size - end, end);
}

Status keep_damaged_tail(const std::string& path, int fd, uint64_t size, uint64_t end) {
  FileBytes bytes(fd, size);
  auto tail = judge_tail(bytes, end);
  if (!tail.ok()) return tail.status();
  if (*tail != FramesTail::kDamaged) return {};
  uint32_t crc = 0;
  for (uint64_t at = end; at < size;) {
    auto part = bytes.view(at, kAsideChunkBytes);
    if (!part.ok()) return part.status();
    if (part->empty()) break;
    crc = crc32c(*part, crc);
    at += part->size();
  }
  const std::string aside = fmt::format("{}.damaged-{:08x}{:08x}", path, crc, static_cast<uint32_t>(size));
  return path_exists(aside) ? Status() : copy_beside(fd, size, path, aside);
}

}  // namespace tracker::internal
