// SPDX-License-Identifier: MIT
#include "cli/output/show_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "cli/output/run_json.h"
#include "cli/output/style.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "exchange/import_store.h"
#include "query/view/attempts.h"
#include "query/view/environment.h"
#include "query/view/merge.h"
#include "query/view/rank_status.h"
#include "storage/store/stop_request.h"

namespace tracker::internal {
namespace {

std::string fitted(const Console& console, std::string_view line) {
  return (console.width > 0 ? cut_to(line, static_cast<size_t>(console.width)) : std::string(line)) + "\n";
}

std::string wrapped_line(const Console& console, std::string_view line) {
  return wrapped(line, static_cast<size_t>(console.width));
}

std::string exact_text(const Value& value) { return visible(to_display(value, SIZE_MAX)); }

// A map as indented lines, its values in one column.
std::string files_of(const WriterSnapshot& writer) {
  if (writer.frames_file) return "a .frames file, a database when it has ended";
  if (writer.left_frames_files > 0)
    return fmt::format("a database in {} files, of which {} {}", writer.parts, writer.left_frames_files,
                       writer.left_frames_files == 1 ? "is a .frames file" : "are .frames files");
  if (writer.identity.files == "frames") return "a database, written as a .frames file while it ran";
  return writer.parts == 1 ? "a database" : fmt::format("a database in {} files", writer.parts);
}

// "0.8 ms", "12 ms", "3.4 s", then as durations are.
std::string short_duration(int64_t ns) {
  const double ms = static_cast<double>(ns) * 1e-6;
  if (ms < 10) return fmt::format("{:.1f} ms", ms);
  if (ms < 1000) return fmt::format("{:.0f} ms", ms);
  return ms < 60'000 ? fmt::format("{:.1f} s", ms * 1e-3) : duration_text(ns / 1000);
}

}  // namespace

void append_tree(const Console& console, const Value::Map& map, size_t indent, std::string* out) {
  constexpr size_t kKeyWidthMax = 28;
  size_t width = 0;
  for (const auto& [key, value] : map)
    if (!value.is_map()) width = std::max(width, std::min(kKeyWidthMax, display_width(visible(key))));
  for (const auto& [key, value] : map) {
    const std::string name = std::string(indent, ' ') + visible(key);
    const Value::Map* below = value.as_map();
    if (below == nullptr || below->empty()) {
      *out += fitted(console, pad_to(name, indent + width) + "  " + exact_text(value));
      continue;
    }
    *out += fitted(console, name);
    append_tree(console, *below, indent + 2, out);
  }
}

std::string title(const Console& console, std::string_view text) { return "\n" + console.paint(text, "1") + "\n"; }

std::string guarantees_text(const std::string& journal, const std::string& file_system) {
  // What a FUSE process has taken may die with it; only an fsync says that it was passed on.
  const char* container = file_system == "FUSE" ? "≤ 1 s" : "≤ 100 ms";
  if (journal == "shm") return fmt::format("survives the process; container lost: {}, power: ≤ 1 s", container);
  if (journal == "disk") return "survives process and container; power lost: ≤ 1 s";
  if (journal == "memory") return fmt::format("process killed: {} lost, power: ≤ 1 s", container);
  return "unknown to this version";
}

std::string head_section(const Console& console, const RunView& run) {
  std::string out = console.paint(visible(run.identity().project + "/" + run.identity().id), "1") + "  " +
                    console.paint(run_state_name(run.state()), state_sgr(run.state())) + "\n";
  const auto line = [&](std::string_view key, const std::string& text) {
    if (!text.empty()) out += fitted(console, "  " + pad_to(key, 10) + text);
  };
  const auto attribute = [&](const char* key) {
    const Value value = run.attribute(key);
    return value.is_null() ? std::string() : exact_text(value);
  };
  line("detail", visible(run.state_detail()));
  if (run.name() != run.identity().id) line("name", visible(run.name()));
  line("created", fmt::format("{} ({})", time_text(run.created_us()), ago_text(run.created_us(), console.now_us)));
  if (run.ended_us() != 0) line("ended", time_text(run.ended_us()));
  if (const auto stop = read_stop_request(run.dir()); stop.ok() && *stop)
    line("stop", visible(fmt::format("attempt {}: {}", (*stop)->attempt, (*stop)->text())));
  line("duration", duration_text(duration_us(run, console.now_us)));
  for (const char* key : {"group", "job_type", "tags", "notes"}) line(key, attribute(key));
  line("uid", run.identity().uid.hex());
  line("folder", visible(run.dir()));
  return out;
}

std::string config_section(const Console& console, const RunView& run) {
  const Value config = run.config();
  if (config.as_map()->empty()) return "";
  std::string out = title(console, "Config");
  append_tree(console, *config.as_map(), 2, &out);
  return out;
}

std::string summary_section(const Console& console, const RunView& run) {
  Value summary = run.summary();
  const std::vector<MetricInfo> all = run.metrics();
  std::unordered_map<std::string_view, const MetricInfo*> metrics;
  for (const MetricInfo& metric : all) metrics.emplace(metric.name, &metric);
  std::erase_if(*summary.as_map(), [&metrics](const auto& entry) {
    const auto found = metrics.find(entry.first);
    if (found == metrics.end() || found->second->points == 0) return false;
    return entry.second == value_of_bits(found->second->last_type, found->second->last_bits);
  });
  if (summary.as_map()->empty()) return "";
  std::string out = title(console, "Summary");
  append_tree(console, *summary.as_map(), 2, &out);
  return out;
}

std::string metrics_section(const Console& console, const RunView& run, const std::vector<std::string>& sparks) {
  const std::vector<MetricInfo> metrics = metrics_of_kind(run, false);
  if (metrics.empty()) return "";
  const auto any = [&metrics](auto count) {
    return std::any_of(metrics.begin(), metrics.end(), [&count](const MetricInfo& m) { return count(m) > 0; });
  };
  const auto nan = [](const MetricInfo& m) { return m.nan; };
  const auto inf = [](const MetricInfo& m) { return m.pos_inf + m.neg_inf; };
  const auto dropped = [](const MetricInfo& m) { return m.dropped; };
  std::vector<TableColumn> columns{
      {"METRIC", false, 10, 0, true}, {"COUNT", true}, {"LAST", true}, {"MIN", true}, {"MAX", true}};
  const bool any_nan = any(nan), any_inf = any(inf), any_dropped = any(dropped);
  if (any_nan) columns.push_back({"NAN", true});
  if (any_inf) columns.push_back({"INF", true});
  if (any_dropped) columns.push_back({"LOST", true});
  columns.push_back({""});
  Table table(columns);
  for (size_t i = 0; i < metrics.size(); ++i) {
    const MetricInfo& m = metrics[i];
    std::vector<Table::Cell> row{
        m.name, count_text(m.points), m.shown.points > 0 ? short_number(m.last_type, m.last_bits) : "",
        m.shown.finite > 0 ? short_number(m.shown.min) : "", m.shown.finite > 0 ? short_number(m.shown.max) : ""};
    const auto add_count = [&](bool shown, uint64_t count) {
      if (shown) row.emplace_back(count > 0 ? count_text(count) : "", "31");
    };
    add_count(any_nan, nan(m));
    add_count(any_inf, inf(m));
    add_count(any_dropped, dropped(m));
    row.emplace_back(sparks[i]);
    table.add(std::move(row));
  }
  return title(console, "Metrics") + table.render(console, 2);
}

std::string texts_section(const Console& console, const TextsByName& texts) {
  if (texts.empty()) return "";
  Table table({{"TEXT", false, 10, 0, true}, {"ROWS", true}, {"LAST", false, 10}});
  for (const auto& [name, rows] : texts)  // a resume may have taken all of them back
    table.add({name, count_text(rows.size()),
               rows.empty()         ? ""
               : console.width == 0 ? rows.back().text
                                    : cut_to(visible(rows.back().text), 200)});
  return title(console, "Texts") + table.render(console, 2);
}

namespace {

std::string reasons_text(const std::vector<std::pair<std::string, uint64_t>>& by_reason) {
  std::string out;
  for (const auto& [reason, count] : by_reason)
    out +=
        (out.empty() ? "" : ", ") + (by_reason.size() == 1 ? reason : fmt::format("{} {}", count_text(count), reason));
  return out;
}

// "214 points lost: ring full. 181 stored of 395 logged."
std::string lost_line(const Console& console, uint64_t dropped, const char* what, const std::string& reasons,
                      uint64_t stored, uint64_t logged) {
  const std::string line = fmt::format("{} lost{}.", counted(dropped, what), reasons.empty() ? "" : ": " + reasons);
  return fmt::format("  {} {} stored of {} logged.\n", console.paint(line, "31"), count_text(stored),
                     count_text(logged));
}

}  // namespace

std::string losses_section(const Console& console, const std::vector<MetricAccount>& accounts) {
  const bool any_waiting =
      std::any_of(accounts.begin(), accounts.end(), [](const MetricAccount& each) { return each.pending > 0; });
  std::vector<TableColumn> columns{{"METRIC", false, 10, 0, true}, {"LOGGED", true}, {"STORED", true}};
  if (any_waiting) columns.push_back({"WAITING", true});
  columns.push_back({"LOST", true});
  columns.push_back({"WHY", false, 10});
  Table table(std::move(columns));
  for (const MetricAccount& account : accounts) {
    const std::string why = reasons_text(account.by_reason);
    Table::Cell lost(account.dropped > 0 ? count_text(account.dropped) : "", "31");
    std::vector<Table::Cell> row{account.metric.empty() ? "(no metric)" : account.metric, count_text(account.logged()),
                                 count_text(account.stored)};
    if (any_waiting) row.emplace_back(account.pending > 0 ? count_text(account.pending) : "");
    row.push_back(std::move(lost));
    row.emplace_back(why);
    table.add(std::move(row));
  }
  return title(console, "Losses") + table.render(console, 2);
}

std::string waiting_text(const WaitingPoints& waiting) {
  if (waiting.newer)
    return fmt::format("what the journal of {} pid {} holds is of a newer version, which stores it",
                       visible(waiting.writer.host), waiting.writer.pid);
  if (waiting.points + waiting.texts == 0 && waiting.unread_rings > 0)
    return fmt::format("{} in the journal of {} pid {} cannot be read; the next run or command keeps {} aside",
                       counted(waiting.unread_rings, "ring"), visible(waiting.writer.host), waiting.writer.pid,
                       waiting.unread_rings == 1 ? "it" : "them");
  std::string what = waiting.points > 0 || waiting.texts == 0 ? counted(waiting.points, "point") : "";
  if (waiting.texts > 0) what += (what.empty() ? "" : " and ") + counted(waiting.texts, "text");
  return fmt::format(
      "{}{} {} in the journal of {} pid {}; {}", waiting.live ? "about " : "", what,
      waiting.points + waiting.texts == 1 ? "waits" : "wait", visible(waiting.writer.host), waiting.writer.pid,
      waiting.live ? "it stores them as soon as it can" : "the next run or command that can take it stores them");
}

std::string account_section(const Console& console, const RunView& run, uint64_t media_lost) {
  const LossAccount account = run.losses();
  // What cannot be read has unknown contents; a journal that is damaged may be of any run without an end.
  const bool journals_read = console.recovery_problems.empty() || run.all_ended();
  const bool all_read = run.problems().empty() && journals_read;
  std::string out = title(console, "Account");
  const LossAccount::Texts& texts = account.texts;
  const bool nothing = account.dropped + texts.dropped + account.entries.dropped + account.unread_rings == 0 &&
                       account.missing_journals + media_lost + account.rejected_values == 0 && !account.unseen &&
                       all_read;
  const std::string text_count = texts.stored > 0 && texts.dropped == 0 ? " and " + counted(texts.stored, "text") : "";
  if (account.dropped == 0)
    out += fmt::format("  {}{}{} stored{}.\n", nothing ? "Nothing lost: " : "", counted(account.stored, "point"),
                       text_count, all_read ? "" : " in what can be read");
  else
    out +=
        lost_line(console, account.dropped, "point", reasons_text(account.by_reason), account.stored, account.logged);
  if (texts.dropped > 0)
    out += lost_line(console, texts.dropped, "text", reasons_text(texts.by_reason), texts.stored, texts.logged);
  else if (account.dropped > 0 && texts.stored > 0) out += fmt::format("  {} stored.\n", counted(texts.stored, "text"));
  if (account.entries.dropped > 0) {
    const std::string line =
        fmt::format("{} lost, of config, summary and the like: {}.", counted(account.entries.dropped, "entry"),
                    reasons_text(account.entries.by_reason));
    out += fmt::format("  {}\n", console.paint(line, "31"));
  }
  if (account.unread_rings > 0) {
    const std::string line = fmt::format("An unknown number of points lost: {} of a dead process could not be read",
                                         counted(account.unread_rings, "ring"));
    out += fmt::format("  {}.\n", console.paint(line, "31"));
  }
  if (account.missing_journals > 0) {
    const bool one = account.missing_journals == 1;
    const std::string line = fmt::format("What {} logged after the last commit is not known: {} not here",
                                         one ? "a process" : count_text(account.missing_journals) + " processes",
                                         one ? "its journal is" : "their journals are");
    out += fmt::format("  {}.\n", console.paint(line, "33"));
  }
  if (account.unseen) {
    const std::string line = fmt::format(
        "more may wait in the journal of user id {}, which only that user sees; its "
        "next run or command stores it",
        *account.unseen);
    out += fmt::format("  {}.\n", console.paint(line, "33"));
  }
  for (const WaitingPoints& each : account.waiting) {
    const std::string line = waiting_text(each);
    out += fmt::format("  {}.\n", console.paint(line, "33"));
  }
  if (account.recovered > 0)
    out += fmt::format("  {} recovered from the journal: their process ended before they were stored.\n",
                       counted(account.recovered, "point"));
  if (account.rejected_values > 0)
    out += fmt::format("  {} could not be taken.\n", counted(account.rejected_values, "value"));
  return out;
}

std::string cost_section(const Console& console, const RunView& run) {
  const Value cost = cost_json(run);
  if (cost.is_null()) return "";
  const auto part = [&cost](const char* key) { return cost.int_or(key, 0); };
  std::string out =
      fmt::format("  {} in log calls, {} of CPU in its threads, at most {}", short_duration(part("call_ns")),
                  short_duration(part("thread_cpu_ns")), bytes_text(static_cast<uint64_t>(part("memory_bytes_max"))));
  if (part("bytes_written") > 0)
    out += fmt::format(", {} written", bytes_text(static_cast<uint64_t>(part("bytes_written"))));
  return title(console, "Cost of the tracker") + wrapped_line(console, out);
}

std::string attempts_section(const Console& console, const RunView& run) {
  const std::vector<AttemptInfo> attempts = run.attempts();
  const auto is_whole = [](const AttemptInfo& info) { return !info.resume_step && !info.shown_up_to; };
  if (std::all_of(attempts.begin(), attempts.end(), is_whole)) return "";
  std::string out;
  for (const AttemptInfo& info : attempts) {
    std::string line = fmt::format("  attempt {}{}", info.attempt, is_whole(info) ? " shown as a whole" : "");
    if (info.resume_step) line += fmt::format(" continues attempt {} at step {}", info.continues, *info.resume_step);
    if (info.shown_up_to) line += fmt::format("{} shown up to step {}", info.resume_step ? ";" : "", *info.shown_up_to);
    out += wrapped_line(console, line);
  }
  return title(console, "Attempts") + out;
}

std::string ranks_section(const Console& console, const RunView& run) {
  const std::vector<RankStatus> ranks = run.ranks();
  const size_t shown_max = console.width == 0 ? ranks.size() : 64;
  if (ranks.size() < 2) return "";
  Table table({{"RANK", true}, {"STATE"}, {"LAST STEP", true}, {"LOGGED", false}, {"POINTS", true}, {"HOST"}});
  for (size_t i = 0; i < std::min(shown_max, ranks.size()); ++i) {
    const RankStatus& rank = ranks[i];
    table.add({std::to_string(rank.rank), rank.state, rank.last_step ? std::to_string(*rank.last_step) : "",
               rank.last_logged_us != 0 ? ago_text(rank.last_logged_us, console.now_us)
                                        : std::string(rank.observed ? "observed" : "nothing"),
               count_text(rank.points), rank.host});
  }
  std::string out = title(console, "Ranks") + table.render(console, 2);
  if (ranks.size() > shown_max) out += fmt::format("  and {} more; --json has all\n", ranks.size() - shown_max);
  if (const std::string lag = behind_text(ranks); !lag.empty()) out += wrapped_line(console, "  " + lag);
  return out;
}

std::string writers_section(const Console& console, const RunView& run) {
  constexpr size_t kWritersShown = 16;
  if (run.writers().empty()) return "";
  if (run.ranks().size() > kWritersShown) return "";  // the ranks say it, and --json all of it
  std::string out = title(console, "Writers");
  for (size_t i = 0; i < run.writers().size(); ++i) {
    const WriterSnapshot& writer = run.writers()[i];
    const WriterIdentity& identity = writer.identity;
    if (identity.journal == kImportJournal) {
      out += wrapped_line(console,
                          fmt::format("  attempt {}: imported, {}", identity.attempt, counted(writer.points, "point")));
      continue;
    }
    const std::string size = identity.world_size > 0 ? fmt::format(" of {}", identity.world_size) : "";
    out += wrapped_line(console,
                        fmt::format("  attempt {}, rank {}{}: {}, {}, {} pid {}", identity.attempt, identity.rank, size,
                                    writer_state_text(writer, run.liveness()[i], console.now_us),
                                    counted(own_points(writer).stored, "point"), visible(identity.host), identity.pid));
    out += wrapped_line(console, fmt::format("    {} journal: {}", visible(identity.journal),
                                             guarantees_text(identity.journal, identity.file_system)));
    const std::string on = identity.file_system.empty() ? "" : ", on " + visible(identity.file_system);
    if (identity.files == "frames" || writer.frames_file || writer.parts > 1)
      out += wrapped_line(console, fmt::format("    store files: {}{}", files_of(writer), on));
  }
  return out;
}

}  // namespace tracker::internal
