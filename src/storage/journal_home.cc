// SPDX-License-Identifier: MIT
#include "storage/journal_home.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/fs.h"
#include "journal/place.h"
#include "storage/run_folder.h"

namespace tracker::internal {
namespace {

// A living process whose store was removed goes on in one that somebody made anew in its place, of another id: its
// database there says so.
bool went_on_in(const Store& store, const WriterIdentity& writer) {
  for (const RunFolder& run : store.list_runs(writer.run.project)) {
    if (run.identity.uid != writer.run.uid) continue;
    for (const std::string& path : run.writer_dbs())
      if (path.find(writer.writer.hex()) != std::string::npos) return true;
  }
  return false;
}

bool is_same_folder(const std::string& a, const std::string& b) {
  struct stat one{};
  struct stat other{};
  return a == b || (::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
                    one.st_ino == other.st_ino);
}

}  // namespace

bool is_of(const WriterIdentity& writer, const std::string& dir, const Store& store) {
  if (!writer.store.is_zero() && writer.store == store.id()) return original_of(writer, dir, store.path()).empty();
  return writer.store_path == store.path() && (writer.store.is_zero() || went_on_in(store, writer));
}

std::string original_of(const WriterIdentity& writer, const std::string& dir, const std::string& store_path) {
  if (writer.store.is_zero() || writer.store_path.empty()) return "";
  if (parent_path(dir) == store_journal_root(store_path) || is_same_folder(writer.store_path, store_path)) return "";
  const std::string document = join_path(writer.store_path, kStoreFile);
  struct stat st{};
  if (::stat(document.c_str(), &st) != 0 && (errno == ENOENT || errno == ENOTDIR)) return "";
  const auto id = read_store_document(document);
  return id.ok() && *id != writer.store ? "" : writer.store_path;
}

}  // namespace tracker::internal
