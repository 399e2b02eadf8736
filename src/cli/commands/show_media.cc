// SPDX-License-Identifier: MIT
// tracker show: the media of a run.
#include <fmt/format.h>

#include "cli/output/show_sections.h"
#include "cli/output/table.h"
#include "cli/output/text.h"

namespace tracker::internal {
namespace {

std::string kinds_text(const MediaSummary& media) {
  std::string out;
  for (const std::string& kind : media.kinds) out += (out.empty() ? "" : ", ") + kind;
  return out;
}

std::string lost_text(const MediaAccount& account) {
  std::string out;
  if (account.dropped > 0) {
    out = fmt::format("{} of {} dropped", count_text(account.dropped), count_text(account.logged));
    std::string reasons;
    for (const auto& [reason, n] : account.by_reason)
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", visible(reason), count_text(n));
    if (!reasons.empty()) out += ": " + reasons;
  }
  if (account.pending > 0)
    out += fmt::format("{}{} not stored yet", out.empty() ? "" : "; ", count_text(account.pending));
  if (account.lost > 0)
    out += fmt::format("{}{} lost with their process", out.empty() ? "" : "; ", count_text(account.lost));
  return out;
}

}  // namespace

std::string media_section(const Console& console, const std::vector<MediaSummary>& media, const MediaAccount& account) {
  if (media.empty() && account.logged == 0) return "";
  Table table(
      {{"MEDIA", false, 10, 0, true}, {"KIND", false, 10}, {"COUNT", true}, {"LAST STEP", true}, {"SIZE", true}});
  for (const MediaSummary& each : media)
    table.add({each.name, kinds_text(each), count_text(each.entries),
               each.has_step ? std::to_string(each.last_step) : "", each.bytes > 0 ? bytes_text(each.bytes) : ""});
  std::string out = title(console, "Media");
  if (!media.empty()) out += table.render(console, 2);
  const std::string lost = lost_text(account);
  if (!lost.empty()) out += "  " + lost + "\n";
  if (media.empty() && lost.empty())
    out += fmt::format("  {} stored; a resume took {} back.\n", count_text(account.stored),
                       account.stored == 1 ? "it" : "them");
  return out;
}

Value media_json(const std::vector<MediaSummary>& media) {
  Value::List out;
  for (const MediaSummary& each : media) {
    Value::List kinds;
    for (const std::string& kind : each.kinds) kinds.emplace_back(kind);
    out.push_back(Value::Map{{"name", each.name},
                             {"kinds", kinds},
                             {"entries", json_count(each.entries)},
                             {"last_step", each.has_step ? Value(each.last_step) : Value()},
                             {"bytes", json_count(each.bytes)}});
  }
  return out;
}

Value media_account_json(const MediaAccount& account) {
  Value reasons = Value::map();
  for (const auto& [reason, n] : account.by_reason) reasons.set(reason, json_count(n));
  return Value::Map{{"logged", json_count(account.logged)},   {"stored", json_count(account.stored)},
                    {"dropped", json_count(account.dropped)}, {"pending", json_count(account.pending)},
                    {"lost", json_count(account.lost)},       {"dropped_by_reason", reasons}};
}

}  // namespace tracker::internal
