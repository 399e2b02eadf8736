// SPDX-License-Identifier: MIT
#include "storage/database/writer_paths.h"

#include "base/fs.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {
namespace {

constexpr std::string_view kFramesSuffix = ".frames";
constexpr std::string_view kDbSuffix = ".db";

}  // namespace

std::string frames_path_of(const std::string& db_path) {
  return db_path.substr(0, db_path.size() - kDbSuffix.size()) + std::string(kFramesSuffix);
}

std::string db_path_of(const std::string& frames_path) {
  return frames_path.substr(0, frames_path.size() - kFramesSuffix.size()) + std::string(kDbSuffix);
}

bool is_frames_path(std::string_view path) { return path.ends_with(kFramesSuffix); }

bool is_whole_database(const std::string& path) {
  const auto size = database_size(path);
  return size && !size->is_cut();
}

std::string store_path_of(const std::string& run_path) { return parent_path(parent_path(parent_path(run_path))); }

}  // namespace tracker::internal
