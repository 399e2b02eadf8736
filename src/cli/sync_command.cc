// SPDX-License-Identifier: MIT
// tracker sync: sends runs to the server. It writes into no run, so it may be called at any time and again.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "sync/run_sync.h"
#include "transport/known_server.h"

namespace tracker::internal {
namespace {

struct SyncedRun {
  RunFolder run;
  SyncCounts counts;
  bool complete = false;  // all that is durable now is on the server
  uint64_t writers_unfinished = 0;
  std::vector<std::string> problems;
};

// Those named; without names those that init(mode="offline") or "online" recorded.
Result<std::vector<RunFolder>> chosen_runs(Console& console, const Store& store, const SyncOptions& options) {
  std::vector<RunFolder> out;
  for (const std::string& name : options.runs) {
    auto run = store.resolve_run(name, RunNames::kOfRuns);
    if (!run.ok()) return run.status();
    const bool known =
        std::any_of(out.begin(), out.end(), [&](const RunFolder& each) { return each.path == run->path; });
    if (!known) out.push_back(std::move(*run));
  }
  if (!options.runs.empty()) return out;
  std::vector<Status> damaged;
  std::vector<RunFolder> all = store.list_runs("", &damaged);
  for (const Status& status : damaged) console.note(status.to_string());
  ProgressBar bar(console, "looking for runs to send");
  for (size_t i = 0; i < all.size(); ++i) {
    bar.show(i, all.size());
    if (mode_of_run(all[i]) != "local") out.push_back(std::move(all[i]));
  }
  bar.clear();
  std::reverse(out.begin(), out.end());  // the oldest first
  return out;
}

std::string counts_text(const SyncCounts& counts) {
  return fmt::format("{}, {}, {}", counted(counts.points_sent, "point"), counted(counts.files_sent, "file"),
                     bytes_text(counts.bytes_sent));
}

// What is being sent, on a terminal, redrawn ten times a second after the first one.
class SendingLine {
 public:
  SendingLine(Console& console, const RunSync& sync, std::string name)
      : console_(console), sync_(sync), name_(std::move(name)), begun_ns_(monotonic_ns()) {}
  ~SendingLine() {
    if (drawn_ns_ != 0) console_.write_err("\r\033[K");
  }
  void show() {
    const int64_t now = monotonic_ns();
    if (!console_.progress || now - begun_ns_ < console_.progress_after_ns || now - drawn_ns_ < kProgressRedrawNs)
      return;
    drawn_ns_ = now;
    console_.write_err(fmt::format("\r\033[Ksending {}: {}", visible(name_), counts_text(sync_.counts())));
  }

 private:
  Console& console_;
  const RunSync& sync_;
  const std::string name_;
  const int64_t begun_ns_;
  int64_t drawn_ns_ = 0;
};

void print_run(Console& console, const SyncedRun& each) {
  const std::string name = visible(run_text(each.run));
  if (each.complete && each.counts.bytes_sent == 0) console.print(name + ": nothing to send\n");
  else console.print(fmt::format("{}: sent {}\n", name, counts_text(each.counts)));
  if (each.complete && each.writers_unfinished > 0)
    console.print(fmt::format("{} goes on; a later sync sends what comes\n", name));
}

Value run_json(const SyncedRun& each) {
  Value::List problems;
  for (const std::string& problem : each.problems) problems.emplace_back(problem);
  return Value::Map{{"project", each.run.identity.project},
                    {"id", each.run.identity.id},
                    {"uid", each.run.identity.uid.hex()},
                    {"complete", each.complete},
                    {"writers_unfinished", static_cast<int64_t>(each.writers_unfinished)},
                    {"points_sent", static_cast<int64_t>(each.counts.points_sent)},
                    {"files_sent", static_cast<int64_t>(each.counts.files_sent)},
                    {"bytes_sent", static_cast<int64_t>(each.counts.bytes_sent)},
                    {"problems", std::move(problems)}};
}

void print(Console& console, const Store& store, const ServerLink& server, const std::vector<SyncedRun>& runs,
           const SyncCounts& sum, bool json) {
  if (json) {
    Value::List list;
    for (const SyncedRun& each : runs) list.push_back(run_json(each));
    console.print(visible_json(to_json(Value::Map{{"store", store.path()},
                                                  {"server", server.url()},
                                                  {"runs", std::move(list)},
                                                  {"points_sent", static_cast<int64_t>(sum.points_sent)},
                                                  {"files_sent", static_cast<int64_t>(sum.files_sent)},
                                                  {"bytes_sent", static_cast<int64_t>(sum.bytes_sent)}},
                                       2)) +
                  "\n");
    return;
  }
  for (const SyncedRun& each : runs) print_run(console, each);
  if (runs.empty()) console.print("No runs of mode online or offline here; tracker sync RUN sends any other.\n");
  else if (runs.size() > 1)
    console.print(fmt::format("sent {} of {}\n", counts_text(sum), counted(runs.size(), "run")));
}

}  // namespace

int run_sync(Console& console, const GlobalOptions& global, const SyncOptions& options) {
  auto known = known_server("", "");
  if (!known.ok()) return fail(console, known.status());
  if (known->url.empty())
    return fail(console, Status(Code::kNotFound, "no server is known",
                                "set TRACKER_HOST and TRACKER_TOKEN, or call tracker.login(host, token) once; nothing "
                                "was sent and nothing is lost"));
  const auto store = open_store(console, global);
  if (!store.ok()) return fail(console, store.status());
  const auto chosen = chosen_runs(console, *store, options);
  if (!chosen.ok()) return fail(console, chosen.status());
  ServerLink server(std::move(*known));
  std::vector<SyncedRun> runs;
  SyncCounts sum;
  ServerAnswer answer = chosen->empty() ? ServerAnswer() : server.greet();
  for (const RunFolder& run : *chosen) {
    SyncedRun each{run, {}, false, 0, {}};
    if (answer.ok()) {
      RunSync sync(&server, store->path(), run);
      SendingLine line(console, sync, run_text(run));
      const std::function<bool()> go_on = [&line] {
        line.show();
        return true;
      };
      server.set_go_on(go_on);
      answer = sync_all(&sync, &server, go_on);
      server.set_go_on([] { return true; });
      each.counts = sync.counts();
      each.problems = sync.problems();
      each.complete = answer.ok() && each.problems.empty();
      each.writers_unfinished = sync.writers_unfinished();
      sum.points_sent += each.counts.points_sent;
      sum.files_sent += each.counts.files_sent;
      sum.bytes_sent += each.counts.bytes_sent;
    }
    runs.push_back(std::move(each));
  }
  print(console, *store, server, runs, sum, options.json);
  bool complete = answer.ok();
  for (const SyncedRun& each : runs) {
    for (const std::string& problem : each.problems) console.note(problem);
    complete = complete && each.complete;
  }
  if (!answer.ok()) console.note(upload_problem(server, answer));
  const int code = finish(console, {}, Code::kOk);
  return code == kExitOk && !complete ? kExitFailed : code;
}

}  // namespace tracker::internal
