// SPDX-License-Identifier: MIT
// Holds the content of files as it is when they are added to an artifact, because another thread reads it later. A file
// whose digest is known and stored needs nothing. Another one is cloned into a folder of the store if the file system
// shares blocks; else copied there while the new files of the artifact have at most kCopiedInCallBytesMax together;
// else held open: a rename or removal is harmless then, and an overwritten file is noticed when it is read. Threads:
// one at a time. Cost: an open(2) a file and the copy; two files of the staging folder.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "artifact/digest_cache.h"
#include "artifact/file_list.h"
#include "artifact/name_lease.h"
#include "artifact/source_files.h"
#include "base/guarded_fd.h"

namespace tracker::internal {

// Limit: bytes of new files of an artifact that the call copies. Beyond it: files are held open and copied later.
constexpr uint64_t kCopiedInCallBytesMax = 64ull << 20;  // of one artifact; clones do not count
// Limit: files that an artifact holds open. Beyond it: found by their names again.
constexpr uint64_t kHeldFilesMax = 1000;
// Limit: files that a process holds open for artifacts. Beyond it: found by their names again.
constexpr int kHeldOpenMax = 256;

// Makes a folder of the store for files that are written for one artifact. `held` is the lease on its name: `tracker
// gc` removes the folders of dead processes.
Result<std::string> make_staging(const std::string& store_path, std::shared_ptr<NameLease>* held);
// With the plain files in it; "": does nothing.
void remove_staging(const std::string& folder);

// How the content is held. kAuto as above; kCopy: a copy of any size; kOpen: no copy.
enum class HoldBy : uint8_t { kAuto, kCopy, kOpen };

// What is held of one file. At most one of the three.
struct HeldFile {
  ~HeldFile();
  // Opens the copy by its path, or the file by its descriptor; kNotFound if neither exists any more.
  Result<OpenedFile> open() const;
  bool is_copy() const { return !copy.empty(); }

  std::optional<Digest> known;    // the store had a blob with it
  std::string copy;               // in the staging folder
  GuardedFd file;                 // open
  std::shared_ptr<void> staging;  // the folder is removed with its last file
};

class HeldFiles {
 public:
  // `store_path` "": there is no store yet, and files are only held open. may_copy false: kAuto neither copies nor
  // clones.
  explicit HeldFiles(std::string store_path, bool may_copy = true)
      : store_path_(std::move(store_path)), may_copy_(may_copy) {}
  HeldFiles(const HeldFiles&) = delete;
  HeldFiles& operator=(const HeldFiles&) = delete;
  ~HeldFiles();

  // Holds the file below `folder` ("": its path is complete). nullptr: it is not held, also because it has changed
  // since it was listed.
  std::shared_ptr<HeldFile> hold(const std::string& folder, const ListedFile& file, HoldBy by);
  // Whether so many more files, with so many bytes that no blob has, would be copied by kAuto.
  bool has_room(uint64_t files, uint64_t bytes) const;
  bool is_stored(const SourceStamp& stamp) const { return known(stamp).has_value(); }

 private:
  std::optional<Digest> known(const SourceStamp& stamp) const;
  // Copies the opened file; false if it changes meanwhile or the disk has no space.
  bool copy(const OpenedFile& source, bool may_read, HeldFile* out);
  bool make_folder();

  const std::string store_path_;
  const bool may_copy_;
  std::unique_ptr<DigestCache> cache_;
  std::shared_ptr<void> staging_;
  std::string folder_;
  bool has_failed_ = false;  // no folder can be made
  uint64_t files_ = 0, copied_bytes_ = 0;
};

}  // namespace tracker::internal
