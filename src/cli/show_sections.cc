// SPDX-License-Identifier: MIT
#include "cli/show_sections.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/run_json.h"
#include "cli/style.h"
#include "cli/table.h"
#include "cli/text.h"
#include "query/merge.h"

namespace tracker::internal {
namespace {

std::string title(const Console& console, std::string_view text) { return "\n" + console.paint(text, "1") + "\n"; }

std::string fitted(const Console& console, std::string_view line) {
  return (console.width > 0 ? cut_to(line, static_cast<size_t>(console.width)) : std::string(line)) + "\n";
}

std::string exact_text(const Value& value) { return visible(to_display(value, SIZE_MAX)); }

// A map as indented lines, its values in one column.
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

// What is lost of what log() took, by the kind of journal (P1) and of store files.
std::string guarantees_of(const WriterIdentity& identity) {
  const std::string& journal = identity.journal;
  // What a FUSE process has taken may die with it; only an fsync says that it was passed on.
  const char* container = identity.file_system == "FUSE" ? "≤ 1 s" : "≤ 100 ms";
  if (journal == "shm") return fmt::format("survives the process; container lost: {}, power: ≤ 1 s", container);
  if (journal == "disk") return "survives process and container; power lost: ≤ 1 s";
  if (journal == "memory") return fmt::format("process killed: {} lost, power: ≤ 1 s", container);
  return "unknown to this version";
}

std::string files_of(const WriterSnapshot& writer) {
  if (writer.frames_file) return "a .frames file, a database when it has ended";
  if (writer.identity.files == "frames") return "a database, written as a .frames file while it ran";
  return writer.parts == 1 ? "a database" : fmt::format("a database in {} files", writer.parts);
}

std::string writer_state(const WriterSnapshot& writer, Liveness liveness) {
  if (writer.end) return run_state_name(writer.end->state);
  if (writer.recovered) return "crashed";
  switch (liveness) {
    case Liveness::kLive: return "running";
    case Liveness::kDead: return "crashed";
    case Liveness::kUnknown: return "not visible from this machine";
  }
  return "unknown";
}

}  // namespace

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
  for (const MetricInfo& metric : run.metrics())
    std::erase_if(*summary.as_map(), [&metric](const auto& entry) {
      return entry.first == metric.name && metric.points > 0 &&
             entry.second == value_of_bits(metric.last_type, metric.last_bits);
    });
  if (summary.as_map()->empty()) return "";
  std::string out = title(console, "Summary");
  append_tree(console, *summary.as_map(), 2, &out);
  return out;
}

std::string metrics_section(const Console& console, const RunView& run, const std::vector<std::string>& sparks) {
  const std::vector<MetricInfo> metrics = run.metrics();
  if (metrics.empty()) return "";
  const auto any = [&metrics](auto count) {
    return std::any_of(metrics.begin(), metrics.end(), [&count](const MetricInfo& m) { return count(m) > 0; });
  };
  const auto nan = [](const MetricInfo& m) { return m.nan; };
  const auto inf = [](const MetricInfo& m) { return m.pos_inf + m.neg_inf; };
  const auto dropped = [](const MetricInfo& m) { return m.dropped; };
  std::vector<TableColumn> columns{
      {"METRIC", false, 10}, {"COUNT", true}, {"LAST", true}, {"MIN", true}, {"MAX", true}};
  if (any(nan)) columns.push_back({"NAN", true});
  if (any(inf)) columns.push_back({"INF", true});
  if (any(dropped)) columns.push_back({"LOST", true});
  columns.push_back({""});
  Table table(columns);
  for (size_t i = 0; i < metrics.size(); ++i) {
    const MetricInfo& m = metrics[i];
    std::vector<Table::Cell> row{m.name, count_text(m.points),
                                 m.points > 0 ? short_number(m.last_type, m.last_bits) : "",
                                 m.finite > 0 ? short_number(m.min) : "", m.finite > 0 ? short_number(m.max) : ""};
    const auto add_count = [&](auto count) {
      if (any(count)) row.emplace_back(count(m) > 0 ? count_text(count(m)) : "", "31");
    };
    add_count(nan);
    add_count(inf);
    add_count(dropped);
    row.emplace_back(sparks[i]);
    table.add(std::move(row));
  }
  return title(console, "Metrics") + table.render(console, 2);
}

std::string texts_section(const Console& console, const TextsByName& texts) {
  if (texts.empty()) return "";
  Table table({{"TEXT", false, 10}, {"ROWS", true}, {"LAST", false, 10}});
  for (const auto& [name, rows] : texts)
    table.add({name, count_text(rows.size()), cut_to(visible(rows.back().text), 200)});
  return title(console, "Texts") + table.render(console, 2);
}

std::string account_section(const Console& console, const LossAccount& account) {
  std::string out = title(console, "Account");
  if (account.dropped == 0) {
    out += fmt::format("  Nothing lost: {} stored.\n", counted(account.stored, "point"));
  } else {
    std::string reasons;
    for (const auto& [reason, count] : account.by_reason)
      reasons += (reasons.empty() ? "" : ", ") +
                 (account.by_reason.size() == 1 ? reason : fmt::format("{} {}", count_text(count), reason));
    const std::string line =
        fmt::format("{} lost{}.", counted(account.dropped, "point"), reasons.empty() ? "" : ": " + reasons);
    out += fmt::format("  {} {} stored of {} logged.\n", console.paint(line, "31"), count_text(account.stored),
                       count_text(account.logged));
  }
  if (account.recovered > 0) out += fmt::format("  {} recovered after a crash.\n", counted(account.recovered, "point"));
  if (account.rejected_values > 0)
    out += fmt::format("  {} could not be taken.\n", counted(account.rejected_values, "value"));
  return out;
}

std::string writers_section(const Console& console, const RunView& run) {
  if (run.writers().empty()) return "";
  std::string out = title(console, "Writers");
  for (size_t i = 0; i < run.writers().size(); ++i) {
    const WriterSnapshot& writer = run.writers()[i];
    const WriterIdentity& identity = writer.identity;
    out += fitted(console, fmt::format("  attempt {}, rank {} of {}: {}, {}, {} pid {}", identity.attempt,
                                       identity.rank, identity.world_size, writer_state(writer, run.liveness()[i]),
                                       counted(writer.points, "point"), visible(identity.host), identity.pid));
    out += fitted(console, fmt::format("    {} journal: {}", visible(identity.journal), guarantees_of(identity)));
    const std::string on = identity.file_system.empty() ? "" : ", on " + visible(identity.file_system);
    if (identity.files == "frames" || writer.frames_file || writer.parts > 1)
      out += fitted(console, fmt::format("    store files: {}{}", files_of(writer), on));
  }
  return out;
}

}  // namespace tracker::internal
