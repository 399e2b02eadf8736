// SPDX-License-Identifier: MIT
// The parts of `tracker show`, each a block of lines. Private to show. Threads: as RunView.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/output/console.h"
#include "query/view/alerts.h"
#include "query/view/console.h"
#include "query/view/media.h"
#include "query/view/run_view.h"

namespace tracker::internal {

using TextsByName = std::map<std::string, std::vector<TextRow>>;

// What is lost of what log() took, by the kind of journal (P1) and the store's file system.
std::string guarantees_text(const std::string& journal, const std::string& file_system);

std::string title(const Console& console, std::string_view text);  // of a section
// A line a value, maps within maps further to the right; names in a column.
void append_tree(const Console& console, const Value::Map& map, size_t indent, std::string* out);
std::string head_section(const Console& console, const RunView& run);
std::string config_section(const Console& console, const RunView& run);
// Values that the run set itself; the last value of each metric is in its table.
std::string summary_section(const Console& console, const RunView& run);
// Machine, container, packages and code that the run ran with; empty where nothing was recorded.
std::string environment_section(const Console& console, const RunView& run);
// A series of the system as one rank recorded it.
struct SystemSeries {
  std::string name;
  std::optional<int64_t> rank;  // none: of all ranks, where the rows are too many to be read together
  uint64_t points = 0, finite = 0;
  double last = 0, min = 0, max = 0;
  std::string spark;
};
Result<std::vector<SystemSeries>> system_series(RunView* run, size_t spark_cells);
std::string system_section(const Console& console, const RunView& run, const std::vector<SystemSeries>& series);
// `sparks`: one line of dots for each of the run's metrics but the system's.
std::string metrics_section(const Console& console, const RunView& run, const std::vector<std::string>& sparks);
std::string texts_section(const Console& console, const TextsByName& texts);
// Names, counts and last steps; what was dropped or lost of them.
std::string media_section(const Console& console, const std::vector<MediaSummary>& media, const MediaAccount& account);
inline Value json_count(uint64_t n) { return static_cast<int64_t>(n); }
Value media_json(const std::vector<MediaSummary>& media);
Value media_account_json(const MediaAccount& account);
// A line a metric: where its points are.
// Of the page; `ranks`: lines say who wrote them.
Result<ConsoleOutput> last_console_lines(RunView* run);
std::string console_section(const Console& console, const ConsoleOutput& output, bool ranks);
// All lines, and nothing else.
int show_console(Console& console, RunView& run, bool json);
// The last alerts of the run's code; empty where there are none.
std::string alerts_section(const Console& console, const Alerts& alerts);
std::string losses_section(const Console& console, const std::vector<MetricAccount>& accounts);
// "82,800 points wait in the journal of node1 pid 123; the next run or command that can take it stores them"
std::string waiting_text(const WaitingPoints& waiting);
// `media_lost`: so many media of the run are nowhere.
std::string account_section(const Console& console, const RunView& run, uint64_t media_lost);
// What the tracker took from the run's processes; empty where they did not say it.
std::string cost_section(const Console& console, const RunView& run);
// Attempts that begin at a step or are shadowed by a later one; empty where there are none.
std::string attempts_section(const Console& console, const RunView& run);
// Of a run of several ranks: where each was last seen, and the one that fell behind.
std::string ranks_section(const Console& console, const RunView& run);
std::string writers_section(const Console& console, const RunView& run);

}  // namespace tracker::internal
