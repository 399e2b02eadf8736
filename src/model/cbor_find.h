// SPDX-License-Identifier: MIT
// One entry of an encoded document without decoding the rest: a filter over 100,000 runs reads one key of each.
// Threads: pure functions. Cost: one pass over the bytes up to the entry; nothing is allocated.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tracker::internal {

// The bytes of the value under `key` in the map that `cbor` is; none when it is no map, has no such key, or is damaged
// before it.
std::optional<std::string_view> cbor_entry(std::string_view cbor, std::string_view key);
// The same by a path through nested maps: the key as it is first, then its parts between slashes.
std::optional<std::string_view> cbor_path(std::string_view cbor, std::string_view path);
// Element `index` of the list that `cbor` is.
std::optional<std::string_view> cbor_element(std::string_view cbor, size_t index);

}  // namespace tracker::internal
