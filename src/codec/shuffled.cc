// SPDX-License-Identifier: MIT
#include "codec/shuffled.h"

#include <fmt/format.h>
#include <zstd.h>

#include <cstring>

namespace tracker::internal {
namespace {

constexpr int kLevel = 1;  // higher levels gain a few per mille here and cost several times as much

template <size_t kWidth>
void unshuffle(const char* planes, uint64_t rows, uint64_t begin, uint64_t end, char* out) {
  for (uint64_t row = begin; row < end; ++row, out += kWidth)
    for (size_t byte = 0; byte < kWidth; ++byte) out[byte] = planes[byte * rows + row];
}

}  // namespace

const char* zstd_version() { return ZSTD_versionString(); }

void compress(std::string_view bytes, std::string* out) {
  const size_t start = out->size();
  out->resize(start + ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compress(out->data() + start, out->size() - start, bytes.data(), bytes.size(), kLevel);
  out->resize(start + size);  // With room for the bound, only memory can be missing.
}

Status decompress(std::string_view bytes, size_t size, std::string* out) {
  const unsigned long long claimed = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (claimed != size) return Status(Code::kCorrupt, "zstd frame of another size at byte 0");
  out->resize(size);
  const size_t got = ZSTD_decompress(out->data(), size, bytes.data(), bytes.size());
  if (ZSTD_isError(got) != 0)
    return Status(Code::kCorrupt, fmt::format("zstd frame at byte 0: {}", ZSTD_getErrorName(got)));
  return got == size ? Status() : Status(Code::kCorrupt, "zstd frame of another size at byte 0");
}

void encode_shuffled(std::span<const uint64_t> bits, size_t width, std::string* out) {
  std::string planes(bits.size() * width, '\0');
  for (size_t byte = 0; byte < width; ++byte)
    for (size_t row = 0; row < bits.size(); ++row)
      planes[byte * bits.size() + row] = static_cast<char>(bits[row] >> (8 * byte));
  compress(planes, out);
}

Status decode_shuffled(std::string_view body, uint64_t rows, size_t width, uint64_t begin, uint64_t end, void* out) {
  std::string planes;
  TRACKER_RETURN_IF_ERROR(decompress(body, rows * width, &planes));
  char* const to = static_cast<char*>(out);
  switch (width) {
    case 1: unshuffle<1>(planes.data(), rows, begin, end, to); break;
    case 2: unshuffle<2>(planes.data(), rows, begin, end, to); break;
    case 4: unshuffle<4>(planes.data(), rows, begin, end, to); break;
    default: unshuffle<8>(planes.data(), rows, begin, end, to); break;
  }
  return {};
}

}  // namespace tracker::internal
