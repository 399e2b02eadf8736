// SPDX-License-Identifier: MIT
#include "corpus_files.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/fs.h"
#include "journal/ring/ring_format.h"
#include "query/tail/tail_cursor.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

// ring_fuzzer: header fields, then records whose CRCs it puts right: two calls, an event, a pad.
std::string sample_ring(uint8_t mode) {
  ByteWriter records;
  const auto head = [&](RecordKind kind, uint32_t count, uint32_t flags, int64_t step, uint64_t tick) {
    records.u64(uint64_t{make_head(kind, count, flags)} << 32);
    if (kind == RecordKind::kPad) return;
    records.i64(step);
    records.u64(tick);
  };
  head(RecordKind::kValues, 2, kHeadHasStep, 7, 1'000'000);
  for (const uint32_t series : {1u, 5u}) records.u64(0x3fe0000000000000), records.u32(series), records.u32(0);
  head(RecordKind::kEvent, 0, 0, 0, 1'000'500);
  records.u64(5 | uint64_t{8} << 32), records.bytes("12345678");
  head(RecordKind::kValues, 1, 0, 0, 1'001'000);
  records.u64(1), records.u32(9), records.u32(0);
  head(RecordKind::kPad, 0, 0, 0, 0);
  ByteWriter out;
  out.u8(mode), out.u8(0);
  out.u16(8), out.u16(static_cast<uint16_t>(records.size() - 8));
  out.u8(1), out.fixed(1.0), out.u16(3), out.u8(2);
  for (const int64_t at : {900'000, 1'100'000}) out.i64(at), out.i64(at), out.i64(1'700'000'000'000'000'000 + at);
  out.u8(1), out.u16(1 << 8 | 1), out.u64(12);
  out.bytes(records.buffer());
  return out.take();
}

// catalog_row_fuzzer: a type and a value a column.
std::string sample_catalog_row() {
  Value map = Value::map();
  map.set("lr", 0.1);
  const std::string document = encode_cbor(map);
  ByteWriter out;
  const auto text = [&](std::string_view value) { out.u8(1), out.sized(value); };
  const auto number = [&](uint64_t value) { out.u8(0), out.u64(value); };
  out.u8(0), number(1);
  text("p/r"), text("p"), text("r"), text("abcdef00000000000000000000000001"), text("name");
  number(1), text("detail");
  for (const uint64_t value :
       {1'700'000'000'000'000ull, 1'700'000'001'000'000ull, 1'700'000'002'000'000ull, 3ull, 1ull})
    number(value);
  text("host");
  for (int i = 0; i < 4; ++i) out.u8(2), out.sized(document);
  return out.take();
}

// capi_fuzzer: texts are a length of one byte and the bytes.
std::string sample_calls() {
  ByteWriter out;
  const auto text = [&](std::string_view value) { out.u8(static_cast<uint8_t>(value.size())), out.bytes(value); };
  out.u8(0), text("loss"), text("text"), out.u8(1), out.u8(3), out.fixed(0.5), out.u8(0);
  out.u8(0), text("note"), text("text"), out.u8(0), out.u64(0), out.u8(2);
  out.u8(1), out.u8(2);
  text("a/b"), out.u8(1), out.u8(5), out.u64(7);
  text("c"), out.u8(1), out.u8(7), text("a text"), out.u8(1), out.u8(1);
  out.u8(2), out.i64(-5);
  out.u8(2), text("handle"), out.u8(2), out.u64(~0ull), out.u8(0), out.u8(0), out.u64(1), out.u8(3), out.u8(2),
      out.i64(9);
  out.u8(3), out.u8(0), text("opt/lr"), out.u8(1), out.fixed(0.1);
  out.u8(3), out.u8(1), text("best"), out.u8(7), text("words"), out.u8(1), out.u8(1);
  out.u8(4), text("loss*"), text("epoch"), text("min,best"), text("minimize");
  out.u8(5), out.u8(6), out.u8(1);
  out.u8(7);
  for (const char* name : {"p/../q", "run", "a name", "group", "notes", "run@5", "must", "tag", "tag 2", "wait"})
    text(name);
  out.bytes(std::string(8, '\0'));
  out.u8(8), text("loss"), out.u8(1);
  out.u8(9), text("shot"), text("image"), text("\x89PNG"), text(R"({"caption": "x"})"), out.u8(0), out.u8(0), out.u8(0);
  out.u8(10), text("diverged"), text("loss is nan"), text("error"), out.u8(1);
  out.u8(11), text("b"), text("dataset"), text("newest"), out.u8(0), out.u8(2);
  text("one"), text("x/one"), out.u8(0), out.u8(0), out.u8(0);
  text("https://u:p@host/x"), text("far"), out.u8(0), out.u8(0), out.u8(2);
  out.u8(1), out.u8(1), out.u8(1), out.u8(0), out.u8(1), out.u8(0);
  text("a:v0"), text("train"), out.u8(0);
  out.u8(12), out.u8(8);
  return out.take();
}

std::string sample_token() {
  TailCursor cursor;
  cursor.run = Id128::hash_of("run");
  cursor.selection = 77;
  cursor.writers[Id128::hash_of("a")] = {12, 3456};
  cursor.writers[Id128::hash_of("b")] = {1, 1};
  return cursor.token();
}

std::string sample_token_body() {
  ByteWriter out;
  out.bytes(Id128::hash_of("run").view());
  out.u64(77), out.varint(1);
  out.bytes(Id128::hash_of("a").view());
  out.varint(12), out.varint(3456);
  return out.take();
}

}  // namespace

bool write_built_inputs(const std::string& root) {
  constexpr const char* kRun =
      R"({"format": "tracker-run", "version": 1, "uid": "abcdef00000000000000000000000001", "project": "mnist/big",
  "id": "brisk-otter-417", "created_us": 1700000000000000, "made_by": {"host": "node1", "boot_id": "6f0e8c63",
  "pid": 4242, "pid_start": 123456, "pid_namespace": 4026531836}})";
  const std::vector<std::pair<std::string, std::string>> inputs = {
      {"ring/mended", sample_ring(0)},
      {"ring/unsound", sample_ring(2)},
      {"ring/cut", sample_ring(4)},
      {"documents/store", store_document(Id128::hash_of("store"))},
      {"documents/run", kRun},
      {"catalog_row/whole", sample_catalog_row()},
      {"tail_cursor/token", sample_token()},
      {"tail_cursor/body", sample_token_body()},
      {"capi/each-call", sample_calls()},
      {"live_events/marks", std::string({1, 0, 0, 0, 1, 4, 1, 40, 2, 2, 3, 'a', 'b', 'c', 1, 2, 8, 1, 0, 1, 20, 2})},
      {"live_events/raw", std::string(1, 0) + "no records at all"},
      {"digest_cache/slots", std::string({1, 0, 0}) + std::string(64, 'd') + "\x41\x04" + std::string(64, 'e')},
      {"database_bytes/few", std::string({1, 0, 0, 0, 24, 1, 99, 0, 4, 0, 0, 7}) + "abcdefgh"},
      {"database_bytes/cut", std::string({0, 0, 64, 0, 0})},
  };
  for (const auto& [name, bytes] : inputs) {
    const std::string path = join_path(root, name);
    if (!make_dirs(parent_path(path)).ok() || !write_file_atomic(path, bytes, 0644).ok()) return false;
  }
  return true;
}

}  // namespace tracker::internal
