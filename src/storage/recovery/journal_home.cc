// SPDX-License-Identifier: MIT
#include "storage/recovery/journal_home.h"

#include <sys/stat.h>

#include <cerrno>

#include <optional>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "journal/dead_journal.h"
#include "journal/place.h"
#include "storage/store/run_folder.h"
#include "storage/writer/store_files.h"
#include "storage/writer/writer_reader.h"

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

// A journal whose definitions do not say who wrote it, though they or its rings are there.
bool is_nameless(const Status& read, const std::string& dir) {
  return read.code() == Code::kCorrupt || (read.code() == Code::kNotFound && holds_log(dir));
}

// By the name of the folder, <writer> or damaged-<writer>.
std::optional<Id128> id_in_name(const std::string& dir) {
  constexpr std::string_view kKept = "damaged-";
  std::string_view name = std::string_view(dir).substr(dir.find_last_of('/') + 1);
  if (name.starts_with(kKept)) name.remove_prefix(kKept.size());
  return Id128::from_hex(name.substr(0, 32));
}

std::optional<WriterIdentity> writer_in(const std::string& run_path, const Id128& id) {
  const std::string database = join_path(run_path, id.hex() + ".db");
  for (const std::string& path : {database, frames_path_of(database)}) {
    if (!path_exists(path)) continue;
    const auto reader = WriterReader::open(path);
    if (reader.ok() && (*reader)->identity().writer == id) return (*reader)->identity();
  }
  return std::nullopt;
}

std::optional<WriterIdentity> writer_in(const Store& store, const Id128& id) {
  const std::string runs = join_path(store.path(), kRunsFolder);
  for (const std::string& project : list_dir(runs).value_or({}))
    for (const std::string& run : list_dir(join_path(runs, project)).value_or({}))
      if (auto found = writer_in(join_path(join_path(runs, project), run), id)) return found;
  return std::nullopt;
}

template <typename Place>
Result<WriterIdentity> writer_of(const std::string& dir, const Place& place) {
  auto writer = read_writer_identity(dir);
  if (writer.ok() || !is_nameless(writer.status(), dir)) return writer;
  const auto id = id_in_name(dir);
  if (auto found = id ? writer_in(place, *id) : std::nullopt) return std::move(*found);
  return Status(Code::kCorrupt, writer.status().message() + ", and no file of that writer is in the store",
                "its rings are kept where they are: a store that holds a database of this name recovers them");
}

}  // namespace

Result<WriterIdentity> writer_of_journal(const std::string& dir, const RunFolder& run) {
  return writer_of(dir, run.path);
}

Result<WriterIdentity> writer_of_journal(const std::string& dir, const Store& store) { return writer_of(dir, store); }

bool is_of(const WriterIdentity& writer, const std::string& dir, const Store& store) {
  if (!writer.store.is_zero() && writer.store == store.id()) return original_of(writer, dir, store.path()).empty();
  return writer.store_path == store.path() && (writer.store.is_zero() || went_on_in(store, writer));
}

std::optional<RunIdentity> run_in_journals(const Store& store, std::string_view project, std::string_view name) {
  const auto is_named = [&](const RunIdentity& run) {
    return (run.project == project && run.id == name) || run.project + "/" + run.id == name || run.uid.hex() == name;
  };
  std::optional<RunIdentity> newest;
  for (const std::string& root : journal_roots(store.path()))
    for (const std::string& folder : list_dir(root).value_or({})) {
      if (!Id128::from_hex(folder)) continue;
      const std::string dir = join_path(root, folder);
      const auto writer = read_writer_identity(dir);
      if (!writer.ok() || !is_named(writer->run) || !is_of(*writer, dir, store)) continue;
      if (!newest || writer->run.created_us > newest->created_us) newest = writer->run;
    }
  return newest;
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
