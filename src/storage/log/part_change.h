// SPDX-License-Identifier: MIT
// The ways in which a file may differ from how its writer left it. The writer does not touch that part again and
// continues in the next one (docs/formats/database.md, Parts). Threads: values.
#pragma once

#include <string>

namespace tracker::internal {

enum class PartChange {
  kNone,
  kRemoved,        // it was deleted
  kReplaced,       // another file has its name
  kCut,            // it is shorter than it was
  kWalGone,        // its write-ahead log is another file, is shorter, or was deleted
  kForeignFrames,  // it has frames that this process did not write
  kRolledBack,     // it lacks frames that were committed
  kUnreadable,     // it does not verify
  kSyncFailed,     // an fsync failed: what was written since the previous one may be lost
  kPinned,         // a reader stays in a transaction, so the write-ahead log grows without end
};

// The end of a sentence that begins with the path: "was removed while it is written".
std::string part_change_text(PartChange change);

}  // namespace tracker::internal
