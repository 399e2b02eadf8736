// SPDX-License-Identifier: MIT
// What a run says of itself: where its points are, what they survive, what it costs.
#include <algorithm>
#include <map>

#include "query/view/environment.h"
#include "query/view/program_name.h"
#include "run/run_impl.h"

namespace tracker::internal {
namespace {

void add(const PointCounts& counts, SeriesStatus* into) {
  into->points_stored += counts.stored;
  into->points_dropped += counts.dropped;
  into->points_pending += counts.pending;
}

}  // namespace

RunStatus Run::status() const {
  RunStatus out;
  const InitPlan& plan = impl_->plan;
  out.journal = "none";
  out.store_files = "none";
  out.recovered_points = plan.recovered_points;
  if (impl_->forked()) {
    out.why_not_recording = "a forked child; run.attach() (in C trk_attach) records here";
    return out;
  }
  if (!impl_->writer) {
    out.why_not_recording = plan.why_not;
    return out;
  }
  const WriterStatus writer = impl_->writer->status();
  out.degraded = writer.degraded;
  out.last_error = writer.last_error;
  out.journal = impl_->writer->identity().journal;
  out.cost = impl_->writer->cost();
  out.max_disk = plan.max_disk;
  out.disk_full = impl_->writer->disk_room() != DiskRoom::kEnough;
  if (impl_->observed()) {
    out.why_not_recording = plan.why_not;
    return out;
  }
  out.points_stored = writer.points_stored;
  out.points_dropped = writer.counts.dropped + writer.counts.damaged + hot_->late.load(std::memory_order_relaxed);
  const uint64_t accepted = writer.counts.accepted - std::min(writer.counts.accepted, writer.counts.damaged);
  out.points_pending = accepted > writer.points_stored ? accepted - writer.points_stored : 0;
  out.points_logged = out.points_stored + out.points_dropped + out.points_pending;
  out.texts_stored = writer.texts_stored;
  out.texts_dropped = writer.counts.texts_dropped + writer.counts.texts_damaged;
  const uint64_t texts =
      writer.counts.texts_accepted - std::min(writer.counts.texts_accepted, writer.counts.texts_damaged);
  out.texts_pending = texts > writer.texts_stored ? texts - writer.texts_stored : 0;
  out.texts_dropped += hot_->late_texts.load(std::memory_order_relaxed);
  out.texts_logged = out.texts_stored + out.texts_dropped + out.texts_pending;
  out.entries_dropped = writer.counts.entries_dropped;
  out.values_rejected = writer.counts.rejected;
  out.steps_changed = impl_->steps_changed.load(std::memory_order_relaxed);
  out.bytes_stored = writer.bytes_stored;
  out.journal_bytes = writer.counts.bytes;
  if (writer.parts > 0) out.store_files = writer.files;
  out.file_system = writer.file_system;
  out.store_parts = writer.parts;
  const bool has_run = !waits_for_run();  // else it is unknown where its points belong
  out.survives_process = has_run && impl_->writer->journal()->survives_process();
  out.survives_container = has_run && writer.committed_lately;
  out.survives_power = has_run && writer.synced_lately;
  if (impl_->artifacts) {
    const ArtifactCounts artifacts = impl_->artifacts->counts();
    out.artifacts_stored = artifacts.stored;
    out.artifacts_pending = artifacts.pending;
    out.artifacts_failed = artifacts.failed;
  }
  // Each asks under a lock of its own: what it holds while it logs is never taken with the run's held.
  if (impl_->console) {
    out.values_redacted += impl_->console->redacted();
    out.console_cut_bytes = impl_->console->cut_bytes();
  }
  if (impl_->monitor) out.values_redacted += impl_->monitor->redacted();
  if (impl_->source) out.values_redacted += impl_->source->redacted();
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  out.values_redacted += impl_->redacted;
  out.media = impl_->media;
  out.alerts_dropped = impl_->alerts.dropped();
  out.recording = !impl_->finished && writer.gave_up.empty();
  out.why_not_recording = impl_->finished ? "finished" : writer.gave_up;
  return out;
}

bool Run::disk_full() const {
  return impl_->writer && !impl_->forked() && impl_->writer->disk_room() != DiskRoom::kEnough;
}

std::vector<SeriesStatus> Run::series_status() const {
  std::vector<SeriesStatus> out;
  if (impl_->forked() || !impl_->writer || impl_->observed()) return out;
  // Counts first: whatever they hold has a definition then.
  const SeriesCounts counts = impl_->writer->series_counts();
  std::map<std::string, SeriesStatus> by_name;
  for (const SeriesDef& def : impl_->writer->journal()->definitions()) add(counts.of(def.id), &by_name[def.name]);
  add(counts.of(0), &by_name[""]);
  by_name[""].points_dropped += hot_->late.load(std::memory_order_relaxed);
  for (auto& [name, status] : by_name) {
    if (is_system_series(name) || (name.empty() && status.points_logged() == 0)) continue;
    status.name = name;
    out.push_back(std::move(status));
  }
  return out;
}

Result<SeriesStatus> Run::series_status(std::string_view name) const {
  SeriesStatus out;
  out.name = name;
  const Status unknown(Code::kNotFound, "this process has logged no metric \"" + out.name + "\" here");
  if (impl_->forked() || !impl_->writer || impl_->observed()) return unknown;
  const std::vector<uint32_t> ids = impl_->writer->journal()->known_ids(name_of_program(name));
  if (ids.empty() && !name.empty()) return unknown;
  const SeriesCounts counts = impl_->writer->series_counts();
  for (const uint32_t id : ids) add(counts.of(id), &out);
  if (name.empty()) {
    add(counts.of(0), &out);
    out.points_dropped += hot_->late.load(std::memory_order_relaxed);
  }
  return out;
}

}  // namespace tracker::internal
