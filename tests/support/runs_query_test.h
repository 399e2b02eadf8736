// SPDX-License-Identifier: MIT
// Listings of a store that a test makes by hand, with a clock that is 10 s ahead, so that fresh folders are trusted.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "query/runs/runs_query.h"
#include "support/store_builder.h"

namespace tracker::internal {

constexpr int64_t kAheadUs = 10 * kSecondUs;

class RunsQueryTest : public testing::Test {
 protected:
  RunsQuery query(const std::string& where = "", const std::string& sort = "") const {
    RunsQuery out;
    out.where = where;
    out.sort = sort;
    out.now_us = kBuilderStartUs + 86'400 * kSecondUs;
    out.files_now_us = realtime_us() + kAheadUs;
    return out;
  }
  RunsList list(const RunsQuery& asked) const {
    auto found = query_runs(builder_.store(), asked);
    EXPECT_TRUE(found.ok()) << found.status().to_string();
    return found.ok() ? std::move(*found) : RunsList();
  }
  RunsList list(const std::string& where = "", const std::string& sort = "") const { return list(query(where, sort)); }
  // The values of those columns for the only run.
  std::vector<std::optional<Value>> columns_of_the_run(const std::string& columns) const {
    RunsQuery asked = query();
    if (auto parsed = parse_columns(columns); parsed.ok()) asked.columns = std::move(*parsed);
    RunsList found = list(asked);
    EXPECT_EQ(found.rows.size(), 1u);
    if (found.rows.size() != 1 || asked.columns.empty()) return std::vector<std::optional<Value>>(100);
    return std::move(found.rows[0].columns);
  }
  static std::string ids(const RunsList& list) {
    std::string out;
    for (const RunRow& row : list.rows) out += (out.empty() ? "" : " ") + row.record.identity.id;
    return out;
  }

  RunFolder finished_run(const std::string& project, const std::string& id, int number) {
    const RunFolder folder = builder_.run(project, id, kBuilderStartUs + number * kSecondUs);
    auto writer = builder_.writer(folder);
    writer.set(EventType::kConfig, "lr", 0.1 * number).log("loss", 0, 10.0 - number).log("loss", 1, number);
    writer.end(RunState::kFinished, 0, "", kBuilderStartUs + (number + 100) * kSecondUs).finish();
    return folder;
  }
  void three_runs() {
    finished_run("a", "one", 1);
    finished_run("a", "two", 2);
    finished_run("b", "three", 3);
  }
  std::string catalog() const { return builder_.path() + "/" + kCatalogFile; }

  StoreBuilder builder_;
};

}  // namespace tracker::internal
