// SPDX-License-Identifier: MIT
// Statistics of metrics of which a resume shadows a part: ShownStats of the rows that are shown (shown_visitor.h).
// Blocks whose rows are all shown count by their directory, the others are decoded. Nothing is kept between two calls.
// Threads: any. Memory: the columns of a block at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "query/view/run_view.h"

namespace tracker::internal {

using ReaderOfWriter = std::function<WriterReader*(size_t writer)>;

// Fills in the statistics that needs_rows() reports as unknown. `writers`: the snapshot that `metrics` were merged
// from. The result is that of decoding all rows, but for the rounding of sums, and for damage in columns that need not
// be decoded: their rows count. kIo, kBusy: `metrics` is unchanged. `decoded_blocks` may be null.
Status complete_shown(const std::vector<WriterSnapshot>& writers, const ReaderOfWriter& reader_of,
                      std::vector<MetricInfo>* metrics, std::vector<LogDamage>* damage,
                      uint64_t* decoded_blocks = nullptr);

}  // namespace tracker::internal
