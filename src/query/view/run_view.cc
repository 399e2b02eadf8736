// SPDX-License-Identifier: MIT
#include "query/view/run_view.h"

#include "query/view/environment.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/clock.h"
#include "base/fs.h"
#include "journal/dead/dead_journal.h"
#include "journal/ring/definitions.h"
#include "journal/ring/place.h"
#include "model/did_you_mean.h"
#include "query/rows/gather.h"
#include "query/rows/selection.h"
#include "query/view/across_ranks.h"
#include "query/view/attempts.h"
#include "query/view/attempts_without_data.h"
#include "query/view/merge.h"
#include "query/view/rank_status.h"
#include "query/view/run_state.h"
#include "query/view/shown_rows.h"
#include "query/view/texts.h"
#include "storage/recovery/journal_home.h"
#include "storage/recovery/waiting_points.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {

struct RunView::Impl {
  struct OpenWriter {
    std::unique_ptr<WriterReader> reader;
    WriterSnapshot snapshot;
    Liveness liveness = Liveness::kUnknown;
  };

  RunFolder folder;
  std::vector<std::unique_ptr<WriterReader>> readers;  // one a snapshot
  std::vector<WriterSnapshot> snapshots;
  std::vector<Liveness> liveness;
  std::vector<AttemptWithoutData> silent;  // where all writers could be read
  std::vector<MetricInfo> metrics;
  std::vector<std::string> problems;
  Code problem_code = Code::kOk;
  Status unread_for_now;
  StateVerdict verdict;
  std::optional<std::vector<WaitingPoints>> waiting;  // of the last snapshot; none: not read yet

  void note_problem(Code code, std::string text) {
    problem_code = worse_of(problem_code, code);
    if (std::find(problems.begin(), problems.end(), text) == problems.end()) problems.push_back(std::move(text));
  }
  void note_damage(std::vector<LogDamage> lines) {
    for (LogDamage& line : lines) note_problem(line.code, std::move(line.what));
  }

  DuplicatePolicy policy() const {
    const Value name = merged_attribute(snapshots, kDuplicatePolicyKey);
    return duplicate_policy_of(name.as_text() != nullptr ? *name.as_text() : "");
  }
  // What of the metrics only rows show. What cannot be read is named in problems and its rows are missing.
  void complete_metrics();
  Result<std::vector<History>> gather(const std::vector<const MetricInfo*>& wanted, const Selection& selection = {});
  Result<OpenWriter> open_writer(const std::string& path, std::unique_ptr<WriterReader> reader);
  StateVerdict unreadable() const;
  std::string none_readable() const;
  bool has_unread_writers() const { return snapshots.empty() && problems.size() > (folder.problem.empty() ? 0u : 1u); }
  void take_snapshots();
  Status read_writers();
  bool find_silent();
  uint64_t count_silent(int64_t attempt) const;
  void look_at_journals();
  std::optional<uint32_t> unseen_user() const;
  bool all_ended() const;
  Status read_all_texts(const std::string& metric, TextsByMetric* out);
  Result<const MetricInfo*> find_metric(const std::string& name) const;
};

// The process may end after we read its database and before we check its lock; then what it wrote last, its end record
// too, is in a newer snapshot. Hence: read, probe, and read again when it is gone.
Result<RunView::Impl::OpenWriter> RunView::Impl::open_writer(const std::string& path,
                                                             std::unique_ptr<WriterReader> reader) {
  OpenWriter out;
  if (reader == nullptr) {
    auto opened = WriterReader::open(path);
    if (!opened.ok()) return opened.status();
    reader = std::move(*opened);
  }
  auto snapshot = reader->snapshot();
  if (!snapshot.ok()) return snapshot.status();
  const RunIdentity& run = snapshot->identity.run;
  const Id128& own = folder.identity.uid;
  if (!own.is_zero() && run.uid != own)  // somebody has copied it into this folder
    return Status(Code::kCorrupt, fmt::format("{} is not read: it belongs to another run, {}/{}, uid {}", path,
                                              run.project, run.id, run.uid.hex()));
  out.liveness = Liveness::kDead;
  if (!snapshot->end && !snapshot->recovered) {
    out.liveness = probe_writer(snapshot->identity, store_path_of(folder.path));
    if (out.liveness != Liveness::kLive) snapshot = reader->snapshot();
    if (!snapshot.ok()) return snapshot.status();
    if (out.liveness == Liveness::kDead && !snapshot->end && !snapshot->recovered)
      snapshot->unstored_end = end_in_journal(snapshot->identity, store_path_of(folder.path));
  }
  out.snapshot = std::move(*snapshot);
  out.reader = std::move(reader);
  return out;
}

// Of a run with databases, none of which can be read; the problem names the file, and the version where that is newer.
StateVerdict RunView::Impl::unreadable() const {
  const bool stays = problem_code == Code::kCorrupt || problem_code == Code::kVersion;  // another try reads no more
  const RunState state = stays ? RunState::kDamaged : RunState::kLostContact;
  return {state, none_readable(), folder.identity.created_us};
}

std::string RunView::Impl::none_readable() const { return "none of its databases can be read: " + problems.back(); }

// The databases as they are listed now; an error of listing them.
Status RunView::Impl::read_writers() {
  std::map<std::string, std::unique_ptr<WriterReader>> open;
  for (auto& reader : readers) {
    std::string path = reader->path();
    open.emplace(std::move(path), std::move(reader));
  }
  std::vector<OpenWriter> writers;
  Status unlisted;
  for (const std::string& path : folder.writer_dbs(&unlisted)) {
    const auto known = open.find(path);
    auto writer = open_writer(path, known == open.end() ? nullptr : std::move(known->second));
    if (writer.ok()) {
      writers.push_back(std::move(*writer));
      continue;
    }
    const Code code = writer.status().code();
    if (unread_for_now.ok() && (code == Code::kVersion || code == Code::kIo)) unread_for_now = writer.status();
    note_problem(code, writer.status().to_string());
  }
  const auto order = [](const OpenWriter& w) {
    return std::make_tuple(w.snapshot.identity.attempt, w.snapshot.identity.started_us, w.snapshot.identity.writer);
  };
  std::sort(writers.begin(), writers.end(), [&order](const auto& a, const auto& b) { return order(a) < order(b); });
  readers.clear();
  snapshots.clear();
  liveness.clear();
  for (OpenWriter& writer : writers) {
    readers.push_back(std::move(writer.reader));
    snapshots.push_back(std::move(writer.snapshot));
    liveness.push_back(writer.liveness);
  }
  return unlisted;
}

// False where a process that seemed to have come to nothing made its database meanwhile.
bool RunView::Impl::find_silent() {
  silent.clear();
  const bool all_read = problems.empty() || (problems.size() == 1 && !folder.problem.empty());
  if (!all_read && !snapshots.empty()) return true;  // a file that cannot be read may be theirs
  silent = attempts_without_data(folder, snapshots);
  if (std::none_of(silent.begin(), silent.end(), [](const auto& each) { return each.maker == Liveness::kDead; }))
    return true;
  return folder.writer_dbs().size() == snapshots.size();
}

void RunView::Impl::take_snapshots() {
  constexpr int kLooksMax = 3;
  for (int look = 1; look <= kLooksMax; ++look) {
    problems.clear();
    problem_code = Code::kOk;
    unread_for_now = Status();
    waiting.reset();
    const bool refused = folder.problem_code == Code::kIo;  // rights or a disk: nothing is damaged
    if (!folder.problem.empty()) note_problem(refused ? Code::kIo : Code::kCorrupt, folder.problem);
    const Status listed = read_writers();
    if (!listed.ok() && is_directory(folder.path)) note_problem(listed.code(), listed.to_string());
    if (find_silent()) break;
  }
  for (WriterSnapshot& snapshot : snapshots) note_damage(std::move(snapshot.damage));
  metrics = merge_metrics(snapshots);
  verdict = decide_state(snapshots, liveness, silent, folder.identity.created_us, realtime_us());
  if (const auto user = unseen_user();
      user && snapshots.empty() && !silent.empty() && silent.back().maker == Liveness::kDead)
    verdict.detail = fmt::format("its process ended; what may wait in the journal of user id {} cannot be seen", *user);
  if (has_unread_writers()) verdict = unreadable();
}

// Journals are private: of a run that somebody else's process left without an end only its owner sees what waits.
std::optional<uint32_t> RunView::Impl::unseen_user() const {
  struct stat st{};
  if (verdict.state == RunState::kRunning || ::stat(folder.path.c_str(), &st) != 0 || st.st_uid == ::geteuid())
    return std::nullopt;
  return all_ended() ? std::nullopt : std::optional<uint32_t>(st.st_uid);
}

bool RunView::Impl::all_ended() const {
  return !snapshots.empty() && silent.empty() &&
         std::all_of(snapshots.begin(), snapshots.end(), [](const WriterSnapshot& w) { return w.end || w.recovered; });
}

// Attempts that came to nothing and of which no journal is here; those that may still come are none.
uint64_t RunView::Impl::count_silent(int64_t attempt) const {
  if (has_unread_writers()) return 0;
  const int64_t now_us = realtime_us();
  return static_cast<uint64_t>(std::count_if(silent.begin(), silent.end(), [&](const AttemptWithoutData& each) {
    const bool waits = waiting && std::any_of(waiting->begin(), waiting->end(), [&](const WaitingPoints& journal) {
                         return journal.writer.attempt == each.attempt;
                       });
    return (attempt == 0 || each.attempt == attempt) && !may_begin(each, now_us) && !waits;
  }));
}

// Of a run that does not go on: the journal was removed with its container or machine, lies on another one or where
// another TRACKER_SHM_DIR says, was private memory, or belongs to another store.
bool has_lost_its_journal(const WriterSnapshot& writer, const std::string& store_path) {
  if (writer.end || writer.recovered) return false;
  for (const std::string& root : journal_roots(store_path)) {
    const std::string dir = join_path(root, writer.identity.writer.hex());
    if (!path_exists(dir)) continue;
    if (!holds_log(dir) && !path_exists(join_path(dir, "defs"))) return true;  // emptied, as cleaners of /tmp do
    const auto store = Store::open(store_path);
    const auto named = read_writer_identity(dir);
    return store.ok() && !is_of(named.ok() ? *named : writer.identity, *store);
  }
  return true;
}

// What a living writer has stored since the snapshot is in neither count: its account is approximate.
void RunView::Impl::look_at_journals() {
  waiting = points_waiting(folder, [&](const Id128& writer) {
    for (size_t i = 0; i < snapshots.size(); ++i) {
      if (snapshots[i].identity.writer != writer) continue;
      auto now = readers[i]->snapshot();
      return now.ok() ? std::move(*now) : snapshots[i];
    }
    return WriterSnapshot();
  });
}

Result<const MetricInfo*> RunView::Impl::find_metric(const std::string& name) const {
  const auto found = std::lower_bound(metrics.begin(), metrics.end(), name,
                                      [](const MetricInfo& metric, const std::string& n) { return metric.name < n; });
  if (found != metrics.end() && found->name == name) return &*found;
  if (has_unread_writers()) return Status(problem_code, none_readable());
  std::vector<std::string> known;
  for (const MetricInfo& metric : metrics) known.push_back(metric.name);
  const std::string unread = problems.empty() ? "" : "; not all of it can be read: " + problems.back();
  return Status(Code::kNotFound, fmt::format("run {}/{} has no metric \"{}\"{}{}", folder.identity.project,
                                             folder.identity.id, name, did_you_mean(name, known), unread));
}

Result<std::vector<History>> RunView::Impl::gather(const std::vector<const MetricInfo*>& wanted,
                                                   const Selection& selection) {
  Gatherer gatherer(wanted, selection);
  if (!selection.has_row_ranges()) gatherer.reserve_all();
  std::vector<LogDamage> damage;
  Status status;
  for (size_t i = 0; i < snapshots.size() && status.ok(); ++i)
    if (selects(selection, snapshots[i].identity))
      status = gatherer.read_writer(snapshots[i], readers[i].get(), &damage);
  note_damage(std::move(damage));
  TRACKER_RETURN_IF_ERROR(status);
  return gatherer.take();
}

void RunView::Impl::complete_metrics() {
  std::vector<LogDamage> damage;
  const auto reader_of = [this](size_t i) { return readers[i].get(); };
  const Status status = complete_shown(snapshots, reader_of, &metrics, &damage);
  note_damage(std::move(damage));
  if (!status.ok()) note_problem(status.code(), status.to_string());
  // Not tried again before the next snapshot.
  for (MetricInfo& metric : metrics) metric.shown.last_known = metric.shown.range_known = true;
}

Result<std::unique_ptr<RunView>> RunView::open(const RunFolder& folder) {
  auto impl = std::make_unique<Impl>();
  impl->folder = folder;
  impl->take_snapshots();
  return std::unique_ptr<RunView>(new RunView(std::move(impl)));
}

RunView::RunView(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunView::~RunView() = default;

Status RunView::refresh() {
  impl_->take_snapshots();
  return Status();
}

const RunIdentity& RunView::identity() const { return impl_->folder.identity; }
const std::string& RunView::dir() const { return impl_->folder.path; }
RunState RunView::state() const { return impl_->verdict.state; }
std::string RunView::state_detail() const { return impl_->verdict.detail; }
Value RunView::config() const { return merge_config(impl_->snapshots); }
Value RunView::summary() const {
  impl_->complete_metrics();
  return merge_summary(impl_->snapshots, impl_->metrics);
}
Value RunView::attribute(const std::string& key) const { return merged_attribute(impl_->snapshots, key); }
int64_t RunView::created_us() const { return impl_->folder.identity.created_us; }
int64_t RunView::ended_us() const { return impl_->verdict.ended_us; }
std::vector<MetricInfo> RunView::metrics() const {
  impl_->complete_metrics();
  return impl_->metrics;
}
const std::vector<MetricInfo>& RunView::stored_metrics() const { return impl_->metrics; }
LossAccount RunView::losses() const {
  if (!impl_->waiting) impl_->look_at_journals();
  LossAccount account = merge_losses(impl_->snapshots, *impl_->waiting);
  for (size_t i = 0; i < impl_->snapshots.size(); ++i)
    account.pending_approximate |= impl_->liveness[i] == Liveness::kLive && !impl_->snapshots[i].end;
  account.unseen = impl_->unseen_user();
  if (!account.unseen) account.missing_journals = missing_journals();
  return account;
}
uint64_t RunView::missing_journals(int64_t attempt) const {
  if (impl_->verdict.state == RunState::kRunning) return 0;
  if (!impl_->silent.empty() && !impl_->waiting) impl_->look_at_journals();
  const auto& all = impl_->snapshots;
  const auto lost = std::count_if(all.begin(), all.end(), [&](const WriterSnapshot& writer) {
    return (attempt == 0 || writer.identity.attempt == attempt) &&
           has_lost_its_journal(writer, store_path_of(impl_->folder.path));
  });
  return static_cast<uint64_t>(lost) + impl_->count_silent(attempt);
}
int64_t RunView::newest_attempt() const {
  const int64_t silent = impl_->silent.empty() ? 0 : impl_->silent.back().attempt;
  return std::max(silent, impl_->snapshots.empty() ? 0 : impl_->snapshots.back().identity.attempt);
}
bool RunView::all_ended() const { return impl_->all_ended(); }
std::vector<MetricAccount> RunView::losses_by_metric() const {
  if (!impl_->waiting) impl_->look_at_journals();
  return merge_losses_by_metric(impl_->snapshots, *impl_->waiting);
}
const std::vector<WriterSnapshot>& RunView::writers() const { return impl_->snapshots; }
const std::vector<Liveness>& RunView::liveness() const { return impl_->liveness; }
const std::vector<std::string>& RunView::problems() const { return impl_->problems; }
Code RunView::problem_code() const { return impl_->problem_code; }
Status RunView::unread_for_now() const { return impl_->unread_for_now; }

std::string RunView::name() const {
  const Value name = attribute("name");
  return name.as_text() != nullptr && !name.as_text()->empty() ? *name.as_text() : identity().id;
}

int64_t RunView::last_seen_us() const {
  int64_t newest = created_us();
  for (const WriterSnapshot& writer : impl_->snapshots) newest = std::max(newest, internal::last_seen_us(writer));
  return newest;
}

std::vector<std::string> RunView::text_metrics() const {
  std::set<std::string> names;
  for (const WriterSnapshot& writer : impl_->snapshots)
    for (const Attribute& attribute : writer.attributes)
      if (attribute.type == EventType::kText) names.insert(attribute.key);
  return {names.begin(), names.end()};
}

uint64_t RunView::points() const {
  uint64_t points = 0;
  for (const WriterSnapshot& writer : impl_->snapshots) points += own_points(writer).stored;
  return points;
}

Result<History> RunView::history(const std::string& metric, bool all) {
  auto found = histories({metric}, all);
  if (!found.ok()) return found.status();
  return std::move(found->front());
}

Result<std::vector<History>> RunView::histories(const std::vector<std::string>& names, bool all) {
  Selection selection;
  selection.metrics = names;
  selection.all = all;
  return read(selection);
}

Result<std::vector<History>> RunView::read(const Selection& selection) {
  TRACKER_RETURN_IF_ERROR(check_selection(selection, impl_->snapshots));
  const std::vector<std::string>& names = selection.metrics;
  std::map<std::string_view, size_t> places;  // a metric asked for twice is read once
  std::vector<const MetricInfo*> wanted;
  for (const std::string& name : names) {
    auto metric = impl_->find_metric(name);
    if (!metric.ok()) return metric.status();
    if (places.emplace(name, wanted.size()).second) wanted.push_back(*metric);
  }
  auto gathered = impl_->gather(wanted, selection);
  if (!gathered.ok()) return gathered.status();
  std::vector<History> out = std::move(*gathered);
  if (!selection.all) {
    const Shadow shadow = shadow_of(impl_->snapshots, selection);
    const DuplicatePolicy policy = impl_->policy();
    for (History& history : out) resolve_rows(shadow, policy, &history);
  }
  if (out.size() == names.size()) return out;
  std::vector<History> repeated;
  for (const std::string& name : names) repeated.push_back(out[places[name]]);
  return repeated;
}

Result<const MetricInfo*> RunView::metric(const std::string& name) const { return impl_->find_metric(name); }
WriterReader* RunView::reader(size_t index) { return impl_->readers[index].get(); }
void RunView::note_damage(std::vector<LogDamage> lines) { impl_->note_damage(std::move(lines)); }
Result<AcrossRanks> RunView::across_ranks(const std::string& metric) {
  auto rows = history(metric, true);
  if (!rows.ok()) return rows.status();
  return internal::across_ranks(std::move(*rows), Shadow(impl_->snapshots), impl_->policy());
}

std::vector<AttemptInfo> RunView::attempts() const {
  return attempts_of(impl_->snapshots, impl_->liveness, realtime_us());
}
std::vector<RankStatus> RunView::ranks() const { return ranks_of(impl_->snapshots, impl_->liveness, realtime_us()); }

Status RunView::Impl::read_all_texts(const std::string& metric, TextsByMetric* out) {
  std::vector<LogDamage> damage;
  Status status;
  for (size_t i = 0; i < snapshots.size() && status.ok(); ++i)
    status = read_texts(snapshots[i], readers[i].get(), metric, out, &damage);
  note_damage(std::move(damage));
  return status;
}

Result<TextsByMetric> RunView::texts_by_metric(bool all) {
  TextsByMetric out;
  TRACKER_RETURN_IF_ERROR(impl_->read_all_texts("", &out));
  if (all) return out;
  const Shadow shadow(impl_->snapshots);
  const DuplicatePolicy policy = impl_->policy();  // looked up once: names of texts have no bound
  for (auto& [metric, rows] : out) resolve_rows(shadow, policy, &rows);
  return out;
}

Result<std::vector<TextRow>> RunView::texts(const std::string& metric, bool all) {
  TextsByMetric out;
  TRACKER_RETURN_IF_ERROR(impl_->read_all_texts(metric, &out));
  std::vector<TextRow>& rows = out[metric];
  if (!all) resolve_rows(Shadow(impl_->snapshots), impl_->policy(), &rows);
  return std::move(rows);
}

}  // namespace tracker::internal
