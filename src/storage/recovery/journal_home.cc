// SPDX-License-Identifier: MIT
#include "storage/recovery/journal_home.h"

#include <sys/stat.h>

#include <optional>
#include <string_view>

#include "base/fs.h"
#include "journal/dead/dead_journal.h"
#include "journal/ring/liveness.h"
#include "journal/ring/place.h"
#include "storage/store/run_folder.h"
#include "storage/writer/store_files.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

bool is_same_folder(const WriterIdentity& writer, const std::string& store_path) {
  struct stat st{};
  return writer.store_inode != 0 && ::stat(store_path.c_str(), &st) == 0 && st.st_dev == writer.store_device &&
         st.st_ino == writer.store_inode;
}

// Whether a journal of a dead process exists that was made when no store could be made there.
bool is_awaited(const std::string& store_path) {
  for (const std::string& root : journal_roots(store_path)) {
    if (!is_directory(root) || !check_private_dir(root).ok()) continue;
    for (const std::string& dir : journal_dirs(root)) {
      const auto writer = read_writer_identity(dir);
      if (writer.ok() && writer->store.is_zero() && writer->store_path == store_path &&
          probe_journal(*writer, dir) == Liveness::kDead)
        return true;
    }
  }
  return false;
}

// Whether the definitions of a journal do not name its writer, though the definitions or the rings exist.
bool is_nameless(const Status& read, const std::string& dir) {
  return read.code() == Code::kCorrupt || (read.code() == Code::kNotFound && holds_log(dir));
}

// From the name of the folder, <writer> or damaged-<writer>.
std::optional<Id128> id_in_name(const std::string& dir) {
  constexpr std::string_view kKept = "damaged-";
  std::string_view name = std::string_view(dir).substr(dir.find_last_of('/') + 1);
  if (name.starts_with(kKept)) name.remove_prefix(kKept.size());
  return Id128::from_hex(name.substr(0, 32));
}

std::optional<WriterIdentity> writer_in(const std::string& run_path, const Id128& id) {
  const auto reader = WriterReader::open(join_path(run_path, id.hex() + ".db"));
  if (!reader.ok() || (*reader)->identity().writer != id) return std::nullopt;
  return (*reader)->identity();
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

bool is_of(const WriterIdentity& writer, const Store& store) {
  const bool is_same_id = writer.store == store.id();
  if (writer.store_path != store.path()) return is_same_id && is_same_folder(writer, store.path());
  return is_same_id || writer.store.is_zero() || store.holds_writer(writer.run.project, writer.run.id, writer.writer);
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
      if (!writer.ok() || writer->run.uid.is_zero() || !is_named(writer->run) || !is_of(*writer, store)) continue;
      if (!newest || writer->run.created_us > newest->created_us) newest = writer->run;
    }
  return newest;
}

Result<Store> open_awaited_store(const std::string& path) {
  auto store = Store::open(path);
  if (store.status().code() != Code::kNotFound || !is_awaited(Store::resolve(path))) return store;
  return Store::open_or_create(path);
}

}  // namespace tracker::internal
