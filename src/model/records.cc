// SPDX-License-Identifier: MIT
#include "model/records.h"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>

#include <cstdlib>
#include <cstring>

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
    case LossReason::kMaxDisk: return "max_disk reached";
    case LossReason::kDevice: return "not arrived from a device";
    case LossReason::kFileChanged: return "file removed or changed by another program";
  }
  return "unknown";
}

std::string_view alert_key(const Value& payload) {
  return payload.int_or("dropped", 0) > 0 && payload.find("title") == nullptr ? "dropped" : "";
}

std::string preempted_payload(std::string_view why) {
  return encode_cbor(Value::Map{{"key", std::string(kPreemptedKey)}, {"value", std::string(why)}});
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
    case RunState::kDamaged: return "damaged";
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
  out.created_us = value.int_or("created_us", -1);
  if (out.created_us < 0) return missing("created_us");
  return out;
}

Value WriterIdentity::to_value() const {
  Value out = Value::Map{{"writer", writer.hex()},
                         {"run", run.to_value()},
                         {"store", store.hex()},
                         {"store_path", store_path},
                         {"store_device", static_cast<int64_t>(store_device)},
                         {"store_inode", static_cast<int64_t>(store_inode)},
                         {"run_dir", run_dir},
                         {"journal_dir", journal_dir},
                         {"journal", journal},
                         {"host", host},
                         {"boot_id", boot_id},
                         {"pid", pid},
                         {"pid_start", pid_start},
                         {"pid_namespace", static_cast<int64_t>(pid_namespace)},
                         {"attempt", attempt},
                         {"rank", rank},
                         {"world_size", world_size},
                         {"started_us", started_us},
                         {"version", version},
                         {"files", files},
                         {"file_system", file_system}};
  if (continues != 0) out.set("continues", continues);
  if (resume_step) out.set("resume_step", *resume_step);
  if (!launch.empty()) out.set("launch", launch);
  if (observed) out.set("observed", true);
  if (received) out.set("received", true);
  if (image != 0) out.set("image", image);
  if (!oom_file.empty()) {
    out.set("oom_file", oom_file);
    out.set("oom_kills", oom_kills);
  }
  if (part > 1) {
    const auto number = [](uint64_t n) { return Value(static_cast<int64_t>(n)); };
    out.set("part", part);
    out.set("before", Value::Map{{"seq", number(before.seq)},
                                 {"points", number(before.points)},
                                 {"texts", number(before.texts)},
                                 {"dropped", number(before.dropped)},
                                 {"log_points", number(before.log_points)}});
  }
  return out;
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
  out.store_device = static_cast<uint64_t>(value.int_or("store_device", 0));
  out.store_inode = static_cast<uint64_t>(value.int_or("store_inode", 0));
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
  out.continues = value.int_or("continues", 0);
  if (const Value* step = value.find("resume_step"); step != nullptr && step->as_int() != nullptr)
    out.resume_step = *step->as_int();
  out.launch = value.text_or("launch", "");
  out.oom_file = value.text_or("oom_file", "");
  out.oom_kills = value.int_or("oom_kills", 0);
  out.image = value.int_or("image", 0);
  const auto flag = [&value](std::string_view key) {
    const Value* found = value.find(key);
    return found != nullptr && found->as_bool() != nullptr && *found->as_bool();
  };
  out.observed = flag("observed");
  out.received = flag("received");
  out.part = value.int_or("part", 1);
  if (const Value* before = value.find("before"); before != nullptr && before->is_map()) {
    const auto number = [before](std::string_view key) {
      return static_cast<uint64_t>(std::max<int64_t>(before->int_or(key, 0), 0));
    };
    out.before = {number("seq"), number("points"), number("texts"), number("dropped"), number("log_points")};
  }
  return out;
}

namespace {

// The text from field `number` of /proc/<pid>/stat on; fields count from 3.
std::string_view stat_field(std::string_view stat, int number) {
  // The name in field 2 may hold spaces; fields count from its closing parenthesis.
  size_t at = stat.rfind(')');
  for (int field = 2; field < number && at != std::string_view::npos; ++field) at = stat.find(' ', at + 1);
  return at == std::string_view::npos ? std::string_view() : stat.substr(at + 1, 24);
}

int64_t stat_number(std::string_view stat, int number) {
  return std::strtoll(std::string(stat_field(stat, number)).c_str(), nullptr, 10);
}

// The kernel gives each program that it starts 16 random bytes (AT_RANDOM, getauxval(3)). They seed the stack protector
// too, so what is stored is 32 bits that do not reveal them: mixed by the finalizer of SplitMix64.
int64_t program_image() {
  const auto* random = reinterpret_cast<const unsigned char*>(::getauxval(AT_RANDOM));
  if (random == nullptr) return 0;
  uint64_t mixed = 0;
  for (int half = 0; half < 2; ++half) {
    uint64_t bits = 0;
    std::memcpy(&bits, random + size_t{8} * half, sizeof bits);
    mixed += bits + 0x9E3779B97F4A7C15;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    mixed ^= mixed >> 31;
  }
  return static_cast<int64_t>(mixed >> 32) + 1;  // 0 says that it is not known
}

}  // namespace

bool is_same_process(const WriterIdentity& one, const WriterIdentity& other) {
  return one.boot_id == other.boot_id && one.pid == other.pid && one.pid_start == other.pid_start &&
         one.pid_namespace == other.pid_namespace && (one.image == other.image || one.image == 0 || other.image == 0);
}

int64_t pid_start_of(std::string_view stat) { return stat_number(stat, 22); }

bool is_zombie(std::string_view stat) {
  // Field 3 is the state of the first thread alone: it may have ended before the others (pthread_exit in main).
  const std::string_view state = stat_field(stat, 3);
  return (state.starts_with('Z') || state.starts_with('X')) && stat_number(stat, 20) <= 1;
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
  out.image = program_image();
  return out;
}

}  // namespace tracker::internal
