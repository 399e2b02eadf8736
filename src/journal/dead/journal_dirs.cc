// SPDX-License-Identifier: MIT
// What lies in a folder of journals.
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/ids.h"
#include "journal/dead/dead_journal.h"
#include "journal/ring/owner_lock.h"

namespace tracker::internal {

std::vector<std::string> journal_dirs(const std::string& root) {
  std::vector<std::string> out;
  auto names = list_dir(root);
  if (!names.ok()) return out;
  for (const std::string& name : *names) {
    if (!Id128::from_hex(name)) continue;
    std::string dir = join_path(root, name);
    if (is_directory(dir) && !is_own_journal(dir)) out.push_back(std::move(dir));
  }
  return out;
}

bool holds_log(const std::string& dir) {
  const auto names = list_dir(dir);
  return names.ok() && std::any_of(names->begin(), names->end(), [](const std::string& name) {
           return name == "spill" || name.starts_with("ring-");
         });
}

std::vector<std::string> list_unborn_journals(const std::string& root) {
  std::vector<std::string> out;
  auto names = list_dir(root);
  if (!names.ok()) return out;
  for (const std::string& name : *names) {
    const std::string dir = join_path(root, name);
    struct stat st;
    const bool unborn = name.starts_with(".new-") || (Id128::from_hex(name) && !path_exists(join_path(dir, "defs")));
    if (!unborn || ::lstat(dir.c_str(), &st) != 0 || !S_ISDIR(st.st_mode) || ::time(nullptr) - st.st_mtime < 60)
      continue;
    if (!is_locked(dir).value_or(false) && !holds_log(dir)) out.push_back(dir);
  }
  return out;
}

}  // namespace tracker::internal
