// SPDX-License-Identifier: MIT
// What a writer finds when a file that it writes is not as it left it. It does not touch that part again and continues
// in the next one (docs/formats/database.md, Parts). Threads: values.
#pragma once

#include <string>

namespace tracker::internal {

enum class PartChange {
  kNone,
  kRemoved,        // its name is gone
  kReplaced,       // another file has its name
  kCut,            // it is shorter than it was
  kWalGone,        // its write-ahead log is another file, is shorter, or is gone
  kForeignFrames,  // it holds frames that this process has not written
  kRolledBack,     // it lacks frames that were committed
  kUnreadable,     // it does not verify
  kSyncFailed,     // an fsync failed: what was written since the last one may be gone
  kPinned,         // a reader stays in a transaction, so that the write-ahead log grows without end
};

// The end of a sentence that begins with the path: "was removed while it is written".
std::string part_change_text(PartChange change);

}  // namespace tracker::internal
