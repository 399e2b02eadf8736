// SPDX-License-Identifier: MIT
#include "model/media.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tracker::internal {
namespace {

// On disk: names of files. Readers take no others.
constexpr std::array<std::string_view, 19> kExtensions = {"png", "jpg",  "gif", "webp", "svg", "wav",  "mp3",
                                                          "ogg", "flac", "mp4", "webm", "mov", "html", "md",
                                                          "txt", "json", "csv", "npy",  "bin"};
constexpr size_t kDigestDigits = 64;

}  // namespace

bool is_media_extension(std::string_view extension) {
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

Status check_media_kind(std::string_view kind) {
  const bool known = kind.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
  if (known && !kind.empty() && kind.size() <= kMediaKindBytesMax) return {};
  return Status(Code::kInvalid, fmt::format("the kind of a medium must be 1 to {} of a-z, 0-9 and _, such as \"image\"",
                                            kMediaKindBytesMax));
}

std::string media_file_name(std::string_view digest, std::string_view extension) {
  if (digest.size() != kDigestDigits || digest.find_first_not_of("0123456789abcdef") != std::string_view::npos)
    return "";
  if (!is_media_extension(extension)) return "";
  return fmt::format("{}/{}/{}.{}", kMediaFolder, digest.substr(0, 2), digest, extension);
}

std::string medium_payload(std::string_view key, uint64_t call, int64_t time_us, Value value) {
  return encode_cbor(Value::Map{{"key", std::string(key)},
                                {"call", static_cast<int64_t>(call)},
                                {"time_us", time_us},
                                {"value", std::move(value)}});
}

}  // namespace tracker::internal
