// SPDX-License-Identifier: MIT
// Finds, inspects and opens files of the user for an artifact. Only regular files; a link within a folder counts as the
// file it leads to, if that is in the folder. Nothing here blocks on a pipe or a device. Threads: pure functions. Cost:
// system calls, one lstat a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifact/digest_cache.h"
#include "artifact/file_list.h"
#include "base/fs.h"
#include "base/status.h"

namespace tracker::internal {

// Limit: nesting of folders in an artifact. Beyond it: an error that names it.
constexpr int kFolderDepthMax = 256;

// The regular file at `path`, which the user named: links are followed. kNotFound; kInvalid names what it is instead (a
// folder, a device, a pipe, a socket, a link to nothing, a loop of links).
Result<ListedFile> look_at_file(const std::string& path);
// All files below the folder, sorted. The same errors, with the path; kInvalid also for a link that leads out of the
// folder or to a folder, for names that no manifest accepts, and for folders nested more than kFolderDepthMax deep;
// kLimit: too many files. Empty folders are omitted. A store of ours below the folder is omitted and its path added to
// `stores`: the target store would contain itself, and change while it is read. kInvalid: the folder is a store itself.
Result<FileList> list_files(const std::string& folder, std::vector<std::string>* stores = nullptr);
// These files below the folder, sorted, each once. The same errors; kInvalid also for a link, and for a path that no
// manifest accepts.
Result<FileList> look_at_files(const std::string& folder, std::vector<std::string> paths);

// A file below `folder` ("": `path` is complete), opened for reading without following links out of the folder, and its
// present stamp. kNotFound if it is gone, kInvalid if it is not a regular file any more.
struct OpenedFile {
  Fd fd;
  SourceStamp stamp;
};
Result<OpenedFile> open_source(const std::string& folder, const std::string& path);
// Only its stamp, without opening it; for a link, open_source() uses the stamp of its target.
Result<SourceStamp> stamp_source(const std::string& folder, const std::string& path);

}  // namespace tracker::internal
