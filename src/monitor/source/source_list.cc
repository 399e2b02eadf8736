// SPDX-License-Identifier: MIT
#include "monitor/source/source_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <deque>

#include "base/fs.h"
#include "monitor/host/text_files.h"
#include "monitor/host/utf8_text.h"
#include "monitor/source/git.h"
#include "monitor/source/ignore_rules.h"

namespace tracker::internal {
namespace {

constexpr std::string_view kOwnRules =
    ".hg/\n.svn/\nCVS/\n__pycache__/\n*.py[cod]\n.venv/\nvenv/\n.tox/\n.nox/\nnode_modules/\n.mypy_cache/\n"
    ".ruff_cache/\n.pytest_cache/\n.ipynb_checkpoints/\n.cache/\n.eggs/\n*.egg-info/\n.tracker/\nwandb/\nmlruns/\n"
    "lightning_logs/\n*.log\n";

// Of lower-case names. A pattern that also takes a harmless file (.env.example) is left as it is: what is missing in a
// copy is counted, what is stored once too often is not taken back.
constexpr std::array<std::string_view, 38> kSecretNames = {".env",
                                                           ".env.*",
                                                           "*.env",
                                                           ".envrc",
                                                           "id_rsa*",
                                                           "id_dsa*",
                                                           "id_ecdsa*",
                                                           "id_ed25519*",
                                                           "*.pem",
                                                           "*.key",
                                                           "*.p12",
                                                           "*.pfx",
                                                           "*.jks",
                                                           "*.keystore",
                                                           "*.kdbx",
                                                           "*.ppk",
                                                           "*.gpg",
                                                           "*.asc",
                                                           ".netrc",
                                                           "_netrc",
                                                           ".pgpass",
                                                           ".npmrc",
                                                           ".pypirc",
                                                           ".htpasswd",
                                                           ".git-credentials",
                                                           "credentials",
                                                           "credentials.*",
                                                           "client_secret*",
                                                           "service-account*",
                                                           "service_account*",
                                                           "secret.*",
                                                           "secrets",
                                                           "secrets.*",
                                                           "kaggle.json",
                                                           ".dockercfg",
                                                           "kubeconfig*",
                                                           "*.ovpn",
                                                           "*.tfstate*"};
constexpr std::array<std::string_view, 6> kSecretFolders = {".ssh", ".aws", ".gnupg", ".kube", ".azure", ".docker"};

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

class SourceWalk {
 public:
  SourceWalk(const std::string& root, const std::string& leave, const std::function<bool()>& go_on)
      : leave_(leave.empty() ? "" : real_path(leave)), go_on_(go_on) {
    out_.root = real_path(root);
    rules_.add(kOwnRules, "");
  }

  SourceList run() {
    waiting_.push_back({"", 0});
    for (; !waiting_.empty() && !out_.cut; waiting_.pop_front()) folder(waiting_.front());
    return std::move(out_);
  }

 private:
  struct Folder {
    std::string below;  // "" or ends with "/"
    size_t depth = 0;
  };

  bool may_look() {
    out_.cut = out_.cut || ++entries_ > kSourceEntriesMax || !go_on_();
    return !out_.cut;
  }

  void folder(const Folder& where) {
    const auto names = list_dir(join_path(out_.root, where.below));
    if (!names.ok()) return void(++out_.left_out.unreadable);
    for (const char* rules : {".gitignore", ".trackerignore"})
      if (std::binary_search(names->begin(), names->end(), rules))
        rules_.add(text_of_file(join_path(out_.root, where.below + rules), kIgnoreFileBytesMax), where.below);
    for (const std::string& name : *names) {
      if (!may_look()) return;
      entry(where, name);
    }
  }

  void entry(const Folder& where, const std::string& name) {
    const std::string path = where.below + name;
    const std::string whole = join_path(out_.root, path);
    struct stat st{};
    if (::lstat(whole.c_str(), &st) != 0) return void(++out_.left_out.unreadable);
    const bool is_folder = S_ISDIR(st.st_mode);
    if ((!is_folder && !S_ISREG(st.st_mode)) || as_utf8(name) != name) return void(++out_.left_out.special);
    if (is_folder && (name == ".git" || whole == leave_)) return;
    const std::string low = lower_case(name);
    const bool secret = is_folder ? std::find(kSecretFolders.begin(), kSecretFolders.end(), low) != kSecretFolders.end()
                                  : is_secret_file(low);
    if (secret) return void(++out_.left_out.secret);
    if (rules_.ignores(path, is_folder) || (is_folder && is_environment(whole))) return void(++out_.left_out.ignored);
    if (!is_folder) return file(path, static_cast<uint64_t>(st.st_size));
    if (where.depth >= kSourceDepthMax) return void(++out_.left_out.beyond);
    waiting_.push_back({path + "/", where.depth + 1});
  }

  void file(const std::string& path, uint64_t bytes) {
    if (bytes > kSourceFileBytesMax) return void(++out_.left_out.large);
    if (out_.files.size() >= kSourceFilesMax || out_.bytes + bytes > kSourceBytesMax)
      return void(++out_.left_out.beyond);
    out_.files.push_back({path, bytes});
    out_.bytes += bytes;
  }

  // Of Python or conda, whatever it is called.
  static bool is_environment(const std::string& folder) {
    return path_exists(join_path(folder, "pyvenv.cfg")) || path_exists(join_path(folder, "conda-meta"));
  }

  const std::string leave_;
  const std::function<bool()>& go_on_;
  SourceList out_;
  IgnoreRules rules_;
  std::deque<Folder> waiting_;
  size_t entries_ = 0;
};

bool is_too_much(const std::string& folder) {
  const char* home = std::getenv("HOME");
  return folder.empty() || folder == "/" || (home != nullptr && folder == real_path(home));
}

}  // namespace

bool is_secret_file(std::string_view name) {
  const std::string low = lower_case(name);
  return std::any_of(kSecretNames.begin(), kSecretNames.end(),
                     [&low](std::string_view pattern) { return matches_name(pattern, low); });
}

std::string source_root(const std::string& folder) {
  const std::string own = real_path(folder);
  if (const auto git = find_git(own); git && !is_too_much(git->work)) return git->work;
  return is_too_much(own) ? "" : own;
}

SourceList list_source(const std::string& root, const std::string& leave, const std::function<bool()>& go_on) {
  return SourceWalk(root, leave, go_on).run();
}

}  // namespace tracker::internal
