// SPDX-License-Identifier: MIT
#include "server/ingest.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "codec/frame.h"
#include "server/ingest_writer.h"
#include "server/server_lock.h"
#include "storage/database/stored_segment.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {
namespace {

// The identity in the database of a run on this server. The client's files may have several parts; here there is one.
WriterIdentity received_identity(const WriterIdentity& said, const RunFolder& run) {
  WriterIdentity out = said;
  out.run = run.identity;
  out.part = 1;
  out.before = {};
  out.received = true;
  return out;
}

// Points of a gap that are known to be lost, under the last number of the gap: no other frame will have that number.
std::string loss_frame(const Id128& writer, uint64_t seq, uint64_t lost) {
  Frame frame;
  frame.writer = writer;
  frame.seq = seq;
  frame.losses.push_back({0, LossReason::kDamaged, lost});
  return encode_frame(frame);
}

Result<uint64_t> stored_seq(const std::string& run_path, const Id128& writer) {
  const std::string path = join_path(run_path, writer.hex() + ".db");
  const auto reader = WriterReader::open(path);
  if (reader.status().code() == Code::kNotFound) return uint64_t{0};
  if (!reader.ok()) return reader.status();
  const auto snapshot = (*reader)->snapshot();
  return snapshot.ok() ? Result<uint64_t>(snapshot->last_seq) : snapshot.status();
}

size_t open_writers_max() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kOpenWritersMax;
  return std::clamp<size_t>(limit.rlim_cur / kDescriptorsAWriter, 4, kOpenWritersMax);
}

}  // namespace

Ingest::Ingest(const Store& store, RunIndex* runs, IngestDb db, IngestDb reading, Fd lock)
    : store_(store),
      runs_(runs),
      lock_(std::move(lock)),
      open_max_(open_writers_max()),
      db_(std::move(db)),
      reading_(std::move(reading)) {}

Result<std::unique_ptr<Ingest>> Ingest::open(const Store& store, RunIndex* runs) {
  auto lock = lock_for_server(store);
  if (!lock.ok()) return lock.status();
  auto db = IngestDb::open(store);
  if (!db.ok()) return db.status();
  auto reading = IngestDb::open(store);
  if (!reading.ok()) return reading.status();
  std::unique_ptr<Ingest> out(new Ingest(store, runs, std::move(*db), std::move(*reading), std::move(*lock)));
  TRACKER_RETURN_IF_ERROR(out->load_waiting());
  for (int i = 0; i < kAppliers; ++i) out->appliers_.emplace_back([ingest = out.get()] { ingest->apply_loop(); });
  return out;
}

Ingest::~Ingest() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& applier : appliers_) applier.join();
  // Limit: ns at the end of the server to turn databases into plain files. Beyond it: they stay as they are, whole.
  constexpr int64_t kFinishNsMax = 2'000'000'000;
  const int64_t end_ns = monotonic_ns() + kFinishNsMax;
  for (auto& [key, writer] : writers_)
    if (writer->store != nullptr && monotonic_ns() < end_ns) (void)writer->store->finish(100);
}

// At the start: units that an earlier server process has acknowledged and not moved.
Status Ingest::load_waiting() {
  auto waiting = db_.waiting();
  if (!waiting.ok()) return waiting.status();
  for (WaitingWriter& each : *waiting) {
    const auto run = runs_->open_or_make(each.identity.run, each.identity.run.project);
    if (!run.ok()) return run.status();
    auto writer = find_writer(*run, each.identity);
    if (!writer.ok()) return writer.status();
    const std::lock_guard lock(mutex_);
    (*writer)->row = each.row;
    (*writer)->acked = std::max((*writer)->acked, each.last);
    (*writer)->heartbeat_us = each.heartbeat_us;
    (*writer)->waiting_bytes = each.bytes;
    waiting_bytes_ += each.bytes;
    enqueue(*writer);
  }
  return {};
}

Result<Ingest::WriterPtr> Ingest::find_writer(const RunFolder& run, const WriterIdentity& identity) {
  const std::pair key{run.identity.uid, identity.writer};
  const std::lock_guard load(load_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = writers_.find(key); found != writers_.end()) return found->second;
  }
  const auto seq = stored_seq(run.path, identity.writer);
  if (!seq.ok()) return seq.status();
  auto writer = std::make_shared<Writer>();
  writer->run = run.identity.uid;
  writer->id = identity.writer;
  writer->run_path = run.path;
  writer->identity = received_identity(identity, run);
  writer->acked = *seq;
  const std::lock_guard lock(mutex_);
  if (writers_.size() >= kKnownWritersMax)
    std::erase_if(writers_, [](const auto& each) {
      const Writer& one = *each.second;
      return !one.is_due && !one.applying && one.store == nullptr && each.second.use_count() == 1;
    });
  writers_.emplace(key, writer);
  return writer;
}

// A heartbeat that changes between two batches shows that the process lives now, whatever its clock. One that does not
// change is of a process that died before, or of a late upload.
void Ingest::take_heartbeat(Writer* writer, int64_t said_us) {
  const int64_t now_us = realtime_us();
  const bool moves = writer->said_us != 0 && said_us > writer->said_us;
  if (said_us > writer->said_us) writer->said_us = said_us;
  writer->heartbeat_us = std::max(writer->heartbeat_us, moves ? now_us : std::min(said_us, now_us));
}

void Ingest::enqueue(const WriterPtr& writer) {
  if (!writer->is_due && !writer->applying) queue_.push_back(writer);
  writer->is_due = true;
  work_.notify_one();
}

Result<BatchAnswer> Ingest::post(const Id128& uid, std::string_view project, std::string_view body) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_bytes_ > kIngestBytesMax) return Status(Code::kBusy, "too much waits to be stored");
  }
  if (!is_whole_batch(body)) return Status(Code::kCorrupt, "the batch is not what was sent; send it again");
  const auto batch = parse_batch(body);
  if (!batch.ok()) {
    const bool is_damaged = batch.status().code() == Code::kCorrupt;  // by the client, not on the way
    return is_damaged ? Status(Code::kInvalid, batch.status().message()) : batch.status();
  }
  if (batch->writer.run.uid != uid) return Status(Code::kInvalid, "the batch is of another run");
  if (batch->writer.writer.is_zero() || uid.is_zero()) return Status(Code::kInvalid, "an id of zeros");
  const auto run = runs_->open_or_make(batch->writer.run, project);
  if (!run.ok()) return run.status();
  const auto writer = find_writer(*run, batch->writer);
  if (!writer.ok()) {  // its database cannot be read now; the client gets "busy"
    std::fprintf(stderr, "tracker: run %s takes no frames: %s\n", uid.hex().c_str(),
                 writer.status().to_string().c_str());
    return Status(Code::kBusy, "the run cannot be read");
  }
  check_file(*writer);
  Job job;
  job.writer = writer->get();
  job.batch = &*batch;
  if (!batch->units.empty()) TRACKER_RETURN_IF_ERROR(commit(&job));
  const std::lock_guard lock(mutex_);
  if (batch->units.empty()) job.answer.acked_seq = (*writer)->acked;
  take_heartbeat(writer->get(), batch->heartbeat_us);
  enqueue(*writer);
  return std::move(job.answer);
}

Result<std::map<Id128, uint64_t>> Ingest::acked(const Id128& uid) {
  std::map<Id128, uint64_t> out;
  const auto run = runs_->find(uid);
  if (!run) return out;
  for (const std::string& path : run->writer_dbs()) {
    const auto id = Id128::from_hex(last_name(path).substr(0, 32));
    if (!id) continue;
    const auto seq = stored_seq(run->path, *id);
    if (!seq.ok()) return seq.status();
    if (*seq > 0) out[*id] = *seq;
  }
  std::vector<WriterPtr> writers;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = writers_.lower_bound({uid, Id128{}}); at != writers_.end() && at->first.first == uid; ++at)
      writers.push_back(at->second);
  }
  for (const WriterPtr& writer : writers) check_file(writer);
  const std::lock_guard lock(mutex_);
  for (const WriterPtr& writer : writers)
    if (writer->acked > 0) out[writer->id] = writer->acked;
  return out;
}

// Whether its file is gone, though everything acknowledged was stored in it.
bool Ingest::lacks_file(const WriterPtr& writer) {
  {
    const std::lock_guard lock(mutex_);
    if (writer->acked == 0 || writer->waiting_bytes > 0 || writer->is_due || writer->applying) return false;
    writer->applying = true;  // no other thread makes a new one meanwhile
  }
  if (!path_exists(join_path(writer->run_path, writer->id.hex() + ".db"))) return true;
  const std::lock_guard lock(mutex_);
  release(writer);
  return false;
}

void Ingest::check_file(const WriterPtr& writer) {
  if (!lacks_file(writer)) return;
  (void)start_again(writer.get(), 0);
  const std::lock_guard lock(mutex_);
  release(writer);
}

// Its file was removed or replaced: frames that were here are not. Clients have them, and send them again when they
// receive a lower number.
Status Ingest::start_again(Writer* writer, uint64_t held) {
  drop_store(writer);
  uint64_t acked = 0;
  {
    const std::lock_guard lock(mutex_);
    acked = writer->acked;
  }
  Job job;
  job.writer = writer;
  job.starts_again = true;
  job.held = held;
  TRACKER_RETURN_IF_ERROR(commit(&job));
  writer->stored_seq = held;
  writer->stored_beat_us = 0;
  std::fprintf(stderr,
               "tracker: run %s: its files were removed or changed by another program: of writer %s frames up to %llu "
               "were here, now up to %llu; clients that have them send them again\n",
               writer->run.hex().c_str(), writer->id.hex().c_str(), static_cast<unsigned long long>(acked),
               static_cast<unsigned long long>(held));
  return {};
}

uint64_t Ingest::quarantined(const Id128& uid) {
  const std::lock_guard lock(read_mutex_);
  return reading_.quarantined_of(uid).value_or(0);
}

// One of the waiting threads commits for all of them.
Status Ingest::commit(Job* job) {
  std::unique_lock lock(commit_mutex_);
  jobs_.push_back(job);
  committed_.wait(lock, [&] { return job->done || !is_committing_; });
  if (job->done) return job->status;
  is_committing_ = true;
  std::vector<Job*> jobs = std::exchange(jobs_, {});
  lock.unlock();
  const Status status = commit_all(jobs);
  lock.lock();
  for (Job* each : jobs) {
    each->done = true;
    if (each->status.ok()) each->status = status;
  }
  is_committing_ = false;
  committed_.notify_all();
  return job->status;
}

Status Ingest::commit_all(std::vector<Job*> jobs) {
  const bool durable = std::any_of(jobs.begin(), jobs.end(), [](const Job* job) { return job->batch != nullptr; });
  std::map<Writer*, uint64_t> acked;
  // Nothing after the lost frames is acknowledged any more.
  std::stable_partition(jobs.begin(), jobs.end(), [](const Job* job) { return job->starts_again; });
  Status status = db_.begin(durable);
  for (size_t i = 0; i < jobs.size() && status.ok(); ++i) status = stage(jobs[i], &acked);
  if (status.ok()) status = db_.commit();
  if (!status.ok()) {
    db_.roll_back();
    for (Job* job : jobs) job->answer = {};
    return status;
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [writer, seq] : acked) writer->acked = seq;
  for (const Job* job : jobs) {
    Writer& writer = *job->writer;
    if (job->starts_again) waiting_bytes_ -= std::min(waiting_bytes_, std::exchange(writer.waiting_bytes, 0));
    writer.waiting_bytes += job->bytes;
    waiting_bytes_ += job->bytes;
  }
  return {};
}

// The rules of http.md, "POST frames".
Status Ingest::stage(Job* job, std::map<Writer*, uint64_t>* acked) {
  Writer* writer = job->writer;
  for (const BatchUnit& unit : job->quarantine) TRACKER_RETURN_IF_ERROR(db_.quarantine(writer->run, writer->id, unit));
  if (job->starts_again) {
    (*acked)[writer] = job->held;
    return db_.quarantine_all(writer->row);
  }
  if (job->batch == nullptr) return db_.erase_units(writer->row, job->erase_up_to);
  const auto row = db_.put_writer(writer->run, writer->identity, job->batch->heartbeat_us);
  if (!row.ok()) return row.status();
  if (writer->row != *row) writer->row = *row;  // only once: the thread that applies reads it
  uint64_t& at = acked->try_emplace(writer, writer->acked).first->second;
  for (const BatchUnit& unit : job->batch->units) {
    if (unit.last <= at) {
      const auto other = differs(*writer, unit);
      if (!other.ok()) return other.status();
      if (!*other) continue;
      TRACKER_RETURN_IF_ERROR(db_.quarantine(writer->run, writer->id, unit));
      job->answer.rejected.push_back({unit.first, unit.last, "differs"});
    } else if (unit.prev > at) {
      job->answer.rejected.push_back({unit.first, unit.last, "unknown_before"});
    } else {
      if (unit.lost > 0 && unit.first - 1 > at) {
        const uint64_t seq = unit.first - 1;
        const std::string bytes = loss_frame(writer->id, seq, unit.lost);
        TRACKER_RETURN_IF_ERROR(
            db_.put_unit(*row, {BatchUnitKind::kFrame, at, seq, seq, 0, bytes}, std::exchange(at, seq)));
        job->bytes += bytes.size();
      }
      TRACKER_RETURN_IF_ERROR(db_.put_unit(*row, unit, at));
      job->bytes += unit.bytes.size();
      at = unit.last;
    }
  }
  job->answer.acked_seq = at;
  return {};
}

// Whether the server has another frame under the number of a known one.
Result<bool> Ingest::differs(const Writer& writer, const BatchUnit& unit) {
  if (unit.kind != BatchUnitKind::kFrame) return false;
  auto bytes = db_.frame(writer.row, unit.first);
  if (bytes.ok() && bytes->empty()) {
    const std::string path = join_path(writer.run_path, writer.id.hex() + ".db");
    if (!path_exists(path)) return false;
    bytes = stored_frame(path, unit.first);
  }
  if (!bytes.ok()) return bytes.status();
  return !bytes->empty() && *bytes != unit.bytes;
}

}  // namespace tracker::internal
