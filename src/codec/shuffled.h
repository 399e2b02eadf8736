// SPDX-License-Identifier: MIT
// Column encoding 6 (docs/formats/segment.md): the bytes of the plain column, the first byte of each value, then the
// second bytes, and so on; then one zstd frame. For values that repeat without being close together. Threads: pure
// functions. Cost: some hundred MB a second to encode, about a GB to decode.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tracker::internal {

// Appends the body, which follows the encoding byte. `width`: bytes of a value, its raw bits in the low ones.
void encode_shuffled(std::span<const uint64_t> bits, size_t width, std::string* out);

// The rows [begin, end), `width` bytes each; begin <= end <= rows. Takes rows x width bytes of memory, and decodes all
// rows for any range. kCorrupt.
Status decode_shuffled(std::string_view body, uint64_t rows, size_t width, uint64_t begin, uint64_t end, void* out);

// zstd of any bytes; decompress() fails with kCorrupt if the result does not have exactly `size` bytes.
void compress(std::string_view bytes, std::string* out);
Status decompress(std::string_view bytes, size_t size, std::string* out);
const char* zstd_version();  // of the loaded library, "1.5.4"

}  // namespace tracker::internal
