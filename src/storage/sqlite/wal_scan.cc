// SPDX-License-Identifier: MIT
#include "storage/sqlite/wal_scan.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/fs.h"

namespace tracker::internal {
namespace {

constexpr size_t kWalHeaderBytes = 32, kWalFrameHeaderBytes = 24;
constexpr uint32_t kMagicLittle = 0x377f0682, kMagicBig = 0x377f0683;
constexpr uint32_t kPageBytesMax = 65'536;

uint32_t big_endian(const char* at) {
  uint32_t out = 0;
  for (int i = 0; i < 4; ++i) out = out << 8 | static_cast<uint8_t>(at[i]);
  return out;
}

uint32_t little_endian(const char* at) {
  uint32_t out = 0;
  for (int i = 3; i >= 0; --i) out = out << 8 | static_cast<uint8_t>(at[i]);
  return out;
}

struct WalSum {
  uint32_t first = 0, second = 0;
  bool operator==(const WalSum&) const = default;
};

// Continues both sums over `bytes`, a multiple of 8.
void add(const char* at, size_t bytes, bool big, WalSum* sum) {
  const auto word = big ? big_endian : little_endian;
  for (size_t i = 0; i < bytes; i += 8) {
    sum->first += word(at + i) + sum->second;
    sum->second += word(at + i + 4) + sum->first;
  }
}

bool read_at(const Fd& file, uint64_t at, std::string* to) {
  return ::pread(file.get(), to->data(), to->size(), static_cast<off_t>(at)) == static_cast<ssize_t>(to->size());
}

// The number of the frame of `bytes` bytes that contains the next data from frame `number` on: a hole of terabytes is
// not read.
uint64_t after_hole(const Fd& file, uint64_t number, size_t bytes) {
  const uint64_t at = kWalHeaderBytes + (number - 1) * bytes;
  const off_t data = ::lseek(file.get(), static_cast<off_t>(at), SEEK_DATA);
  // no data to the end; or the file system does not report holes
  if (data < 0) return errno == ENXIO ? INT64_MAX / bytes / 2 : number;
  return std::max(number, (static_cast<uint64_t>(data) - kWalHeaderBytes) / bytes + 1);
}

}  // namespace

WalScan scan_wal(const std::string& path) {
  WalScan out;
  auto file = open_file(path, O_RDONLY | O_NONBLOCK);
  std::string head(kWalHeaderBytes, '\0');
  if (!file.ok() || !read_at(*file, 0, &head)) return out;  // no WAL, or an empty one
  out.is_empty = false;
  const uint32_t magic = big_endian(head.data()), page = big_endian(head.data() + 8);
  const bool big = magic == kMagicBig;
  WalSum sum;
  add(head.data(), 24, big, &sum);
  out.has_bad_header = !((big || magic == kMagicLittle) && page >= 512 && page <= kPageBytesMax && page % 8 == 0 &&
                         sum == WalSum{big_endian(head.data() + 24), big_endian(head.data() + 28)});
  if (out.has_bad_header) return out;
  const std::string_view salts(head.data() + 16, 8);
  std::string frame(kWalFrameHeaderBytes + page, '\0');
  bool bad = false;
  for (uint64_t number = 1; read_at(*file, kWalHeaderBytes + (number - 1) * frame.size(), &frame); ++number) {
    // Frames of an earlier round have other salts: the log ends before them.
    const bool of_this_round = std::string_view(frame).substr(8, 8) == salts;
    if (!bad) {
      add(frame.data(), 8, big, &sum);
      add(frame.data() + kWalFrameHeaderBytes, page, big, &sum);
      const WalSum said{big_endian(frame.data() + 16), big_endian(frame.data() + 20)};
      bad = !of_this_round || sum != said;
      if (!bad) out.sound_pages = number;
    } else if (of_this_round && big_endian(frame.data() + 4) != 0) {
      ++out.commits_after;
    }
    if (bad && frame.find_first_not_of('\0') == std::string::npos)
      number = after_hole(*file, number + 1, frame.size()) - 1;
  }
  return out;
}

std::string WalScan::damage() const {
  if (has_bad_header) return "its header does not verify, so nothing of it is read";
  if (commits_after == 0) return "";
  return fmt::format("page {} of it does not verify, and after it are {} commits that SQLite does not read",
                     sound_pages + 1, commits_after);
}

}  // namespace tracker::internal
