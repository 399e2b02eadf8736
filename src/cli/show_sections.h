// SPDX-License-Identifier: MIT
// The parts of `tracker show`, each a block of lines. Private to show. Threads: as RunView.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/console.h"
#include "query/run_view.h"

namespace tracker::internal {

using TextsByName = std::map<std::string, std::vector<TextRow>>;

// What is lost of what log() took, by the kind of journal (P1) and the store's file system.
std::string guarantees_text(const std::string& journal, const std::string& file_system);

std::string head_section(const Console& console, const RunView& run);
std::string config_section(const Console& console, const RunView& run);
// Values that the run set itself; the last value of each metric stands in its table.
std::string summary_section(const Console& console, const RunView& run);
// `sparks`: one line of dots for each of run.metrics().
std::string metrics_section(const Console& console, const RunView& run, const std::vector<std::string>& sparks);
std::string texts_section(const Console& console, const TextsByName& texts);
// A line a metric: where its points are.
std::string losses_section(const Console& console, const std::vector<MetricAccount>& accounts);
// "82,800 points wait in the journal of node1 pid 123; the next run or command stores them"
std::string waiting_text(const WaitingPoints& waiting);
std::string account_section(const Console& console, const LossAccount& account);
// Attempts that begin at a step or are shadowed by a later one; empty where there are none.
std::string attempts_section(const Console& console, const RunView& run);
// Of a run of several ranks: where each was last seen, and the one that fell behind.
std::string ranks_section(const Console& console, const RunView& run);
std::string writers_section(const Console& console, const RunView& run);

}  // namespace tracker::internal
