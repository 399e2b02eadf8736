// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/fs.h"
#include "exchange/bundle.h"
#include "model/visible.h"
#include "query/view/run_view.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

constexpr size_t kFileHeadBytes = 8 + 4 + 4 + 8 + 4;

// Called for each file of a bundle; an error ends the reading.
struct BundleVisitor {
  std::function<Status(const std::string& name)> begin;
  std::function<Status(std::string_view part)> part;
  std::function<Status()> end;
};

// Reads a bundle from front to back and checks every byte. No size in it is used beyond the size of the file.
class BundleReader {
 public:
  static Result<BundleReader> open(const std::string& path) {
    auto fd = open_file(path, O_RDONLY | O_NONBLOCK);
    if (!fd.ok()) return fd.status();
    struct stat st{};
    if (::fstat(fd->get(), &st) != 0) return Status::from_errno(errno, "cannot read", path);
    if (!S_ISREG(st.st_mode)) return Status(Code::kInvalid, fmt::format("{} is no regular file", path));
    return BundleReader(path, std::move(*fd), static_cast<uint64_t>(st.st_size));
  }
  uint64_t bytes() const { return size_; }
  uint64_t at() const { return at_; }

  Status visit(const BundleVisitor& visitor) {
    at_ = 0;
    uint32_t files = 0;
    uint64_t bytes = 0;
    TRACKER_RETURN_IF_ERROR(head(&files, &bytes));
    std::string last;
    for (uint32_t i = 0; i < files; ++i) {
      std::string name;
      uint64_t content = 0;
      TRACKER_RETURN_IF_ERROR(entry(&name, &content));
      if (!is_bundle_name(name))
        return bad(fmt::format("\"{}\" is no file of a run: it may lead out of its folder", visible(name)));
      if (i > 0 && name <= last) return bad(fmt::format("{} comes after {}", name, last));
      if (content > bytes) return bad(fmt::format("{} is larger than all files together", name));
      bytes -= content;
      TRACKER_RETURN_IF_ERROR(visitor.begin(name));
      TRACKER_RETURN_IF_ERROR(contents(name, content, visitor));
      TRACKER_RETURN_IF_ERROR(visitor.end());
      last = std::move(name);
    }
    if (bytes != 0) return bad("its files are smaller than it says");
    std::string end;
    TRACKER_RETURN_IF_ERROR(take(kBundleEnd.size(), &end));
    if (end != kBundleEnd) return bad("its end is not there");
    if (at_ != size_) return bad("there are bytes after its end");
    return {};
  }

 private:
  BundleReader(std::string path, Fd fd, uint64_t size) : path_(std::move(path)), fd_(std::move(fd)), size_(size) {}

  Status bad(const std::string& what) const {
    return Status(Code::kCorrupt, fmt::format("{}, byte {}: {}", path_, at_, what),
                  "nothing was stored; export the run again");
  }

  Status take(size_t bytes, std::string* out) {
    if (bytes > size_ - at_)
      return bad(fmt::format("it was cut off: {} more bytes are missing", bytes - (size_ - at_)));
    out->resize(bytes);
    for (size_t done = 0; done < bytes;) {
      const ssize_t n = ::pread(fd_.get(), out->data() + done, bytes - done, static_cast<off_t>(at_ + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Status::from_errno(errno, "cannot read", path_);
      if (n == 0) return bad("it becomes shorter while it is read");
      done += static_cast<size_t>(n);
    }
    at_ += bytes;
    return {};
  }

  Status take_crc(uint32_t crc, const std::string& of) {
    std::string bytes;
    TRACKER_RETURN_IF_ERROR(take(4, &bytes));
    const uint32_t stored = ByteReader(bytes).u32();
    if (stored == crc) return {};
    return bad(fmt::format("{} does not verify: CRC {:08x} instead of {:08x}", of, crc, stored));
  }

  Status head(uint32_t* files, uint64_t* bytes) {
    std::string text;
    TRACKER_RETURN_IF_ERROR(take(kFileHeadBytes - 4, &text));
    ByteReader reader(text);
    if (reader.bytes(kBundleMagic.size()) != kBundleMagic) return bad("it is no bundle of a run");
    const uint32_t version = reader.u32();
    if (version > kBundleVersion)
      return Status(Code::kVersion,
                    fmt::format("{} has version {}, this program reads {}", path_, version, kBundleVersion),
                    "nothing was stored; a newer tracker reads it");
    *files = reader.u32();
    *bytes = reader.u64();
    TRACKER_RETURN_IF_ERROR(take_crc(crc32c(text), "its head"));
    if (version == 0) return bad("version 0");
    if (*files == 0 || *files > kBundleFilesMax)
      return bad(fmt::format("it says that it holds {} files; 1 to {} can be", *files, kBundleFilesMax));
    if (*bytes > size_) return bad(fmt::format("it says that it holds {} bytes of files and has {}", *bytes, size_));
    return {};
  }

  Status entry(std::string* name, uint64_t* content) {
    std::string text;
    TRACKER_RETURN_IF_ERROR(take(12, &text));
    ByteReader reader(text);
    *content = reader.u64();
    const uint32_t name_bytes = reader.u32();
    if (name_bytes == 0 || name_bytes > kBundleNameBytesMax) return bad(fmt::format("a name of {} bytes", name_bytes));
    TRACKER_RETURN_IF_ERROR(take(name_bytes, name));
    TRACKER_RETURN_IF_ERROR(take_crc(crc32c(*name, crc32c(text)), "what it says of a file"));
    if (*content > size_ - at_) return bad(fmt::format("{} was cut off", visible(*name)));
    return {};
  }

  Status contents(const std::string& name, uint64_t bytes, const BundleVisitor& visitor) {
    uint32_t crc = 0;
    while (bytes > 0) {
      TRACKER_RETURN_IF_ERROR(take(std::min<uint64_t>(bytes, kBundleBufferBytes), &buffer_));
      crc = crc32c(buffer_, crc);
      TRACKER_RETURN_IF_ERROR(visitor.part(buffer_));
      bytes -= buffer_.size();
    }
    return take_crc(crc, name);
  }

  std::string path_, buffer_;
  Fd fd_;
  uint64_t size_ = 0, at_ = 0;
};

// A first reading that writes nothing: every byte verifies, and run.json is present.
Status check(BundleReader* reader, const ImportProgress& progress) {
  bool has_run = false;
  BundleVisitor visitor;
  visitor.begin = [&](const std::string& name) {
    has_run = has_run || name == kRunFile;
    return Status();
  };
  visitor.part = [&](std::string_view) {
    if (progress) progress(reader->at() / 2, reader->bytes());
    return Status();
  };
  visitor.end = [] { return Status(); };
  TRACKER_RETURN_IF_ERROR(reader->visit(visitor));
  if (has_run) return {};
  return Status(Code::kCorrupt, fmt::format("the bundle holds no {}", kRunFile), "nothing was stored");
}

Status extract(BundleReader* reader, const std::string& folder, const ImportProgress& progress) {
  Fd file;
  std::string path;
  BundleVisitor visitor;
  visitor.begin = [&](const std::string& name) {
    path = join_path(folder, name);
    TRACKER_RETURN_IF_ERROR(make_dirs(parent_path(path)));
    auto made = open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (!made.ok()) return made.status();
    file = std::move(*made);
    return Status();
  };
  visitor.part = [&](std::string_view part) {
    if (progress) progress((reader->bytes() + reader->at()) / 2, reader->bytes());
    const Status status = write_all(file.get(), part);
    return status.ok() ? status : Status::from_errno(status.system_errno(), "cannot write", path);
  };
  visitor.end = [&] {
    const bool synced = ::fsync(file.get()) == 0;
    const Status status = synced ? Status() : Status::from_errno(errno, "cannot write", path);
    file.reset();
    sync_path(parent_path(path));
    return status;
  };
  return reader->visit(visitor);
}

// All writers belong to the run of run.json; an unreadable one is a problem and no reason to refuse.
Status look_at_run(const RunFolder& run, const std::string& source, ImportReport* report, ImportedRun* out) {
  if (const auto others = files_of_other_runs(run); !others.empty())
    return Status(
        Code::kCorrupt,
        fmt::format("{} holds a database of another run than it says ({})", source, others.front().run.uid.hex()),
        "nothing was stored");
  auto view = RunView::open(run);
  if (!view.ok()) return view.status();
  for (const WriterSnapshot& writer : (*view)->writers()) out->texts += writer.texts();
  out->points = (*view)->points();
  for (const std::string& problem : (*view)->problems()) report->add_problem((*view)->problem_code(), problem);
  return {};
}

Status take(const TakeBundleExtras& take_extras, const std::string& folder, const RunIdentity& run) {
  const Status status = take_extras ? take_extras(folder, run) : Status();
  for (const std::string_view below : {kBundleArtifacts, kBundleBlobs})
    remove_import_folder(join_path(folder, std::string(below.substr(0, below.size() - 1))));
  return status;
}

Status put_run(ImportStore* store, const std::string& source, const std::string& folder,
               const TakeBundleExtras& take_extras) {
  auto identity = read_run_document(join_path(folder, kRunFile));
  if (!identity.ok()) return identity.status();
  ImportedRun out;
  out.source = source;
  out.run = *identity;
  if (const RunFolder* known = store->find(identity->uid)) {
    out.run = known->identity;
    TRACKER_RETURN_IF_ERROR(take(take_extras, folder, out.run));
    remove_import_folder(folder);
    store->report().runs.push_back(std::move(out));
    return {};
  }
  TRACKER_RETURN_IF_ERROR(look_at_run({*identity, folder, ""}, source, &store->report(), &out));
  auto label = store->free_label(identity->project, identity->id);
  if (!label.ok()) return label.status();
  if (*label != identity->id)
    return Status(
        Code::kExists,
        fmt::format("{} has another run {}/{} already", store->store().path(), identity->project, identity->id),
        "nothing was stored; --dir names another store");
  TRACKER_RETURN_IF_ERROR(take(take_extras, folder, *identity));
  TRACKER_RETURN_IF_ERROR(store->put(folder, *identity));
  out.is_new = out.changed = true;
  store->report().runs.push_back(std::move(out));
  return {};
}

}  // namespace

bool is_bundle(const std::string& path) {
  if (!is_regular_file(path)) return false;
  const auto start = read_file_start(path, kBundleMagic.size());
  return start.ok() && *start == kBundleMagic;
}

Status check_bundle(const std::string& path) {
  auto reader = BundleReader::open(path);
  return reader.ok() ? check(&*reader, {}) : reader.status();
}

namespace {

Status import_from(const std::string& bundle, ImportStore* store, const ImportOptions& options,
                   const ImportProgress& progress, const TakeBundleExtras& take_extras) {
  auto reader = BundleReader::open(bundle);
  if (!reader.ok()) return reader.status();
  TRACKER_RETURN_IF_ERROR(check(&*reader, progress));
  const auto free = free_bytes(store->store().path());
  if (free && *free < reader->bytes())
    return Status(Code::kLimit,
                  fmt::format("{} has {} bytes free, the run takes {}", store->store().path(), *free, reader->bytes()),
                  "nothing was stored");
  auto folder = store->make_folder();
  if (!folder.ok()) return folder.status();
  Status status = extract(&*reader, *folder, progress);
  if (status.ok()) status = put_run(store, options.source, *folder, take_extras);
  if (!status.ok()) remove_import_folder(*folder);
  return status;
}

Status check_no_project(const ImportOptions& options) {
  if (options.project.empty()) return {};
  return Status(Code::kInvalid, "--project is of other sources: a bundle and a folder of a run keep the run's project",
                "leave --project out");
}

}  // namespace

Status import_bundle(ImportStore* store, const ImportOptions& options, const ImportProgress& progress,
                     const TakeBundleExtras& take_extras) {
  TRACKER_RETURN_IF_ERROR(check_no_project(options));
  return import_from(options.source, store, options, progress, take_extras);
}

Status import_run_folder(ImportStore* store, const ImportOptions& options, const ImportProgress& progress) {
  TRACKER_RETURN_IF_ERROR(check_no_project(options));
  auto run = read_run_folder(options.source);
  if (!run.ok()) return run.status();
  if (const RunFolder* known = store->find(run->identity.uid)) {
    ImportedRun out;
    out.run = known->identity;
    out.source = options.source;
    store->report().runs.push_back(std::move(out));
    return {};
  }
  auto folder = store->make_folder();
  if (!folder.ok()) return folder.status();
  const std::string bundle = join_path(*folder, "run.trkb");
  auto packed = export_bundle(*run, bundle);
  Status status = packed.status();
  if (packed.ok()) {
    for (const std::string& name : packed->left_out) ++store->report().left_out["file " + name];
    status = import_from(bundle, store, options, progress, {});
  }
  remove_file(bundle);
  remove_import_folder(*folder);
  return status;
}

}  // namespace tracker::internal
