// SPDX-License-Identifier: MIT
#include "cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "storage/close_names.h"

namespace tracker::internal {
namespace {

Result<uint64_t> read_count(const char* option, const std::string& text) {
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size())
    return Status(Code::kInvalid, fmt::format("{} {}: expected a whole number from 0", option, text));
  return count;
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
  show->add_flag("--losses", options.losses, "Only the account, metric by metric: logged = stored + lost");
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

void add_tail(CLI::App& app, TailOptions& options, std::string& rows) {
  CLI::App* tail = app.add_subcommand("tail", "Show the last rows of a run, and with -f those that come");
  tail->add_option("RUN", options.run, "project/id, an id that is unique, or a uid")->required();
  tail->add_option("METRIC", options.metrics, "Only these; all without");
  tail->add_flag("--follow,-f", options.follow, "Go on until the run has ended; Ctrl-C ends it before");
  tail->add_option("--rows,-n", rows, "So many rows first: 10, or with --since all of them")->type_name("N");
  tail->add_option("--since", options.since, "Rows from then on, such as 90m, now-2h or 2026-09-01")->type_name("TIME");
  tail->add_flag("--texts", options.texts, "Texts too");
  tail->add_flag("--config", options.settings, "What is set in config, summary and attributes, too");
  tail->add_flag("--json", options.json, "A JSON document a line");
  tail->footer(
      "Examples:\n  tracker tail brisk-otter\n  tracker tail mnist/brisk-otter train/loss -f\n"
      "  tracker tail brisk-otter --since 10m --texts\n"
      "  tracker tail brisk-otter -f --json | jq -r '.metrics[\"train/loss\"] // empty'");
}

void add_verify(CLI::App& app, VerifyCommandOptions& options) {
  CLI::App* verify = app.add_subcommand("verify", "Look for damage; say what is intact and what to do");
  verify->add_option("STORE|RUN", options.what, "Folders of stores or runs, or runs by name; the store without");
  verify->add_flag("--json", options.json, "Print a JSON document");
  verify->footer(
      "Examples:\n  tracker verify\n  tracker verify mnist/brisk-otter\n  tracker verify /mnt/backup/.tracker\n"
      "  tracker verify --json | jq -r '.findings[].path'");
}

void add_gc(CLI::App& app, GcOptions& options) {
  CLI::App* gc = app.add_subcommand("gc", "Recover what dead processes left, and remove what nobody needs");
  gc->add_flag("--dry-run", options.dry_run, "Only say what would be removed");
  gc->add_flag("--json", options.json, "Print a JSON document");
  gc->footer("Examples:\n  tracker gc --dry-run\n  tracker gc");
}

void add_rm(CLI::App& app, RmOptions& options) {
  CLI::App* rm = app.add_subcommand("rm", "Remove runs for ever");
  rm->add_option("RUN", options.runs, "project/id, ids that are unique, or uids");
  rm->add_option("--where", options.where, "Also runs that match, such as 'state = failed and created < now-30d'")
      ->type_name("FILTER");
  rm->add_option("--project", options.project, "Runs of this project; with --where those of it that match");
  rm->add_flag("--yes,-y", options.yes, "Do not ask");
  rm->add_flag("--json", options.json, "Print a JSON document");
  rm->footer(
      "Examples:\n  tracker rm mnist/brisk-otter\n  tracker rm brisk-otter calm-heron --yes\n"
      "  tracker rm --where 'state = failed and points < 100' --yes");
}

void add_doctor(CLI::App& app, bool& json) {
  CLI::App* doctor = app.add_subcommand("doctor", "Explain the store, the journal and this machine; give advice");
  doctor->add_flag("--json", json, "Print a JSON document");
  doctor->footer("Examples:\n  tracker doctor\n  tracker doctor --json | jq .journal");
}

void add_version(CLI::App& app, bool& json) {
  app.add_subcommand("version", "Print the version")->add_flag("--json", json, "Print a JSON document");
}

}  // namespace

void add_commands(CLI::App& app, CommandLine& line) {
  add_ls(app, line.ls, line.limit, line.offset);
  add_show(app, line.show, line.plots);
  add_tail(app, line.tail, line.rows);
  add_export(app, line.exported, line.format);
  add_verify(app, line.verify);
  add_gc(app, line.gc);
  add_rm(app, line.rm);
  add_doctor(app, line.doctor_json);
  add_version(app, line.version_json);
}

Status read_values(CommandLine* line) {
  const auto limit = read_count("--limit", line->limit);
  if (!limit.ok()) return limit.status();
  const auto offset = read_count("--offset", line->offset);
  if (!offset.ok()) return offset.status();
  const auto plots = read_count("--plot", line->plots);
  if (!plots.ok()) return plots.status();
  const auto rows = line->rows.empty() ? Result<uint64_t>(line->tail.rows) : read_count("--rows", line->rows);
  if (!rows.ok()) return rows.status();
  line->tail.rows = *rows;
  line->tail.rows_given = !line->rows.empty();
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

}  // namespace tracker::internal
