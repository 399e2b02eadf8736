// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/fs.h"
#include "exchange/bundle.h"
#include "exchange/output_file.h"
#include "query/view/run_view.h"
#include "storage/database/writer_parts.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

struct BundledFile {
  std::string name;
  uint64_t bytes = 0, inode = 0;
  int64_t mtime_ns = 0, ctime_ns = 0;
  bool operator==(const BundledFile&) const = default;
};

Status being_recorded(const RunIdentity& run, const std::string& why) {
  return Status(Code::kBusy,
                fmt::format("{}/{} {}: a bundle is made of a run that has ended", run.project, run.id, why),
                "nothing was written; export it when its process has ended");
}

Status changed_meanwhile(const RunFolder& run) {
  return Status(Code::kBusy, fmt::format("{} was changed while it was read", run.path),
                "nothing was written; try again");
}

class FolderList {
 public:
  FolderList(const RunFolder& run, std::vector<std::string>* left_out)
      : run_(run), others_(files_of_other_runs(run)), left_out_(left_out) {}

  Result<std::vector<BundledFile>> read() {
    TRACKER_RETURN_IF_ERROR(folder("", 0));
    std::sort(files_.begin(), files_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return std::move(files_);
  }

 private:
  Status folder(const std::string& below, int depth) {
    auto names = list_dir(join_path(run_.path, below));
    if (!names.ok()) return names.status();
    for (const std::string& each : *names) TRACKER_RETURN_IF_ERROR(entry(below + each, depth));
    return {};
  }

  Status entry(const std::string& name, int depth) {
    struct stat st{};
    if (::lstat(join_path(run_.path, name).c_str(), &st) != 0) return changed_meanwhile(run_);
    if (S_ISDIR(st.st_mode) && (name == "media" || (depth == 1 && name.size() == 8)))
      return folder(name + "/", depth + 1);
    const auto is_of = [&name](const ForeignFile& other) { return name.starts_with(other.begin); };
    const bool is_of_another_run = std::any_of(others_.begin(), others_.end(), is_of);
    for (const std::string_view open : {"-wal", "-shm", "-journal"}) {
      const std::string main = name.substr(0, name.size() - std::min(name.size(), open.size()));
      if (!name.ends_with(open) || !main.ends_with(".db") || is_of_another_run) continue;
      if (!was_left(main)) return being_recorded(run_.identity, fmt::format("has an open database ({})", name));
      if (open != "-wal") return {};  // a reader creates it again
    }
    if (!S_ISREG(st.st_mode) || !is_bundle_name(name) || is_of_another_run) {
      if (left_out_->size() < kImportProblemsMax) left_out_->push_back(name);
      return {};
    }
    if (files_.size() == kBundleFilesMax)
      return Status(Code::kLimit, fmt::format("{} holds more than {} files", run_.path, kBundleFilesMax));
    const auto ns = [](const timespec& t) { return t.tv_sec * 1'000'000'000LL + t.tv_nsec; };
    // A SQLite that opens a WAL as root sets its owner, which changes its ctime.
    const int64_t changed_ns = name.ends_with("-wal") ? 0 : ns(st.st_ctim);
    files_.push_back({name, static_cast<uint64_t>(st.st_size), st.st_ino, ns(st.st_mtim), changed_ns});
    return {};
  }

  // A part before the last one: its writer does not touch it again, and its WAL has rows of it.
  bool was_left(const std::string& name) const {
    const int number = part_number(name);
    return number > 0 && parts_of(join_path(run_.path, name)).back().number > number;
  }

  const RunFolder& run_;
  const std::vector<ForeignFile> others_;
  std::vector<std::string>* left_out_;
  std::vector<BundledFile> files_;
};

class BundleWriter {
 public:
  BundleWriter(const RunFolder& run, int fd, const std::string& path, const ImportProgress& progress)
      : run_(run), fd_(fd), path_(path), progress_(progress) {}

  Status write(const std::vector<BundledFile>& own, const std::vector<BundleExtra>& extras) {
    std::vector<Source> files;
    for (const BundledFile& file : own)
      files.push_back({file.name, join_path(run_.path, file.name), nullptr, file.bytes});
    for (const BundleExtra& extra : extras) {
      auto source = source_of(extra);
      if (!source.ok()) return source.status();
      files.push_back(std::move(*source));
    }
    if (files.size() > kBundleFilesMax)
      return Status(Code::kLimit, fmt::format("{} files: a bundle holds at most {}", files.size(), kBundleFilesMax),
                    "nothing was written; leave the artifacts out");
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    for (const Source& file : files) content_ += file.bytes;
    ByteWriter head;
    head.bytes(kBundleMagic);
    head.u32(kBundleVersion);
    head.u32(static_cast<uint32_t>(files.size()));
    head.u64(content_);
    head.u32(crc32c(head.buffer()));
    TRACKER_RETURN_IF_ERROR(put(head.buffer()));
    for (const Source& file : files) TRACKER_RETURN_IF_ERROR(add(file));
    return put(kBundleEnd);
  }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Source {
    std::string name, path;
    const std::string* content;  // in the place of a path
    uint64_t bytes;
  };

  static Result<Source> source_of(const BundleExtra& extra) {
    if (extra.path.empty()) return Source{extra.name, "", &extra.content, extra.content.size()};
    struct stat st{};
    if (::lstat(extra.path.c_str(), &st) != 0 || !S_ISREG(st.st_mode))
      return Status(Code::kNotFound, fmt::format("{} is no file", extra.path), "nothing was written");
    return Source{extra.name, extra.path, nullptr, static_cast<uint64_t>(st.st_size)};
  }

  Status add(const Source& file) {
    ByteWriter head;
    head.u64(file.bytes);
    head.u32(static_cast<uint32_t>(file.name.size()));
    head.bytes(file.name);
    head.u32(crc32c(head.buffer()));
    TRACKER_RETURN_IF_ERROR(put(head.buffer()));
    if (file.content != nullptr) {
      ByteWriter tail;
      tail.u32(crc32c(*file.content));
      TRACKER_RETURN_IF_ERROR(put_content(*file.content));
      return put(tail.buffer());
    }
    auto source = open_file(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!source.ok()) return source.status();
    uint32_t crc = 0;
    uint64_t done = 0;
    for (;;) {
      const ssize_t n = ::read(source->get(), buffer_.data(), buffer_.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Status::from_errno(errno, "cannot read", file.path);
      if (n == 0) break;
      const std::string_view part(buffer_.data(), static_cast<size_t>(n));
      done += part.size();
      if (done > file.bytes) return changed_meanwhile(run_);
      crc = crc32c(part, crc);
      TRACKER_RETURN_IF_ERROR(put_content(part));
    }
    if (done != file.bytes) return changed_meanwhile(run_);
    ByteWriter tail;
    tail.u32(crc);
    return put(tail.buffer());
  }

  Status put_content(std::string_view part) {
    content_done_ += part.size();
    if (progress_) progress_(content_done_, content_);
    return put(part);
  }

  Status put(std::string_view part) {
    const Status status = write_all(fd_, part);
    if (!status.ok()) return Status::from_errno(status.system_errno(), "cannot write", path_);
    bytes_ += part.size();
    return {};
  }

  const RunFolder& run_;
  const int fd_;
  const std::string& path_;
  const ImportProgress& progress_;
  std::string buffer_ = std::string(kBundleBufferBytes, '\0');
  uint64_t bytes_ = 0;                       // of the bundle
  uint64_t content_ = 0, content_done_ = 0;  // of its files
};

Status check_at_rest(const RunFolder& run, BundleResult* out) {
  auto view = RunView::open(run);
  if (!view.ok()) return view.status();
  if ((*view)->state() == RunState::kRunning) return being_recorded(run.identity, "is running");
  for (const WriterSnapshot& writer : (*view)->writers())
    if (!writer.end && !writer.recovered) return being_recorded(run.identity, "has a writer that may not have ended");
  out->problems = (*view)->problems();
  out->worst = (*view)->problem_code();
  return {};
}

}  // namespace

Result<BundleResult> export_bundle(const RunFolder& run, const std::string& output,
                                   const std::vector<BundleExtra>& extras, const ImportProgress& progress) {
  BundleResult out;
  TRACKER_RETURN_IF_ERROR(check_at_rest(run, &out));
  const auto files = FolderList(run, &out.left_out).read();
  if (!files.ok()) return files.status();
  const auto is_run_file = [](const BundledFile& file) { return file.name == kRunFile; };
  if (std::none_of(files->begin(), files->end(), is_run_file))
    return Status(Code::kCorrupt, fmt::format("{} has no {}", run.path, kRunFile),
                  "`tracker verify` says what to do; nothing was written");
  const auto target = output_target(output);
  if (!target.ok()) return target.status();
  if (!target->is_file()) return not_a_file(output, "a bundle");
  std::string path;
  auto file = create_part(target->path, &path);
  if (!file.ok()) return file.status();
  BundleWriter writer(run, file->get(), path, progress);
  Status status = writer.write(*files, extras);
  if (status.ok()) {
    std::vector<std::string> ignored;
    const auto now = FolderList(run, &ignored).read();
    if (!now.ok()) status = now.status();
    else if (*now != *files) status = changed_meanwhile(run);
  }
  if (status.ok() && ::fsync(file->get()) != 0) status = Status::from_errno(errno, "cannot write", path);
  if (status.ok() && ::rename(path.c_str(), target->path.c_str()) != 0)
    status = Status::from_errno(errno, "cannot rename the bundle to", output);
  if (!status.ok()) {
    remove_file(path);
    return status;
  }
  sync_path(parent_path(target->path));
  out.files = static_cast<uint32_t>(files->size() + extras.size());
  out.bytes = writer.bytes();
  return out;
}

}  // namespace tracker::internal
