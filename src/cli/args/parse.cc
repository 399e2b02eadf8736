// SPDX-License-Identifier: MIT
// From the command line to a command. The one file that catches what CLI11 throws; arguments.cc fills it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "base/shell_word.h"
#include "cli/args/arguments.h"
#include "cli/args/cli.h"
#include "model/did_you_mean.h"

namespace tracker::internal {
namespace {

std::string command_list(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    out += (out.empty() ? "" : ", ") + command->get_name();
  return out;
}

// The command that the line names, and within it "get" of `artifact get`.
std::vector<const CLI::App*> chosen_commands(const CLI::App& app) {
  std::vector<const CLI::App*> out;
  for (auto chosen = app.get_subcommands(); !chosen.empty(); chosen = out.back()->get_subcommands())
    out.push_back(chosen.front());
  return out;
}

std::string help_of(const std::vector<const CLI::App*>& commands) {
  std::string out = "tracker ";
  for (const CLI::App* command : commands) out += command->get_name() + " ";
  return out + "--help";
}

// What was given and not expected: an option that no command has, or a word where the command should be.
Status unexpected(const CLI::App& app, const std::string& given) {
  const std::vector<const CLI::App*> chosen = chosen_commands(app);
  const bool is_option = given.starts_with('-');
  std::vector<std::string> known;
  if (!is_option && chosen.empty()) {
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(command->get_name());
    return Status(Code::kInvalid, fmt::format("unknown command \"{}\"{}", given, did_you_mean(given, known)),
                  "commands: " + command_list(app));
  }
  const std::string help = help_of(chosen);
  if (!is_option) return Status(Code::kInvalid, fmt::format("\"{}\" was not expected", given), help + " shows what is");
  std::vector<const CLI::App*> holders{&app};
  holders.insert(holders.end(), chosen.begin(), chosen.end());
  for (const CLI::App* holder : holders)
    for (const CLI::Option* option : holder->get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  const std::string name = given.substr(0, given.find('='));
  if (!chosen.empty() && std::find(known.begin(), known.end(), name) != known.end())
    return Status(Code::kInvalid, fmt::format("{} is in front of the command", name),
                  fmt::format("tracker {} {}", chosen.front()->get_name(), shell_word(given)));
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
  if (name == "init") return run_init(console, line.global, line.init);
  if (name == "ls") return run_ls(console, line.global, line.ls);
  if (name == "show") return run_show(console, line.global, line.show);
  if (name == "tail") return run_tail(console, line.global, line.tail);
  if (name == "stop") return run_stop(console, line.global, line.stop);
  if (name == "login") return run_login(console, line.login_host);
  if (name == "sync") return run_sync(console, line.global, line.sync);
  if (name == "export") return run_export(console, line.global, line.exported);
  if (name == "import") return run_import(console, line.global, line.imported, line.import_json);
  if (name == "verify") return run_verify(console, line.global, line.verify);
  if (name == "gc") return run_gc(console, line.global, line.gc);
  if (name == "rm") return run_rm(console, line.global, line.rm);
  if (name == "artifact") {
    const auto actions = commands.front()->get_subcommands();
    if (actions.empty()) {
      console.write_err(commands.front()->help());
      return kExitUsage;
    }
    line.artifact.action = actions.front()->get_name();
    return run_artifact(console, line.global, line.artifact);
  }
  if (name == "server") return run_server(console, line.global, line.server);
  if (name == "ui") return run_ui(console, line.global, line.ui);
  if (name == "doctor") return run_doctor(console, line.global, line.doctor);
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
  add_commands(app, line);
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
    return fail(console,
                Status(Code::kInvalid, parse_problem(error), help_of(chosen_commands(app)) + " shows the options"));
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

int cli_main(int argc, const char* const* argv, const PythonSide* python) {
  Console console = process_console();
  console.python = python;
  return run_command_line(console, std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}

}  // namespace tracker::internal
