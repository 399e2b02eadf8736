// SPDX-License-Identifier: MIT
#include "pipeline/run_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fs.h"
#include "model/key.h"
#include "pipeline/lock_order.h"
#include "storage/database/writer_parts.h"
#include "storage/recovery/recovery.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

constexpr std::chrono::seconds kRunFileCheckInterval{1};

}  // namespace

RunFiles::RunFiles(WriterIdentity identity, StoreTarget target, Warnings* warnings)
    : identity_(std::move(identity)), target_(std::move(target)), warnings_(*warnings) {}

RunFiles::Opened RunFiles::opened() const {
  const Guard guard(mutex_);
  return opened_;
}

// --- the run --------------------------------------------------------------------------------------------------------

std::optional<WriterIdentity> RunFiles::find_run() {
  const auto store = Store::open_or_create(target_.store_path, identity_.store);
  const auto joined = store.ok() ? target_.find_run(*store) : std::nullopt;
  if (!joined) return std::nullopt;
  WriterIdentity out = identity_;
  out.store = store->id();
  out.run = joined->run;
  out.attempt = joined->attempt;
  out.run_dir = "runs/" + folder_name(joined->run.project) + "/" + folder_name(joined->run.id);
  return out;
}

void RunFiles::set_run(const WriterIdentity& identity) {
  identity_ = identity;
  target_.run = identity.run;
  target_.find_run = nullptr;
}

std::string RunFiles::run_path() const {
  return join_path(target_.store_path, "runs/" + folder_name(target_.run.project) + "/" + folder_name(target_.run.id));
}

// A caller keeps the pointer that it got, so all of them stay: one more only where the label or the place changed.
void RunFiles::publish_folder(const RunFolder& folder) {
  const RunFolder* now = folder_.load();
  if (now != nullptr && now->path == folder.path && now->identity.id == folder.identity.id) return;
  folders_.push_back(std::make_unique<const RunFolder>(folder));
  folder_.store(folders_.back().get(), std::memory_order_release);
}

// Readers find the run by its name through this file alone. The database holds the identity too, so a failure is
// ignored.
void RunFiles::keep_run_file(bool now) {
  if (!now && std::chrono::steady_clock::now() < next_run_file_check_) return;
  next_run_file_check_ = std::chrono::steady_clock::now() + kRunFileCheckInterval;
  const std::string path = join_path(parent_path(part_->path()), kRunFile);
  if (path_exists(path) || !is_directory(parent_path(path))) return;
  const auto launch = identity_.attempt <= 1 ? std::optional(identity_.launch) : std::nullopt;
  const RunFolder* folder = folder_.load();
  if (create_file_exclusive(path, run_document(folder != nullptr ? folder->identity : target_.run, launch), 0666).ok())
    warnings_.warn_once("run file",
                        fmt::format("{} was removed while the run is recorded; it was written again", path));
}

// --- the part that is written ---------------------------------------------------------------------------------------

Status RunFiles::open(uint64_t committed, const DiskGate& gate) {
  if (part_) return {};
  auto store = Store::open_or_create(target_.store_path, identity_.store);
  if (!store.ok()) return store.status();
  auto folder = folder_of_run(*store, target_.run, identity_.writer);
  if (!folder.ok()) return folder.status();
  store->sync(*folder);
  identity_.store = store->id();
  // Decided where the folder lies now, and once: a writer has one kind of files.
  StoreFilesChoice files = opened().files;
  if (opened().parts == 0) files = choose_store_files(folder->path, target_.files);
  identity_.files = store_files_name(files.kind);
  identity_.file_system = files.file_system;
  WriterIdentity identity = identity_;
  identity.part = number_;
  identity.before = before_;
  auto part = open_writer_store(folder->path, identity, files.kind);
  if (part.status().code() == Code::kCorrupt) {
    const std::string path = join_path(folder->path, identity_.writer.hex() + ".db");
    const bool is_frames = files.kind == StoreFiles::kFrames;
    left_ = {PartChange::kUnreadable, part_path(is_frames ? frames_path_of(path) : path, number_), {}, committed};
  }
  if (!part.ok()) return part.status();
  // Opened again after a failure, and another program changed it meanwhile. A next part is empty until its first
  // commit.
  if (first_frames_.empty() && (*part)->last_seq() < committed) {
    left_ = {PartChange::kRolledBack, (*part)->path(), {}, committed};
    return Status(Code::kIo, fmt::format("{} {}", left_.path, part_change_text(left_.change)));
  }
  publish_folder(*folder);
  part_ = std::move(*part);
  if (gate) part_->set_disk_gate(gate);
  const Guard guard(mutex_);
  opened_ = {files, number_};
  return {};
}

Status RunFiles::append(std::vector<const FrameRecord*> frames, bool durable, const std::vector<uint64_t>& retired) {
  for (const FrameRecord& record : first_frames_) frames.push_back(&record);
  // After a failed fsync frames that wait keep numbers below those of the first frames.
  std::sort(frames.begin(), frames.end(), [](const FrameRecord* a, const FrameRecord* b) { return a->seq < b->seq; });
  TRACKER_RETURN_IF_ERROR(part_->append_batch(frames, durable, retired));
  positions_ = part_->positions();
  if (part_->durable_seq() > durable_seq_.load()) durable_seq_.store(part_->durable_seq(), std::memory_order_release);
  first_frames_.clear();
  return {};
}

Status RunFiles::finish() {
  Status status = part_->finish();
  if (status.code() == Code::kBusy || status.code() == Code::kTimeout)
    status = Status();  // a reader keeps the WAL; all is in it
  if (!status.ok() && part_->change() != PartChange::kNone) return status;
  part_.reset();  // it is closed; after a failure open() opens it again
  if (!status.ok()) return status;
  for (const std::string& path : pinned_parts_) checkpoint_part(path);
  return {};
}

}  // namespace tracker::internal
