// SPDX-License-Identifier: MIT
// capture=["source"]: the texts of the folder that the program comes from, as a version of the project's artifact
// "source" that the run has made, so that equal sources of a sweep are stored once. A thread of its own
// chooses the files, copies them without the secrets that are found in them, and hands the copies to the thread of
// artifacts; init() waits for neither. Threads: public functions from any; a forked child uses none of it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "model/value.h"
#include "monitor/source/source_list.h"
#include "pipeline/writer.h"
#include "run/services/artifacts.h"

namespace tracker::internal {

constexpr const char* kSourceArtifact = "source";
constexpr const char* kSourceType = "code";

class RunSource : public std::enable_shared_from_this<RunSource> {
 public:
  struct Input {
    std::string folder;      // where the program lies; its repository is taken where it lies in one
    std::string store_path;  // never a part of it
    std::string project;
    std::shared_ptr<Writer> writer;
    std::shared_ptr<RunArtifacts> artifacts;
    std::chrono::steady_clock::time_point (*now)() = std::chrono::steady_clock::now;  // of kSourceTimeMax
  };
  // Null where the system gives no thread.
  static std::shared_ptr<RunSource> start(Input input);
  // Until the files are handed to the thread of artifacts, at most so long; then no more is read.
  void end(std::chrono::milliseconds timeout);
  uint64_t redacted() const;

 private:
  explicit RunSource(Input input) : input_(std::move(input)) {}
  void work();
  bool stopped() const;
  Status copy(const SourceList& list, const std::string& staging, ArtifactDraft* draft, Value* said);
  void tell(Value said);

  const Input input_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool done_ = false, stopping_ = false;
  uint64_t redacted_ = 0;
};

}  // namespace tracker::internal
