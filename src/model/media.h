// SPDX-License-Identifier: MIT
// Media: images, tables, histograms and the like, logged under a metric's name and step. Their bytes are files of the
// run, media/<2>/<sha256>.<extension>, named by their content; an event says what they are (docs/formats/records.md).
// Nothing that a client says becomes a part of a path but 64 hex digits and an extension of a fixed list. Threads: pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/value.h"

namespace tracker::internal {

constexpr const char* kMediaFolder = "media";
// Limit: bytes of a media file. Beyond it: counted as rejected.
constexpr uint64_t kMediaBytesMax = 1ull << 30;
// Limit: bytes of what an event says of a medium. Beyond it: dropped and counted.
constexpr size_t kMediaDescriptionBytesMax = 1024 * 1024;
// Limit: bytes of the word for a kind of media. Beyond it: counted as rejected.
constexpr size_t kMediaKindBytesMax = 32;

// "png", "wav", ...: those that a reader opens.
bool is_media_extension(std::string_view extension);
// 1..32 of a-z, 0-9 and _. kInvalid says so.
Status check_media_kind(std::string_view kind);
// "media/<2>/<digest>.<extension>", relative to the run's folder; empty for what is no digest or no known extension.
std::string media_file_name(std::string_view digest, std::string_view extension);
// Of an event (docs/formats/records.md).
std::string medium_payload(std::string_view key, uint64_t call, int64_t time_us, Value value);

}  // namespace tracker::internal
