// SPDX-License-Identifier: MIT
#include "support/store_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/fs.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

void must(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "store builder: %s\n", status.to_string().c_str());
  std::abort();
}

template <typename T>
T must(Result<T> result) {
  must(result.status());
  return std::move(*result);
}

WriterIdentity make_identity(const Store& store, const RunFolder& run, const BuilderOptions& options) {
  WriterIdentity identity;
  identity.writer = Id128::random();
  identity.run = run.identity;
  identity.store = store.id();
  identity.store_path = store.path();
  identity.journal = options.journal;
  identity.host = options.host;
  identity.boot_id = "a boot that is over";
  identity.pid = 4242;
  identity.attempt = options.attempt;
  identity.rank = options.rank;
  identity.world_size = options.world_size;
  identity.started_us = options.started_us;
  identity.version = "0.1.0";
  identity.continues = options.continues;
  identity.resume_step = options.resume_step;
  identity.observed = options.observed;
  return identity;
}

}  // namespace

WriterBuilder::WriterBuilder(const Store& store, const RunFolder& run, const BuilderOptions& options)
    : WriterBuilder(run, make_identity(store, run, options)) {}

WriterBuilder::WriterBuilder(const RunFolder& run, const WriterIdentity& identity)
    : identity_(identity), db_(must(WriterDb::create(run.path, identity))), now_us_(identity.started_us) {
  db_->keep_heartbeat();  // signs of life have the times of the fixture, not of now
  path_ = db_->path();
}

int64_t WriterBuilder::tick(int64_t time_us) {
  now_us_ = time_us != 0 ? time_us : now_us_ + kSecondUs;
  return now_us_;
}

uint32_t WriterBuilder::series_id(const std::string& metric, ValueType type) {
  for (const SeriesDef& def : series_)
    if (def.name == metric && def.type == type) return def.id;
  series_.push_back({static_cast<uint32_t>(series_.size() + 1), type, metric});
  frame_.defs.push_back(series_.back());
  return series_.back().id;
}

WriterBuilder& WriterBuilder::log(const std::string& metric, std::optional<int64_t> step, double value,
                                  int64_t time_us) {
  return log_bits(metric, ValueType::kFloat64, step, bits_of(value), time_us);
}

WriterBuilder& WriterBuilder::log_bits(const std::string& metric, ValueType type, std::optional<int64_t> step,
                                       uint64_t bits, int64_t time_us) {
  const uint32_t id = series_id(metric, type);
  auto block = std::find_if(frame_.blocks.begin(), frame_.blocks.end(),
                            [&](const Block& b) { return b.series.front() == id && b.has_steps == step.has_value(); });
  if (block == frame_.blocks.end()) {
    Block fresh;
    fresh.series = {id};
    fresh.types = {type};
    fresh.has_steps = step.has_value();
    fresh.values.resize(1);
    block = frame_.blocks.insert(frame_.blocks.end(), std::move(fresh));
  }
  if (step) block->steps.push_back(*step);
  block->times_us.push_back(tick(time_us));
  block->values[0].push_back(bits);
  block->order.push_back(row_++);
  return *this;
}

WriterBuilder& WriterBuilder::event(EventType type, std::optional<int64_t> step, int64_t time_us,
                                    const Value& payload) {
  frame_.events.push_back({type, step.has_value(), step.value_or(0), tick(time_us), encode_cbor(payload)});
  return *this;
}

WriterBuilder& WriterBuilder::text(const std::string& metric, std::optional<int64_t> step, const std::string& text,
                                   int64_t time_us) {
  return event(EventType::kText, step, time_us, Value::Map{{"key", metric}, {"text", text}});
}

WriterBuilder& WriterBuilder::set(EventType type, const std::string& key, const Value& value, int64_t time_us) {
  return event(type, std::nullopt, time_us, Value::Map{{"key", key}, {"value", value}});
}

WriterBuilder& WriterBuilder::note(const Value& payload) { return event(EventType::kNote, std::nullopt, 0, payload); }

WriterBuilder& WriterBuilder::lose(const std::string& metric, LossReason reason, uint64_t count) {
  frame_.losses.push_back({series_id(metric, ValueType::kFloat64), reason, count});
  return *this;
}

WriterBuilder& WriterBuilder::lose_others(uint32_t kind, LossReason reason, uint64_t count) {
  frame_.losses.push_back({kind, reason, count});
  return *this;
}

WriterBuilder& WriterBuilder::end(RunState state, int64_t exit_code, const std::string& reason, int64_t time_us) {
  return event(EventType::kEnd, std::nullopt, time_us,
               Value::Map{{"state", run_state_name(state)}, {"exit_code", exit_code}, {"reason", reason}});
}

WriterBuilder& WriterBuilder::heartbeat(int64_t now_us) {
  must(db_->heartbeat(now_us));
  return *this;
}

WriterBuilder& WriterBuilder::commit() {
  if (frame_.empty()) return *this;
  frame_.writer = identity_.writer;
  frame_.seq = db_->last_seq() + 1;
  last_frame_ = encode_frame(frame_);
  must(db_->append({{frame_.seq, last_frame_, {}}}, false));
  frame_ = Frame();
  return *this;
}

WriterBuilder& WriterBuilder::compact() {
  while (db_->compact(UINT64_MAX)) continue;
  return *this;
}

void WriterBuilder::finish() {
  commit();
  must(db_->finish());
  db_.reset();
}

StoreBuilder::StoreBuilder() : names_journals_(std::getenv("TRACKER_SHM_DIR") == nullptr) {
  if (names_journals_) ::setenv("TRACKER_SHM_DIR", (folder_.path() + "/shm").c_str(), 1);
  store_ = must(Store::open_or_create(folder_.path() + "/store"));
}

StoreBuilder::~StoreBuilder() {
  if (names_journals_) ::unsetenv("TRACKER_SHM_DIR");
}

RunFolder StoreBuilder::run(const std::string& project, const std::string& id, int64_t created_us) {
  RunFolder run = must(store_->create_run(project, id, Id128::hash_of(project + "/" + id)));
  run.identity.created_us = created_us;
  must(write_file_atomic(join_path(run.path, kRunFile), run_document(run.identity)));
  return run;
}

WriterBuilder StoreBuilder::writer(const RunFolder& run, const BuilderOptions& options) {
  return WriterBuilder(*store_, run, options);
}

void damage_bytes(const std::string& file, std::string_view bytes) {
  std::string content = must(read_file(file, size_t{1} << 30));
  const size_t at = content.find(bytes);
  if (at == std::string::npos) must(Status(Code::kNotFound, "the bytes to damage are not in " + file));
  content[at + bytes.size() / 2] = static_cast<char>(content[at + bytes.size() / 2] ^ 0x55);
  must(write_file_atomic(file, content));
}

void overwrite_start(const std::string& file, std::string_view text) {
  std::string content = must(read_file(file, size_t{1} << 30));
  content.replace(0, std::min(text.size(), content.size()), text);
  must(write_file_atomic(file, content));
}

}  // namespace tracker::internal
