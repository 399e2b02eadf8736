// SPDX-License-Identifier: MIT
// Goal: long work draws a bar on a terminal's stderr and leaves nothing behind; elsewhere there is no bar.
// Method: what a console received, with the quiet second left out.
#include "cli/output/progress.h"

#include <gtest/gtest.h>

namespace tracker::internal {
namespace {

struct Drawn {
  explicit Drawn(bool terminal, int64_t after_ns = 0) {
    console.progress = terminal;
    console.progress_after_ns = after_ns;
    console.write_err = [this](std::string_view text) { err.append(text); };
  }
  Console console;
  std::string err;
};

TEST(ProgressBarTest, ATerminalSeesHowFarTheWorkIsAndThenAnEmptyLine) {
  Drawn drawn(true);
  ProgressBar bar(drawn.console, "reading runs");
  bar.show(2500, 10'000);
  EXPECT_TRUE(drawn.err.starts_with("\r\033[Kreading runs [#######.......................] 2,500 of 10,000, "));
  EXPECT_TRUE(drawn.err.ends_with(" left"));
  bar.show(2600, 10'000);  // too soon to be drawn again
  EXPECT_EQ(drawn.err.find("2,600"), std::string::npos);
  bar.clear();
  EXPECT_TRUE(drawn.err.ends_with("\r\033[K"));
}

// Bug: work that turned out larger than was said asked for a negative number of cells.
TEST(ProgressBarTest, WorkThatIsLargerThanWasSaidFillsTheBarAndNoMore) {
  Drawn drawn(true);
  ProgressBar bar(drawn.console, "reading KiB");
  bar.show(5000, 1000);
  EXPECT_NE(drawn.err.find("[##############################] 1,000 of 1,000"), std::string::npos) << drawn.err;
}

TEST(ProgressBarTest, ShortWorkAndOtherPlacesSeeNothing) {
  Drawn quick(true, kProgressQuietNs), pipe(false);
  ProgressBar one(quick.console, "reading runs"), other(pipe.console, "reading runs");
  for (ProgressBar* bar : {&one, &other}) {
    bar->show(1, 2);
    bar->clear();
  }
  EXPECT_EQ(quick.err + pipe.err, "");
}

}  // namespace
}  // namespace tracker::internal
