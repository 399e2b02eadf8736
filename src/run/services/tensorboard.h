// SPDX-License-Identifier: MIT
// init(tensorboard=…): the run's TensorBoard event file, kept up to date by a thread that reads what is stored. Nothing
// that logs knows of it: what the disk of the file refuses, or does slowly, is this thread's alone, and what it could
// not write it writes later, for the store has it. Threads: public functions from any; a forked child uses none of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "exchange/live_events.h"
#include "pipeline/warnings.h"
#include "pipeline/writer.h"

namespace tracker::internal {

constexpr std::chrono::milliseconds kTensorBoardFirst{1'000};  // after init
constexpr std::chrono::milliseconds kTensorBoardInterval{
    5'000};  // as TensorBoard itself; each reading opens the run again
// Limit: pause between reads of the live TensorBoard file after failures.
constexpr std::chrono::milliseconds kTensorBoardRetryMax{60'000};
// The pause after a failed reading, from the pause before it.
constexpr std::chrono::milliseconds next_tensorboard_pause(std::chrono::milliseconds last) {
  return std::min(last * 2, kTensorBoardRetryMax);
}
// Of the time of finish(): what it waits for a batch of TensorBoard, or for a read of the uploader, that has begun.
constexpr int kHoldShare = 4;

class RunTensorBoard : public std::enable_shared_from_this<RunTensorBoard> {
 public:
  // Null where the system gives no thread, which is said.
  static std::shared_ptr<RunTensorBoard> start(std::shared_ptr<Writer> writer, std::string folder, LiveEventsPlan plan);
  // From now on the databases are not read: they are about to become plain files. Waits so long for a batch to end.
  void hold(std::chrono::milliseconds timeout);
  // The last read of what is stored, waited for until then; what the file then lacks is said.
  void end(std::chrono::steady_clock::time_point deadline);

 private:
  enum class Order { kFollow, kHold, kEnd };
  RunTensorBoard(std::shared_ptr<Writer> writer, std::string folder, LiveEventsPlan plan)
      : writer_(std::move(writer)), folder_(std::move(folder)), events_(plan) {}
  void loop();
  bool look();
  bool may_go_on() const;

  const std::shared_ptr<Writer> writer_;
  const std::string folder_;
  Warnings warnings_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Order order_ = Order::kFollow;
  bool looking_ = false, done_ = false;
  bool whole_ = false;     // the last look has written all that is stored
  bool given_up_ = false;  // it was said why nothing more is written

  // The thread's own.
  LiveEvents events_;
  std::chrono::milliseconds pause_ = kTensorBoardFirst;
};

}  // namespace tracker::internal
