// SPDX-License-Identifier: MIT
// Runs command lines on a store built by hand and keeps what they wrote. Threads: one at a time.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/commands/command.h"
#include "support/store_builder.h"

namespace tracker::internal {

class CliTest : public testing::Test {
 protected:
  CliTest() {
    console_.now_us = kBuilderStartUs + 2 * 3600 * kSecondUs;
    console_.width = 80;
  }

  // Returns the exit code; out_ and err_ hold what was written.
  int run(std::vector<std::string> arguments) { return run_on(builder_.path(), std::move(arguments)); }
  int run_on(const std::string& store_path, std::vector<std::string> arguments) {
    out_.clear();
    err_.clear();
    console_.out_status = Status();
    console_.write_out = [this](std::string_view text) {
      out_.append(text);
      return out_limit_ == 0 || out_.size() < out_limit_ ? Status() : Status::from_errno(EPIPE, "write");
    };
    console_.write_err = [this](std::string_view text) { err_.append(text); };
    arguments.insert(arguments.end(), {"--dir", store_path});
    return run_command_line(console_, arguments);
  }
  // `text` with what differs from run to run of the test put under a name.
  std::string masked(std::string text) const {
    for (size_t at; (at = text.find(builder_.path())) != std::string::npos;)
      text.replace(at, builder_.path().size(), "STORE");
    return text;
  }

  StoreBuilder builder_;
  Console console_;
  std::string out_, err_;
  size_t out_limit_ = 0;  // from so many bytes on the reader is gone
};

}  // namespace tracker::internal
