// SPDX-License-Identifier: MIT
// What git says of a folder, read from its files: no process is started, nothing is written, no lock is taken.
// Threads: any. Cost: a few small files; the dirty flag an lstat(2) an entry of the index, within its bounds.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "model/value.h"

namespace tracker::internal {

// Limit: folders upward that are searched for .git. Beyond it: no repository.
constexpr size_t kGitFoldersUp = 64;
// Limit: bytes of git's packed refs. Beyond it: later refs are not found.
constexpr size_t kGitPackedRefsBytesMax = 16 * 1024 * 1024;
// Limit: bytes of git's index. Beyond it: `dirty` is "unknown".
constexpr size_t kGitIndexBytesMax = 64 * 1024 * 1024;
// Limit: files of git's index. Beyond it: `dirty` is "unknown".
constexpr size_t kGitEntriesMax = 200'000;
// Limit: bytes of a file that is read to compare it with git's index. Beyond it: `dirty` is "unknown".
constexpr size_t kGitFileBytesMax = 16 * 1024 * 1024;
// Limit: time to compare files with git's index. Beyond it: `dirty` is "unknown".
constexpr std::chrono::milliseconds kGitIndexTimeMax{5'000};

// Without links, "." and "..", as the file system has it now; where that is not known, as absolute_path().
std::string real_path(const std::string& path);

struct GitFolder {
  std::string work;    // the working tree
  std::string git;     // its .git folder, or that of a linked worktree
  std::string common;  // where refs and config are: the same but for a linked worktree
};
// The repository that `folder` lies in; nullopt: none, or a bare one. A .git file is followed.
std::optional<GitFolder> find_git(const std::string& folder);

// commit, branch (absent where HEAD is detached), remote (its credentials redacted), root: a few small files.
Value git_commit_facts(const GitFolder& where, uint64_t* redacted);

// These and dirty (true, false or "unknown"). Empty where `folder` is in no repository.
Value git_facts(const std::string& folder, uint64_t* redacted);

// The value of "dirty".
Value git_dirty_fact(const GitFolder& where);

// Whether a tracked file differs from the index, or the index from the commit. nullopt: these files do not show it
// within the bounds. `now`: the clock of the time that it has.
std::optional<bool> git_is_dirty(const GitFolder& where,
                                 std::chrono::steady_clock::time_point (*now)() = std::chrono::steady_clock::now);

}  // namespace tracker::internal
