// SPDX-License-Identifier: MIT
// What git says of a folder, read from its files: no process is started, nothing is written, no lock is taken.
// Threads: any. Cost: a few small files; the dirty flag an lstat(2) an entry of the index, within its bounds.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "model/value.h"

namespace tracker::internal {

constexpr size_t kGitFoldersUp = 64;                          // looked at for a .git, from the folder upward
constexpr size_t kGitPackedRefsBytesMax = 16 * 1024 * 1024;   // of packed-refs
constexpr size_t kGitIndexBytesMax = 64 * 1024 * 1024;        // of the index
constexpr size_t kGitEntriesMax = 200'000;                    // files of the index that are looked at
constexpr size_t kGitFileBytesMax = 16 * 1024 * 1024;         // of a file that is read, as its times tell nothing
constexpr std::chrono::milliseconds kGitIndexTimeMax{5'000};  // for the comparison as a whole

// Without links, "." and "..", as the file system has it now; where that cannot be told, as absolute_path().
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

// Whether a tracked file differs from the index, or the index from the commit. nullopt: it cannot be told from these
// files within the bounds. `now`: the clock of the time that it has.
std::optional<bool> git_is_dirty(const GitFolder& where,
                                 std::chrono::steady_clock::time_point (*now)() = std::chrono::steady_clock::now);

}  // namespace tracker::internal
