// SPDX-License-Identifier: MIT
#include "corpus_runs.h"

#include <string_view>
#include <utility>
#include <vector>

#include "artifact/manifest.h"
#include "artifact/registry_documents.h"
#include "base/bytes.h"
#include "base/fs.h"
#include "exchange/bundle.h"
#include "exchange/tensorboard_events.h"
#include "storage/frames/frames_format.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

WriterIdentity writer_of_run() {
  WriterIdentity out;
  out.writer = Id128::hash_of("writer");
  out.run = {Id128::hash_of("run"), "project", "label", 1'700'000'000'000'000};
  return out;
}

// events_fuzzer: a number of events of the first frame, then a head, a time, a length and a payload each.
class EventList {
 public:
  explicit EventList(uint8_t first) { out_.u8(first); }
  EventList& add(EventType type, bool has_step, const Value& payload) {
    out_.u8(static_cast<uint8_t>(static_cast<uint8_t>(type) - 1 + (has_step ? 132 : 0)));
    if (has_step) out_.u8(7);
    const std::string bytes = encode_cbor(payload);
    out_.u8(1), out_.u16(static_cast<uint16_t>(bytes.size())), out_.bytes(bytes);
    return *this;
  }
  std::string take() { return out_.take(); }

 private:
  ByteWriter out_;
};

std::string sample_events() {
  const std::string digest(64, 'a');
  const Value medium(Value::Map{{"kind", "image"}, {"digest", digest}, {"ext", "png"}, {"bytes", 12}, {"index", 0}});
  EventList list(6);
  list.add(EventType::kConfig, false, Value::Map{{"key", "opt/lr"}, {"value", 0.1}});
  list.add(EventType::kConfig, false, Value::Map{{"key", ""}, {"value", Value::Map{{"a", Value::Map{{"b", 1}}}}}});
  list.add(EventType::kSummary, false, Value::Map{{"key", "best"}, {"value", 0.5}});
  list.add(EventType::kText, true, Value::Map{{"key", "note"}, {"text", "words"}});
  list.add(EventType::kAttribute, false, Value::Map{{"key", "tags"}, {"value", Value::List{Value("a")}}});
  list.add(EventType::kNote, false, Value::Map{{"kind", "recovered"}, {"points", 3}});
  list.add(EventType::kMetric, false, Value::Map{{"key", "loss*"}, {"value", Value::Map{{"summary", "min"}}}});
  list.add(EventType::kArtifact, false,
           Value::Map{{"key", "used p/n:v1"},
                      {"value", Value::Map{{"use", "used"}, {"project", "p"}, {"name", "n"}, {"version", 1}}}});
  list.add(EventType::kConsole, false, Value::Map{{"stream", 1}, {"line", 4}, {"text", "a\nb"}});
  list.add(EventType::kEnvironment, false, Value::Map{{"key", "host"}, {"value", Value::Map{{"cpus", 2}}}});
  list.add(EventType::kMedia, true, Value::Map{{"key", "samples"}, {"value", medium}});
  list.add(EventType::kAlert, false, Value::Map{{"level", "warn"}, {"title", "t"}, {"text", "words"}, {"step", 3}});
  list.add(EventType::kEnd, false, Value::Map{{"state", "failed"}, {"exit_code", 1}, {"reason", "ValueError"}});
  return list.take();
}

// database_fuzzer: 0 int, 1 small int, 2 key of meta, 3 text, 4 blob, 5 null, 6 a sound frame or segment.
class RowList {
 public:
  RowList() { out_.u8(0); }
  RowList& table(uint8_t number) { return out_.u8(number), *this; }
  RowList& small(uint8_t value) { return out_.u8(1), out_.u8(value), *this; }
  RowList& number(uint64_t value) { return out_.u8(0), out_.u64(value), *this; }
  RowList& key(uint8_t index) { return out_.u8(2), out_.u8(index), *this; }
  RowList& text(std::string_view value) {
    return out_.u8(3), out_.u8(static_cast<uint8_t>(value.size())), out_.bytes(value), *this;
  }
  RowList& blob(std::string_view value) {
    return out_.u8(4), out_.u16(static_cast<uint16_t>(value.size())), out_.bytes(value), *this;
  }
  RowList& sound(uint8_t index) { return out_.u8(6), out_.u8(index), *this; }
  std::string take() { return out_.take(); }

 private:
  ByteWriter out_;
};

// A segment of frames 1 to 3, whose series is float64, and an attribute, a loss and a ring's position.
std::string sample_rows(ValueType defined) {
  constexpr uint64_t kRows = 1800, kFirstUs = 1'700'000'000'000'000;
  RowList rows;
  rows.table(0).key(1).small(3).table(0).key(2).number(kRows).table(0).key(3).small(3).table(0).key(5).small(3);
  rows.table(2).small(1).small(3).number(kRows).number(kFirstUs).number(kFirstUs + 599).sound(3);
  rows.table(3)
      .small(1)
      .text("loss")
      .small(static_cast<uint8_t>(defined))
      .number(kRows)
      .small(1)
      .number(600)
      .number(2399)
      .number(2399);
  rows.number(kFirstUs).number(kFirstUs + 599).number(kRows).small(0).number(0x4018000000000000);
  rows.number(0x40b5180000000000).small(0).small(0).small(0).small(0).number(0x4010000000000000);
  const std::string value = encode_cbor(Value(0.1));
  rows.table(4).small(1).small(1).text("lr").blob(value).number(kFirstUs).small(1);
  rows.table(5).small(1).small(1).small(12);
  return rows.table(6).small(77).number(4096).take();
}

std::string frame_rows() {
  RowList rows;
  rows.table(0).key(1).small(2).table(0).key(2).number(1200).table(0).key(3).small(2);
  rows.table(1).small(1).number(600).small(1).small(2).sound(0);
  return rows.table(1).small(2).number(600).small(1).small(2).sound(1).take();
}

std::string sample_frames_file() {
  const WriterIdentity identity = writer_of_run();
  Frame frame;
  frame.writer = identity.writer;
  frame.seq = 1;
  frame.defs = {{1, ValueType::kFloat64, "loss"}};
  frame.blocks = {
      Block{{1}, {ValueType::kFloat64}, true, {1, 2}, {1'700'000'000'000'000, 1'700'000'000'001'000}, {{1, 2}}, {}}};
  std::string out = frames_header(identity.writer);
  put_frames_record(identity.writer, out.size(), FramesKind::kIdentity, encode_cbor(identity.to_value()), &out);
  put_frames_record(identity.writer, out.size(), FramesKind::kFrame, frame_body({1, encode_frame(frame), {}}), &out);
  return out;
}

// bundle_fuzzer: a version, then the number of a name, a length and a content each.
std::string sample_bundle() {
  ByteWriter out;
  out.u8(1);
  const auto put = [&out](uint8_t name, std::string_view content) {
    out.u8(name), out.u16(static_cast<uint16_t>(content.size())), out.bytes(content);
  };
  put(0, run_document(writer_of_run().run));
  put(2, sample_frames_file());
  return out.take();
}

std::string bundle_with_artifact() {
  const std::string content = "weights";
  ManifestWriter writer;
  ManifestEntry entry;
  entry.path = "model.pt";
  entry.bytes = content.size();
  entry.digest = sha256(content);
  (void)writer.add(entry).ok();
  ArtifactVersion version;
  const ManifestTotals totals = writer.finish();
  const std::string manifest = writer.take();
  version.content = totals.content;
  version.manifest = sha256(manifest);
  version.files = 1;
  version.bytes = content.size();
  ByteWriter out;
  out.bytes(sample_bundle());
  const auto put = [&out](std::string_view text) { out.u16(static_cast<uint16_t>(text.size())), out.bytes(text); };
  out.u8(6), put(artifact_document("project", "model", "model", 1'700'000'000'000'000));
  out.u8(7), out.u8(0), put(version_document(version));
  // A blob's name is the digest of the text before its content.
  for (const std::string_view blob : {std::string_view(manifest), std::string_view(content)})
    if (blob.size() < 256) out.u8(9), out.u8(static_cast<uint8_t>(blob.size())), out.bytes(blob), put(blob);
  std::string bytes = out.take();
  bytes[0] = 2;
  return bytes;
}

// import_fuzzer: TensorBoard, and events of a length each.
std::string sample_event_file() {
  std::string records;
  append_event_header(1'700'000'000.0, &records);
  append_config_event(Value::Map{{"lr", 0.1}}, 1'700'000'000.0, &records);
  append_number_event("loss", ValueType::kFloat64, bits_of(0.5), 3, 1'700'000'001.0, &records);
  append_number_event("n", ValueType::kInt64, 7, 4, 1'700'000'002.0, &records);
  ByteWriter out;
  out.u8(1);
  // Of a record: its length, that CRC, the event, its CRC.
  for (ByteReader in(records); !in.at_end();) {
    const uint64_t size = in.u64();
    in.bytes(4);
    out.u16(static_cast<uint16_t>(size)), out.bytes(in.bytes(size));
    in.bytes(4);
  }
  return out.take();
}

std::string sample_version() {
  ArtifactVersion out;
  out.number = 3;
  out.description = "words";
  out.metadata = Value(Value::Map{{"layers", 3}});
  return version_document(out);
}

std::string sample_mark() {
  ArtifactMark out;
  out.number = 3;
  out.of = 1;
  out.aliases_added = {"best"};
  out.tags_removed = {"old"};
  out.ttl_s = 60;
  out.deleted = false;
  return mark_document(out);
}

// surroundings_fuzzer: an index of git of version 2 with one entry.
std::string sample_index() {
  std::string out =
      "\x03"
      "DIRC";
  const auto u32 = [&out](uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
  };
  u32(2), u32(1);
  for (const uint32_t field : {0u, 0u, 1'700'000'000u, 0u, 0u, 0u, 0100644u, 0u, 0u, 9u}) u32(field);
  out.append(20, 'o');
  out.append({0, 8}), out.append("train.py"), out.append(10 - (62 + 8) % 8, '\0');
  out.append("TREE"), u32(4), out.append({0, '1', ' ', '0'});
  return out.append(20, 'c');
}

}  // namespace

bool write_run_inputs(const std::string& root) {
  using namespace std::string_literals;
  const std::vector<std::pair<std::string, std::string>> inputs = {
      {"events/each-type", sample_events()},
      {"database/segment", sample_rows(ValueType::kFloat64)},
      {"database/other-type", sample_rows(ValueType::kInt64)},
      {"database/frames", frame_rows()},
      {"bundle/run", sample_bundle()},
      {"bundle/artifact", bundle_with_artifact()},
      {"import/long", "\0metric,step,time,value\nloss,1,1700000000.5,0.25\nnote,2,1700000001,\"a \"\"b\"\"\n,c\"\n"s},
      {"import/wide", "\0step,loss,acc,note\r\n1,0.5,,x\r\n2.0,nan,9007199254740993,\r\nx,-inf,true,y\r\n"s},
      {"import/events", sample_event_file()},
      {"import/jsonl",
       "\2{\"run\":{\"id\":\"r\",\"config\":{\"lr\":0.1},\"types\":{\"loss\":\"float32\"}}}\n"
       "{\"metric\":\"loss\",\"step\":1,\"time\":1700000000.500000,\"value\":\"NaN\",\"bits\":\"0x7fc00001\"}\n"
       "{\"step\":2,\"acc\":{\"top1\":0.5},\"note\":\"x\"}\n"s},
      {"artifact_documents/version", sample_version()},
      {"artifact_documents/mark", sample_mark()},
      {"artifact_documents/stop",
       R"({"format":"tracker-stop-request","version":1,"attempt":2,"requested_us":1700000000000000,
           "by":"a","reason":"r"})"},
      {"surroundings/head", "\0ref: refs/heads/main"s},
      {"surroundings/config", "\1[remote \"origin\"]\n\turl = https://user:secret@host/a.git\n"s},
      {"surroundings/packed", "\2# pack-refs\n" + std::string(40, 'a') + " refs/heads/main\n"},
      {"surroundings/index", sample_index()},
      {"surroundings/rules", "\6*.log\n!keep.log\n/build/\nsrc/**/c?[a-c].py\n\\#x\na[!b-d]*\n"},
      {"surroundings/package", "\7Metadata-Version: 2.1\nName: a-b\nVersion: 1.0\n\n"},
      {"surroundings/cgroup", "\010max 100000\n"},
      {"surroundings/stat", "\0114242 (a b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0"},
      {"printed_text/bars", "\x05 1/9\r 2/9\r\n\x1b[A\x1b[2Kdone\x1b[0m\nlast"},
      {"printed_text/secrets",
       "\x3fpassword=abc Bearer abcdefghijkl https://u:p@h/?token=x hf_" + std::string(34, 'a') + "\nAPI_KEY: \"x\""},
  };
  for (const auto& [name, bytes] : inputs) {
    const std::string path = join_path(root, name);
    if (!make_dirs(parent_path(path)).ok() || !write_file_atomic(path, bytes, 0644).ok()) return false;
  }
  return true;
}

}  // namespace tracker::internal
