// SPDX-License-Identifier: MIT
#include <algorithm>

#include "exchange/bundle.h"
#include "model/media.h"
#include "storage/database/writer_parts.h"
#include "storage/store/attempt_claim.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

constexpr size_t kWriterDigits = 32, kMediumDigits = 64, kArtifactDigits = 6, kVersionDigits = 7, kMarkDigits = 2;
constexpr std::string_view kMediaPrefix = "media/";

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// <writer>.db, <writer>-2.db, <writer>.frames; <writer>.db-wal of a part that its writer has left.
bool is_writer_file(std::string_view name) {
  if (name.ends_with(".db-wal")) name.remove_suffix(4);
  return part_number(name) > 0 && is_hex(name.substr(0, kWriterDigits));
}

// media/<2>/<64 hex>.<ext>
bool is_medium(std::string_view name) {
  if (!name.starts_with(kMediaPrefix)) return false;
  name.remove_prefix(kMediaPrefix.size());
  if (name.size() < 3 + kMediumDigits + 2 || name[2] != '/') return false;
  const std::string_view digits = name.substr(3, kMediumDigits), extension = name.substr(3 + kMediumDigits);
  return is_hex(digits) && digits.substr(0, 2) == name.substr(0, 2) && extension[0] == '.' &&
         is_media_extension(extension.substr(1));
}

bool is_number(std::string_view text, size_t digits_max) {
  return !text.empty() && text.size() <= digits_max && (text == "0" || text[0] != '0') &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// artifacts/<n>.json, artifacts/<n>-v<k>.json, artifacts/<n>-mark-<i>.json
bool is_artifact_document(std::string_view name) {
  if (!name.starts_with(kBundleArtifacts) || !name.ends_with(".json")) return false;
  name = name.substr(kBundleArtifacts.size(), name.size() - kBundleArtifacts.size() - 5);
  const size_t rest = name.find('-');
  if (!is_number(name.substr(0, rest), kArtifactDigits)) return false;
  if (rest == std::string_view::npos) return true;
  name.remove_prefix(rest);
  if (name.starts_with("-v")) return is_number(name.substr(2), kVersionDigits);
  return name.starts_with(kBundleMark) && is_number(name.substr(kBundleMark.size()), kMarkDigits);
}

// blobs/<64 hex>
bool is_bundled_blob(std::string_view name) {
  return name.starts_with(kBundleBlobs) && name.size() == kBundleBlobs.size() + kMediumDigits &&
         is_hex(name.substr(kBundleBlobs.size()));
}

}  // namespace

bool is_bundle_name(std::string_view name) {
  if (name.size() > kBundleNameBytesMax) return false;
  if (is_artifact_document(name) || is_bundled_blob(name)) return true;
  return name == kRunFile || name == kUploadFile || claimed_attempt(name).has_value() || is_writer_file(name) ||
         is_medium(name);
}

}  // namespace tracker::internal
