// SPDX-License-Identifier: MIT
// From the command line to a command. The one file that sees CLI11, and the one that catches what it throws.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <string_view>

#include "cli/cli.h"
#include "cli/command.h"
#include "storage/close_names.h"

namespace tracker::internal {
namespace {

struct CommandLine {
  GlobalOptions global;
  LsOptions ls;
  ShowOptions show;
  ExportCommandOptions exported;
  bool version = false, version_json = false;
  // As given; read by read_values(), whose errors say what was expected.
  std::string limit = "50", offset = "0", plots = "0", format = "csv";
};

Result<uint64_t> read_count(const char* option, const std::string& text) {
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size())
    return Status(Code::kInvalid, fmt::format("{} {}: expected a whole number from 0", option, text));
  return count;
}

Status read_values(CommandLine* line) {
  const auto limit = read_count("--limit", line->limit);
  if (!limit.ok()) return limit.status();
  const auto offset = read_count("--offset", line->offset);
  if (!offset.ok()) return offset.status();
  const auto plots = read_count("--plot", line->plots);
  if (!plots.ok()) return plots.status();
  line->ls.limit = *limit;
  line->ls.offset = *offset;
  line->show.plots = *plots;
  if (line->format == "csv") line->exported.form.format = ExportFormat::kCsv;
  else if (line->format == "jsonl") line->exported.form.format = ExportFormat::kJsonl;
  else
    return Status(Code::kInvalid,
                  fmt::format("unknown format {}{}", line->format, did_you_mean(line->format, {"csv", "jsonl"})),
                  "formats: csv, jsonl");
  return Status();
}

void add_ls(CLI::App& app, LsOptions& options, std::string& limit, std::string& offset) {
  CLI::App* ls = app.add_subcommand("ls", "List runs, newest first");
  ls->add_option("--project", options.project, "Only runs of this project");
  ls->add_option("--where", options.where, "Only runs that match, such as 'config.lr < 0.1 and state = failed'")
      ->type_name("FILTER");
  ls->add_option("--sort", options.sort, "Order, such as 'created' or 'metrics.loss.min'; --sort=-FIELD: largest first")
      ->type_name("FIELDS");
  ls->add_option("--columns", options.columns, "What to show of each run, such as 'state,config.lr'")
      ->type_name("FIELDS");
  ls->add_option("--limit", limit, "At most so many runs, 0 for all")->type_name("N")->capture_default_str();
  ls->add_option("--offset", offset, "Leave out so many runs first")->type_name("N")->capture_default_str();
  ls->add_flag("--json", options.json, "Print a JSON document");
  ls->footer(
      "Examples:\n  tracker ls\n  tracker ls --project mnist --limit 5\n"
      "  tracker ls --where 'metrics.val/acc.max >= 0.9 and created > now-7d' --sort=-metrics.val/acc.max\n"
      "  tracker ls --where 'state = failed' --columns created,config.lr,notes\n"
      "  tracker ls --json | jq -r '.runs[] | select(.state == \"crashed\").id'");
}

void add_show(CLI::App& app, ShowOptions& options, std::string& plots) {
  CLI::App* show = app.add_subcommand("show", "Show one run: state, config, metrics with plots, account of losses");
  show->add_option("RUN", options.run, "project/id, an id that is unique, or a uid")->required();
  show->add_option("--plot", plots, "Draw charts of the first N metrics")->type_name("N");
  show->add_flag("--json", options.json, "Print a JSON document");
  show->footer(
      "Examples:\n  tracker show mnist/brisk-otter\n  tracker show brisk-otter --plot 2\n"
      "  tracker show brisk-otter --json | jq .summary");
}

void add_export(CLI::App& app, ExportCommandOptions& options, std::string& format) {
  CLI::App* command = app.add_subcommand("export", "Write a run as CSV or JSON lines");
  command->add_option("RUN", options.run, "project/id, an id that is unique, or a uid")->required();
  command->add_option("--format", format, "csv or jsonl")->type_name("csv|jsonl")->capture_default_str();
  command->add_option("--output,-o", options.output, "File to write; without it, stdout")->type_name("FILE");
  command->add_option("--metric", options.form.metrics, "Only this metric; may be given again")
      ->type_name("METRIC")
      ->allow_extra_args(false);
  command->add_flag("--wide", options.form.wide, "CSV with one row a step and a column a metric");
  command->add_flag("--all", options.form.all, "Every row, also those that later ones replace");
  command->add_flag("--json", options.json, "With --output: print what was written as a JSON document");
  command->footer(
      "Examples:\n  tracker export mnist/brisk-otter > run.csv\n"
      "  tracker export brisk-otter --wide --metric train/loss --metric val/acc -o run.csv\n"
      "  tracker export brisk-otter --format jsonl --all | head");
}

void add_version(CLI::App& app, bool& json) {
  app.add_subcommand("version", "Print the version")->add_flag("--json", json, "Print a JSON document");
}

std::string command_list(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    out += (out.empty() ? "" : ", ") + command->get_name();
  return out;
}

// What was given and not expected: an option nobody has, or a word where the command should be.
Status unexpected(const CLI::App& app, const std::string& given) {
  const auto chosen = app.get_subcommands();
  const bool is_option = given.starts_with('-');
  std::vector<std::string> known;
  if (!is_option && chosen.empty()) {
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(command->get_name());
    return Status(Code::kInvalid, fmt::format("unknown command \"{}\"{}", given, did_you_mean(given, known)),
                  "commands: " + command_list(app));
  }
  const std::string help = chosen.empty() ? "tracker --help" : "tracker " + chosen.back()->get_name() + " --help";
  if (!is_option) return Status(Code::kInvalid, fmt::format("\"{}\" was not expected", given), help + " shows what is");
  std::vector<const CLI::App*> holders{&app};
  holders.insert(holders.end(), chosen.begin(), chosen.end());
  for (const CLI::App* holder : holders)
    for (const CLI::Option* option : holder->get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  return Status(Code::kInvalid, fmt::format("unknown option {}{}", given, did_you_mean(given, known)),
                help + " shows the options");
}

// "--limit: 1 required TEXT missing" and "Could not convert: --json = maybe" in words of ours.
std::string parse_problem(const CLI::ParseError& error) {
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    return text.substr(0, text.find(':')) +
           (text.ends_with(" missing") ? " needs a value" : " was given more than once");
  constexpr std::string_view kConvert = "Could not convert: ";
  if (text.starts_with(kConvert)) {
    const std::string given = text.substr(kConvert.size());
    return given.substr(0, given.find(" = ")) + " takes no value";  // all values are texts but those of flags
  }
  return text;
}

int dispatch(Console& console, const CLI::App& app, CommandLine& line) {
  if (line.version) return run_version(console, false);
  const auto commands = app.get_subcommands();
  if (commands.empty()) {
    console.write_err(app.help());
    return kExitUsage;
  }
  const std::string& name = commands.front()->get_name();
  if (name == "ls") return run_ls(console, line.global, line.ls);
  if (name == "show") return run_show(console, line.global, line.show);
  if (name == "export") return run_export(console, line.global, line.exported);
  return run_version(console, line.version_json);
}

int parse_and_run(Console& console, const std::vector<std::string>& arguments) {
  CommandLine line;
  CLI::App app("Experiment tracking that lives inside the training process.", "tracker");
  app.add_option("--dir", line.global.dir, "The store; else TRACKER_DIR, the nearest .tracker upward, ./.tracker")
      ->type_name("PATH");
  app.add_flag("--version", line.version, "Print the version");
  app.fallthrough();
  app.require_subcommand(0, 1);
  add_ls(app, line.ls, line.limit, line.offset);
  add_show(app, line.show, line.plots);
  add_export(app, line.exported, line.format);
  add_version(app, line.version_json);
  app.footer(
      "Examples:\n  tracker ls\n  tracker show mnist/brisk-otter --plot 1\n  tracker export brisk-otter > run.csv\n\n"
      "tracker COMMAND --help shows a command's options.");
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    console.print(app.help());
    return finish(console, {}, Code::kOk);
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> extras = app.remaining(true);
    return fail(console, unexpected(app, extras.empty() ? std::string() : extras.front()));
  } catch (const CLI::ParseError& error) {
    const auto commands = app.get_subcommands();
    const std::string help = commands.empty() ? "tracker --help" : "tracker " + commands.back()->get_name() + " --help";
    return fail(console, Status(Code::kInvalid, parse_problem(error), help + " shows the options"));
  }
  if (const Status status = read_values(&line); !status.ok()) return fail(console, status);
  return dispatch(console, app, line);
}

}  // namespace

int run_command_line(Console& console, const std::vector<std::string>& arguments) {
  try {
    return parse_and_run(console, arguments);
  } catch (
      const std::exception& error) {  // out of memory, or a fault of ours: never an abort in a program that embeds us
    console.error(Status(Code::kIo, fmt::format("unexpected failure: {}", error.what())));
    return kExitFailed;
  }
}

int cli_main(int argc, const char* const* argv) {
  Console console = process_console();
  return run_command_line(console, std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}

}  // namespace tracker::internal
