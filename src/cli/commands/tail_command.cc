// SPDX-License-Identifier: MIT
// tracker tail: the last rows of a run, then those that come.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/clock.h"
#include "cli/commands/command.h"
#include "cli/output/tail_lines.h"
#include "cli/output/text.h"
#include "model/filter/filter.h"
#include "query/rows/resolve.h"
#include "storage/database/log_scan.h"

namespace tracker::internal {
namespace {

constexpr std::chrono::milliseconds kTailPoll{250};  // a commit comes each 100 ms
constexpr uint64_t kFramesBackFirst = 1;             // a million rows at most; then eight times as many, until enough

// A time or a length of time as in filters: "now-10m", "2026-09-01", "90m" (back from now).
Result<int64_t> read_since(const std::string& text, int64_t now_us) {
  for (const char* before : {"created >= ", "created >= now-"}) {
    const auto filter = Filter::parse(before + text, now_us);
    const FilterNode* root = filter.ok() ? filter->root() : nullptr;
    if (root == nullptr || root->kind != FilterNode::Kind::kTest || root->literals.size() != 1) continue;
    if (root->literals.front().kind == FilterLiteral::Kind::kTime) return root->literals.front().integer;
  }
  return Status(Code::kInvalid, fmt::format("--since {}: expected a time or a length of time", text),
                "such as 90m, now-2h, 2026-09-01 or 2026-09-01T12:30");
}

// Of each metric in each writer the newest rows and what else was logged in the microsecond of the oldest of them: a
// line of text for each of a million rows costs 300 bytes and 1 us.
void keep_newest(TailBatch* batch, uint64_t rows_max) {
  for (TailedMetric& metric : batch->metrics) {
    const History& rows = metric.rows;
    if (rows.size() <= rows_max) continue;
    std::vector<std::vector<int64_t>> times(rows.sources.size());
    const auto source_of = [&rows](size_t row) { return rows.source.empty() ? 0 : rows.source[row]; };
    for (size_t row = 0; row < rows.size(); ++row) times[source_of(row)].push_back(rows.times_us[row]);
    std::vector<int64_t> oldest(times.size(), INT64_MIN);
    for (size_t i = 0; i < times.size(); ++i) {
      if (times[i].size() <= rows_max) continue;
      const auto at = times[i].end() - static_cast<std::ptrdiff_t>(rows_max);
      std::nth_element(times[i].begin(), at, times[i].end());
      oldest[i] = *at;
    }
    std::vector<size_t> newest;
    for (size_t row = 0; row < rows.size(); ++row)
      if (rows.times_us[row] >= oldest[source_of(row)]) newest.push_back(row);
    select_rows(&metric.rows, newest);
  }
}

class Tail {
 public:
  Tail(Console& console, RunView* run, const TailOptions& options) : console_(console), run_(run), options_(options) {
    query_.metrics = options.metrics;
    events_ = {options.metrics, options.texts, options.settings, options.metrics.empty()};
    ranks_ =
        run->writers().size() > 1 && std::any_of(run->writers().begin(), run->writers().end(),
                                                 [](const WriterSnapshot& writer) { return writer.identity.rank > 0; });
  }

  // What is there: the last rows, or those since a time.
  Status show_last(std::optional<int64_t> since_us) {
    cursor_ = tail_end(*run_, query_);
    const bool all = since_us && !options_.rows_given;
    if (options_.rows == 0 && !all) return {};
    for (uint64_t back = kFramesBackFirst;; back *= 8) {
      auto begin = tail_back(run_, query_, back);
      if (!begin.ok()) return begin.status();
      if (since_us && !begin->writers.empty()) {
        auto early = begins_before(*begin, *since_us);
        if (!early.ok()) return early.status();
        if (!*early) continue;
      }
      TailCursor at = *begin;
      Kept kept;
      TRACKER_RETURN_IF_ERROR(read(&at, since_us, all ? nullptr : &kept));
      // What lies in front of a writer's last lines is not among the last of all.
      const auto has_enough = [&](const auto& writer) { return kept.by_writer[writer.first] >= options_.rows; };
      if (!since_us && !std::all_of(begin->writers.begin(), begin->writers.end(), has_enough)) continue;
      for (const TailLine& line : kept.lines) print(line);
      cursor_ = at;
      return {};
    }
  }

  // Until the run has ended and all of it is shown.
  Status follow(const std::optional<Store>& store) {
    bool recovered = false;
    while (console_.out_status.ok()) {
      const int64_t begun = monotonic_ns();
      keep_problems();
      TRACKER_RETURN_IF_ERROR(run_->refresh());
      const RunState state = run_->state();
      // Its process has died: what its rings hold comes with a recovery.
      if (state == RunState::kCrashed && !recovered && store) {
        recovered = true;
        const RecoveryReport report = recover_dead_writers(*store, run_->identity().uid);
        for (const UnfinishedRecovery& each : report.unfinished) console_.note(each.text);
        for (const std::string& problem : report.problems) console_.note(problem);
        worst_ = worse_of(worst_, report.worst);
        continue;
      }
      TRACKER_RETURN_IF_ERROR(read(&cursor_, std::nullopt, nullptr));
      if (state != RunState::kRunning) return {};
      const auto took = std::chrono::nanoseconds(monotonic_ns() - begun);
      std::this_thread::sleep_for(std::max<std::chrono::nanoseconds>(kTailPoll, took));
      if (console_.pipe_closed && console_.pipe_closed()) return {};  // else only the next row would find it
    }
    return {};
  }

  // Names what was met and gives the exit code.
  int end() {
    keep_problems();
    return finish(console_, problems_, worst_);
  }

 private:
  // A refreshed run knows of what is read from then on only.
  void keep_problems() {
    worst_ = worse_of(worst_, run_->problem_code());
    for (const std::string& problem : run_->problems())
      if (problems_.size() < kDamageLinesMax &&
          std::find(problems_.begin(), problems_.end(), problem) == problems_.end())
        problems_.push_back(problem);
  }

  // The last lines of all that was read.
  struct Kept {
    std::vector<TailLine> lines;
    std::map<Id128, uint64_t> by_writer;  // how many there were
    void add(std::vector<TailLine> more, size_t lines_max) {
      for (TailLine& line : more) {
        ++by_writer[line.source.writer];
        lines.push_back(std::move(line));
      }
      std::stable_sort(lines.begin(), lines.end(), comes_before);
      if (lines.size() > lines_max) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(lines_max));
    }
  };

  // Whether of each writer that is not read from its start the first row after `at` is from before `since_us`.
  Result<bool> begins_before(TailCursor at, int64_t since_us) {
    std::map<Id128, bool> early;
    for (const auto& [writer, position] : at.writers) early[writer] = false;
    TailQuery first = query_;
    first.rows_max = 1;  // a frame a writer
    auto batch = read_tail(run_, first, &at);
    if (!batch.ok()) return batch.status();
    for (const TailedMetric& metric : batch->metrics)
      for (size_t row = 0; row < metric.rows.size(); ++row)
        if (metric.rows.times_us[row] < since_us) early[metric.rows.row_source(row).writer] = true;
    return std::all_of(early.begin(), early.end(), [](const auto& writer) { return writer.second; });
  }

  // All rows after the cursor: printed, or the last of them kept.
  Status read(TailCursor* at, std::optional<int64_t> since_us, Kept* kept) {
    for (bool more = true; more && console_.out_status.ok();) {
      const TailCursor before = *at;
      auto batch = read_tail(run_, query_, at);
      if (!batch.ok()) return batch.status();
      auto events = read_tail_events(run_, events_, before, *at);
      if (!events.ok()) return events.status();
      if (kept != nullptr && options_.rows > 0) keep_newest(&*batch, options_.rows);
      std::vector<TailLine> lines = tail_lines(*batch, *events);
      std::erase_if(lines, [&](const TailLine& line) { return since_us && line.time_us < *since_us; });
      if (kept != nullptr) kept->add(std::move(lines), options_.rows);
      else std::for_each(lines.begin(), lines.end(), [this](const TailLine& line) { print(line); });
      more = batch->more;
    }
    return {};
  }

  void print(const TailLine& line) {
    console_.print(options_.json ? tail_json(line) : tail_text(console_, line, ranks_));
  }

  Console& console_;
  RunView* run_;
  const TailOptions& options_;
  TailQuery query_;
  TailEventQuery events_;
  TailCursor cursor_;
  std::vector<std::string> problems_;
  Code worst_ = Code::kOk;
  bool ranks_ = false;
};

// A name that nothing was logged under: in a run that goes on it may come.
Status check_metrics(Console& console, const RunView& run, const TailOptions& options) {
  const std::vector<std::string> texts = run.text_metrics();
  for (const std::string& name : options.metrics) {
    const auto metric = run.metric(name);
    if (metric.ok() || std::find(texts.begin(), texts.end(), name) != texts.end()) continue;
    if (!options.follow || run.state() != RunState::kRunning) return metric.status();
    console.note(fmt::format("{}; waiting for it", metric.status().message()));
  }
  return {};
}

void say_end(Console& console, const RunView& run, bool json) {
  const std::string state = run_state_name(run.state());
  if (json)
    console.print(to_json(Value::Map{{"state", state},
                                     {"state_detail", run.state_detail()},
                                     {"ended_us", run.ended_us() != 0 ? Value(run.ended_us()) : Value()}}) +
                  "\n");
  const std::string detail = run.state_detail().empty() ? "" : ", " + run.state_detail();
  if (!json) console.note(fmt::format("{}/{}: {}{}", run.identity().project, run.identity().id, state, detail));
}

}  // namespace

int run_tail(Console& console, const GlobalOptions& global, const TailOptions& options) {
  std::optional<int64_t> since_us;
  if (!options.since.empty()) {
    const auto since = read_since(options.since, console.now_us);
    if (!since.ok()) return fail(console, since.status());
    since_us = *since;
  }
  const auto found = find_named_run(console, global, options.run);
  if (!found.ok()) return fail(console, found.status());
  const auto opened = open_run(*found);
  if (!opened.ok()) return fail(console, opened.status());
  RunView& run = **opened;
  if (const Status status = check_metrics(console, run, options); !status.ok()) return fail(console, status);
  Tail tail(console, &run, options);
  Status status = tail.show_last(since_us);
  if (status.ok() && options.follow) status = tail.follow(found->store);
  if (!status.ok()) return fail(console, status);
  if (options.follow && console.out_status.ok()) say_end(console, run, options.json);
  return tail.end();
}

}  // namespace tracker::internal
