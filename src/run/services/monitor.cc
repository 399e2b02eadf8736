// SPDX-License-Identifier: MIT
#include "run/services/monitor.h"

#include <unistd.h>

#include <algorithm>
#include <exception>

#include "base/clock.h"
#include "base/fs.h"
#include "model/redact/redact.h"
#include "monitor/host/gpu.h"
#include "monitor/host/gpu_trial.h"
#include "monitor/host/host.h"
#include "monitor/host/launcher.h"
#include "monitor/host/secrets.h"
#include "monitor/host/system_sample.h"
#include "monitor/host/text_files.h"
#include "monitor/host/utf8_text.h"
#include "monitor/source/git.h"
#include "monitor/source/git_diff.h"
#include "monitor/source/python_packages.h"
#include "pipeline/background.h"
#include "run/run_impl.h"

extern char** environ;  // NOLINT: POSIX says so

namespace tracker::internal {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstSampleMax{2'000};  // a short run has a sample too
// Limit: time for a call of the GPU driver. Beyond it: the run reports that the driver hangs and goes on without it.
constexpr std::chrono::milliseconds kGpuStuckAfter{5'000};
// Limit: bytes of the command line. Beyond it: cut.
constexpr size_t kCommandBytesMax = 64 * 1024;

// Facts by the names under which the end of a run misses them, in their order.
constexpr const char* kCommit = "git commit";
constexpr const char* kMachine = "machine";
constexpr const char* kDirty = "git dirty flag";
constexpr const char* kPackages = "packages";
constexpr const char* kDiff = "git diff";

// As the kernel has it: the interpreter's own options too.
Value command_line(uint64_t* redacted) {
  const std::string text = text_of_file("/proc/self/cmdline", kCommandBytesMax + kSecretAheadBytes);
  std::vector<std::string> words;
  size_t last_bytes = std::string::npos;
  for (size_t at = 0; at < std::min(text.size(), kCommandBytesMax);) {
    const size_t end = std::min(text.find('\0', at), text.size());
    const size_t kept = std::min(end, kCommandBytesMax);
    words.push_back(as_utf8(text.substr(at, kept - at)));
    last_bytes = words.back().size();
    words.back() += as_utf8(text.substr(kept, end - kept));
    at = end + 1;
  }
  Value::List out;
  for (std::string& word : redact_arguments(words, redacted, last_bytes)) out.emplace_back(std::move(word));
  return Value::Map{{"arguments", std::move(out)}};
}

}  // namespace

Value environment_variables(uint64_t* redacted) {
  Value::Map found;
  size_t bytes = 0;
  int64_t left_out = 0;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view text(*each);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    bytes += text.size();
    if (bytes > kVariablesBytesMax) {
      ++left_out;
      continue;
    }
    const std::string name = as_utf8(text.substr(0, equals));
    const bool secret = is_secret_variable(name) && equals + 1 < text.size();
    *redacted += secret;
    Value value = secret ? std::string(kRedacted) : redact_code(as_utf8(text.substr(equals + 1)), redacted);
    found.emplace_back(name, std::move(value));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Value out = Value::Map{{"values", std::move(found)}};
  if (left_out > 0) out.set("left_out", left_out);
  return out;
}

RunMonitor::RunMonitor(std::shared_ptr<Writer> writer, MonitorInput input)
    : writer_(std::move(writer)), input_(std::move(input)) {}

std::shared_ptr<RunMonitor> RunMonitor::start(std::shared_ptr<Writer> writer, MonitorInput input) {
  std::shared_ptr<RunMonitor> self(new RunMonitor(std::move(writer), std::move(input)));
  // What fails there is a part of the surroundings that is not recorded: nothing else depends on it.
  const auto guarded = [self](void (RunMonitor::*body)()) {
    return [self, body] {
      try {
        (self.get()->*body)();
      } catch (const std::exception&) {}
    };
  };
  if (self->input_.gpu.may_open()) {
    self->gpu_begun_.store(true);
    if (!start_background_thread("trk-gpu", guarded(&RunMonitor::gpu_loop))) self->gpu_begun_.store(false);
  }
  if (self->input_.plan.environment) {
    self->missing_ = {kCommit, kMachine, kDirty};
    if (self->input_.python.is_map()) self->missing_.emplace_back(kPackages);
    if (self->input_.plan.diff) self->missing_.emplace_back(kDiff);
    self->describing_ = true;
    const auto body = [self, facts = guarded(&RunMonitor::describe), watch = guarded(&RunMonitor::watch_gpu)] {
      facts();
      self->end_facts();
      watch();
    };
    if (!start_background_thread("trk-environ", body)) self->end_facts();
  }
  if (self->input_.plan.system_interval.count() > 0)
    (void)start_background_thread("trk-monitor", guarded(&RunMonitor::sample_loop));
  return self;
}

std::vector<std::string> RunMonitor::stop(std::chrono::milliseconds facts) {
  std::vector<std::string> missing;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    (void)changed_.wait_for(lock, facts, [this] { return stopping_ || !describing_; });
    stopping_ = true;
    missing = missing_;
  }
  changed_.notify_all();
  return missing;
}

void RunMonitor::settle(const char* fact) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!stopping_) std::erase(missing_, fact);
}

void RunMonitor::end_facts() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    describing_ = false;
  }
  changed_.notify_all();
}

bool RunMonitor::stopped() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return stopping_;
}

uint64_t RunMonitor::redacted() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return redacted_;
}

bool RunMonitor::wait_until(Clock::time_point when) {
  std::unique_lock<std::mutex> lock(mutex_);
  return !changed_.wait_until(lock, when, [this] { return stopping_; });
}

void RunMonitor::put(const char* key, Value value) {
  const Value::Map* map = value.as_map();
  if (map == nullptr || map->empty() || stopped()) return;
  writer_->push_environment(encode_cbor(Value::Map{{"key", key}, {"value", std::move(value)}}));
}

// --- once ------------------------------------------------------------------------------------------------------------

// The commit first, for it is what a result is worth, then what is cheap, then the rest by what it takes: a process
// that dies soon has the first ones.
void RunMonitor::describe() {
  uint64_t redacted = 0;
  // The program's own repository, as for capture "source"; one that lies in none is of the repository it is started in.
  const bool is_in_one = !input_.program_folder.empty() && find_git(input_.program_folder);
  const std::string& code = is_in_one ? input_.program_folder : input_.folder;
  const auto repository = code.empty() ? std::optional<GitFolder>() : find_git(code);
  Value git = repository ? git_commit_facts(*repository, &redacted) : Value::map();
  put("git", git);
  settle(kCommit);
  put("host", host_facts());
  put("container", container_limits());
  put("launcher", input_.launcher);
  put("variables", input_.variables);
  if (input_.plan.command) put("command", command_line(&redacted));
  settle(kMachine);
  if (repository) {
    git.set("dirty", git_dirty_fact(*repository));
    put("git", std::move(git));
  }
  settle(kDirty);
  if (Value python = input_.python; python.is_map()) {
    size_t left_out = 0;
    python.set("packages", python_packages(input_.python_path, &left_out));
    if (left_out > 0) python.set("packages_left_out", static_cast<int64_t>(left_out));
    put("python", std::move(python));
  }
  settle(kPackages);
  if (input_.plan.diff) put("diff", git_diff(code, &redacted));
  settle(kDiff);
  writer_->add_monitor_cpu(thread_cpu_ns());
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    redacted_ += redacted;
  }
}

// --- the GPU driver --------------------------------------------------------------------------------------------------

// A driver may hang in any call, while it is loaded too: its calls are made here and nowhere else, and no thread waits.
void RunMonitor::gpu_loop() {
  const GpuSampler::Watch watch = [this](const char* call) {
    gpu_call_.store(call);
    gpu_call_since_.store(call == nullptr ? 0 : monotonic_ns());
  };
  const GpuTrialResult trial = try_gpu_library(input_.gpu, watch, [this] { return stopped(); });
  if (trial.verdict == GpuTrial::kCrashed) note_gpu_crash(trial.call);
  const bool usable = trial.verdict == GpuTrial::kPassed || trial.verdict == GpuTrial::kNotMade;
  GpuSampler gpu(input_.gpu, watch);
  const bool any = usable && !stopped() && gpu.open();
  if (input_.plan.environment && any) put("gpu", gpu.describe());
  gpu_known_.store(true);
  changed_.notify_all();
  const Clock::duration interval = input_.plan.system_interval;
  if (!any || interval.count() == 0) return;
  const Clock::time_point start = Clock::now();
  Clock::time_point next = start + std::min<Clock::duration>(interval, kFirstSampleMax);
  uint64_t cpu = thread_cpu_ns();
  writer_->add_monitor_cpu(cpu);
  while (wait_until(next)) {
    std::vector<NamedValue> values;
    for (SystemValue& each : gpu.look()) values.push_back({std::move(each.name), each.value});
    if (stopped()) return;
    if (!values.empty()) writer_->push_sample(values);
    const uint64_t now_cpu = thread_cpu_ns();
    writer_->add_monitor_cpu(now_cpu - cpu);
    cpu = now_cpu;
    next = start + ((Clock::now() - start) / interval + 1) * interval;
  }
}

void RunMonitor::note_gpu_crash(const char* call) {
  writer_->push_note(Value::Map{{"kind", "gpu_crashed"}, {"call", call}});
  put("gpu_problem", Value::Map{{"call", call},
                                {"text",
                                 "the library of the GPU driver crashed where it was tried, in a process of its own; "
                                 "the run goes on, and GPUs are not sampled"}});
}

// Said once a run, by a thread that is not in the call.
void RunMonitor::note_gpu_stuck() {
  const int64_t since = gpu_call_since_.load();
  if (since == 0 || monotonic_ns() - since < std::chrono::nanoseconds(kGpuStuckAfter).count()) return;
  if (gpu_stuck_.exchange(true)) return;
  const char* call = gpu_call_.load();
  const std::string name = call == nullptr ? "" : call;
  writer_->push_note(Value::Map{{"kind", "gpu_stuck"}, {"call", name}});
  put("gpu_problem", Value::Map{{"call", name},
                                {"text",
                                 "the GPU driver has not answered for more than 5 s; the run goes on without "
                                 "what it would say"}});
}

// Until the driver has said what there is, or is known to be stuck.
void RunMonitor::watch_gpu() {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto known = [this] { return stopping_ || gpu_known_.load(); };
  while (gpu_begun_.load() && !gpu_stuck_.load() && !changed_.wait_for(lock, kGpuStuckAfter / 10, known)) {
    lock.unlock();
    note_gpu_stuck();
    lock.lock();
  }
}

// --- each interval ---------------------------------------------------------------------------------------------------

void RunMonitor::sample_loop() {
  const Clock::duration interval = input_.plan.system_interval;
  const Clock::time_point start = Clock::now();
  SystemSampler sampler(input_.store_path);
  (void)sampler.look();  // what rates are counted from
  Clock::time_point next = start + std::min<Clock::duration>(interval, kFirstSampleMax);
  uint64_t cpu = 0;
  while (wait_until(next)) {
    std::vector<NamedValue> values;
    for (SystemValue& each : sampler.look()) values.push_back({std::move(each.name), each.value});
    writer_->push_sample(values);
    note_gpu_stuck();
    const uint64_t now_cpu = thread_cpu_ns();
    writer_->add_monitor_cpu(now_cpu - cpu);
    cpu = now_cpu;
    // The next one of the run's own beat: what was missed (a suspended machine) is not made up for.
    next = start + ((Clock::now() - start) / interval + 1) * interval;
  }
}

// A process that attaches is sampled by its parent: it is in the parent's tree.
void Run::start_monitor() {
  const InitPlan& plan = impl_->plan;
  const CapturePlan& capture = plan.capture;
  if (plan.options.attach_attempt > 0) return;
  if (!capture.environment && capture.system_interval.count() == 0) return;
  MonitorInput input{capture,
                     plan.store_path,
                     plan.options.source_folder.empty() ? "" : absolute_path(plan.options.source_folder),
                     absolute_path("."),
                     plan.options.python,
                     plan.options.python_path,
                     {},
                     GpuOptions::from_env(plan.options.gpu_trial),
                     {}};
  uint64_t redacted = 0;
  if (capture.environment) input.launcher = launcher_variables();
  if (capture.variables) input.variables = environment_variables(&redacted);
  impl_->redacted += redacted;  // no other thread knows the run yet
  impl_->monitor = RunMonitor::start(impl_->writer, std::move(input));
}

}  // namespace tracker::internal
