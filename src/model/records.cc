// SPDX-License-Identifier: MIT
#include "model/records.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/fs.h"

namespace tracker::internal {

const char* loss_reason_text(LossReason reason) {
  switch (reason) {
    case LossReason::kRingFull: return "ring full";
    case LossReason::kKeyLimit: return "too many metrics";
    case LossReason::kClosed: return "logged after finish";
    case LossReason::kTooLarge: return "too large";
    case LossReason::kDisk: return "store not writable";
    case LossReason::kRejected: return "bad value or key";
    case LossReason::kDamaged: return "journal damaged";
  }
  return "unknown";
}

const char* run_state_name(RunState state) {
  switch (state) {
    case RunState::kRunning: return "running";
    case RunState::kFinished: return "finished";
    case RunState::kFailed: return "failed";
    case RunState::kInterrupted: return "interrupted";
    case RunState::kPreempted: return "preempted";
    case RunState::kCrashed: return "crashed";
    case RunState::kLostContact: return "lost contact";
  }
  return "unknown";
}

namespace {
Status missing(const char* what) { return Status(Code::kCorrupt, fmt::format("no valid {} in the document", what)); }
}  // namespace

Value RunIdentity::to_value() const {
  return Value::Map{{"uid", uid.hex()}, {"project", project}, {"id", id}, {"created_us", created_us}};
}

Result<RunIdentity> RunIdentity::from_value(const Value& value) {
  RunIdentity out;
  const auto uid = Id128::from_hex(value.text_or("uid", ""));
  if (!uid) return missing("uid");
  out.uid = *uid;
  out.project = value.text_or("project", "");
  out.id = value.text_or("id", "");
  if (out.project.empty() || out.id.empty()) return missing("project or id");
  out.created_us = value.int_or("created_us", 0);
  return out;
}

Value WriterIdentity::to_value() const {
  return Value::Map{{"writer", writer.hex()},    {"run", run.to_value()},
                    {"store", store.hex()},      {"store_path", store_path},
                    {"run_dir", run_dir},        {"journal_dir", journal_dir},
                    {"journal", journal},        {"host", host},
                    {"boot_id", boot_id},        {"pid", pid},
                    {"pid_start", pid_start},    {"pid_namespace", static_cast<int64_t>(pid_namespace)},
                    {"attempt", attempt},        {"rank", rank},
                    {"world_size", world_size},  {"started_us", started_us},
                    {"version", version},        {"files", files},
                    {"file_system", file_system}};
}

Result<WriterIdentity> WriterIdentity::from_value(const Value& value) {
  WriterIdentity out;
  const auto writer = Id128::from_hex(value.text_or("writer", ""));
  const auto store = Id128::from_hex(value.text_or("store", ""));
  if (!writer) return missing("writer id");
  if (!store) return missing("store id");
  const Value* run = value.find("run");
  if (run == nullptr) return missing("run");
  auto identity = RunIdentity::from_value(*run);
  if (!identity.ok()) return identity.status();
  out.writer = *writer;
  out.store = *store;
  out.run = *identity;
  out.store_path = value.text_or("store_path", "");
  out.run_dir = value.text_or("run_dir", "");
  out.journal_dir = value.text_or("journal_dir", "");
  out.journal = value.text_or("journal", "");
  out.host = value.text_or("host", "");
  out.boot_id = value.text_or("boot_id", "");
  out.pid = value.int_or("pid", 0);
  out.pid_start = value.int_or("pid_start", 0);
  out.pid_namespace = static_cast<uint64_t>(value.int_or("pid_namespace", 0));
  out.attempt = value.int_or("attempt", 1);
  out.rank = value.int_or("rank", 0);
  out.world_size = value.int_or("world_size", 1);
  out.started_us = value.int_or("started_us", 0);
  out.version = value.text_or("version", "");
  out.files = value.text_or("files", "");
  out.file_system = value.text_or("file_system", "");
  return out;
}

int64_t pid_start_of(std::string_view stat) {
  // The name in field 2 may hold spaces; fields count from behind its closing parenthesis.
  size_t at = stat.rfind(')');
  for (int field = 2; field < 22 && at != std::string_view::npos; ++field) at = stat.find(' ', at + 1);
  return at == std::string_view::npos ? 0 : std::strtoll(std::string(stat.substr(at, 24)).c_str(), nullptr, 10);
}

WriterIdentity this_process() {
  WriterIdentity out;
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) out.host = host;
  auto boot = read_file("/proc/sys/kernel/random/boot_id", 64);
  if (boot.ok() && boot->size() >= 36) out.boot_id = boot->substr(0, 36);
  out.pid = ::getpid();
  auto stat = read_file("/proc/self/stat", 4096);
  if (stat.ok()) out.pid_start = pid_start_of(*stat);
  struct stat ns;
  if (::stat("/proc/self/ns/pid", &ns) == 0) out.pid_namespace = ns.st_ino;
  return out;
}

}  // namespace tracker::internal
