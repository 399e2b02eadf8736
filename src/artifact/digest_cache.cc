// SPDX-License-Identifier: MIT
#include "artifact/digest_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "artifact/blob_store.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/ids.h"

namespace tracker::internal {
namespace {

// docs/formats/artifact.md.
struct Slot {
  std::array<uint8_t, 16> key;  // the first half of the stamp's SHA-256; its first 8 bytes select the group
  std::array<uint8_t, 32> digest;
  uint32_t reserved[3];
  uint32_t crc;  // CRC-32C of the 60 bytes before it
};
static_assert(sizeof(Slot) == 64);
constexpr size_t kSlotsAGroup = 4;
using Group = std::array<Slot, kSlotsAGroup>;

bool is_whole(const Slot& slot) {
  return slot.crc == crc32c({reinterpret_cast<const char*>(&slot), offsetof(Slot, crc)});
}

// A group that was never written is zeros, whose CRC is not zero.
bool is_free(const Slot& slot) { return !is_whole(slot); }

std::array<uint8_t, 16> key_of(const SourceStamp& stamp) {
  ByteWriter out;
  for (const uint64_t part : {stamp.device, stamp.inode, stamp.bytes}) out.u64(part);
  out.i64(stamp.mtime_ns);
  out.i64(stamp.ctime_ns);
  const Digest digest = sha256(out.buffer());
  std::array<uint8_t, 16> key;
  std::memcpy(key.data(), digest.bytes.data(), key.size());
  return key;
}

off_t group_at(const std::array<uint8_t, 16>& key, int shift) {
  uint64_t hash;
  std::memcpy(&hash, key.data(), sizeof hash);
  return static_cast<off_t>((hash & ((uint64_t{1} << shift) - 1)) * sizeof(Group));
}

Group read_group(int fd, off_t at) {
  Group out{};
  if (::pread(fd, out.data(), sizeof out, at) != static_cast<ssize_t>(sizeof out)) return Group{};
  return out;
}

std::string table_path(const std::string& folder, int shift) {
  return join_path(folder, fmt::format("digests-{}", shift));
}

bool write_slot(int fd, off_t group, size_t index, const Slot& slot) {
  return ::pwrite(fd, &slot, sizeof slot, group + static_cast<off_t>(index * sizeof(Slot))) ==
         static_cast<ssize_t>(sizeof slot);
}

}  // namespace

SourceStamp SourceStamp::of(const struct stat& st) {
  const auto ns = [](const timespec& t) { return t.tv_sec * 1'000'000'000LL + t.tv_nsec; };
  return {st.st_dev, st.st_ino, static_cast<uint64_t>(st.st_size), ns(st.st_mtim), ns(st.st_ctim)};
}

DigestCache::DigestCache(const std::string& store_path, int shift_max)
    : folder_(join_path(store_path, kBlobsFolder)), shift_max_(shift_max) {
  for (int shift = shift_max_; shift >= kDigestCacheShiftMin && !fd_; shift -= 2) {
    auto fd = open_file(table_path(folder_, shift), O_RDWR | O_NOFOLLOW);
    if (!fd.ok()) continue;
    fd_ = std::move(*fd);
    shift_ = shift;
  }
}

std::optional<Digest> DigestCache::find(const SourceStamp& stamp) const {
  if (!fd_) return std::nullopt;
  const auto key = key_of(stamp);
  for (const Slot& slot : read_group(fd_.get(), group_at(key, shift_)))
    if (slot.key == key && is_whole(slot)) return Digest{slot.digest};
  return std::nullopt;
}

void DigestCache::put(const SourceStamp& stamp, const Digest& digest) {
  if (!fd_ && !grow()) return;
  Slot slot{key_of(stamp), digest.bytes, {}, 0};
  slot.crc = crc32c({reinterpret_cast<const char*>(&slot), offsetof(Slot, crc)});
  for (;;) {
    const off_t at = group_at(slot.key, shift_);
    const Group group = read_group(fd_.get(), at);
    for (size_t i = 0; i < kSlotsAGroup; ++i)
      if (is_free(group[i]) || group[i].key == slot.key) return (void)write_slot(fd_.get(), at, i, slot);
    if (grow()) continue;
    return (void)write_slot(fd_.get(), at, slot.key[15] % kSlotsAGroup, slot);
  }
}

void DigestCache::forget(const Digest& digest) {
  for (uint64_t i = 0; fd_ && i < uint64_t{1} << shift_; ++i) {
    const off_t at = static_cast<off_t>(i * sizeof(Group));
    const Group group = read_group(fd_.get(), at);
    for (size_t slot = 0; slot < kSlotsAGroup; ++slot)
      if (is_whole(group[slot]) && group[slot].digest == digest.bytes) (void)write_slot(fd_.get(), at, slot, Slot{});
  }
}

// Replaces the table by one four times as large. Digests that another process adds to the old one meanwhile are lost
// and computed again.
bool DigestCache::grow() {
  const int shift = shift_ == 0 ? kDigestCacheShiftMin : shift_ + 2;
  if (shift > shift_max_ || !make_dirs(folder_).ok()) return false;
  const std::string path = table_path(folder_, shift), temporary = fmt::format("{}.tmp-{:016x}", path, random_u64());
  auto fd = open_file(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, is_shared_folder(folder_) ? 0660 : 0600);
  if (!fd.ok()) return false;
  bool whole = ::ftruncate(fd->get(), static_cast<off_t>(sizeof(Group)) << shift) == 0;
  for (uint64_t i = 0; whole && fd_ && i < uint64_t{1} << shift_; ++i)
    for (const Slot& slot : read_group(fd_.get(), static_cast<off_t>(i * sizeof(Group)))) {
      if (is_free(slot)) continue;
      const off_t at = group_at(slot.key, shift);
      const Group group = read_group(fd->get(), at);
      size_t place = 0;
      while (place < kSlotsAGroup - 1 && !is_free(group[place])) ++place;
      whole = whole && write_slot(fd->get(), at, place, slot);
    }
  if (!whole || ::rename(temporary.c_str(), path.c_str()) != 0) {
    remove_file(temporary);
    return false;
  }
  if (shift_ != 0) remove_file(table_path(folder_, shift_));
  fd_ = std::move(*fd);
  shift_ = shift;
  return true;
}

}  // namespace tracker::internal
