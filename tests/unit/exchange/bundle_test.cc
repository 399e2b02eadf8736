// SPDX-License-Identifier: MIT
// Goal: a run in a bundle comes back byte for byte in another store, and a file that is not a complete bundle of one
// run leaves that store unchanged. Method: stores made by hand, bundles cut, changed and forged.
#include "exchange/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "query/view/run_view.h"
#include "support/kill_at_call.h"
#include "support/storage.h"
#include "support/store_builder.h"
#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class BundleTest : public testing::Test {
 protected:
  BundleTest() {
    run_ = builder_.run("p/q", "otter");
    builder_.writer(run_)
        .set(EventType::kConfig, "lr", 0.1)
        .log("loss", 0, 1.0)
        .text("note", 1, "hi")
        .end(RunState::kFinished)
        .finish();
    auto second = builder_.writer(run_, {.attempt = 2});
    second.log("loss", 1, 0.5).end(RunState::kFailed, 3).finish();
    put("attempt-2.json", R"({"format": "tracker-attempt", "version": 1, "attempt": 2})");
    put("media/ab/ab" + std::string(62, '0') + ".png", std::string(300'000, 'p'));
  }
  void put(const std::string& name, const std::string& content) {
    const fs::path path = run_.path + "/" + name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
  }
  static std::map<std::string, std::string> files_of(const std::string& folder) {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file()) out[fs::relative(entry.path(), folder)] = content(entry.path());
    return out;
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string bundle() {
    const auto made = export_bundle(run_, bundle_path_);
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return content(bundle_path_);
  }
  Status import(const std::string& bytes) {
    std::ofstream(bundle_path_, std::ios::binary | std::ios::trunc) << bytes;
    auto store = ImportStore::open(target_);
    if (!store.ok()) return store.status();
    const Status status = import_bundle(store->get(), {bundle_path_, "bundle", ""}, {});
    report_ = (*store)->report();
    return status;
  }
  // Files that an import leaves in the store, besides its lock and the store's own files (also incomplete ones of a
  // killed import).
  size_t left_in_store() const {
    size_t out = 0;
    for (const auto& entry : fs::directory_iterator(target_)) {
      const std::string name = entry.path().filename();
      out += name.starts_with("store.json") || name.starts_with(".gitignore") || name == kImportLockFile ? 0 : 1;
    }
    return out;
  }
  // A bundle with these files, whole and verified.
  static std::string made_up(const std::vector<std::pair<std::string, std::string>>& files) {
    ByteWriter out;
    uint64_t bytes = 0;
    for (const auto& [name, text] : files) bytes += text.size();
    out.bytes(kBundleMagic);
    out.u32(kBundleVersion);
    out.u32(static_cast<uint32_t>(files.size()));
    out.u64(bytes);
    out.u32(crc32c(out.buffer()));
    for (const auto& [name, text] : files) {
      ByteWriter head;
      head.u64(text.size());
      head.u32(static_cast<uint32_t>(name.size()));
      head.bytes(name);
      out.bytes(head.buffer());
      out.u32(crc32c(head.buffer()));
      out.bytes(text);
      out.u32(crc32c(text));
    }
    out.bytes(kBundleEnd);
    return out.take();
  }

  StoreBuilder builder_;
  TempFolder folder_;
  const std::string bundle_path_ = folder_.path() + "/run.trkb", target_ = folder_.path() + "/target";
  RunFolder run_;
  ImportReport report_;
};

// Promise P10: A run in a bundle comes back byte for byte; a bundle that is cut, changed in a byte or names other paths
// stores nothing.
TEST_F(BundleTest, ARunComesBackByteForByteInAnotherStore) {
  const auto before = files_of(run_.path);
  ASSERT_EQ(before.size(), 5u);
  const std::string bytes = bundle();
  EXPECT_TRUE(is_bundle(bundle_path_));
  ASSERT_TRUE(import(bytes).ok());
  ASSERT_EQ(report_.runs.size(), 1u);
  EXPECT_TRUE(report_.runs[0].is_new);
  EXPECT_EQ(report_.runs[0].points, 2u);
  EXPECT_EQ(report_.runs[0].texts, 1u);
  const auto found = Store::open(target_)->find_run("p/q", "otter");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->identity.uid, run_.identity.uid);
  EXPECT_EQ(files_of(found->path), before);
  auto view = RunView::open(*found);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ((*view)->state(), RunState::kFailed);
  EXPECT_EQ((*view)->history("loss")->size(), 2u);
  EXPECT_TRUE((*view)->problems().empty());
}

TEST_F(BundleTest, ProgressRisesToTheBytesOfAllFiles) {
  uint64_t bytes = 0, seen = 0;
  size_t calls = 0;
  for (const auto& [name, text] : files_of(run_.path)) bytes += text.size();
  const auto made = export_bundle(run_, bundle_path_, {}, [&](uint64_t done, uint64_t total) {
    EXPECT_EQ(total, bytes);
    EXPECT_GT(done, seen);
    seen = done;
    ++calls;
  });
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_EQ(seen, bytes);
  EXPECT_GT(calls, files_of(run_.path).size()) << "a large file in more than one step";
}

TEST_F(BundleTest, ASecondImportLeavesTheRunAsItIs) {
  const std::string bytes = bundle();
  ASSERT_TRUE(import(bytes).ok());
  ASSERT_TRUE(import(bytes).ok());
  ASSERT_EQ(report_.runs.size(), 1u);
  EXPECT_FALSE(report_.runs[0].changed);
  EXPECT_EQ(Store::open(target_)->list_runs().size(), 1u);
  EXPECT_EQ(left_in_store(), 1u) << "runs/ alone";
}

// The pieces in which the run's files are copied, seen by progress: none is larger, and a file of that size is one
// piece.
TEST_F(BundleTest, FilesGoInAndOutThroughABufferOfOneSize) {
  for (const size_t bytes : {kBundleBufferBytes - 1, kBundleBufferBytes, kBundleBufferBytes + 1}) {
    put("media/cd/cd" + std::string(62, '0') + ".png", std::string(bytes, 'm'));
    size_t parts = 0;
    for (const auto& [name, text] : files_of(run_.path))
      parts += (text.size() + kBundleBufferBytes - 1) / kBundleBufferBytes;
    uint64_t before = 0, largest = 0;
    size_t written = 0, read = 0;
    const auto made = export_bundle(run_, bundle_path_, {}, [&](uint64_t done, uint64_t) {
      largest = std::max(largest, done - std::exchange(before, done));
      ++written;
    });
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    EXPECT_EQ(written, parts) << bytes;
    EXPECT_EQ(largest, kBundleBufferBytes);
    fs::remove_all(target_);
    auto store = ImportStore::open(target_);
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE(import_bundle(store->get(), {bundle_path_, "bundle", ""}, [&](uint64_t, uint64_t) { ++read; }).ok());
    EXPECT_EQ(read, 2 * parts) << "it is read twice";
    EXPECT_EQ(files_of(Store::open(target_)->list_runs().at(0).path), files_of(run_.path));
  }
}

TEST_F(BundleTest, AnotherRunOfThatNameIsNotTouched) {
  auto other = *Store::open_or_create(target_);
  ASSERT_TRUE(other.create_run("p/q", "otter").ok());
  const Status status = import(bundle());
  EXPECT_EQ(status.code(), Code::kExists) << status.to_string();
  EXPECT_EQ(other.list_runs().size(), 1u);
  EXPECT_EQ(left_in_store(), 1u) << "runs/ alone";
}

TEST_F(BundleTest, AnImportThatIsKilledLeavesTheWholeRunOrNoneAndTheNextOneStoresIt) {
  const std::string bytes = bundle();
  const auto before = files_of(run_.path);
  int kills = 0;
  for (int at = 20;; at += 23) {
    fs::remove_all(target_);
    if (!killed_at_call(at, [&] { return import(bytes).ok() ? 0 : 1; })) break;
    ++kills;
    const auto store = Store::open(target_);
    for (const RunFolder& run : store.ok() ? store->list_runs() : std::vector<RunFolder>())
      ASSERT_EQ(files_of(run.path), before) << "killed at call " << at;
    ASSERT_TRUE(import(bytes).ok()) << at;
    ASSERT_EQ(files_of(Store::open(target_)->find_run("p/q", "otter")->path), before) << at;
    ASSERT_EQ(left_in_store(), 1u) << "killed at call " << at;
  }
  EXPECT_GT(kills, 10);
}

TEST_F(BundleTest, ABundleThatIsCutAnywhereIsRefusedAndStoresNothing) {
  const std::string bytes = bundle();
  for (size_t size = 0; size < bytes.size(); size += size < 400 || size + 40 > bytes.size() ? 1 : 9'973) {
    const Status status = import(bytes.substr(0, size));
    ASSERT_EQ(status.code(), Code::kCorrupt) << size;
    ASSERT_EQ(left_in_store(), 0u) << size;
  }
  EXPECT_EQ(import(bytes + "x").code(), Code::kCorrupt);
}

TEST_F(BundleTest, AByteThatIsWrongAnywhereIsRefusedByItsPlace) {
  const std::string bytes = bundle();
  for (size_t at = 0; at < bytes.size(); at += at < 300 ? 1 : 4'999) {
    std::string wrong = bytes;
    wrong[at] = static_cast<char>(wrong[at] ^ 0x20);
    const Status status = import(wrong);
    ASSERT_TRUE(status.code() == Code::kCorrupt || status.code() == Code::kVersion) << at << status.to_string();
    ASSERT_THAT(status.message(), HasSubstr(bundle_path_)) << at;
    ASSERT_EQ(left_in_store(), 0u) << at;
  }
}

TEST_F(BundleTest, NamesThatAreNoFilesOfARunAreRefused) {
  const std::string run_json = content(run_.path + "/run.json"), writer(32, 'a');
  for (const std::string& name : std::vector<std::string>{"../run.json",
                                                          "/etc/passwd",
                                                          "media/../run.json",
                                                          "media/ab/../../../x",
                                                          writer + ".frames-wal",
                                                          writer + ".db-shm",
                                                          writer + ".db-journal",
                                                          writer + "-1.db",
                                                          writer + "-01.db",
                                                          writer + ".db/x",
                                                          "media/ab/" + writer,
                                                          "stop-request.json",
                                                          "media/zz/zz" + std::string(62, '0') + ".png",
                                                          "media/ab/ab" + std::string(62, '0') + ".sh",
                                                          "blobs/" + std::string(63, 'a') + "/",
                                                          "blobs/../" + std::string(61, 'a'),
                                                          "blobs/" + std::string(64, 'A'),
                                                          "blobs/" + std::string(65, 'a'),
                                                          "artifacts/../run.json",
                                                          "artifacts/01.json",
                                                          "artifacts/1-v.json",
                                                          "artifacts/1-v1/x.json",
                                                          "artifacts/1234567.json",
                                                          "artifacts/.json",
                                                          "artifacts/x.json",
                                                          "artifacts/1-mark-.json",
                                                          "artifacts/1-mark-01.json",
                                                          "artifacts/1-mark-100.json",
                                                          "artifacts/1-v1-mark-1.json",
                                                          ".",
                                                          "..",
                                                          std::string("run.json\0x", 10),
                                                          std::string("a\nb"),
                                                          std::string(255, 'x')}) {
    EXPECT_FALSE(is_bundle_name(name)) << name;
    const Status status = import(made_up({{name, "x"}, {"run.json", run_json}}));
    EXPECT_EQ(status.code(), Code::kCorrupt) << name;
    EXPECT_EQ(left_in_store(), 0u) << name;
  }
  EXPECT_FALSE(fs::exists(folder_.path() + "/run.json"));
}

TEST_F(BundleTest, NumbersThatCannotBeTakeNoMemoryAndAreRefused) {
  const auto head = [](uint32_t files) {
    ByteWriter out;
    out.bytes(kBundleMagic);
    out.u32(kBundleVersion);
    out.u32(files);
    out.u64(~uint64_t{0});
    out.u32(crc32c(out.buffer()));
    return out.take();
  };
  EXPECT_THAT(import(head(0xffffffff)).message(), HasSubstr("4294967295 files; 1 to 1000000"));
  EXPECT_THAT(import(head(kBundleFilesMax + 1)).message(), HasSubstr("1000001 files; 1 to 1000000"));
  EXPECT_THAT(import(head(kBundleFilesMax)).message(), Not(HasSubstr("files; 1 to"))) << "it ends too soon";
  const std::string run_json = content(run_.path + "/run.json");
  EXPECT_THAT(import(made_up({{"run.json", run_json}, {"run.json", run_json}})).message(), HasSubstr("comes after"));
  EXPECT_THAT(import(made_up({{std::string(kBundleNameBytesMax + 1, 'a'), ""}})).message(), HasSubstr("a name of 256"));
  EXPECT_THAT(import(made_up({{"attempt-2.json", "{}"}})).message(), HasSubstr("no run.json"));
  EXPECT_FALSE(import(made_up({{"run.json", "{}"}})).ok());
  EXPECT_EQ(left_in_store(), 0u);
}

TEST_F(BundleTest, DatabasesOfAnotherRunAreRefused) {
  const RunFolder other = builder_.run("p/q", "heron");
  auto files = files_of(run_.path);
  files["run.json"] = content(other.path + "/run.json");
  const Status status = import(made_up({files.begin(), files.end()}));
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_THAT(status.message(), HasSubstr("another run")) << status.to_string();
  EXPECT_EQ(left_in_store(), 0u);
}

TEST_F(BundleTest, LinksAndStrangeFilesOfTheFolderStayOut) {
  fs::create_symlink("/etc/passwd", run_.path + "/" + std::string(32, 'b') + ".db");
  put("notes.txt", "mine");
  const auto made = export_bundle(run_, bundle_path_);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_EQ(made->files, 5u);
  EXPECT_EQ(made->left_out, (std::vector<std::string>{std::string(32, 'b') + ".db", "notes.txt"}));
}

TEST_F(BundleTest, DatabasesOfAnotherRunInTheFolderStayOut) {
  const RunFolder other = builder_.run("p/q", "heron");
  builder_.writer(other).log("loss", 0, 1.0).end(RunState::kFinished).finish();
  const std::string database = other.writer_dbs().at(0), name = last_name(database);
  fs::copy_file(database, run_.path + "/" + name);
  const auto made = export_bundle(run_, bundle_path_);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_EQ(made->left_out, std::vector<std::string>{name});
  EXPECT_EQ(made->worst, Code::kCorrupt);
  EXPECT_THAT(made->problems.at(0), HasSubstr("belongs to another run, p/q/heron"));
}

TEST_F(BundleTest, ARunThatIsRecordedIsRefusedAndNothingIsWritten) {
  const RunFolder live = builder_.run("p", "live");
  auto writer = builder_.writer(live);
  writer.log("loss", 0, 1.0).commit();
  const auto made = export_bundle(live, bundle_path_);
  EXPECT_EQ(made.status().code(), Code::kBusy) << made.status().to_string();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 0);
}

TEST_F(BundleTest, AllPartsOfAWritersFilesComeBackTheWalOfOneThatWasLeftToo) {
  const RunFolder run = builder_.run("p", "parts");
  builder_.writer(run).log("loss", 0, 1.0).commit();
  const std::string first = run.writer_dbs().at(0);
  auto reader = WriterReader::open(first);
  WriterIdentity next = (*reader)->identity();
  next.part = 2;
  next.before = parts_before(*(*reader)->snapshot());
  {
    auto second = WriterDb::create(run.path, next);
    const Value end = Value::Map{{"state", "finished"}};
    const uint64_t number = next.before.seq + 1;
    ASSERT_TRUE((*second)->append({record_of(event_frame(next, number, EventType::kEnd, end))}, true).ok());
    ASSERT_TRUE((*second)->finish().ok());
  }
  ASSERT_TRUE(path_exists(first + "-wal"));
  const auto made = export_bundle(run, bundle_path_);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_THAT(made->left_out, ::testing::IsEmpty());
  ASSERT_TRUE(import(content(bundle_path_)).ok());
  ASSERT_EQ(report_.runs.size(), 1u);
  EXPECT_EQ(report_.runs[0].points, 1u);
}

}  // namespace
}  // namespace tracker::internal
