// SPDX-License-Identifier: MIT
// An artifact in the making: which files, folders and references it will hold. Adding looks at sizes and times and
// returns; nothing is read before store_artifact() (artifact/artifact_store.h). Threads: one at a time. Cost: one lstat
// a file; memory about 30 bytes and the name for a file of a folder, 200 for one added by itself.
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

  // `path` in the artifact: as the file is called where it is empty; behind a "/" at its end the file's name is put.
  // kNotFound, kInvalid as of look_at_file(); kExists: something of that path is there already, or a file
  // where this has a folder, or a folder where this has a file.
  Status add_file(const std::string& file, std::string_view path = "", HoldBy by = HoldBy::kAuto);
  // All files below `folder`, under `path` ("": at the top), but not those of a store of ours below it, which is named
  // in stores_left_out(). The errors of list_files(); kExists. All or nothing.
  Status add_folder(const std::string& folder, std::string_view path = "", HoldBy by = HoldBy::kAuto);
  // These files below `folder` under the paths they have there; the errors of look_at_files(). For what others named:
  // when they are read nothing outside the folder is, whatever is a link by then. To an empty draft.
  Status add_files_below(const std::string& folder, const std::vector<std::string>& paths);
  // Something that stays where it is: nothing is read or fetched. Credentials in the URI are redacted.
  Status add_reference(std::string_view uri, std::string_view path, std::string_view checksum = "", uint64_t bytes = 0);
  // A file or reference, or with a "/" at the end all below it. kNotFound.
  Status remove(std::string_view path);
  bool contains(std::string_view path) const;

  const std::vector<std::string>& stores_left_out() const { return stores_left_out_; }
  // From here on what is added is held as it is then (artifact/held_files.h); what was added before, too, as it is now,
  // where nothing was held so far.
  void hold(std::shared_ptr<HeldFiles> files);
  // What is held is let go: the files are found by their names.
  void release_held();

  uint64_t files() const;  // references too
  uint64_t bytes() const;

  // One entry in order of paths: an entry of a manifest without a digest, and for a file where it is.
  struct Item {
    ManifestEntry entry;
    std::string folder;  // "": `source.path` stands alone
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
  // Something lies below `path`.
  bool has_below(std::string_view path) const;
  // kExists: something of that path, below it or above it is there already. The folders that end before byte `checked`
  // of the path are known to be none.
  Status check_free(std::string_view path, size_t checked = 0) const;

  std::vector<Folder> folders_;
  std::vector<std::string> stores_left_out_;
  std::map<std::string, Single, std::less<>> singles_;
  std::shared_ptr<HeldFiles> holding_;
};

}  // namespace tracker::internal
