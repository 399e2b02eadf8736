// SPDX-License-Identifier: MIT
// The commands' options, for CLI11. Private to parse.cc.
#pragma once

#include <string>

#include "cli/commands/command.h"

namespace CLI {
class App;
}

namespace tracker::internal {

struct CommandLine {
  GlobalOptions global;
  InitCommandOptions init;
  LsOptions ls;
  ShowOptions show;
  TailOptions tail;
  StopOptions stop;
  std::string login_host;
  SyncOptions sync;
  ExportCommandOptions exported;
  ImportOptions imported;
  bool import_json = false;
  VerifyCommandOptions verify;
  GcOptions gc;
  RmOptions rm;
  ArtifactOptions artifact;
  DoctorOptions doctor;
  ServerOptions server;
  UiOptions ui;
  bool version = false, version_json = false;
  // As given; read by read_values(), whose errors say what was expected.
  std::string limit, offset = "0", plots = "0", format, rows, max_disk;
};

// Every command of `app`, whose values go to `line`.
void add_commands(CLI::App& app, CommandLine& line);
// What was given as text becomes numbers and names. kInvalid says what was expected.
Status read_values(CommandLine* line);

}  // namespace tracker::internal
