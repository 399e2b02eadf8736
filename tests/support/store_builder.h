// SPDX-License-Identifier: MIT
// Stores made by hand for tests of readers: runs, writers and frames with chosen times, steps, ends and damage.
// Failures of the store itself end the test program: they are never what such a test is about. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/frame.h"
#include "model/records.h"
#include "storage/database/writer_db.h"
#include "storage/store/store.h"
#include "support/temp_folder.h"

namespace tracker::internal {

constexpr int64_t kBuilderStartUs = 1'700'000'000'000'000;  // 2023-11-14 22:13:20 UTC
constexpr int64_t kSecondUs = 1'000'000;

struct BuilderOptions {
  int64_t attempt = 1;
  int64_t rank = 0;
  int64_t world_size = 1;
  int64_t started_us = kBuilderStartUs;
  std::string host = "testhost";  // not this machine: readers cannot know whether the process lives
  std::string journal = "shm";
  int64_t continues = 0;
  std::optional<int64_t> resume_step = {};
  bool observed = false;
};

// One writer. Rows and events are gathered into a frame by commit().
class WriterBuilder {
 public:
  WriterBuilder(const Store& store, const RunFolder& run, const BuilderOptions& options);
  WriterBuilder(const RunFolder& run, const WriterIdentity& identity);

  // One row; times count on by a second a row unless given.
  WriterBuilder& log(const std::string& metric, std::optional<int64_t> step, double value, int64_t time_us = 0);
  WriterBuilder& log_bits(const std::string& metric, ValueType type, std::optional<int64_t> step, uint64_t bits,
                          int64_t time_us = 0);
  WriterBuilder& text(const std::string& metric, std::optional<int64_t> step, const std::string& text,
                      int64_t time_us = 0);
  // kConfig, kSummary or kAttribute.
  WriterBuilder& set(EventType type, const std::string& key, const Value& value, int64_t time_us = 0);
  WriterBuilder& note(const Value& payload);
  WriterBuilder& lose(const std::string& metric, LossReason reason, uint64_t count);
  WriterBuilder& lose_others(uint32_t kind, LossReason reason, uint64_t count);  // kTextLosses, kEntryLosses
  WriterBuilder& end(RunState state, int64_t exit_code = 0, const std::string& reason = "", int64_t time_us = 0);
  WriterBuilder& event(EventType type, std::optional<int64_t> step, int64_t time_us, const Value& payload);
  WriterBuilder& heartbeat(int64_t now_us);

  WriterBuilder& commit();
  // Makes segments of what is committed as far as they are worth it.
  WriterBuilder& compact();
  // Commits and leaves plain files.
  void finish();

  const std::string& path() const { return path_; }
  const std::string& last_frame() const { return last_frame_; }  // its bytes, as committed
  const WriterIdentity& identity() const { return identity_; }

 private:
  uint32_t series_id(const std::string& metric, ValueType type);
  int64_t tick(int64_t time_us);

  WriterIdentity identity_;
  std::string path_;
  std::unique_ptr<WriterDb> db_;
  Frame frame_;
  int64_t row_ = 0;  // over all frames: ordinals may have gaps
  std::vector<SeriesDef> series_;
  std::string last_frame_;
  int64_t now_us_;
};

// Journals are searched for in a folder of its own, unless the test has named one: those in /dev/shm are not its own.
class StoreBuilder {
 public:
  StoreBuilder();
  ~StoreBuilder();
  const Store& store() const { return *store_; }
  std::string path() const { return store_->path(); }
  // With a fixed uid and time of creation, so that what is shown of it can be compared to a text.
  RunFolder run(const std::string& project, const std::string& id, int64_t created_us = kBuilderStartUs);
  WriterBuilder writer(const RunFolder& run, const BuilderOptions& options = {});

 private:
  TempFolder folder_;
  std::optional<Store> store_;
  const bool names_journals_;
};

// Changes one byte in the middle of `bytes` where they are in the file, so that their CRC fails. The file must be at
// rest.
void damage_bytes(const std::string& file, std::string_view bytes);
// Puts `text` over the beginning of the file.
void overwrite_start(const std::string& file, std::string_view text);

}  // namespace tracker::internal
