// SPDX-License-Identifier: MIT
// A sound store of two runs for tests of `tracker verify`, and what it finds by kind.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "model/value.h"
#include "support/storage.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {

class VerifyTest : public CliTest {
 protected:
  // Two runs; the first has two frames with numbers, a text, config and losses.
  VerifyTest() {
    auto writer = builder_.writer(run_);
    writer.log("train/loss", 0, 0.5).log("train/loss", 1, 0.25).set(EventType::kConfig, "lr", 0.1).commit();
    first_frame_ = writer.last_frame();
    writer.log("train/loss", 2, -1).log("acc", 2, 0.75).text("sample", 2, "a cat");
    writer.lose("train/loss", LossReason::kRingFull, 12).commit();
    writer.end(RunState::kFinished).finish();
    db_ = writer.path();
    builder_.writer(builder_.run("mnist", "heron")).log("loss", 0, 1).end(RunState::kFinished).finish();
  }

  void sql(const std::string& statement) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(db_.c_str(), &db), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db, statement.c_str(), nullptr, nullptr, &error), SQLITE_OK)
        << statement << ": " << (error != nullptr ? error : "");
    sqlite3_free(error);
    sqlite3_close(db);
  }

  // Kinds of the findings of a level, by their number.
  std::map<std::string, int> kinds(const std::string& level = "damage", std::vector<std::string> what = {}) {
    what.insert(what.begin(), "verify");
    what.push_back("--json");
    code_ = run(what);
    const auto document = from_json(out_);
    EXPECT_TRUE(document.ok()) << out_ << err_;
    std::map<std::string, int> out;
    if (!document.ok()) return out;
    for (const Value& finding : *document->find("findings")->as_list()) {
      if (finding.text_or("level", "") == level) ++out[finding.text_or("kind", "")];
      EXPECT_NE(finding.text_or("to_do", ""), "") << out_;
    }
    return out;
  }
  using Kinds = std::map<std::string, int>;

  // Every file below the store with its size and times.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(builder_.path())) {
      struct stat st{};
      ::stat(entry.path().c_str(), &st);
      // Not the time of the inode's change: a SQLite that opens a WAL as root sets its owner, and so changes that.
      out[entry.path()] =
          std::to_string(st.st_size) + " " + std::to_string(st.st_mtim.tv_nsec) + " " + std::to_string(st.st_ino);
    }
    return out;
  }

  RunFolder run_ = builder_.run("mnist", "otter");
  std::string db_, first_frame_;
  int code_ = -1;
};

}  // namespace tracker::internal
