// SPDX-License-Identifier: MIT
#include "run/services/source.h"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <utility>

#include "artifact/blob_store.h"
#include "base/fs.h"
#include "base/ids.h"
#include "model/redact/redact.h"
#include "pipeline/background.h"
#include "run/run_impl.h"

namespace tracker::internal {
namespace {

Value left_out_value(const SourceLeftOut& left) {
  const std::pair<const char*, uint64_t> counts[] = {
      {"ignored", left.ignored}, {"secret", left.secret},         {"large", left.large},    {"beyond", left.beyond},
      {"no_text", left.no_text}, {"unreadable", left.unreadable}, {"special", left.special}};
  Value out = Value::map();
  for (const auto& [name, count] : counts)
    if (count > 0) out.set(name, static_cast<int64_t>(count));
  return out;
}

}  // namespace

std::shared_ptr<RunSource> RunSource::start(Input input) {
  std::shared_ptr<RunSource> self(new RunSource(std::move(input)));
  const auto body = [self] {
    try {
      self->work();
    } catch (const std::exception&) {}  // no memory: the run has no copy of its source, and says nothing of one
    self->input_.writer->add_monitor_cpu(thread_cpu_ns());
    const std::lock_guard<std::mutex> guard(self->mutex_);
    self->done_ = true;
    self->changed_.notify_all();
  };
  return start_background_thread("trk-source", body) ? self : nullptr;
}

void RunSource::end(std::chrono::milliseconds timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, timeout, [this] { return done_; });
  stopping_ = true;
}

bool RunSource::stopped() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return stopping_;
}

uint64_t RunSource::redacted() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return redacted_;
}

void RunSource::tell(Value said) {
  input_.writer->push_environment(encode_cbor(Value::Map{{"key", "source"}, {"value", std::move(said)}}));
}

void RunSource::work() {
  const auto deadline = input_.now() + kSourceTimeMax;
  const auto go_on = [&] { return !stopped() && input_.now() < deadline; };
  const std::string root = source_root(input_.folder);
  if (root.empty())
    return tell(Value::Map{{"error", "the program lies in \"/\" or in a home folder, which is not copied"}});
  SourceList list = list_source(root, input_.store_path, go_on);
  uint64_t in_path = 0;
  const std::string shown = redact_text(root, &in_path);
  Value said = Value::Map{{"root", shown}};
  auto draft = ArtifactDraft::make(kSourceArtifact, kSourceType);
  std::shared_ptr<NameLease> held;
  auto staging = make_staging(input_.store_path, &held);
  Status status = draft.ok() ? staging.status() : draft.status();
  if (status.ok()) status = copy(list, *staging, &*draft, &said);
  if (stopped()) status = Status(Code::kTimeout, "the run ended before its source was read");
  if (!status.ok()) {
    if (staging.ok()) remove_staging(*staging);
    print_line(fmt::format("the source of the program is not stored: {}; the run goes on", status.to_string()));
    return tell(Value::Map{{"root", shown}, {"error", status.message()}});
  }
  if (draft->files() == 0) {
    remove_staging(*staging);
    return tell(std::move(said));
  }
  said.set("artifact", kSourceArtifact);
  tell(std::move(said));
  LogArtifactOptions options;
  options.staging = *staging;
  options.held = std::move(held);
  // What becomes of it is counted and said as of any artifact.
  (void)input_.artifacts->add(std::make_shared<LoggedArtifact>(input_.project, std::move(*draft), std::move(options)));
}

// Each file is read once, so that one that changes meanwhile is copied as it was read, and what is found in it never
// reaches the store.
Status RunSource::copy(const SourceList& list, const std::string& staging, ArtifactDraft* draft, Value* said) {
  SourceLeftOut left = list.left_out;
  uint64_t redacted = 0, bytes = 0;
  const auto deadline = input_.now() + kSourceTimeMax;
  bool cut = list.cut;
  for (size_t i = 0; i < list.files.size(); ++i) {
    if (stopped()) return {};
    if (input_.now() >= deadline) {
      left.beyond += list.files.size() - i;
      cut = true;
      break;
    }
    const SourceFile& file = list.files[i];
    const auto text = read_file(join_path(list.root, file.path), kSourceFileBytesMax);
    if (!text.ok()) ++(text.status().code() == Code::kLimit ? left.large : left.unreadable);
    else if (text->find('\0') != std::string::npos) ++left.no_text;
    else if (!check_no_secret("a path", file.path).ok()) ++left.secret;
    else {
      const std::string clean = redact_code(*text, &redacted);
      const std::string stored = join_path(staging, fmt::format("file-{:08x}", i));
      TRACKER_RETURN_IF_ERROR(create_file_exclusive(stored, clean, 0600, false));
      TRACKER_RETURN_IF_ERROR(draft->add_file(stored, file.path));
      bytes += clean.size();
    }
  }
  said->set("files", static_cast<int64_t>(draft->files()));
  said->set("bytes", static_cast<int64_t>(bytes));
  if (Value counts = left_out_value(left); !counts.as_map()->empty()) said->set("left_out", std::move(counts));
  if (cut) said->set("cut", true);
  if (redacted > 0) said->set("redacted", static_cast<int64_t>(redacted));
  const std::lock_guard<std::mutex> guard(mutex_);
  redacted_ += redacted;
  return {};
}

// Ranks run the same program: the first one's copy is enough.
void Run::start_source() {
  const InitPlan& plan = impl_->plan;
  if (!plan.capture.source || !impl_->artifacts || !plan.rank.is_first || plan.options.attach_attempt > 0) return;
  RunSource::Input input;
  input.folder = absolute_path(plan.options.source_folder.empty() ? "." : plan.options.source_folder);
  input.store_path = plan.store_path;
  input.project = plan.run.project;
  input.writer = impl_->writer;
  input.artifacts = impl_->artifacts;
  impl_->source = RunSource::start(std::move(input));
  if (!impl_->source)
    impl_->warnings.warn_once("source", "no thread can be started (a limit on processes?): the source is not stored");
}

}  // namespace tracker::internal
