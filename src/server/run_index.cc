// SPDX-License-Identifier: MIT
#include "server/run_index.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/fs.h"
#include "model/key.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

constexpr int64_t kScanNsMin = 1'000'000'000;
// Limit: runs of one label in a project of a server. Beyond it: 413.
constexpr int kArrivalLabelsMax = 10'000;

// Without the process that made it: the server's own process does not show what one on another machine does.
std::string received_run_document(const RunIdentity& run) {
  Value::Map map{{"format", "tracker-run"}, {"version", 1}};
  const Value identity = run.to_value();
  for (const auto& item : *identity.as_map()) map.push_back(item);
  return to_json(map, 2) + "\n";
}

}  // namespace

bool RunIndex::is_there(const Id128& uid) {
  const auto found = runs_.find(uid);
  return found != runs_.end() && is_directory(found->second.path);
}

void RunIndex::scan() {
  const int64_t now_ns = monotonic_ns();
  if (scanned_ns_ != 0 && now_ns - scanned_ns_ < kScanNsMin) return;
  runs_.clear();
  for (RunFolder& run : store_.list_runs()) {
    const Id128 uid = run.identity.uid;
    const bool is_own = is_in_own_place(run) || last_name(run.path) == uid.hex();  // of copies this one counts
    if (is_own) runs_.insert_or_assign(uid, std::move(run));
    else runs_.try_emplace(uid, std::move(run));
  }
  scanned_ns_ = monotonic_ns();
}

std::optional<RunFolder> RunIndex::find(const Id128& uid) {
  const std::lock_guard lock(mutex_);
  if (!is_there(uid)) scan();
  if (!is_there(uid)) return std::nullopt;
  return runs_.at(uid);
}

void RunIndex::note(const RunFolder& run) {
  const std::lock_guard lock(mutex_);
  runs_.try_emplace(run.identity.uid, run);
}

Result<std::string> RunIndex::free_label(std::string_view project, const std::string& label) {
  for (int i = 1; i <= kArrivalLabelsMax; ++i) {
    std::string out = i == 1 ? label : fmt::format("{}-{}", label, i);
    // A local run of this store has a folder with its label.
    const bool is_taken =
        path_exists(store_.run_path(project, out)) || std::any_of(runs_.begin(), runs_.end(), [&](const auto& each) {
          return each.second.identity.project == project && each.second.identity.id == out;
        });
    if (!is_taken) return out;
  }
  return Status(Code::kLimit, fmt::format("{} runs of the project are called \"{}\"", kArrivalLabelsMax, label));
}

Result<RunFolder> RunIndex::open_or_make(const RunIdentity& said, std::string_view project) {
  TRACKER_RETURN_IF_ERROR(check_label("project", project));
  TRACKER_RETURN_IF_ERROR(check_label("run id", said.id));
  const std::lock_guard lock(mutex_);
  if (!is_there(said.uid) && scanned_ns_ == 0) scan();
  if (is_there(said.uid)) {
    const RunFolder& run = runs_.at(said.uid);
    if (run.identity.project == project) return run;
    return Status(Code::kInvalid, fmt::format("the run {} is in another project of this server", said.uid.hex()),
                  "nothing of this request is stored");
  }
  runs_.erase(said.uid);  // its folder was removed: its own label is free
  auto label = free_label(project, said.id);
  if (!label.ok()) return label.status();
  RunFolder run;
  run.identity = {said.uid, std::string(project), std::move(*label), said.created_us};
  run.path = join_path(parent_path(store_.run_path(project, "x")), said.uid.hex());
  const std::string document = join_path(run.path, kRunFile);
  const Status made = make_run_dirs([&]() -> Status {
    TRACKER_RETURN_IF_ERROR(make_dirs(run.path));
    return create_file_exclusive(document, received_run_document(run.identity), 0666);
  });
  if (made.code() == Code::kExists) {
    auto read = read_run_folder(run.path);
    if (!read.ok()) return read;
    run = std::move(*read);
  } else if (!made.ok()) {
    return made;
  }
  store_.sync(run);
  runs_.insert_or_assign(said.uid, run);
  return run;
}

}  // namespace tracker::internal
