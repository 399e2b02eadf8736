// SPDX-License-Identifier: MIT
#include "monitor/source/git.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/fs.h"
#include "model/redact/redact.h"
#include "monitor/host/text_files.h"
#include "monitor/host/utf8_text.h"

namespace tracker::internal {
namespace {

// Limit: symbolic refs of git that name one another. Beyond it: no commit.
constexpr int kRefDepthMax = 5;

std::string path_from(const std::string& base, std::string_view path) {
  return path.starts_with("/") ? std::string(path) : join_path(base, path);
}

bool is_object_name(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && std::all_of(text.begin(), text.end(), [](char c) {
           return std::isxdigit(static_cast<unsigned char>(c)) != 0;
         });
}

// Names of refs come from files of the repository: they lead to no file outside it.
bool is_ref_name(std::string_view name) {
  return name.starts_with("refs/") && name.find("..") == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

std::string packed_ref(const GitFolder& where, std::string_view name) {
  const std::string text = lines_of_file(join_path(where.common, "packed-refs"), kGitPackedRefsBytesMax);
  for (const std::string_view line : lines_of(text)) {
    const size_t blank = line.find(' ');
    if (blank != std::string_view::npos && trimmed(line.substr(blank)) == name && is_object_name(line.substr(0, blank)))
      return std::string(line.substr(0, blank));
  }
  return "";
}

// The commit that `name` stands for, "" where that is not known (an unborn branch, a reftable).
std::string resolve_ref(const GitFolder& where, std::string name) {
  for (int depth = 0; depth < kRefDepthMax && is_ref_name(name); ++depth) {
    std::string text = text_of_file(join_path(where.git, name));
    if (text.empty()) text = text_of_file(join_path(where.common, name));
    const std::string_view found = trimmed(text);
    if (is_object_name(found)) return std::string(found);
    if (!found.starts_with("ref:")) return packed_ref(where, name);
    name = trimmed(found.substr(4));
  }
  return "";
}

// url of the remote "origin", else of the first one. Files that the config includes are not read.
std::string remote_url(const GitFolder& where) {
  const std::string text = text_of_file(join_path(where.common, "config"));
  std::string section, first;
  for (const std::string_view whole : lines_of(text)) {
    const std::string_view line = trimmed(whole);
    if (line.starts_with("[")) section = line;
    if (!section.starts_with("[remote ") || !line.starts_with("url")) continue;
    const std::string_view rest = trimmed(line.substr(3));
    if (!rest.starts_with("=")) continue;
    std::string url(trimmed(rest.substr(1)));
    if (url.size() > 1 && url.front() == '"' && url.back() == '"') url = url.substr(1, url.size() - 2);
    if (section == "[remote \"origin\"]") return url;
    if (first.empty()) first = url;
  }
  return first;
}

// The user part (user, user:password, a token alone) is not recorded; scp-like addresses have no password.
std::string without_credentials(const std::string& url, uint64_t* redacted) {
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) return redact_text(url, redacted);
  const size_t begin = scheme + 3;
  const size_t host_end = std::min(url.find('/', begin), url.size());
  const size_t at = url.rfind('@');
  if (at == std::string::npos || at < begin) return redact_text(url, redacted);
  const bool ssh_user = url.starts_with("ssh://") && at < host_end && url.find(':', begin) > at;
  if (ssh_user) return redact_text(url, redacted);
  ++*redacted;
  return redact_text(url.substr(0, begin) + std::string(kRedacted) + url.substr(at), redacted);
}

}  // namespace

std::string real_path(const std::string& path) {
  std::string whole = absolute_path(path);
  char* found = whole.empty() ? nullptr : ::realpath(whole.c_str(), nullptr);
  if (found != nullptr) whole = found;
  std::free(found);
  return whole;
}

std::optional<GitFolder> find_git(const std::string& folder) {
  std::string work = real_path(folder);  // its parents are those that git goes through
  for (size_t i = 0; i < kGitFoldersUp && !work.empty(); ++i, work = parent_path(work)) {
    const std::string dot_git = join_path(work, ".git");
    std::string git;
    if (is_directory(dot_git)) {
      git = dot_git;
    } else if (is_regular_file(dot_git)) {
      const std::string text = text_of_file(dot_git);
      if (const std::string_view path = field_of(text, "gitdir"); !path.empty()) git = path_from(work, path);
    }
    if (!git.empty() && is_regular_file(join_path(git, "HEAD"))) {
      const std::string text = text_of_file(join_path(git, "commondir"));
      const std::string_view common = trimmed(text);
      return GitFolder{work, git, common.empty() ? git : path_from(git, common)};
    }
    if (work == "/") break;
  }
  return std::nullopt;
}

Value git_commit_facts(const GitFolder& where, uint64_t* redacted) {
  Value out = Value::map();
  const std::string head_text = text_of_file(join_path(where.git, "HEAD"));
  const std::string_view head = trimmed(head_text);
  std::string commit, branch;
  if (head.starts_with("ref:")) {
    const std::string_view name = trimmed(head.substr(4));
    commit = resolve_ref(where, std::string(name));
    constexpr std::string_view kHeads = "refs/heads/";
    if (name.starts_with(kHeads) && name != "refs/heads/.invalid") branch = name.substr(kHeads.size());
  } else if (is_object_name(head)) {
    commit = head;
  }
  if (!commit.empty()) out.set("commit", commit);
  if (!branch.empty()) out.set("branch", redact_text(as_utf8(branch), redacted));
  if (const std::string url = remote_url(where); !url.empty())
    out.set("remote", without_credentials(as_utf8(url), redacted));
  out.set("root", as_utf8(where.work));
  return out;
}

Value git_dirty_fact(const GitFolder& where) {
  const auto dirty = git_is_dirty(where);
  return dirty ? Value(*dirty) : Value("unknown");
}

Value git_facts(const std::string& folder, uint64_t* redacted) {
  const auto where = find_git(folder);
  if (!where) return Value::map();
  Value out = git_commit_facts(*where, redacted);
  out.set("dirty", git_dirty_fact(*where));
  return out;
}

}  // namespace tracker::internal
