// SPDX-License-Identifier: MIT
// The alerts of a run on its page.
#include <fmt/format.h>

#include <algorithm>

#include "cli/output/show_sections.h"
#include "cli/output/table.h"
#include "cli/output/text.h"

namespace tracker::internal {
namespace {

constexpr size_t kAlertsOnThePage = 20;
constexpr size_t kAlertTextOnThePage = 200;

const char* level_sgr(AlertLevel level) {
  switch (level) {
    case AlertLevel::kInfo: return "";
    case AlertLevel::kWarn: return "33";
    case AlertLevel::kError: return "31";
  }
  return "";
}

// The title, and the first line of the text.
std::string summary_of(const Alert& alert) {
  std::string out = alert.title.empty() ? "(no title)" : alert.title;
  if (!alert.text.empty()) out += ": " + alert.text.substr(0, alert.text.find('\n'));
  return cut_to(visible(out), kAlertTextOnThePage);
}

}  // namespace

std::string alerts_section(const Console& console, const Alerts& alerts) {
  if (alerts.alerts.empty() && alerts.dropped == 0) return "";
  Table table({{"TIME"}, {"STEP", true}, {"LEVEL"}, {"ALERT", false, 10}});
  const size_t first = alerts.alerts.size() - std::min(alerts.alerts.size(), kAlertsOnThePage);
  for (size_t i = first; i < alerts.alerts.size(); ++i) {
    const Alert& alert = alerts.alerts[i];
    table.add({time_text(alert.time_us), alert.step ? std::to_string(*alert.step) : "",
               Table::Cell(alert_level_name(alert.level), level_sgr(alert.level)), summary_of(alert)});
  }
  std::string out = title(console, "Alerts") + table.render(console, 2);
  const bool all = alerts.total == alerts.alerts.size();
  if (const uint64_t earlier = alerts.total - (alerts.alerts.size() - first); earlier > 0)
    out += fmt::format("  and {} before; --json has {}\n", counted(earlier, "alert"),
                       all ? "them" : fmt::format("the last {} of all", alerts.alerts.size()));
  if (alerts.dropped > 0)
    out += fmt::format("  {} more than a run takes: not recorded\n", counted(alerts.dropped, "alert"));
  return out;
}

}  // namespace tracker::internal
