// SPDX-License-Identifier: MIT
// Which files are the source of a program: those of its folder, or of the repository that the folder lies in, that no
// rule leaves out. Rules: our own (environments, caches, what other tools write), then each .gitignore and
// .trackerignore, which may take back ours. Never taken whatever they say: .git, environments, the store, links, what
// is no regular file, and files whose names are those of keys and passwords. Threads: any but one that trains. Cost: an
// lstat(2) a file; nothing is opened but the files of rules.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tracker::internal {

// Limit: capture="source": files. Beyond it: left out and counted.
constexpr size_t kSourceFilesMax = 5'000;
// Limit: capture="source": bytes of a file. Beyond it: left out and counted.
constexpr uint64_t kSourceFileBytesMax = 1024 * 1024;
// Limit: capture="source": bytes of all files. Beyond it: left out and counted.
constexpr uint64_t kSourceBytesMax = 32 * 1024 * 1024;
// Limit: capture="source": entries of folders that are read. Beyond it: left out and counted.
constexpr size_t kSourceEntriesMax = 100'000;
// Limit: capture="source": nesting of folders. Beyond it: left out and counted.
constexpr size_t kSourceDepthMax = 32;
// Limit: capture="source": time to list the files, and to copy them. Beyond it: left out and counted.
constexpr std::chrono::milliseconds kSourceTimeMax{10'000};

struct SourceFile {
  std::string path;  // below the root
  uint64_t bytes = 0;
};

// What is left out, by why. A folder counts as one.
struct SourceLeftOut {
  uint64_t ignored = 0;     // by a rule
  uint64_t secret = 0;      // by its name
  uint64_t large = 0;       // above kSourceFileBytesMax
  uint64_t beyond = 0;      // of the bounds above, as far as they were seen
  uint64_t no_text = 0;     // counted by who reads them
  uint64_t unreadable = 0;  // likewise, and folders that cannot be listed
  uint64_t special = 0;     // links, devices, pipes, names that are no UTF-8
};

struct SourceList {
  std::string root;
  std::vector<SourceFile> files;  // folder by folder, from the root down
  uint64_t bytes = 0;
  SourceLeftOut left_out;
  bool cut = false;  // a bound ended the search: how many further files there are is not known
};

// A file that holds a key or a password, by its name alone: .env, id_rsa, *.pem, .netrc and their like.
bool is_secret_file(std::string_view name);
// The repository that `folder` lies in, else the folder. "": that is "/" or a home, which is not copied.
std::string source_root(const std::string& folder);
// `leave`: a folder that is never a part of it (the store). `go_on` false ends it early.
SourceList list_source(const std::string& root, const std::string& leave, const std::function<bool()>& go_on);

}  // namespace tracker::internal
