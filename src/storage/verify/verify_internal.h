// SPDX-License-Identifier: MIT
// What the parts of verify share. Private to verify*.cc. Threads: one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "journal/ring/liveness.h"
#include "storage/sqlite/sqlite.h"
#include "storage/verify/verify.h"

namespace tracker::internal {

// Numbers as ranges: "3, 7 to 9", the first few.
class NumberRanges {
 public:
  void add(uint64_t number) { add(number, number); }
  void add(uint64_t first, uint64_t last);
  bool empty() const { return count_ == 0; }
  uint64_t count() const { return count_; }
  std::string text() const;

 private:
  static constexpr size_t kRangesShown = 8;
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;
  uint64_t count_ = 0;
};

class Verifier {
 public:
  explicit Verifier(const VerifyOptions& given) : options(given) {}

  void add(Finding finding);
  void note(std::string kind, std::string path, std::string what, std::string advice);
  void damage(std::string kind, std::string path, std::string what, std::string advice, std::string intact = "");
  // What `status` says of `path`: damage, a newer version, or a file that cannot be read.
  void failed(const std::string& kind, const std::string& path, const Status& status, const std::string& advice);
  void show(uint64_t within);        // progress: bytes read of the file at hand
  void count_bytes(uint64_t bytes);  // it is done

  const VerifyOptions& options;
  VerifyReport report;
  uint64_t bytes_total = 0;  // of progress
};

// A file's size and times: whether another process changed it while it was read without locks.
struct FileStamp {
  uint64_t size = 0, inode = 0;
  int64_t mtime_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
std::optional<FileStamp> stamp_of(const std::string& path);
uint64_t size_of_file(const std::string& path);

// The copies of a run from which what is missing can be had again.
constexpr const char* kRestoreAdvice = "restore the run's folder from a copy where there is one; else keep it";

struct WriterVerdict {
  std::vector<Finding> findings;
  std::optional<WriterIdentity> identity;  // as the file says
  bool live = false;
  bool log_read = true;  // else nothing is known of frames that no finding names
  uint64_t frames = 0, points = 0;
};
// One part of a writer's files, by itself. `run`: of the folder that it is in; may be null.
WriterVerdict verify_database(Verifier& verifier, const std::string& path, const RunIdentity* run);
WriterVerdict verify_frames_file(Verifier& verifier, const std::string& path, const RunIdentity* run);

// A folder below runs/<project>; `name` is "<project folder>/<run folder>", empty for a folder by itself. Returns the
// identity of the run, where run.json or a database has it.
struct RunVerdict {
  std::optional<RunIdentity> run;
  std::optional<Id128> store;
};
RunVerdict verify_run_folder(Verifier& verifier, const std::string& path, const std::string& name);

// Journals on this machine that belong to the store at `store_path`; of `runs` only where that is not empty.
void verify_journals(Verifier& verifier, const std::string& store_path, const std::set<Id128>& runs);

}  // namespace tracker::internal
