// SPDX-License-Identifier: MIT
// tracker show --console, and the last lines of the output on the page of a run.
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/output/run_json.h"
#include "cli/output/show_sections.h"
#include "cli/output/text.h"
#include "query/view/rank_status.h"

namespace tracker::internal {
namespace {

constexpr size_t kLinesOnThePage = 10;
constexpr size_t kLineBytesOnThePage = 200;

// Without colours and other control sequences; tabs are four spaces.
std::string plain_text(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      for (i += 2; i < text.size() && (text[i] < 0x40 || text[i] > 0x7e);) ++i;
    } else if (text[i] == '\t') {
      out += "    ";
    } else {
      out += text[i];
    }
  }
  return out;
}

// The process that wrote a line, where several processes of a run do.
std::string writer_mark(const ConsoleLine& line) { return fmt::format("[rank {}] ", line.source.rank); }

}  // namespace

Result<ConsoleOutput> last_console_lines(RunView* run) {
  ConsoleQuery query;
  query.last = kLinesOnThePage;
  query.count = false;
  return read_console(run, query);
}

std::string console_section(const Console& console, const ConsoleOutput& output, bool ranks) {
  if (output.lines.empty()) return "";
  std::string out = title(console, "Output, the last lines");
  for (const ConsoleLine& line : output.lines) {
    std::string text = cut_to(visible(plain_text(console_text(line))), kLineBytesOnThePage);
    if (line.updates > 0) text += fmt::format(" ({})", counted(line.updates, "update"));
    if (line.stream == 2) text = console.paint(text, "33");
    out += "  " + (ranks ? writer_mark(line) : "") + text + "\n";
  }
  return out;
}

Value console_json(const ConsoleOutput& output) {
  Value::List lines;
  for (const ConsoleLine& line : output.lines) {
    Value entry = Value::Map{{"stream", line.stream == 2 ? "stderr" : "stdout"},
                             {"line", static_cast<int64_t>(line.number)},
                             {"time", static_cast<double>(line.time_us) / 1e6},
                             {"attempt", line.source.attempt},
                             {"rank", line.source.rank},
                             {"text", line.text}};
    if (line.updates > 0) entry.set("updates", static_cast<int64_t>(line.updates));
    if (line.open) entry.set("open", true);
    if (line.joined) entry.set("joined", true);
    if (line.cut_bytes > 0) entry.set("cut_bytes", static_cast<int64_t>(line.cut_bytes));
    if (line.no_room) entry.set("no_room", true);
    lines.push_back(std::move(entry));
  }
  return Value::Map{{"total", static_cast<int64_t>(output.total)}, {"lines", std::move(lines)}};
}

// Lines as they were printed; only what could lead a terminal astray is made visible. A pipe gets no colours.
int show_console(Console& console, RunView& run, bool json) {
  const auto output = read_console(&run);
  if (!output.ok()) return fail(console, output.status());
  if (json) {
    Value document = console_json(*output);
    document.set("problems", text_list(problems_to_show(console, run)));
    console.print(visible_json(to_json(document, 2)) + "\n");
    return finish(console, run.problems(), run.problem_code());
  }
  const bool ranks = run.ranks().size() > 1;
  for (const ConsoleLine& line : output->lines)
    console.print((ranks ? writer_mark(line) : "") + visible(plain_text(console_text(line))) +
                  (line.joined ? "" : "\n"));
  if (output->lines.empty()) console.note("no output was recorded for this run");
  if (output->total > output->lines.size())
    console.note(fmt::format("the last {} of {} lines", count_text(output->lines.size()), count_text(output->total)));
  return finish(console, run.problems(), run.problem_code());
}

}  // namespace tracker::internal
