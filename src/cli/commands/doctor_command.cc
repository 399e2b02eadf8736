// SPDX-License-Identifier: MIT
// tracker doctor: what tracker sees here, and one line of advice for each problem.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands/command.h"
#include "cli/commands/doctor_parts.h"
#include "cli/output/text.h"

namespace tracker::internal {
namespace {

// "free_bytes" as "free", "store_files" as "store files": the keys are those of JSON.
std::string label_of(std::string key) {
  if (key.starts_with("TRACKER_")) return key;
  if (key.ends_with("_bytes")) key.resize(key.size() - std::string_view("_bytes").size());
  if (key.ends_with("_us")) key.resize(key.size() - std::string_view("_us").size());
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

std::string title_key(const std::string& title) {
  std::string out;
  for (const char c : title.substr(0, title.find(' '))) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

std::string section_text(const Console& console, const DoctorSection& section) {
  std::string out = console.paint(section.title, "1") + "\n";
  size_t width = 0;
  for (const DoctorFact& fact : section.facts) width = std::max(width, display_width(label_of(fact.key)));
  for (const DoctorFact& fact : section.facts) {
    const std::string line = fmt::format("  {}  {}", pad_to(visible(label_of(fact.key)), width), visible(fact.text));
    out += (console.width > 0 ? cut_to(line, static_cast<size_t>(console.width)) : line) + "\n";
  }
  return out + "\n";
}

Value report_json(const DoctorReport& report) {
  Value out = Value::map();
  for (const DoctorSection& section : report.sections) {
    Value facts = Value::map();
    for (const DoctorFact& fact : section.facts) facts.set(fact.key, fact.value);
    out.set(title_key(section.title), std::move(facts));
  }
  Value::List advice;
  for (const DoctorAdvice& item : report.advice)
    advice.push_back(Value::Map{{"problem", item.problem}, {"to_do", item.advice}});
  out.set("advice", std::move(advice));
  return out;
}

// On request a store recovers what belongs to the one that it is a copy of.
int recover_into(Console& console, const DoctorOptions& options) {
  const auto store = Store::open(options.recover);
  if (!store.ok()) return fail(console, store.status());
  const RecoveryReport report = recover_dead_writers(*store, {}, JournalsOf::kId);
  if (report.recovered.empty() && report.unfinished.empty() && report.problems.empty())
    if (const auto others = unrecovered_journals(store->path()); !others.empty()) {
      const WriterIdentity& other = others.front().writer;
      return fail(console, Status(Code::kNotFound,
                                  fmt::format("no journal of a dead process names the store {} ({}): {} names {} ({})",
                                              store->path(), store->id().hex(), others.front().dir, other.store_path,
                                              other.store.hex()),
                                  "`tracker doctor` lists journals and what recovers them"));
    }
  for (const std::string& line : report.left) console.note(line);
  for (const UnfinishedRecovery& each : report.unfinished) console.note(each.text);
  const std::string text = recovery_text(report);
  Value::List problems(report.problems.begin(), report.problems.end());
  if (options.json)
    console.print(to_json(Value::Map{{"store", store->path()},
                                     {"recovered", recovered_json(report)},
                                     {"problems", std::move(problems)}},
                          2) +
                  "\n");
  else console.print(visible(text.empty() ? "Nothing to recover." : text) + "\n");
  return finish(console, report.problems, report.worst);
}

}  // namespace

int run_doctor(Console& console, const GlobalOptions& global, const DoctorOptions& options) {
  if (!options.recover.empty()) return recover_into(console, options);
  const DoctorReport report = examine(global.dir, console.now_us);
  Code worst = Code::kOk;
  for (const DoctorAdvice& item : report.advice)
    if (item.code != Code::kOk && worst != Code::kVersion) worst = item.code;
  if (options.json) {
    console.print(to_json(report_json(report), 2) + "\n");
    return finish(console, {}, worst);
  }
  for (const DoctorSection& section : report.sections)
    if (!section.facts.empty()) console.print(section_text(console, section));
  if (report.advice.empty()) console.print(console.paint("Nothing is wrong.", "32") + "\n");
  else console.print(console.paint("Advice", "1") + "\n");
  for (const DoctorAdvice& item : report.advice)
    console.print(fmt::format("  {}: {}\n", console.paint(visible(item.problem), "33"), visible(item.advice)));
  return finish(console, {}, worst);
}

}  // namespace tracker::internal
