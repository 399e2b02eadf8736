// SPDX-License-Identifier: MIT
#include "run/services/upload.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "journal/ring/wipe_memory.h"
#include "pipeline/background.h"
#include "run/run_impl.h"
#include "sync/server_project.h"

namespace tracker::internal {

using Clock = std::chrono::steady_clock;

// The one thread, and the runs that it serves. In a forked child it is made again by the first run there: the lock of
// the inherited one may be held by a thread that does not exist.
class UploadThread {
 public:
  static UploadThread* of_process() {
    static UploadThread* const instance = new UploadThread;  // never destroyed: the thread outlives static objects
    if (instance->generation_.load() != process_generation()) {
      new (instance) UploadThread;
      instance->generation_ = process_generation();
    }
    return instance;
  }

  bool add(std::shared_ptr<RunUpload> upload) {
    const std::lock_guard<std::mutex> guard(mutex_);
    uploads_.push_back(std::move(upload));
    if (runs_) return true;
    runs_ = start_background_thread("trk-upload", [this] { loop(); });
    if (!runs_) uploads_.pop_back();
    return runs_;
  }
  void wake() {
    const std::lock_guard<std::mutex> guard(mutex_);
    changed_.notify_all();
  }

 private:
  void loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      std::erase_if(uploads_, [](const auto& each) { return each->is_over(); });
      if (uploads_.empty()) break;
      const auto next = std::min_element(uploads_.begin(), uploads_.end(),
                                         [](const auto& a, const auto& b) { return a->due() < b->due(); });
      const std::shared_ptr<RunUpload> upload = *next;
      if (const auto due = upload->due(); due > Clock::now()) {
        changed_.wait_until(lock, due);
        continue;
      }
      lock.unlock();
      upload->look();
      lock.lock();
    }
    runs_ = false;
  }

  std::atomic<uint64_t> generation_{process_generation()};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<RunUpload>> uploads_;
  bool runs_ = false;
};

RunUpload::RunUpload(std::shared_ptr<Writer> writer, KnownServer server, bool is_first)
    : server_url_(server.url),
      is_first_(is_first),
      writer_(std::move(writer)),
      due_(Clock::now()),
      link_(std::move(server)) {}

std::shared_ptr<RunUpload> RunUpload::start(std::shared_ptr<Writer> writer, KnownServer server, bool is_first) {
  std::shared_ptr<RunUpload> self(new RunUpload(std::move(writer), std::move(server), is_first));
  return UploadThread::of_process()->add(self) ? self : nullptr;
}

void RunUpload::hold(std::chrono::milliseconds timeout) { held_ = files_.try_lock_for(timeout); }

bool RunUpload::end(Clock::time_point deadline) {
  if (std::exchange(held_, false)) files_.unlock();
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ended_ = waiting_ = true;
    due_ = Clock::now();
  }
  UploadThread::of_process()->wake();
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_until(lock, std::max(deadline, Clock::now() + kFinishLeast),
                      [this] { return whole_ || given_up_ || !waiting_; });
  return whole_;
}

bool RunUpload::is_over() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return whole_ || given_up_;
}

Clock::time_point RunUpload::due() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return due_;
}

// One round. Nothing that it meets ends the thread.
void RunUpload::look() {
  std::shared_ptr<Writer> writer;
  bool ended = false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    writer = writer_;
    ended = ended_;
  }
  ServerAnswer answer;
  try {
    if (const RunFolder* folder = writer->folder(); !sync_ && folder != nullptr) {
      sync_ = std::make_unique<RunSync>(&link_, writer->store_path(), *folder);
      sync_->set_own({writer->identity().writer, [writer] { return writer->durable_seq(); }, &files_, is_first_});
    }
    if (sync_ && ended) sync_->own_has_ended();
    if (sync_) answer = sync_->round();
  } catch (const std::exception&) {
    answer = {AnswerKind::kNoAnswer, {}, "out of memory", {}};
  }
  note(answer);
  for (; sync_ && problems_said_ < sync_->problems().size(); ++problems_said_) {
    const std::string& problem = sync_->problems()[problems_said_];
    std::string kind = problem;  // the same problem of many frames is one line; `tracker sync` names each
    std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
    warnings_.warn_once(kind, problem);
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  if (answer.ok() && ended && sync_) {
    whole_ = sync_->problems().empty();
    given_up_ = !whole_;
  }
  if (answer.kind == AnswerKind::kNoUpload || (ended && !sync_)) given_up_ = true;
  waiting_ = answer.ok() || reachable_;
  reachable_ = answer.ok();
  due_ = Clock::now() + (answer.ok() ? kUploadInterval : answer.passes() ? link_.pause_after(answer) : kNoAccessPause);
  if (!ended && ended_) due_ = Clock::now();  // end() was called meanwhile
  changed_.notify_all();
}

// One line when the server cannot be used and one when it can again.
void RunUpload::note(const ServerAnswer& answer) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (answer.ok() && !reachable_) print_line(fmt::format("{} takes the run again; nothing was lost", server_url_));
  if (!answer.ok() && reachable_) print_line(upload_problem(link_, answer, true));
}

// --- on request -----------------------------------------------------------------------------------------------------

namespace {

Status no_server() {
  return Status(Code::kUnsupported, "no server is known: set TRACKER_HOST, or call tracker.login(host, token)",
                "everything is stored locally; tracker sync sends it");
}

ServerAnswer check_folder(ServerLink* server, const std::string& folder) {
  ServerAnswer answer = server->call("GET", "projects");
  if (answer.kind == AnswerKind::kNoScope) return {};  // a token that may only send cannot ask
  if (!answer.ok()) return answer;
  const Value* projects = answer.document.find("projects");
  if (projects != nullptr && projects->is_list())
    for (const Value& each : *projects->as_list())
      if (each.text_or("project", "") == folder) return answer;
  return {AnswerKind::kNotFound, {}, fmt::format("the server has no project \"{}\"", folder), {}};
}

}  // namespace

Status upload_run(const std::string& store_path, const RunFolder& run, const UploadRequest& request,
                  const std::function<bool()>& go_on) {
  auto server = known_server(request.host, request.token);
  if (!server.ok()) return server.status();
  if (server->url.empty()) return no_server();
  ServerLink link(std::move(*server));
  link.set_go_on(go_on);
  ServerAnswer answer;
  if (!request.folder.empty() && !request.make_folder) {
    answer = check_folder(&link, request.folder);
    if (answer.kind == AnswerKind::kNotFound)
      return Status(Code::kNotFound, answer.message, "make_folder=True makes it; everything is stored locally");
  }
  RunSync sync(&link, store_path, run, request.folder);
  if (answer.ok()) answer = sync_all(&sync, &link, go_on);
  // Also where it failed, for a later sync; not where the server has the run in another project.
  if (!request.folder.empty() && answer.kind != AnswerKind::kInvalid) (void)remember_project(run, request.folder);
  if (answer.kind == AnswerKind::kCancelled) return Status(Code::kClosed, "the upload was ended");
  if (!answer.ok()) return Status(Code::kTimeout, upload_problem(link, answer));
  if (!sync.problems().empty()) return Status(Code::kIo, sync.problems().front());
  return {};
}

Status login(std::string_view host, std::string_view token, const std::function<bool()>& go_on) {
  auto server = known_server(host, token);
  if (!server.ok()) return server.status();
  if (server->url.empty()) return no_server();
  server->token_file.clear();
  ServerLink link(*server);
  link.set_go_on(go_on);
  const ServerAnswer answer = link.greet();
  if (answer.kind == AnswerKind::kCancelled) return Status(Code::kClosed, "login was ended; nothing was saved");
  const bool refused = answer.kind == AnswerKind::kNoAccess || answer.kind == AnswerKind::kNoScope;
  if (refused || answer.kind == AnswerKind::kUnknownFormat || answer.kind == AnswerKind::kForeign)
    return Status(Code::kInvalid, fmt::format("{}: {}", link.url(), answer.message), "nothing was saved");
  TRACKER_RETURN_IF_ERROR(save_login(*server));
  if (!answer.ok())
    return Status(Code::kTimeout, fmt::format("{}: {}", link.url(), answer.message),
                  "host and token are saved and used by the next run");
  return {};
}

// --- of a Run -------------------------------------------------------------------------------------------------------

void Run::start_upload() {
  const InitPlan& plan = impl_->plan;
  if (plan.mode != "local") (void)set_attribute(kModeKey, plan.mode);
  if (plan.mode != "online") return;
  if (plan.server.url.empty()) return print_line("mode=\"online\" but no server is known; the run is recorded locally");
  const bool plain = plan.server.url.starts_with("http://") && !is_this_machine(plan.server.url);
  if (plain && !plan.server.token.empty())
    impl_->warnings.warn_once("plain http", plan.server.url + ": the token goes over the network unencrypted");
  impl_->upload = RunUpload::start(impl_->writer, plan.server, plan.rank.is_first);
  if (!impl_->upload)
    impl_->warnings.warn_once(
        "upload",
        "no thread can be started (a limit on processes?): the run is recorded locally, and tracker "
        "sync sends it");
}

void Run::finish_upload(std::chrono::steady_clock::time_point deadline) {
  if (!impl_->upload || impl_->upload->end(deadline)) return;
  if (!impl_->plan.options.quiet)
    print_line(fmt::format("{}/{}: not all of it is on {} yet; nothing is lost, tracker sync {} sends the rest",
                           project(), id(), impl_->upload->url(), command_words()));
}

std::string Run::url() const {
  const std::string& host = impl_->plan.server.url;
  return impl_->plan.mode != "online" || host.empty() || uid().empty() ? "" : run_page(host, project(), uid());
}

Status Run::upload(const UploadRequest& request, const std::function<bool()>& go_on) {
  constexpr std::chrono::milliseconds kFlushWait{10'000};
  if (impl_->forked()) return Status(Code::kClosed, "the run belongs to the parent process");
  if (!impl_->writer) return Status(Code::kClosed, "nothing is recorded here: " + impl_->plan.why_not);
  if (!finished()) (void)flush(kFlushWait);
  const RunFolder* folder = impl_->writer->folder();
  if (folder == nullptr) return Status(Code::kIo, "the run could not be stored yet", "its points wait in its journal");
  UploadRequest known = request;
  if (known.host.empty()) known.host = impl_->plan.server.url;
  if (known.token.empty()) known.token = impl_->plan.options.token;
  return upload_run(impl_->plan.store_path, *folder, known, go_on);
}

}  // namespace tracker::internal
