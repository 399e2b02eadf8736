// SPDX-License-Identifier: MIT
// Packs numbers of one width: value i is in the bits [i * width, (i + 1) * width) of the bytes, lowest first. Threads:
// pure functions. Cost: unpacking about half a nanosecond a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tracker::internal {

constexpr size_t packed_bytes(uint64_t n, unsigned width) { return (n * width + 7) / 8; }

// Appends packed_bytes(values.size(), width) bytes; each value is below 2^width, width at most 64.
void pack_bits(std::span<const uint64_t> values, unsigned width, std::string* out);

// Reads n values of `width` bits, at most 32 for uint32_t and 64 for uint64_t. `readable`: how many bytes from `in` may
// be read, at least packed_bytes(n, width); with more, the last values are read faster.
void unpack_bits(const char* in, size_t readable, size_t n, unsigned width, uint32_t* out);
void unpack_bits(const char* in, size_t readable, size_t n, unsigned width, uint64_t* out);

}  // namespace tracker::internal
