// SPDX-License-Identifier: MIT
#include "run/services/artifacts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

#include "artifact/blob_store.h"
#include "base/fs.h"
#include "base/ids.h"
#include "journal/ring/wipe_memory.h"
#include "model/key.h"
#include "pipeline/background.h"
#include "pipeline/disk_limit.h"
#include "storage/upkeep/disk_use.h"

namespace tracker::internal {

namespace {

constexpr std::chrono::milliseconds kRunLookInterval{100};

// What the store may still take beside what ends a run.
uint64_t disk_bytes_left(const Store& store, uint64_t max_disk) {
  return max_disk - std::min(max_disk, disk_bytes(store.path()) + kDiskReserve);
}

// Before anything is written: what was stored of one that does not fit would keep metrics out until gc takes it.
Status check_max_disk(const Store& store, const ArtifactDraft& draft, uint64_t max_disk,
                      const std::atomic<bool>* cancel) {
  if (max_disk == 0) return {};
  const uint64_t left = disk_bytes_left(store, max_disk);
  if (draft.bytes() <= left) return {};
  const auto bytes = new_artifact_bytes(store, draft, left, cancel);
  if (!bytes.ok()) return bytes.status();
  if (*bytes <= left) return {};
  return Status(Code::kLimit,
                fmt::format("of its {} bytes {} or more are not in the store yet; max_disk ({} bytes) has room for {}",
                            draft.bytes(), *bytes, max_disk, left),
                "`tracker gc` removes what nothing refers to");
}

}  // namespace

Result<DownloadReport> download_into_bounded_store(const Store& store, const ArtifactInfo& info,
                                                   const ArtifactVersion& version, const DownloadChoice& choice,
                                                   uint64_t max_disk) {
  if (max_disk > 0) {
    const auto bytes = new_download_bytes(store, version, download_folder(store, info, version), choice);
    if (!bytes.ok()) return bytes.status();
    const uint64_t left = *bytes == 0 ? 0 : disk_bytes_left(store, max_disk);
    if (*bytes > left)
      return Status(Code::kLimit,
                    fmt::format("{}/{}:{} would take {} bytes in the store; max_disk ({} bytes) has room for {}",
                                info.project, info.name, version.name(), *bytes, max_disk, left),
                    "name a folder of your own elsewhere: download(\"/scratch/data\")");
  }
  return download_into_store(store, info, version, choice);
}

Status check_use_as(std::string_view use_as) { return use_as.empty() ? Status() : check_label("use_as", use_as); }

Status check_log_artifact(const LogArtifactOptions& options) {
  if (options.aliases.size() > kAliasesAMarkMax || options.tags.size() > kAliasesAMarkMax)
    return Status(Code::kLimit,
                  fmt::format("an artifact is logged with at most {} aliases and as many tags", kAliasesAMarkMax));
  for (const std::string& alias : options.aliases)
    if (alias != kLatestAlias) TRACKER_RETURN_IF_ERROR(check_alias(alias));
  for (const std::string& tag : options.tags) TRACKER_RETURN_IF_ERROR(check_tag(tag));
  if (options.ttl_s && *options.ttl_s < 0) return Status(Code::kInvalid, "a time to live is not negative");
  TRACKER_RETURN_IF_ERROR(check_use_as(options.use_as));
  return {};
}

// --- one artifact ---------------------------------------------------------------------------------------------------

LoggedArtifact::LoggedArtifact(std::string in_project, ArtifactDraft draft, LogArtifactOptions options)
    : project(std::move(in_project)),
      name(draft.name),
      type(draft.type),
      files(draft.files()),
      bytes(draft.bytes()),
      draft_(std::move(draft)),
      options_(std::move(options)),
      generation_(process_generation()) {}

// In a forked child the lock may be held for ever by a thread that does not exist there.
bool LoggedArtifact::forked() const { return generation_ != process_generation(); }

Status LoggedArtifact::wait(std::chrono::milliseconds timeout) const {
  if (forked()) return Status(Code::kClosed, "the artifact was logged by the parent process");
  std::unique_lock<std::mutex> lock(mutex_);
  if (changed_.wait_for(lock, timeout, [this] { return state_ != ArtifactState::kPending; })) return status_;
  return Status(Code::kTimeout, fmt::format("the artifact \"{}\" is not stored yet: {} of {} files, {} of {} bytes",
                                            name, files_done_.load(), files, bytes_done_.load(), bytes));
}

ArtifactState LoggedArtifact::state() const {
  if (forked()) return ArtifactState::kNotRecorded;
  const std::lock_guard<std::mutex> guard(mutex_);
  return state_;
}

std::optional<ArtifactVersion> LoggedArtifact::version() const {
  if (forked()) return {};
  const std::lock_guard<std::mutex> guard(mutex_);
  return version_;
}

void LoggedArtifact::settle(ArtifactState state, Status status, std::optional<ArtifactVersion> version) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (state_ != ArtifactState::kPending) return;  // it was given up meanwhile
    state_ = state;
    status_ = std::move(status);
    version_ = std::move(version);
  }
  changed_.notify_all();
}

// --- the queue ------------------------------------------------------------------------------------------------------

bool RunArtifacts::has_room(uint64_t files) const {
  if (queue_.empty()) return true;
  return queue_.size() <= kArtifactsWaitingMax && files_waiting_ + files <= kArtifactFilesWaitingMax;
}

Status RunArtifacts::admit(const std::shared_ptr<LoggedArtifact>& artifact) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto ready = [&] { return closed_ || has_room(artifact->files); };
  if (!changed_.wait_for(lock, kArtifactQueueWait, ready))
    return Status(Code::kLimit,
                  fmt::format("{} files of {} artifact{} wait to be stored already", files_waiting_, queue_.size(),
                              queue_.size() == 1 ? "" : "s"),
                  "wait() for one before logging the next");
  if (closed_) return Status(Code::kClosed, "the run has ended");
  if (!has_thread_) {
    const auto self = shared_from_this();
    has_thread_ = start_background_thread("trk-artifact", [self] { self->work(); });
    if (!has_thread_) return Status(Code::kLimit, "no thread can be started (a limit on processes?)");
  }
  queue_.push_back(artifact);
  files_waiting_ += artifact->files;
  ++counts_.pending;
  lock.unlock();
  changed_.notify_all();
  return {};
}

Status RunArtifacts::add(const std::shared_ptr<LoggedArtifact>& artifact) {
  if (const auto& stores = artifact->draft_.stores_left_out(); !stores.empty())
    warnings_.warn_once(
        "store in " + artifact->name,
        fmt::format("the artifact \"{}\" is without {}{}: a store that lies in a folder is left out", artifact->name,
                    stores.front(), stores.size() == 1 ? "" : fmt::format(" and {} more", stores.size() - 1)));
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const std::string name = artifact->project + "/" + artifact->name;
    if (logged_.size() < kRefusedNamesMax || logged_.contains(name)) artifact->number = ++logged_[name];
  }
  const Status status = admit(artifact);
  if (status.ok()) return {};
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++counts_.failed;
  }
  refuse(artifact.get(), status);
  return status;
}

LineageEdge RunArtifacts::edge_of(const LoggedArtifact& artifact) const {
  LineageEdge out;
  out.use = artifact.options_.use;
  out.project = artifact.project;
  out.name = artifact.name;
  out.type = artifact.type;
  out.use_as = artifact.options_.use_as;
  return out;
}

void RunArtifacts::refuse(LoggedArtifact* artifact, const Status& status) {
  const std::string& written = artifact->options_.staging;  // by new_file()
  RefusedArtifact refused{artifact->options_.use,
                          run(),
                          artifact->project,
                          artifact->name,
                          artifact->type,
                          artifact->options_.use_as,
                          status.to_string(),
                          0,
                          0,
                          artifact->options_.aliases};
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (refusals_++ < kRefusalsKeptMax) refused.number = artifact->number;
    if (refused_names_.size() < kRefusedNamesMax) refused_names_.insert(artifact->project + "/" + artifact->name);
  }
  warnings_.warn_once(
      artifact->name,
      fmt::format("the artifact \"{}\" is not stored: {}; what was logged beside it is kept{}", artifact->name,
                  status.to_string(), written.empty() ? "" : ", and the files written for it are in " + written));
  // Where even this finds no room, the line above and the count in status() are what there is.
  (void)target_.note(refused_event(refused));
  artifact->settle(ArtifactState::kFailed, status);
}

Status RunArtifacts::close(std::chrono::milliseconds timeout) {
  std::deque<std::shared_ptr<LoggedArtifact>> left;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    closed_ = true;
    changed_.notify_all();  // who waits for room
    if (changed_.wait_for(lock, timeout, [this] { return queue_.empty(); })) return {};
    given_up_ = true;
    // The first of them has its name already, or is about to: a moment more, or it would be called lost and be there.
    const size_t with_it = queue_.size();
    if (naming_) changed_.wait_for(lock, kArtifactNamingWait, [&] { return queue_.size() < with_it; });
    if (queue_.empty()) return {};
    left.swap(queue_);
    files_waiting_ = 0;
    counts_.pending = 0;
    counts_.failed += left.size();
  }
  changed_.notify_all();
  const Status status(Code::kTimeout, "the run ended before all of it was read",
                      "log it again, and wait() for it or give finish() more time; what was stored so far is kept for "
                      "a day and not read again");
  for (const auto& artifact : left) refuse(artifact.get(), status);
  return Status(Code::kTimeout,
                fmt::format("{} artifact{} not stored", left.size(), left.size() == 1 ? " is" : "s are"),
                status.hint());
}

Status RunArtifacts::wait_all(std::chrono::milliseconds timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (changed_.wait_for(lock, timeout, [this] { return queue_.empty(); })) return {};
  return Status(Code::kTimeout,
                fmt::format("{} artifact{} not stored yet", queue_.size(), queue_.size() == 1 ? " is" : "s are"));
}

ArtifactCounts RunArtifacts::counts() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return counts_;
}

// --- the thread -----------------------------------------------------------------------------------------------------

void RunArtifacts::work() {
  for (;;) {
    std::shared_ptr<LoggedArtifact> artifact;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
      if (queue_.empty()) return;
      artifact = queue_.front();
    }
    try {
      store(artifact.get());
    } catch (const std::exception&) {  // no memory to say what happened
      fail(artifact.get());
    }
  }
}

void RunArtifacts::fail(LoggedArtifact* artifact) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    naming_ = false;
    if (!queue_.empty() && queue_.front().get() == artifact) {
      queue_.pop_front();
      files_waiting_ -= artifact->files;
      --counts_.pending;
      ++counts_.failed;
    }
  }
  artifact->settle(ArtifactState::kFailed, Status(Code::kIo, ""));
  changed_.notify_all();
}

RunIdentity RunArtifacts::run() const {
  const RunIdentity* found = target_.awaited_run ? target_.awaited_run() : nullptr;
  return found != nullptr ? *found : target_.run;
}

// Of a rank that waits for its run: what the artifact says of who made it is not known before.
Status RunArtifacts::wait_for_run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (target_.awaited_run && target_.awaited_run() == nullptr) {
    if (given_up_) return Status(Code::kTimeout, "the run of rank 0, which this rank waits for, was not found");
    changed_.wait_for(lock, kRunLookInterval, [this] { return given_up_.load(); });
  }
  return {};
}

Result<StoredArtifact> RunArtifacts::store_now(LoggedArtifact* artifact) {
  if (void (*pause)() = pause_.load()) pause();
  TRACKER_RETURN_IF_ERROR(wait_for_run());
  const auto store = Store::open_or_create(target_.store_path);
  if (!store.ok()) return store.status();
  TRACKER_RETURN_IF_ERROR(check_max_disk(*store, artifact->draft_, target_.max_disk, &given_up_));
  StoreArtifactOptions options;
  options.aliases = artifact->options_.aliases;
  options.tags = artifact->options_.tags;
  options.ttl_s = artifact->options_.ttl_s;
  if (artifact->options_.use == ArtifactUse::kOutput) options.run = run().uid.hex();
  options.cancel = &given_up_;
  // Of a process that is killed between the name and the run's event this records what it made.
  options.about_to_name = [&](const Digest& content, const Digest& manifest, int64_t now_us) {
    LineageEdge edge = edge_of(*artifact);
    edge.content = content;
    edge.manifest = manifest;
    edge.time_us = now_us;
    (void)target_.note(naming_event(edge));
  };
  options.may_name = [this] {
    (void)target_.flush(kArtifactSaidWait);
    const std::lock_guard<std::mutex> guard(mutex_);
    naming_ = !given_up_;
    return naming_;
  };
  options.progress = [artifact](uint64_t files, uint64_t bytes) {
    artifact->files_done_ = files;
    artifact->bytes_done_ = bytes;
  };
  return store_artifact(*store, artifact->project, artifact->draft_, options);
}

void RunArtifacts::store(LoggedArtifact* artifact) {
  Result<StoredArtifact> stored = Status(Code::kLimit, "out of memory");
  try {
    stored = store_now(artifact);
    if (stored.ok()) {
      const ArtifactVersion& version = stored->version;
      if (void (*pause)() = named_pause_.load()) pause();
      LineageEdge edge = edge_of(*artifact);
      edge.number = version.number;
      edge.content = version.content;
      edge.manifest = version.manifest;
      edge.aliases = version.aliases;
      Code code = target_.note(artifact_event(edge));
      if (code == Code::kOk && !target_.flush(kArtifactSaidWait)) code = Code::kTimeout;
      if (code != Code::kOk)
        warnings_.warn_once("record",
                            fmt::format("{} is stored, but not yet that the run {} it ({})", edge.version_name(),
                                        edge.use == ArtifactUse::kOutput ? "made" : "used", code_name(code)));
    }
  } catch (const std::exception& failure) {
    stored = Status(Code::kIo, failure.what());
  }
  const bool ok = stored.ok();
  artifact->draft_ = ArtifactDraft();
  // A refused one's files are the only copy: gc takes them when no process holds them any more, and after a day.
  if (ok) remove_staging(artifact->options_.staging);
  if (ok && artifact->options_.held != nullptr) artifact->options_.held->release();
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    naming_ = false;
    if (queue_.empty() || queue_.front().get() != artifact) return;  // close() has given it up
    queue_.pop_front();
    files_waiting_ -= artifact->files;
    --counts_.pending;
    ++(ok ? counts_.stored : counts_.failed);
    if (ok) refused_names_.erase(artifact->project + "/" + artifact->name);
    if (ok) artifact->settle(ArtifactState::kStored, {}, std::move(stored->version));
  }
  if (!ok) refuse(artifact, stored.status());
  changed_.notify_all();
}

Status RunArtifacts::wait_for(std::string_view project, std::string_view name, std::chrono::milliseconds timeout,
                              bool* refused) {
  std::shared_ptr<LoggedArtifact> last;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (const auto& artifact : queue_)
      if (artifact->project == project && artifact->name == name) last = artifact;
    *refused = last == nullptr && refused_names_.contains(fmt::format("{}/{}", project, name));
  }
  if (last == nullptr) return {};
  Status status = last->wait(timeout);
  // The code alone is not enough: one that finish() gave up was refused with kTimeout.
  if (last->state() == ArtifactState::kPending) return status;
  *refused = last->state() == ArtifactState::kFailed;
  return {};
}

}  // namespace tracker::internal
