// SPDX-License-Identifier: MIT
// Goal: no bytes in the table of digests crash a program or return a digest that was not put there: a digest that was
// put is found unchanged, or not at all. Method: the input is slots, some with the sum that a fuzzer cannot guess, for
// the groups of a few stamps, in a table that may be cut; then digests are put and searched for.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "artifact/digest_cache.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "scratch.h"

using namespace tracker::internal;

namespace {

constexpr size_t kSlotBytes = 64, kSumAt = 60, kGroupBytes = 4 * kSlotBytes;
constexpr size_t kTableBytes = kGroupBytes << kDigestCacheShiftMin;
constexpr uint64_t kStamps = 6;

SourceStamp stamp(uint64_t i) { return {1, i, 100 + i, 5, 6}; }

// docs/formats/artifact.md: the first half of the digest of the stamp.
std::array<char, 16> key(uint64_t i) {
  const SourceStamp of = stamp(i);
  ByteWriter bytes;
  for (const uint64_t part : {of.device, of.inode, of.bytes}) bytes.u64(part);
  bytes.i64(of.mtime_ns);
  bytes.i64(of.ctime_ns);
  const Digest digest = sha256(bytes.buffer());
  std::array<char, 16> out;
  std::memcpy(out.data(), digest.bytes.data(), out.size());
  return out;
}

std::string slot_of(ByteReader* in, std::set<std::string>* digests) {
  const uint8_t kind = in->u8();
  std::string slot(in->bytes(std::min<size_t>(kSlotBytes, in->remaining())));
  slot.resize(kSlotBytes, '\0');
  const auto own = key(kind / 4 % kStamps);
  if (kind % 2 == 0) slot.replace(0, own.size(), own.data(), own.size());
  if (kind % 4 < 3) {
    const uint32_t sum = crc32c(std::string_view(slot).substr(0, kSumAt));
    std::memcpy(slot.data() + kSumAt, &sum, sizeof sum);
  }
  digests->insert(slot.substr(16, 32));
  return slot;
}

void check(const std::optional<Digest>& found, const std::set<std::string>& digests) {
  if (!found) return;
  const std::string bytes(reinterpret_cast<const char*>(found->bytes.data()), found->bytes.size());
  if (digests.count(bytes) == 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scratch scratch;
  const std::string blobs = scratch.file("blobs");
  std::filesystem::remove_all(blobs);
  std::filesystem::create_directory(blobs);
  ByteReader in({reinterpret_cast<const char*>(data), size});
  std::string table(kTableBytes, '\0');
  std::set<std::string> digests;
  table.resize(kTableBytes - (in.u8() % 8 == 0 ? in.u16() : 0));
  while (in.ok() && !in.at_end()) {
    const uint8_t where = in.u8();
    uint64_t group = 0;
    const auto own = key(where % kStamps);
    std::memcpy(&group, own.data(), sizeof group);
    const size_t at = (group % (1 << kDigestCacheShiftMin)) * kGroupBytes + where / 64 * kSlotBytes;
    const std::string slot = slot_of(&in, &digests);
    if (at + slot.size() <= table.size()) table.replace(at, slot.size(), slot);
  }
  scratch.write("blobs/digests-10", table);
  DigestCache cache(scratch.path());
  for (uint64_t i = 0; i < kStamps; ++i) check(cache.find(stamp(i)), digests);
  for (uint64_t i = 0; i < kStamps; ++i) {
    const Digest digest = sha256(std::string(1, static_cast<char>('a' + i)));
    cache.put(stamp(i), digest);
    const auto found = cache.find(stamp(i)), again = DigestCache(scratch.path()).find(stamp(i));
    if ((found && found->bytes != digest.bytes) || (again && again->bytes != digest.bytes)) std::abort();
  }
  return 0;
}
