// SPDX-License-Identifier: MIT
#include "pipeline/writer_health.h"

#include <fmt/format.h>
#include <time.h>

#include <cstdio>
#include <exception>

#include "pipeline/store_schedule.h"
#include "storage/store/share_store.h"

namespace tracker::internal {

void WriterHealth::note_failure(const Status& status) {
  const Status way = with_way_into(status, store_path_);
  bool first = false;
  {
    const Guard guard(mutex_);
    first = !degraded_;
    degraded_ = true;
    store_error_ = way.to_string();
    is_newer_ = status.code() == Code::kVersion;
    is_forbidden_ = way.code() == Code::kIo && way.hint() == way_into(store_path_);
  }
  if (first && status.code() == Code::kVersion)
    warnings_.warn_once(
        "store", fmt::format("this version of tracker cannot write the store ({}); what is logged {}", status.message(),
                             keeps_in_memory_ ? "is kept in memory, within its bound, and is lost when the process ends"
                                              : "waits in the journal, within its bound, for a newer one to store it"));
  else if (first)
    warnings_.warn_once(
        "store",
        fmt::format("the store cannot be written ({}); what is logged waits in {} and is stored as soon as it can",
                    way.to_string(), keeps_in_memory_ ? "memory" : "the journal"));
}

void WriterHealth::note_success() {
  bool recovered = false;
  {
    const Guard guard(mutex_);
    recovered = degraded_;
    degraded_ = false;
    store_error_.clear();
  }
  if (recovered) warnings_.warn_once("store works", "the store can be written again");
}

void WriterHealth::note_fault(Thread thread, const char* what) noexcept {
  const char* const name = thread == Thread::kDrain ? "trk-drain" : "trk-store";
  char text[sizeof Fault::what];
  std::snprintf(text, sizeof text, "%s failed: %s", name, what);
  {
    const Guard guard(mutex_);
    ++faults_;
    Fault& fault = faults_now_[static_cast<size_t>(thread)];
    fault.now = true;
    std::snprintf(fault.what, sizeof fault.what, "%s", text);
  }
  try {
    warnings_.warn_once(name, fmt::format("{}; logging goes on, and it tries again", text));
  } catch (const std::exception&) {  // status() has it all the same
  }
  const timespec nap{0, std::chrono::nanoseconds(kRetryFirst).count()};
  ::nanosleep(&nap, nullptr);
}

void WriterHealth::end_fault(Thread thread) {
  const Guard guard(mutex_);
  faults_now_[static_cast<size_t>(thread)].now = false;
}

uint64_t WriterHealth::faults() const {
  const Guard guard(mutex_);
  return faults_;
}

void WriterHealth::note_gave_up(std::string text) {
  const Guard guard(mutex_);
  degraded_ = true;
  store_error_ = text;
  gave_up_ = std::move(text);
}

void WriterHealth::set_lost_text(std::string text) {
  const Guard guard(mutex_);
  lost_text_ = std::move(text);
}

WriterHealth::Reading WriterHealth::read() const {
  const Guard guard(mutex_);
  Reading out;
  out.degraded = degraded_;
  out.store_error = store_error_;
  for (const Fault& fault : faults_now_) {
    if (!fault.now) continue;
    if (!out.fault) out.fault_text = fault.what;
    out.fault = true;
  }
  out.lost_text = lost_text_;
  out.gave_up = gave_up_;
  out.is_newer = is_newer_;
  out.is_forbidden = is_forbidden_;
  return out;
}

}  // namespace tracker::internal
