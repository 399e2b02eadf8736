// SPDX-License-Identifier: MIT
// Media that a dead process has spooled (storage/upkeep/spooled_media.h), on their way into its run: who encodes them
// says here what each is, and commit() adds all of it to the databases of the processes that logged it, as if they had.
// One process does this for a run at a time. It may be killed at any point: what is committed is known to the next one
// by its name, step, call, time and place, so that nothing is there twice. Threads: one. Cost: blocks on the disk;
// reads the frames of the run once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/fs.h"
#include "base/status.h"
#include "codec/frame.h"
#include "query/run_view.h"
#include "run/services/media_folder.h"
#include "storage/store/store.h"
#include "storage/upkeep/spooled_media.h"

namespace tracker::internal {

constexpr size_t kLateFrameBytes = 4u << 20;  // of what is said of media, in one frame

// Which medium it is: of all processes of a run no two have logged one that agrees in all of these.
struct MediumPlace {
  std::string key;
  int64_t step = 0;
  uint64_t call = 0;
  int64_t time_us = 0;
  int64_t index = 0;  // in its list; 0 where it stands alone
  auto operator<=>(const MediumPlace&) const = default;
};

class LateMedia {
 public:
  // Null where nothing waits of a process that is known to be dead and whose journal is recovered. kBusy: another
  // process does this just now. kIo: the folder cannot be written.
  static Result<std::unique_ptr<LateMedia>> open(const RunFolder& folder);
  ~LateMedia();
  LateMedia(const LateMedia&) = delete;
  LateMedia& operator=(const LateMedia&) = delete;

  const std::vector<SpooledMedium>& waiting() const { return waiting_; }
  Result<bool> is_stored(const MediumPlace& place);                             // kInvalid: the key is none
  Result<MediaFile> store(std::string_view bytes, std::string_view extension);  // as MediaFolder::store
  Status check_room(uint64_t bytes) const { return MediaFolder(folder_.path).check_room(bytes); }  // kLimit
  // Held until commit(); redacted here. kLimit: more is said of it than an event may. kInvalid: nobody could decode it.
  Status add(const Id128& writer, const MediumPlace& place, Value value);
  // One of that writer is counted as dropped for this reason. Its file must be gone already: nobody counts it again.
  void drop(const Id128& writer, const std::string& reason);
  // All of it, fsynced. What was added is there when this answers ok, and may be there when it does not.
  Status commit();

 private:
  struct Held {
    std::vector<Event> events;
    std::map<std::string, uint64_t> dropped;
  };
  LateMedia(RunFolder folder, std::unique_ptr<RunView> view, SpoolLock lock, std::vector<SpooledMedium> waiting);
  Status commit(const Id128& writer, Held held);
  const WriterSnapshot* snapshot_of(const Id128& writer) const;

  RunFolder folder_;
  std::unique_ptr<RunView> view_;
  SpoolLock lock_;
  std::vector<SpooledMedium> waiting_;
  std::map<Id128, Held> held_;
  std::optional<std::set<MediumPlace>> stored_;
};

}  // namespace tracker::internal
