// SPDX-License-Identifier: MIT
#include "run/init_options.h"

#include <fmt/format.h>

#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "model/byte_size.h"
#include "model/key.h"
#include "model/redact/redact.h"
#include "pipeline/disk_limit.h"
#include "run/resume.h"
#include "storage/writer/store_files.h"

namespace tracker::internal {

const char* env_value(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : nullptr;
}

namespace {

// An argument beats a variable, a variable beats the default. What an error calls it.
const char* fill(std::string* option, const char* argument, const char* variable, const char* otherwise) {
  if (!option->empty()) return argument;
  const char* value = variable == nullptr ? nullptr : env_value(variable);
  *option = value != nullptr ? value : otherwise;
  return value != nullptr ? variable : argument;
}

Status one_of(const char* what, const std::string& value, std::initializer_list<const char*> allowed) {
  std::string list;
  for (const char* each : allowed) {
    if (value == each) return {};
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", each);
  }
  return Status(Code::kInvalid, fmt::format("{}=\"{}\": expected one of {}", what, value, list));
}

}  // namespace

Status complete_options(InitOptions* o) {
  const char* project = fill(&o->project, "project", "TRACKER_PROJECT", "default");
  const char* mode = fill(&o->mode, "mode", "TRACKER_MODE", "local");
  const char* ranks = fill(&o->ranks, "ranks", "TRACKER_RANKS", "first");
  fill(&o->duplicate_policy, "duplicate_policy", nullptr, "last");
  fill(&o->on_full, "on_full", nullptr, "wait");
  fill(&o->on_exit, "on_exit", nullptr, "finish");
  fill(&o->journal, "journal", nullptr, "auto");
  TRACKER_RETURN_IF_ERROR(check_label(project, o->project));
  for (const auto& [what, label] : {std::pair<const char*, const std::string*>{"id", &o->id},
                                    {"name", &o->name},
                                    {"group", &o->group},
                                    {"job_type", &o->job_type}})
    if (!label->empty()) TRACKER_RETURN_IF_ERROR(check_label(what, *label));
  // Names of folders; the other ones are redacted when they are stored.
  TRACKER_RETURN_IF_ERROR(check_no_secret(project, o->project));
  TRACKER_RETURN_IF_ERROR(check_no_secret("id", o->id));
  for (const std::string& tag : o->tags) TRACKER_RETURN_IF_ERROR(check_label("a tag", tag));
  if (!is_utf8(o->notes)) return Status(Code::kInvalid, "notes is not UTF-8");
  if (!o->config.is_map()) return Status(Code::kInvalid, "config is no mapping: expected keys and values");
  TRACKER_RETURN_IF_ERROR(one_of(mode, o->mode, {"local", "online", "offline", "disabled"}));
  if (!o->resume.empty()) TRACKER_RETURN_IF_ERROR(one_of("resume", o->resume, {"never", "allow", "must"}));
  TRACKER_RETURN_IF_ERROR(check_resume(o, env_value("TRACKER_RUN_ID") != nullptr));
  TRACKER_RETURN_IF_ERROR(one_of("duplicate_policy", o->duplicate_policy, {"last", "first"}));
  TRACKER_RETURN_IF_ERROR(one_of("on_full", o->on_full, {"wait", "drop", "block"}));
  TRACKER_RETURN_IF_ERROR(one_of("on_exit", o->on_exit, {"finish", "leave"}));
  if (!o->on_sigterm.empty()) TRACKER_RETURN_IF_ERROR(one_of("on_sigterm", o->on_sigterm, {"mark"}));
  TRACKER_RETURN_IF_ERROR(one_of("journal", o->journal, {"auto", "shm", "disk", "memory"}));
  o->store_files = store_files_option();
  TRACKER_RETURN_IF_ERROR(one_of("TRACKER_STORE_FILES", o->store_files, {"auto", "sqlite", "frames"}));
  TRACKER_RETURN_IF_ERROR(one_of(ranks, o->ranks, {"first", "observe", "all"}));
  if (o->journal == "auto") o->journal.clear();
  return {};
}

Result<uint64_t> max_disk_of(InitOptions* o) {
  const char* what = fill(&o->max_disk, "max_disk", "TRACKER_MAX_DISK", "");
  if (o->max_disk.empty()) return uint64_t{0};
  auto bytes = parse_byte_size(what, o->max_disk);
  if (bytes.ok() && *bytes < kMaxDiskMin)
    return Status(Code::kInvalid,
                  fmt::format("{}=\"{}\": expected at least {} MiB", what, o->max_disk, kMaxDiskMin >> 20));
  return bytes;
}

}  // namespace tracker::internal
