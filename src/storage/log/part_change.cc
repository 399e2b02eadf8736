// SPDX-License-Identifier: MIT
#include "storage/log/part_change.h"

namespace tracker::internal {

std::string part_change_text(PartChange change) {
  switch (change) {
    case PartChange::kNone: return "is unchanged";
    case PartChange::kRemoved: return "was removed while it is written";
    case PartChange::kReplaced: return "was replaced by another file while it is written";
    case PartChange::kCut: return "was cut while it is written";
    case PartChange::kWalGone: return "lost its write-ahead log while it is written";
    case PartChange::kForeignFrames: return "holds frames that another process has stored";
    case PartChange::kRolledBack: return "was restored to an earlier state while it is written";
    case PartChange::kUnreadable: return "is damaged";
    case PartChange::kSyncFailed: return "is on a disk that failed an fsync";
    case PartChange::kPinned: return "is kept from shrinking by a reader that stays in a transaction";
  }
  return "changed";
}

}  // namespace tracker::internal
