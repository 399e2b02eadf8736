// SPDX-License-Identifier: MIT
// Goal: the C ABI and C++ log encoded media; files are whole, named by their content, and bounded.
// Method: a real run and its folder, read back by the view of readers.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "artifact/digest.h"
#include "artifact/source_files.h"
#include "model/media.h"
#include "query/view/media.h"
#include "query/view/run_view.h"
#include "run/run.h"
#include "run/services/media_folder.h"
#include "support/sandbox.h"
#include "tracker/tracker.hpp"

namespace tracker::internal {
namespace {

constexpr size_t kWhole = TRK_NUL_TERMINATED;

trk_code log_png(trk_run* run, const char* name, const std::string& bytes, int64_t step, const char* json = nullptr,
                 const char* kind = "image", const char* extension = "png") {
  return trk_log_media(run, name, kWhole, step, kind, bytes.data(), bytes.size(), extension, json);
}

std::string bytes_of_file(const std::string& path) { return read_file(path, 1 << 20).value_or(""); }

class MediaTest : public ::testing::Test {
 protected:
  ~MediaTest() override { trk_free(run_); }
  Sandbox sandbox_;
  trk_run* run_ = open_run("media");
};

// Bug: only what was said beside them was redacted.
TEST_F(MediaTest, SecretsInTextsPagesAndPicturesOfSvgAreRedacted) {
  const std::string secret = "hf_Ab3Ab3Ab3Ab3Ab3Ab3Ab3";
  for (const char* extension : {"svg", "html", "md", "txt"})
    EXPECT_EQ(log_png(run_, extension, "<svg><b a=\"x\">" + secret + "</b></svg>", 0, nullptr, "image", extension),
              TRK_OK);
  EXPECT_EQ(log_png(run_, "json", R"({"a": ")" + secret + "\"}", 0, nullptr, "table", "json"), TRK_OK);
  const std::string dir = trk_run_dir(run_);
  ASSERT_EQ(trk_finish(run_, 0, nullptr), TRK_OK);
  auto read = recover_and_read(sandbox_.store());
  ASSERT_NE(read.view, nullptr);
  const auto rows = read_media(read.view.get(), "", false);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 5u);
  for (const MediaRow& row : *rows)
    EXPECT_EQ(bytes_of_file(dir + "/" + row.file),
              row.name == "json" ? R"({"a": "[redacted]"})" : "<svg><b a=\"x\">[redacted]</b></svg>");
}

TEST_F(MediaTest, EncodedBytesAreAFileNamedByTheirContentAndAnEvent) {
  EXPECT_EQ(log_png(run_, "a", "some bytes", 3, R"({"caption": "by user:secret@host", "width": 7})"), TRK_OK);
  EXPECT_EQ(log_png(run_, "a", "some bytes", TRK_STEP_AUTO), TRK_OK);
  EXPECT_EQ(log_png(run_, "b", "", -1), TRK_OK);
  const std::string dir = trk_run_dir(run_);
  const trk_status status = status_of(run_);
  EXPECT_EQ(status.media_logged, 3u);
  EXPECT_EQ(status.media_stored, 3u);
  EXPECT_EQ(status.media_dropped, 0u);
  EXPECT_EQ(status.points_logged, 0u) << "media are no points";
  ASSERT_EQ(trk_finish(run_, 0, nullptr), TRK_OK);
  auto read = recover_and_read(sandbox_.store());
  ASSERT_NE(read.view, nullptr);
  const auto rows = read_media(read.view.get(), "a", false);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].step, 3);
  EXPECT_EQ((*rows)[1].step, 4);
  EXPECT_EQ((*rows)[0].kind, "image");
  EXPECT_EQ((*rows)[0].value.int_or("width", 0), 7);
  EXPECT_EQ((*rows)[0].value.int_or("bytes", 0), 10);
  const std::string digest = sha256("some bytes").hex();
  EXPECT_EQ((*rows)[0].file, "media/" + digest.substr(0, 2) + "/" + digest + ".png");
  EXPECT_EQ(bytes_of_file(dir + "/" + (*rows)[0].file), "some bytes");
  EXPECT_EQ(media_names(*read.view), (std::vector<std::string>{"a", "b"}));
  const MediaAccount account = media_account(*read.view);
  EXPECT_EQ(account.logged, 3u);
  EXPECT_EQ(account.stored, 3u);
  EXPECT_EQ(account.lost, 0u);
}

TEST_F(MediaTest, AWrongArgumentIsRefusedAndCounted) {
  const std::string longest(kMediaKindBytesMax, 'k');
  EXPECT_EQ(log_png(run_, "a", "x", 0, nullptr, longest.c_str()), TRK_OK);
  EXPECT_EQ(log_png(run_, "a", "x", 0, nullptr, (longest + "k").c_str()), TRK_INVALID);
  EXPECT_EQ(log_png(run_, "a", "x", 0, nullptr, ""), TRK_INVALID);
  EXPECT_EQ(log_png(run_, "a", "x", 0, nullptr, "Image"), TRK_INVALID);
  EXPECT_EQ(log_png(run_, "a", "x", 0, nullptr, "image", "exe"), TRK_INVALID);
  EXPECT_EQ(log_png(run_, "a", "x", 0, nullptr, "image", "../png"), TRK_INVALID);
  EXPECT_EQ(log_png(run_, "a", "x", 0, "no json"), TRK_INVALID);
  EXPECT_EQ(log_png(run_, "a", "x", 0, "[1]"), TRK_INVALID);
  EXPECT_EQ(log_png(run_, "", "x", 0), TRK_INVALID);
  EXPECT_EQ(trk_log_media(nullptr, "a", kWhole, 0, "image", "x", 1, "png", nullptr), TRK_INVALID);
  EXPECT_EQ(trk_log_media(run_, "a", kWhole, 0, "image", nullptr, 1, "png", nullptr), TRK_INVALID);
  EXPECT_EQ(trk_log_media(run_, nullptr, kWhole, 0, "image", "x", 1, "png", nullptr), TRK_INVALID);
  EXPECT_EQ(status_of(run_).values_rejected, 8u);
  EXPECT_EQ(status_of(run_).media_logged, 1u);
}

TEST_F(MediaTest, ATextUnderTheNameOfASecretGoesWholeAndAPictureStays) {
  for (const char* extension : {"txt", "md", "html"})
    EXPECT_EQ(log_png(run_, "api_key", "plain words", 0, nullptr, "text", extension), TRK_OK);
  EXPECT_EQ(log_png(run_, "api_key", "some bytes", 0), TRK_OK);
  const std::string dir = std::string(trk_run_dir(run_)) + "/media/";
  ASSERT_EQ(trk_finish(run_, 0, nullptr), TRK_OK);
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir))
    if (entry.is_regular_file()) found.insert(bytes_of_file(entry.path().string()));
  EXPECT_EQ(found, (std::set<std::string>{"[redacted]", "some bytes"}));
}

TEST_F(MediaTest, WhereTheFolderIsGoneTheyAreDroppedAndCountedAndMetricsGoOn) {
  std::filesystem::remove_all(trk_run_dir(run_));
  EXPECT_EQ(trk_log_f64(run_, "x", kWhole, 1, 0), TRK_OK);
  const trk_code code = log_png(run_, "a", "x", 0);
  EXPECT_EQ(status_of(run_).media_dropped, code == TRK_OK ? 0u : 1u) << "0: the writer had made it again by then";
  EXPECT_EQ(trk_flush(run_, 60'000), TRK_OK);
  EXPECT_EQ(log_png(run_, "a", "y", 1), TRK_OK) << "the writer has made the folder again";
  EXPECT_EQ(trk_finish(run_, 0, nullptr), TRK_OK);
  EXPECT_EQ(log_png(run_, "a", "z", 2), TRK_CLOSED);
}

// 16, kMediaReasonsMax, have a count of their own.
TEST_F(MediaTest, ReasonsBeyondTheLimitAreCountedTogether) {
  InitOptions options;
  options.project = "p";
  options.id = "reasons";
  options.quiet = true;
  auto run = Run::init(options);
  ASSERT_TRUE(run.ok());
  for (int i = 0; i < 18; ++i) (*run)->drop_media("a", "reason " + std::to_string(10 + i), "of a test", 1);
  (*run)->drop_media("a", "reason 25", "of a test", 1);
  (*run)->drop_media("a", "reason 26", "of a test", 1);
  ASSERT_TRUE((*run)->finish(RunState::kFinished).ok());
  const auto view = RunView::open(*Store::open(sandbox_.store())->find_run("p", "reasons"));
  ASSERT_TRUE(view.ok());
  const MediaAccount account = media_account(**view);
  EXPECT_EQ(account.dropped, 20u);
  const std::map<std::string, uint64_t> reasons(account.by_reason.begin(), account.by_reason.end());
  EXPECT_EQ(reasons.size(), 17u);
  EXPECT_EQ(reasons.at("reason 25"), 2u);
  EXPECT_EQ(reasons.at("other"), 3u);
}

TEST_F(MediaTest, CppSaysItInOneCall) {
  ::setenv("TRACKER_PROJECT", "p", 1);
  auto run = tracker::init({.id = "cpp", .quiet = true});
  EXPECT_EQ(run.log_media("page", "html", "<b>x</b>", "html", 2, R"({"caption": "c"})"), tracker::Code::kOk);
  run.finish();
}

class MediaFolderTest : public ::testing::Test {
 protected:
  Sandbox sandbox_;
  std::string dir_ = sandbox_.folder();
};

TEST_F(MediaFolderTest, TheSameBytesAreOneFileAndNothingElseIsLeft) {
  const MediaFolder folder(dir_, 1);
  const auto first = folder.store("bytes", "bin");
  const auto again = folder.store("bytes", "bin");
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(first->digest, again->digest);
  std::ofstream(dir_ + "/given") << "bytes";
  const auto copied = folder.store_file(dir_ + "/given", "bin");
  ASSERT_TRUE(copied.ok()) << copied.status().to_string();
  EXPECT_EQ(copied->digest, first->digest);
  EXPECT_EQ(copied->bytes, 5u);
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ + "/media"))
    files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 1u);
}

TEST_F(MediaFolderTest, AFileWithoutAnFsyncIsStoredWholeWithinItsTimeOrNotAtAll) {
  const MediaFolder folder(dir_, 1);
  const std::string bytes(3u << 20, 'x');
  const auto late = folder.store_unsynced("head", bytes, "npy", std::chrono::milliseconds(-1));
  EXPECT_EQ(late.status().code(), Code::kTimeout);
  EXPECT_TRUE(std::filesystem::is_empty(dir_ + "/media"));
  const auto stored = folder.store_unsynced("head", bytes, "npy", std::chrono::hours(1));
  ASSERT_TRUE(stored.ok()) << stored.status().to_string();
  EXPECT_EQ(stored->digest, sha256("head" + bytes).hex());
  EXPECT_EQ(stored->bytes, bytes.size() + 4);
  folder.sync(stored->digest, stored->extension);
  EXPECT_EQ(std::filesystem::file_size(dir_ + "/" + media_file_name(stored->digest, "npy")), stored->bytes);
  EXPECT_EQ(folder.store_unsynced("", bytes, "exe", std::chrono::hours(1)).status().code(), Code::kInvalid);
}

// Bug: a file that was written while it was copied was stored torn.
TEST_F(MediaFolderTest, AFileThatHasChangedOrChangesMeanwhileIsNotStored) {
  const std::string path = dir_ + "/given";
  std::ofstream(path) << "bytes";
  ListedFile expected = *look_at_file(path);
  bool writes = false;  // while the room is asked for, after the first look
  const MediaFolder folder(dir_, 1, [&](uint64_t) {
    if (writes) std::ofstream(path) << "other";
    return true;
  });
  EXPECT_TRUE(folder.store_file(path, "bin", &expected).ok());
  writes = true;
  const auto torn = folder.store_file(path, "bin");
  EXPECT_EQ(torn.status().code(), Code::kBusy);
  EXPECT_NE(torn.status().message().find("has changed since it was logged"), std::string::npos);
  writes = false;
  EXPECT_EQ(folder.store_file(path, "bin", &expected).status().code(), Code::kBusy);
  expected = *look_at_file(path);
  EXPECT_TRUE(folder.store_file(path, "bin", &expected).ok());
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ + "/media"))
    files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 2u) << "nothing half made stays";
}

// Promise P5: Without room on the disk or below `max_disk` media are dropped and counted, artifacts refused and
// counted, and both are taken again later.
TEST_F(MediaFolderTest, WhereTheDiskOrMaxDiskHasNoRoomNothingIsWritten) {
  EXPECT_EQ(MediaFolder(dir_, UINT64_MAX).store("x", "bin").status().code(), Code::kLimit);
  uint64_t asked = 0;
  const MediaFolder bounded(dir_, 1, [&](uint64_t bytes) { return (asked = bytes) < 5; });
  EXPECT_TRUE(bounded.store("four", "bin").ok());
  EXPECT_EQ(bounded.store("fives", "bin").status().code(), Code::kLimit);
  EXPECT_EQ(asked, 5u);
  EXPECT_EQ(MediaFolder(dir_, 1).check_room(kMediaBytesMax + 1).code(), Code::kLimit);
  EXPECT_NE(MediaFolder(dir_, 1).check_room(1).code(), Code::kLimit);
}

TEST_F(MediaFolderTest, ALinkOrAFolderIsNoFileToStore) {
  const MediaFolder folder(dir_, 1);
  EXPECT_EQ(folder.store_file(dir_, "bin").status().code(), Code::kInvalid);
  EXPECT_EQ(folder.store_file(dir_ + "/none", "bin").status().code(), Code::kNotFound);
  EXPECT_EQ(MediaFolder(dir_ + "/gone", 1).store("x", "bin").status().code(), Code::kNotFound);
}

// Promise P12: Bytes from a client are no part of a path.
TEST(MediaNameTest, OnlyADigestAndAKnownExtensionMakeAPath) {
  const std::string digest(64, 'a');
  EXPECT_EQ(media_file_name(digest, "png"), "media/aa/" + digest + ".png");
  EXPECT_EQ(media_file_name(digest, "sh"), "");
  EXPECT_EQ(media_file_name(digest, ""), "");
  EXPECT_EQ(media_file_name("../../../etc/passwd", "png"), "");
  EXPECT_EQ(media_file_name(std::string(63, 'a') + "/", "png"), "");
  EXPECT_EQ(media_file_name(std::string(64, 'A'), "png"), "");
}

}  // namespace
}  // namespace tracker::internal
