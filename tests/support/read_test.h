// SPDX-License-Identifier: MIT
// Shared by tests of readers: a store with one run, opened again for each reading.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "query/rows/selection.h"
#include "query/view/run_view.h"
#include "support/store_builder.h"

namespace tracker::internal {

using Steps = std::vector<int64_t>;
using Doubles = std::vector<double>;

class ReadTest : public testing::Test {
 protected:
  std::unique_ptr<RunView> open() {
    auto view = RunView::open(run_);
    EXPECT_TRUE(view.ok());
    return std::move(*view);
  }
  static Doubles doubles(const History& history) {
    Doubles out;
    for (const uint64_t bits : history.bits) out.push_back(to_double(history.type, bits));
    return out;
  }

  StoreBuilder builder_;
  RunFolder run_ = builder_.run("mnist", "otter");
};

}  // namespace tracker::internal
