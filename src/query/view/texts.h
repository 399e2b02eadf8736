// SPDX-License-Identifier: MIT
// Text logged under metric keys: events of frames. Threads: one at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "query/view/run_view.h"

namespace tracker::internal {

using TextsByMetric = std::map<std::string, std::vector<TextRow>>;

// Appends the texts that `writer` held when its snapshot was taken, of `only` or (empty) of every metric.
Status read_texts(const WriterSnapshot& writer, WriterReader* reader, const std::string& only, TextsByMetric* out,
                  std::vector<LogDamage>* damage);

}  // namespace tracker::internal
