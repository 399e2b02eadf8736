// SPDX-License-Identifier: MIT
// Files of the user as an artifact takes them: found, looked at, opened. Only regular files; a link within a folder
// counts as the file it leads to, as long as that lies in the folder. Nothing here waits for a pipe or a device.
// Threads: pure functions. Cost: system calls, one lstat a file.
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

// The regular file at `path`, which the user named: links are followed. kNotFound; kInvalid names what it is instead
// (a folder, a device, a pipe, a socket, a link to nothing, a loop of links).
Result<ListedFile> look_at_file(const std::string& path);
// All files below the folder, sorted. The same errors, naming the path; kInvalid also for a link that leads out of the
// folder or to a folder, for names that no manifest takes, and folders within each other beyond kFolderDepthMax;
// kLimit: too many files. Folders without files leave no trace. A store of ours below the folder is left out, and its
// path added to `stores`: the one that the files go to would hold itself, and change while it is read. kInvalid: the
// folder is one itself.
Result<FileList> list_files(const std::string& folder, std::vector<std::string>* stores = nullptr);
// These files below the folder, sorted, each once. The same errors; kInvalid also for a link, and for a path that no
// manifest takes.
Result<FileList> look_at_files(const std::string& folder, std::vector<std::string> paths);

// A file below `folder` ("" : `path` stands alone), opened for reading without following links out of the folder, and
// what it is now. kNotFound where it has gone, kInvalid where something else has taken its place.
struct OpenedFile {
  Fd fd;
  SourceStamp stamp;
};
Result<OpenedFile> open_source(const std::string& folder, const std::string& path);
// Its stamp alone, without opening it; for a link that of what it leads to is taken by open_source().
Result<SourceStamp> stamp_source(const std::string& folder, const std::string& path);

}  // namespace tracker::internal
