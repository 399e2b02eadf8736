// SPDX-License-Identifier: MIT
#include "cli/commands/verify_media.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>
#include <vector>

#include "artifact/digest.h"
#include "base/fs.h"
#include "model/media.h"
#include "query/view/media.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

constexpr size_t kBufferBytes = 1 << 20;
constexpr const char* kMissingAdvice = "restore the run's media folder from a copy; its metrics do not need it";

void add(const std::string& kind, const std::string& path, std::string what, VerifyReport* report) {
  report->add({FindingLevel::kDamage, kind, path, std::move(what), "all metrics and other media", kMissingAdvice});
}

// The SHA-256 of a file and how long it is.
Result<std::pair<Digest, uint64_t>> digest_and_bytes(const std::string& path) {
  auto fd = open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd.ok()) return fd.status();
  struct stat st{};
  if (::fstat(fd->get(), &st) != 0 || !S_ISREG(st.st_mode))
    return Status(Code::kCorrupt, fmt::format("{} is no regular file", path));
  std::string buffer(kBufferBytes, '\0');
  Sha256 hash;
  uint64_t bytes = 0;
  for (;;) {
    const ssize_t n = ::read(fd->get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::from_errno(errno, "cannot read", path);
    if (n == 0) return std::pair(hash.finish(), bytes);
    hash.update({buffer.data(), static_cast<size_t>(n)});
    bytes += static_cast<uint64_t>(n);
  }
}

void check_file(const std::string& run_path, const std::string& folder, const std::string& name,
                std::set<std::string>* sound, VerifyReport* report) {
  const std::string path = fmt::format("{}/{}/{}/{}", run_path, kMediaFolder, folder, name);
  if (is_leftover_name(name)) return;
  const auto found = digest_and_bytes(path);
  const size_t dot = std::min(name.find('.'), name.size());
  const std::string relative = fmt::format("{}/{}/{}", kMediaFolder, folder, name);
  if (!found.ok()) {
    add("media", path, found.status().message(), report);
  } else {
    report->bytes += found->second;
    if (media_file_name(found->first.hex(), std::string_view(name).substr(std::min(dot + 1, name.size()))) != relative)
      add("media", path, "its bytes are not those of its name", report);
  }
  sound->insert(relative);  // named already where it is damaged
}

// No process writes it, and a reader writes no file beside it.
bool is_at_rest(const std::string& run_path) {
  for (const std::string& name : list_dir(run_path).value_or({}))
    if (name.ends_with("-wal") || name.ends_with("-shm") || name.ends_with(".frames")) return false;
  return true;
}

void check_events(const std::string& run_path, const std::set<std::string>& there, VerifyReport* report) {
  const auto folder = read_run_folder(run_path);
  if (!folder.ok()) return;
  const auto run = RunView::open(*folder);
  if (!run.ok() || media_names(**run).empty()) return;
  const auto rows = read_media(run->get(), "", true);
  if (!rows.ok()) return;
  std::set<std::string> said = there;
  for (const MediaRow& row : *rows)
    for (const MediaFileName& file : files_of_medium(row.value))
      if (said.insert(file.path).second)
        add("media-missing", join_path(run_path, file.path),
            fmt::format("is gone; \"{}\" names it{}", row.name,
                        row.has_step ? fmt::format(" at step {}", row.step) : ""),
            report);
}

}  // namespace

void verify_media(const std::string& run_path, VerifyReport* report,
                  const std::function<void(uint64_t files, uint64_t of)>& progress) {
  const std::string root = join_path(run_path, kMediaFolder);
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& folder : list_dir(root).value_or({}))
    for (std::string& name : list_dir(join_path(root, folder)).value_or({}))  // none for a file
      files.emplace_back(folder, std::move(name));
  std::set<std::string> sound;
  for (size_t i = 0; i < files.size(); ++i) {
    check_file(run_path, files[i].first, files[i].second, &sound, report);
    if (progress) progress(i + 1, files.size());
  }
  if (is_at_rest(run_path)) check_events(run_path, sound, report);
}

std::vector<std::string> media_problems(const std::string& run_path) {
  VerifyReport report;
  verify_media(run_path, &report);
  std::vector<std::string> out;
  for (const Finding& finding : report.findings) {
    const bool says_path = finding.what.find(finding.path) != std::string::npos;
    out.push_back(says_path ? finding.what : fmt::format("{}: {}", finding.path, finding.what));
  }
  if (report.left_out > 0) out.push_back(fmt::format("and {} more files of media", report.left_out));
  return out;
}

}  // namespace tracker::internal
