// SPDX-License-Identifier: MIT
// Goal: nothing that a run holds reaches a terminal as anything but visible text.
// Method: a run whose every text carries escapes, bidi controls and bytes that are no UTF-8, through every command.
#include <algorithm>
#include <cmath>

#include "cli/output/text.h"
#include "model/value.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {
namespace {

const std::string kHostile = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u2066\r\n\xff\x9b 31m,\"=1+1\"";
// The same as UTF-8: in a key bytes that are none are damage.
const std::string kHostileName = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u2066\r\n\u009b 31m,\"=1+1\"";

class HostileRunTest : public CliTest {
 protected:
  HostileRunTest() {
    // Labels are checked where runs are made; bidi controls are no control characters and pass.
    const RunFolder folder = builder_.run("mnist", "ot\u202eter");
    auto writer = builder_.writer(folder, {.host = kHostile, .journal = kHostile});
    writer.set(EventType::kConfig, kHostileName, kHostile).set(EventType::kSummary, kHostileName, kHostile);
    writer.set(EventType::kConfig, "deep", Value::Map{{kHostile, Value::List{kHostile}}});
    for (const char* key : {"name", "notes", "group", "job_type"}) writer.set(EventType::kAttribute, key, kHostile);
    writer.set(EventType::kAttribute, "tags", Value::List{kHostile, nullptr, 1});
    writer.log(kHostileName, INT64_MIN, NAN)
        .log(kHostileName, INT64_MAX, -INFINITY)
        .log(kHostileName, std::nullopt, 1e308, INT64_MIN + 1);
    writer.text(kHostileName, 0, kHostile).lose(kHostileName, LossReason::kTooLarge, INT64_MAX);
    writer.end(RunState::kFailed, INT64_MIN, kHostile, INT64_MAX).finish();
  }

  static void expect_harmless(const std::string& text) {
    std::string lines = text;
    std::erase(lines, '\n');
    EXPECT_EQ(visible(lines), lines);  // what is visible already stays as it is
  }
};

TEST_F(HostileRunTest, EveryCommandShowsVisibleTextOnly) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"ls"},
                                             {"show", "mnist/ot\u202eter"},
                                             {"show", "mnist/ot\u202eter", "--plot", "9"},
                                             {"show", kHostile},
                                             {kHostile},
                                             {"ls", "--" + kHostile},
                                             {"export", "mnist/ot\u202eter", "--metric", kHostile + "x"},
                                             {"export", "mnist/ot\u202eter", "--format", kHostile},
                                             {"ls", "--project", kHostile}}) {
    for (const int width : {0, 1, 20, 80}) {
      console_.width = width;
      run(command);
      expect_harmless(out_);
      expect_harmless(err_);
    }
  }
}

TEST_F(HostileRunTest, JsonEscapesWhatItCarries) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"ls", "--json"}, {"show", "mnist/ot\u202eter", "--json"}}) {
    EXPECT_EQ(run(command), kExitOk) << err_;
    EXPECT_TRUE(from_json(out_).ok());
    expect_harmless(out_);
  }
}

TEST_F(HostileRunTest, AnExportOnATerminalIsVisibleTextInWholeLines) {
  for (const char* format : {"csv", "jsonl"}) {
    console_.width = 80;
    EXPECT_EQ(run({"export", "mnist/ot\u202eter", "--format", format}), kExitOk) << err_;
    expect_harmless(out_);
    const auto lines = std::count(out_.begin(), out_.end(), '\n');
    console_.width = 0;
    EXPECT_EQ(run({"export", "mnist/ot\u202eter", "--format", format}), kExitOk) << err_;
    EXPECT_EQ(lines, std::count(out_.begin(), out_.end(), '\n'));
  }
}

TEST_F(HostileRunTest, AnExportCarriesTheTextAsItIs) {
  console_.width = 0;  // a pipe
  EXPECT_EQ(run({"export", "mnist/ot\u202eter"}), kExitOk) << err_;
  EXPECT_NE(out_.find("\x1b]0;owned"), std::string::npos);
}

}  // namespace
}  // namespace tracker::internal
