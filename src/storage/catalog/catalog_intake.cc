// SPDX-License-Identifier: MIT
#include "storage/catalog/catalog_intake.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/fs.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

constexpr std::string_view kRowMark = "TRKROW1\n";
constexpr std::string_view kRowSuffix = ".row";

std::string folder_of_intake(const Store& store) { return join_path(store.path(), kIntakeFolder); }

Value count_value(uint64_t n) { return Value(static_cast<int64_t>(n)); }

Status damaged_row() { return Status(Code::kCorrupt, "catalog intake: a damaged row"); }

// If the run's files are younger than that, their times prove nothing (kCatalogRacy).
bool is_too_young(const CatalogSign& sign, int64_t now_us) {
  return std::max(sign.ctime_ns, sign.mtime_ns) / 1000 > now_us - kCatalogRacy.count();
}

bool same_folder(const CatalogSign& a, const CatalogSign& b) {
  return a.inode == b.inode && a.ctime_ns == b.ctime_ns && a.mtime_ns == b.mtime_ns;
}

// "<project folder>/<run folder>" of a run of the store.
std::string place_of(const Store& store, const RunFolder& folder) {
  const std::string runs = join_path(store.path(), kRunsFolder) + "/";
  return folder.path.starts_with(runs) ? folder.path.substr(runs.size()) : "";
}

bool is_torn_for_long(const std::string& path, int64_t now_us) {
  struct stat st{};
  return ::stat(path.c_str(), &st) == 0 && st.st_mtim.tv_sec < now_us / 1'000'000 - kIntakeTornAge.count();
}

}  // namespace

std::string encode_intake(const IntakeRow& row) {
  const CatalogRecord& r = row.record;
  const CatalogSign& s = row.sign;
  const std::string body = encode_cbor(Value::Map{{"folder", r.folder},
                                                  {"run", r.identity.to_value()},
                                                  {"name", r.name},
                                                  {"detail", r.detail},
                                                  {"host", r.host},
                                                  {"state", static_cast<int64_t>(r.state)},
                                                  {"ended_us", r.ended_us},
                                                  {"last_seen_us", r.last_seen_us},
                                                  {"points", count_value(r.points)},
                                                  {"dropped", count_value(r.dropped)},
                                                  {"attributes", r.attributes},
                                                  {"config", r.config},
                                                  {"summary", r.summary},
                                                  {"metrics", r.metrics},
                                                  {"inode", s.inode},
                                                  {"ctime_ns", s.ctime_ns},
                                                  {"mtime_ns", s.mtime_ns},
                                                  {"files", s.files}});
  const uint32_t crc = crc32c(body);
  std::string out(kRowMark);
  out.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return out + body;
}

Result<IntakeRow> decode_intake(std::string_view bytes) {
  uint32_t crc = 0;
  if (bytes.size() < kRowMark.size() + sizeof crc || !bytes.starts_with(kRowMark)) return damaged_row();
  std::memcpy(&crc, bytes.data() + kRowMark.size(), sizeof crc);
  bytes.remove_prefix(kRowMark.size() + sizeof crc);
  if (crc != crc32c(bytes)) return damaged_row();
  const auto value = decode_cbor(bytes);
  if (!value.ok() || !value->is_map()) return damaged_row();
  const Value* run = value->find("run");
  auto identity = run != nullptr ? RunIdentity::from_value(*run) : Result<RunIdentity>(damaged_row());
  if (!identity.ok()) return damaged_row();
  IntakeRow row;
  CatalogRecord& r = row.record;
  r.folder = value->text_or("folder", "");
  r.identity = std::move(*identity);
  r.name = value->text_or("name", "");
  r.detail = value->text_or("detail", "");
  r.host = value->text_or("host", "");
  const int64_t state = value->int_or("state", -1);
  if (!is_run_place(r.folder) || state < 0 || state > static_cast<int64_t>(RunState::kDamaged)) return damaged_row();
  r.state = static_cast<RunState>(state);
  r.ended_us = value->int_or("ended_us", 0);
  r.last_seen_us = value->int_or("last_seen_us", 0);
  r.points = static_cast<uint64_t>(std::max<int64_t>(0, value->int_or("points", 0)));
  r.dropped = static_cast<uint64_t>(std::max<int64_t>(0, value->int_or("dropped", 0)));
  for (const auto& [key, to] : {std::pair{"attributes", &r.attributes},
                                {"config", &r.config},
                                {"summary", &r.summary},
                                {"metrics", &r.metrics}}) {
    const Value* found = value->find(key);
    if (found == nullptr || !found->is_map()) return damaged_row();
    *to = *found;
  }
  row.sign.inode = value->int_or("inode", 0);
  row.sign.ctime_ns = value->int_or("ctime_ns", 0);
  row.sign.mtime_ns = value->int_or("mtime_ns", 0);
  row.sign.files = value->int_or("files", 0);
  return row;
}

Status leave_intake(const Store& store, const RunFolder& folder, const Id128& writer,
                    const std::function<Result<CatalogRecord>(const RunFolder&)>& read) {
  IntakeRow row;
  const auto seen = folder_sign(folder.path);  // before anything is read: a listing sees a change after it
  if (!seen) return {};
  const CatalogFiles files = look_at_files(folder.path);
  if (files.leftovers) return {};
  auto record = read(folder);
  if (!record.ok()) return record.status();
  if (!record->at_rest || record->live || !record->problems.empty()) return {};
  row.record = std::move(*record);
  row.record.folder = place_of(store, folder);
  if (!is_run_place(row.record.folder)) return {};
  row.sign = *seen;
  row.sign.files = files.hash;
  const std::string bytes = encode_intake(row);
  if (bytes.size() > kIntakeFileBytesMax) return {};
  TRACKER_RETURN_IF_ERROR(make_dirs(folder_of_intake(store)));
  const std::string name = row.record.identity.uid.hex() + "-" + writer.hex() + std::string(kRowSuffix);
  return create_file_exclusive(join_path(folder_of_intake(store), name), bytes, 0666, false);
}

std::vector<std::string> list_intake(const Store& store) {
  auto names = list_dir(folder_of_intake(store));
  if (!names.ok()) return {};
  std::erase_if(*names, [](const std::string& name) { return !name.ends_with(kRowSuffix); });
  if (names->size() > kIntakeFilesMax) names->resize(kIntakeFilesMax);
  return std::move(*names);
}

std::optional<IntakeRow> look_at_intake(const Store& store, const std::string& name, int64_t now_us, bool* done) {
  const std::string path = join_path(folder_of_intake(store), name);
  *done = true;
  const auto bytes = read_file(path, kIntakeFileBytesMax);
  auto row = bytes.ok() ? decode_intake(*bytes) : Result<IntakeRow>(bytes.status());
  if (!row.ok()) {
    *done = is_torn_for_long(path, now_us);  // another process may still be writing it
    return std::nullopt;
  }
  const std::string run = join_path(join_path(store.path(), kRunsFolder), row->record.folder);
  const auto seen = folder_sign(run);
  if (!seen || !same_folder(*seen, row->sign)) return std::nullopt;
  if (is_too_young(*seen, now_us)) {
    *done = false;
    return std::nullopt;
  }
  const CatalogFiles files = look_at_files(run);
  if (files.leftovers || files.hash != row->sign.files) return std::nullopt;
  row->sign.trust = CatalogTrust::kFolder;
  return std::move(*row);
}

void remove_intake(const Store& store, const std::vector<std::string>& names) {
  for (const std::string& name : names) remove_file(join_path(folder_of_intake(store), name));
}

}  // namespace tracker::internal
