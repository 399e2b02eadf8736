// SPDX-License-Identifier: MIT
#include "cli/args/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "model/byte_size.h"
#include "model/did_you_mean.h"

namespace tracker::internal {
namespace {

Result<uint64_t> read_count(const char* option, const std::string& text) {
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size())
    return Status(Code::kInvalid, fmt::format("{} {}: expected a whole number from 0", option, text));
  return count;
}

// An empty variable of a shell names nothing: it must not mean all.
CLI::Validator names(const std::string& what) {
  return {[what](const std::string& name) { return name.empty() ? "expected the name of " + what : std::string(); },
          ""};
}

constexpr const char* kRunText =
    "project/id, an id, a name, the beginning of an id or uid; or the folder of a run: /…, ./… or ../…";

void add_run(CLI::App* command, std::string& run) { command->add_option("RUN", run, kRunText)->required(); }

void add_init(CLI::App& app, InitCommandOptions& options) {
  CLI::App* init = app.add_subcommand("init", "Make the store, which the first run does too; let a group write it");
  CLI::Option* shared =
      init->add_flag("--shared", options.shared, "A group reads and writes it, whatever the umask is");
  init->add_option("--group", options.group, "Which group; default that of the store's folder")
      ->type_name("GROUP")
      ->needs(shared)
      ->check(names("a group"));
  init->add_flag("--json", options.json, "Print a JSON document");
  init->footer(
      "Examples:\n  tracker init --shared --group vision --dir /srv/team/runs\n"
      "  tracker init --shared   # the store that is there, for the group of its folder");
}

void add_ls(CLI::App& app, LsOptions& options, std::string& limit, std::string& offset) {
  CLI::App* ls = app.add_subcommand("ls", "List runs, newest first");
  ls->add_option("--project", options.project, "Only runs of this project")->check(names("a project"));
  ls->add_option("--where", options.where, "Only runs that match, such as 'config.lr < 0.1 and state = failed'")
      ->type_name("FILTER");
  ls->add_option("--sort", options.sort, "Order, such as 'created' or 'metrics.loss.min'; --sort=-FIELD: largest first")
      ->type_name("FIELDS");
  ls->add_option("--columns", options.columns, "What to show of each run, such as 'state,config.*'")
      ->type_name("FIELDS");
  ls->add_option("--limit", limit, "At most so many runs: 50 on a terminal and in a document, else all; 0 for all")
      ->type_name("N");
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
  add_run(show, options.run);
  show->add_flag("--losses", options.losses, "Only the account, metric by metric: logged = stored + lost");
  show->add_flag("--console", options.console, "Only what its processes printed, all of it");
  show->add_option("--plot", plots, "Draw charts of the first N metrics")->type_name("N");
  show->add_flag("--json", options.json, "Print a JSON document");
  show->footer(
      "Examples:\n  tracker show mnist/brisk-otter\n  tracker show brisk-otter --plot 2\n"
      "  tracker show brisk-otter --console | less\n"
      "  tracker show brisk-otter --json | jq .summary");
}

void add_login(CLI::App& app, std::string& host) {
  CLI::App* login = app.add_subcommand("login", "Save the host and the token of a server for runs of this user");
  login->add_option("HOST", host, "Address of the server; default that of TRACKER_HOST or of the last login")
      ->type_name("HOST");
  login->footer(
      "The token is TRACKER_TOKEN, or a line of stdin.\n\nExamples:\n  tracker login https://tracker.example.org\n"
      "  tracker login localhost:8420 < token.txt");
}

void add_sync(CLI::App& app, SyncOptions& options) {
  CLI::App* sync = app.add_subcommand("sync", "Send runs to the server of TRACKER_HOST or tracker login");
  sync->add_option("RUN", options.runs, "RUN as of `tracker show`; without one all runs of mode online or offline")
      ->check(names("a run"));
  sync->add_flag("--json", options.json, "Print a JSON document");
  sync->footer("Examples:\n  tracker sync\n  tracker sync mnist/brisk-otter --json | jq .points_sent");
}

void add_export(CLI::App& app, ExportCommandOptions& options, std::string& format) {
  CLI::App* command = app.add_subcommand("export", "Write a run as CSV or JSON lines");
  add_run(command, options.run);
  command->add_option("--format", format, "csv, the default, jsonl, tensorboard or parquet")
      ->type_name("csv|jsonl|tensorboard|parquet");
  command->add_option("--output,-o", options.output, "File to write, of tensorboard a folder; without it, stdout")
      ->type_name("FILE")
      ->check(names("a file"));
  command->add_option("--bundle", options.bundle, "Write the run whole into one file, for `tracker import`")
      ->type_name("FILE")
      ->check(names("a file"));
  command->add_flag("--artifacts", options.artifacts, "In the bundle, the artifacts that the run used and made too");
  command->add_option("--metric", options.form.metrics, "Only this metric; may be given again")
      ->type_name("METRIC")
      ->allow_extra_args(false);
  command->add_flag("--wide", options.form.wide, "CSV with one row a step and a column a metric");
  command->add_flag("--float64", options.form.float64,
                    "Of tensorboard: the exact value beside the float32 that stands for it");
  command->add_flag("--all", options.form.all, "Every row, also those that later ones replace");
  command->add_flag("--json", options.json, "The rows in a JSON document; with --output what was written");
  command->footer(
      "Examples:\n  tracker export mnist/brisk-otter > run.csv\n"
      "  tracker export brisk-otter --wide --metric train/loss --metric val/acc -o run.csv\n"
      "  tracker export brisk-otter --format jsonl --all | head\n"
      "  tracker export brisk-otter --bundle otter.trkb");
}

void add_import(CLI::App& app, ImportOptions& options, bool& json) {
  CLI::App* command = app.add_subcommand("import", "Bring in runs of other tools and stores");
  command
      ->add_option("SOURCE", options.source,
                   "A bundle, the folder of a run, or file or folder of TensorBoard, W&B, MLflow, Trackio, SwanLab, "
                   "CSV, JSON lines")
      ->required();
  command->add_option("--format", options.format, "What it is, where the names of the files do not say it")
      ->type_name("tensorboard|csv|jsonl|bundle|run|wandb|mlflow|trackio|swanlab");
  command
      ->add_option("--project", options.project,
                   "Project of the runs; else as the source says; a run of tracker keeps its own")
      ->type_name("NAME")
      ->check(names("a project"));
  command->add_option("--step", options.step_column, "Of CSV and JSON lines: the column that counts the steps")
      ->type_name("COLUMN")
      ->check(names("a column"));
  CLI::Option* join = command->add_flag_callback(
      "--join", [&options] { options.join = true; },
      "Of TensorBoard and CSV: what lies in sub-folders, or files, of one folder is one run");
  command
      ->add_flag_callback(
          "--no-join", [&options] { options.join = false; },
          "Of TensorBoard: sub-folders of add_hparams() and add_scalars() stay runs")
      ->excludes(join);
  command->add_flag("--no-artifacts", options.no_artifacts,
                    "Of MLflow: leave models and other files that are no media, and count them");
  command->add_flag("--json", json, "Print a JSON document");
  command->footer(
      "Examples:\n  tracker import runs/ --project mnist\n  tracker import wandb/offline-run-20260901_120000-abc\n"
      "  tracker import old.csv --json | jq .left_out");
}

void add_tail(CLI::App& app, TailOptions& options, std::string& rows) {
  CLI::App* tail = app.add_subcommand("tail", "Show the last rows of a run, and with -f those that come");
  add_run(tail, options.run);
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

void add_stop(CLI::App& app, StopOptions& options) {
  CLI::App* stop = app.add_subcommand("stop", "Ask a run to stop; its code decides when");
  add_run(stop, options.run);
  stop->add_option("--reason", options.reason, "Given to the run's code, and kept with the run")->type_name("TEXT");
  stop->add_flag("--cancel", options.cancel, "Take back what was asked");
  stop->add_flag("--json", options.json, "Print a JSON document");
  stop->footer(
      "Examples:\n  tracker stop mnist/brisk-otter --reason 'loss is NaN'\n  tracker stop brisk-otter --cancel");
}

void add_verify(CLI::App& app, VerifyCommandOptions& options) {
  CLI::App* verify = app.add_subcommand("verify", "Check for damage; say what is intact and what to do");
  verify->add_option("STORE|RUN", options.what, "Folders of stores or runs, or runs by name; the store without");
  verify->add_flag("--deep", options.deep, "Also read every byte of the artifacts");
  verify->add_flag("--json", options.json, "Print a JSON document");
  verify->footer(
      "Examples:\n  tracker verify\n  tracker verify mnist/brisk-otter\n  tracker verify /mnt/backup/.tracker\n"
      "  tracker verify --json | jq -r '.findings[].path'");
}

void add_gc(CLI::App& app, GcOptions& options, std::string& max_disk) {
  CLI::App* gc = app.add_subcommand("gc", "Recover what dead processes left, and remove what is not needed");
  gc->add_flag("--dry-run", options.dry_run, "Only say what would be removed");
  gc->add_option("--max-disk", max_disk, "Remove ended runs, the oldest first, until the store takes at most this")
      ->type_name("SIZE");
  gc->add_flag("--unsynced", options.unsynced, "With --max-disk: also runs that are on no server");
  gc->add_flag("--json", options.json, "Print a JSON document");
  gc->footer("Examples:\n  tracker gc --dry-run\n  tracker gc\n  tracker gc --max-disk 50GB --unsynced --dry-run");
}

void add_rm(CLI::App& app, RmOptions& options) {
  CLI::App* rm = app.add_subcommand("rm", "Remove runs for ever");
  rm->add_option("RUN", options.runs, "RUN as of `tracker show`, but no folders");
  rm->add_option("--where", options.where, "Also runs that match, such as 'state = failed and created < now-30d'")
      ->type_name("FILTER");
  rm->add_option("--project", options.project, "RUN and --where look in this project; alone: all its runs")
      ->type_name("NAME")
      ->check(names("a project"));
  rm->add_flag("--yes,-y", options.yes, "Do not ask");
  rm->add_flag("--json", options.json, "Print a JSON document");
  rm->footer(
      "Examples:\n  tracker rm mnist/brisk-otter\n  tracker rm brisk-otter calm-heron --yes\n"
      "  tracker rm --where 'state = failed and points < 100' --yes\n"
      "  tracker rm heron --project mnist\n  tracker rm --project scratch --yes");
}

void add_artifact(CLI::App& app, ArtifactOptions& options) {
  CLI::App* artifact = app.add_subcommand("artifact", "Artifacts: list, show, get, put, verify, name, trace");
  artifact->require_subcommand(0, 1);
  const auto add = [&](const char* name, const char* what) {
    CLI::App* action = artifact->add_subcommand(name, what);
    action->add_flag("--json", options.json, "Print a JSON document");
    return action;
  };
  const char* const which = "NAME, NAME:ALIAS, NAME:v3 or NAME@DIGEST, with PROJECT/ in front or not";
  add("ls", "List artifacts, or all versions of one")->add_option("PROJECT[/NAME]", options.name, "Only these");
  add("show", "Show a version: aliases, metadata, files")->add_option("NAME", options.name, which)->required();
  CLI::App* get = add("get", "Write the files of a version into a folder");
  get->add_option("NAME", options.name, which)->required();
  get->add_option("DIR", options.path, "The folder; default: NAME-v3");
  CLI::App* put = add("put", "Store a file or a folder as a version");
  put->add_option("PATH", options.path, "What to store")->required();
  put->add_option("--name", options.name, "NAME or PROJECT/NAME; default: as the file is called");
  put->add_option("--type", options.type, "Such as model or dataset");
  put->add_option("--alias", options.aliases, "Moves to this version; may be given again")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->expected(1);
  put->add_option("--tag", options.tags, "May be given again")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->expected(1);
  put->add_option("--description", options.description, "For people");
  CLI::App* verify = add("verify", "Hold a version against its files");
  verify->add_option("NAME", options.name, which)->required();
  verify->add_flag("--deep", options.deep, "Read every byte");
  for (const char* name : {"alias", "tag"}) {
    CLI::App* mark = add(name, std::string_view(name) == "alias" ? "Move aliases to a version" : "Tag a version");
    mark->add_option("NAME", options.name, which)->required();
    mark->add_option("LABEL", options.labels, "To add");
    mark->add_option("--remove", options.removed, "To take away; may be given again")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->expected(1);
  }
  add("lineage", "Which runs made and used it, as a tree; of a run: what it used and made")
      ->add_option("NAME|RUN", options.name, "An artifact or a run")
      ->required();
  artifact->footer(
      "Examples:\n  tracker artifact ls mnist\n  tracker artifact put model.pt --name model --type model --alias best\n"
      "  tracker artifact get model:best ./model\n  tracker artifact lineage model:best");
}

void add_doctor(CLI::App& app, DoctorOptions& options) {
  CLI::App* doctor = app.add_subcommand("doctor", "Explain the store, the journal and this machine; give advice");
  doctor
      ->add_option("--recover", options.recover,
                   "Recover into the store DIR, a copy say, the journals that name its id")
      ->type_name("DIR")
      ->check(names("a store"));
  doctor->add_flag("--json", options.json, "Print a JSON document");
  doctor->footer(
      "Examples:\n  tracker doctor\n  tracker doctor --json | jq .journal\n"
      "  tracker doctor --recover /mnt/backup/.tracker");
}

void add_server(CLI::App& app, ServerOptions& options) {
  CLI::App* server = app.add_subcommand("server", "Take uploads of runs and show them in a browser");
  server->add_option("--host", options.host, "Address to listen on; default 127.0.0.1, this machine alone")
      ->type_name("HOST");
  server->add_option("--port", options.port, "Default 8420; 0: any that is free")->type_name("PORT");
  server->add_option("--allow-host", options.allowed_hosts, "A name of this server beside its own; may be given again")
      ->type_name("NAME")
      ->allow_extra_args(false);
  CLI::App* token = server->add_subcommand("token", "Tokens of the server");
  CLI::App* create = token->add_subcommand("create", "Make a token and print it; it is not stored and not shown again");
  create->add_option("--name", options.token_name, "For people: whose it is")->type_name("NAME")->required();
  create->add_option("--scope", options.scopes, "read, ingest, edit or admin; may be given again")
      ->type_name("SCOPE")
      ->allow_extra_args(false)
      ->required();
  create->add_option("--project", options.token_project, "For this project alone")->type_name("NAME");
  token->require_subcommand(1);
  create->final_callback([&options] { options.token = ServerOptions::Token::kCreate; });
  CLI::App* list = token->add_subcommand("list", "The tokens that are known here, by name; none is shown");
  list->add_flag("--json", options.json, "Print a JSON document");
  list->final_callback([&options] { options.token = ServerOptions::Token::kList; });
  CLI::App* revoke = token->add_subcommand("revoke", "Forget the tokens of a name; who uses one is refused at once");
  revoke->add_option("NAME", options.token_name, "As `token list` shows it")->required();
  revoke->final_callback([&options] { options.token = ServerOptions::Token::kRevoke; });
  server->footer(
      "Examples:\n  tracker server token create --dir /srv/runs --name anna --scope ingest --scope read\n"
      "  tracker server token list --dir /srv/runs\n  tracker server token revoke anna --dir /srv/runs\n"
      "  tracker server --dir /srv/runs\n  tracker server --dir /srv/runs --host 0.0.0.0 --port 8420");
}

void add_ui(CLI::App& app, UiOptions& options) {
  CLI::App* ui = app.add_subcommand("ui", "Show the runs of the store in a browser");
  ui->add_option("--port", options.port, "Default: any that is free")->type_name("PORT");
  ui->add_flag("--no-browser", options.no_browser, "Only print the address");
  ui->add_flag("--link", options.link, "Print another address for the one that runs");
  ui->footer("Examples:\n  tracker ui\n  tracker ui --dir /srv/runs --port 8421 --no-browser\n  tracker ui --link");
}

void add_version(CLI::App& app, bool& json) {
  app.add_subcommand("version", "Print the version")->add_flag("--json", json, "Print a JSON document");
}

}  // namespace

void add_commands(CLI::App& app, CommandLine& line) {
  add_init(app, line.init);
  add_ls(app, line.ls, line.limit, line.offset);
  add_show(app, line.show, line.plots);
  add_tail(app, line.tail, line.rows);
  add_stop(app, line.stop);
  add_login(app, line.login_host);
  add_sync(app, line.sync);
  add_export(app, line.exported, line.format);
  add_import(app, line.imported, line.import_json);
  add_verify(app, line.verify);
  add_gc(app, line.gc, line.max_disk);
  add_rm(app, line.rm);
  add_artifact(app, line.artifact);
  add_doctor(app, line.doctor);
  add_server(app, line.server);
  add_ui(app, line.ui);
  add_version(app, line.version_json);
}

namespace {

Status read_export_format(CommandLine* line) {
  ExportCommandOptions& exported = line->exported;
  if (!exported.bundle.empty()) {
    const bool rows = !line->format.empty() || !exported.output.empty() || !exported.form.metrics.empty() ||
                      exported.form.wide || exported.form.all || exported.form.float64;
    if (rows)
      return Status(Code::kInvalid, "--bundle writes the run whole: it goes with --artifacts and --json alone",
                    "leave --format, --output, --metric, --wide, --float64 and --all out");
    if (exported.bundle == "-") return Status(Code::kInvalid, "--bundle needs the name of a file", "--bundle run.trkb");
    return {};
  }
  if (exported.artifacts)
    return Status(Code::kInvalid, "--artifacts goes with --bundle", "tracker export RUN --bundle run.trkb --artifacts");
  const bool to_stdout = exported.output.empty() || exported.output == "-";
  if (line->format.empty()) line->format = exported.json && to_stdout ? "jsonl" : "csv";
  if (exported.json && to_stdout && line->format == "csv")
    return Status(Code::kInvalid, "--json writes the rows in a JSON document: they cannot be CSV",
                  "with --output FILE the rows are CSV, and the document says what was written");
  const std::vector<std::string> known{"csv", "jsonl", "tensorboard", "parquet"};
  if (std::find(known.begin(), known.end(), line->format) == known.end())
    return Status(Code::kInvalid, fmt::format("unknown format {}{}", line->format, did_you_mean(line->format, known)),
                  fmt::format("formats: {}", fmt::join(known, ", ")));
  if (line->format == "jsonl") exported.form.format = ExportFormat::kJsonl;
  if (line->format == "tensorboard") exported.to = ExportCommandOptions::To::kTensorBoard;
  if (line->format == "parquet") exported.to = ExportCommandOptions::To::kParquet;
  if (exported.form.float64 && exported.to != ExportCommandOptions::To::kTensorBoard)
    return Status(Code::kInvalid, "--float64 goes with --format tensorboard; every other form is exact without it",
                  "leave --float64 out");
  if (exported.to != ExportCommandOptions::To::kText && to_stdout)
    return Status(Code::kInvalid, fmt::format("--format {} needs --output", line->format),
                  line->format == "parquet" ? "--output run.parquet" : "--output FOLDER");
  return {};
}

}  // namespace

Status read_values(CommandLine* line) {
  const auto limit = line->limit.empty() ? Result<uint64_t>(line->ls.limit) : read_count("--limit", line->limit);
  if (!limit.ok()) return limit.status();
  const auto offset = read_count("--offset", line->offset);
  if (!offset.ok()) return offset.status();
  const auto plots = read_count("--plot", line->plots);
  if (!plots.ok()) return plots.status();
  const auto rows = line->rows.empty() ? Result<uint64_t>(line->tail.rows) : read_count("--rows", line->rows);
  if (!rows.ok()) return rows.status();
  if (line->stop.cancel && !line->stop.reason.empty())
    return Status(Code::kInvalid, "--cancel takes back what was asked: it has no --reason");
  if (line->show.losses && line->show.console)
    return Status(Code::kInvalid, "--losses and --console exclude each other: each shows that alone");
  line->tail.rows = *rows;
  line->tail.rows_given = !line->rows.empty();
  if (!line->max_disk.empty()) {
    const auto bytes = parse_byte_size("--max-disk", line->max_disk);
    if (!bytes.ok()) return bytes.status();
    if (*bytes == 0) return Status(Code::kInvalid, "--max-disk 0: tracker rm removes all runs");
    line->gc.max_disk = *bytes;
  } else if (line->gc.unsynced) {
    return Status(Code::kInvalid, "--unsynced says which runs --max-disk may remove: give both");
  }
  line->ls.limit = *limit;
  line->ls.limit_given = !line->limit.empty();
  line->ls.offset = *offset;
  line->show.plots = *plots;
  return read_export_format(line);
}

}  // namespace tracker::internal
