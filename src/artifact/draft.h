// SPDX-License-Identifier: MIT
// An artifact that is being made: its files, folders and references. Adding reads sizes and times and returns; no
// content is read before store_artifact() (artifact/artifact_store.h). Threads: one at a time. Cost: one lstat a file;
// memory about 30 bytes and the name for a file of a folder, 200 for one added by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/file_list.h"
#include "artifact/held_files.h"
#include "artifact/manifest.h"
#include "base/status.h"
#include "model/value.h"

namespace tracker::internal {

// Limit: files and references of an artifact that are added one by one. Beyond it: an error.
constexpr size_t kDraftFilesMax = 100'000;

class ArtifactDraft {
 public:
  // kInvalid, kLimit: a bad name or type.
  static Result<ArtifactDraft> make(std::string_view name, std::string_view type);

  // `path` in the artifact: empty: the name of the file; if it ends with "/", the file's name is appended. kNotFound,
  // kInvalid as of inspect_file(); kExists: an entry of that path exists, or a file
  // where this needs a folder, or a folder where this is a file.
  Status add_file(const std::string& file, std::string_view path = "", HoldBy by = HoldBy::kAuto);
  // All files below `folder`, under `path` ("": at the top), except those of a store of ours, which is added to
  // stores_left_out(). The errors of list_files(); kExists. All or nothing.
  Status add_folder(const std::string& folder, std::string_view path = "", HoldBy by = HoldBy::kAuto);
  // Adds these files below `folder` under their paths in it; the errors of inspect_files(). For files that others have
  // named: nothing outside the folder is read, whatever is a link by then. For an empty draft.
  Status add_files_below(const std::string& folder, const std::vector<std::string>& paths);
  // An entry whose content stays where it is: nothing is read or fetched. Credentials in the URI are redacted.
  Status add_reference(std::string_view uri, std::string_view path, std::string_view checksum = "", uint64_t bytes = 0);
  // A file or reference, or for a path that ends with "/" everything below it. kNotFound.
  Status remove(std::string_view path);
  bool contains(std::string_view path) const;

  const std::vector<std::string>& stores_left_out() const { return stores_left_out_; }
  // From here on the content of added files is held as it is when they are added (artifact/held_files.h); files added
  // before are held as they are now, unless they are held.
  void hold(std::shared_ptr<HeldFiles> files);
  // Releases what is held: the files are opened by their names later.
  void release_held();

  uint64_t files() const;  // references too
  uint64_t bytes() const;

  // One entry in order of paths: an entry of a manifest without a digest, and the place of a file.
  struct Item {
    ManifestEntry entry;
    std::string folder;  // "": `source.path` is complete
    ListedFile source;
    std::shared_ptr<const HeldFile> held;  // may be null
  };
  Status visit(const std::function<Status(const Item&)>& visit) const;

  std::string name, type, description;
  Value metadata = Value::map();

 private:
  struct Folder {
    std::string source, prefix;  // prefix: "" or ends with "/"
    FileList files;
    std::map<std::string, std::shared_ptr<HeldFile>, std::less<>> held = {};  // by their paths below it
  };
  struct Single {
    ManifestEntry entry;  // without its path
    ListedFile source;
    std::shared_ptr<HeldFile> held;
  };
  void hold_folder(Folder* folder, HoldBy by);
  // Whether an entry is below `path`.
  bool has_below(std::string_view path) const;
  // kExists: there is an entry at that path, below it or above it. The folders that end before byte `checked` of the
  // path are known to be free.
  Status check_free(std::string_view path, size_t checked = 0) const;

  std::vector<Folder> folders_;
  std::vector<std::string> stores_left_out_;
  std::map<std::string, Single, std::less<>> singles_;
  std::shared_ptr<HeldFiles> holding_;
};

}  // namespace tracker::internal
