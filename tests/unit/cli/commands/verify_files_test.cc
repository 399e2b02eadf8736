// SPDX-License-Identifier: MIT
// verify of .frames files, and of what is no file where one should be. Method: as verify_command_test.cc.
#include <sys/stat.h>

#include <filesystem>

#include "base/fs.h"
#include "storage/frames/frames_file.h"
#include "support/child.h"
#include "support/conditions.h"
#include "unit/cli/verify_fixture.h"

namespace tracker::internal {
namespace {

using VerifyFilesTest = VerifyTest;

TEST_F(VerifyFilesTest, WhatIsNoFileInThePlaceOfAWritersFileIsDamageAndRunsBehindItAreDamagedToo) {
  const auto state = [this] {
    EXPECT_EQ(run({"show", "mnist/otter", "--json"}), kExitDamaged) << err_;
    const auto document = from_json(out_);
    return document.ok() ? document->text_or("state", "") : out_ + err_;
  };
  ASSERT_EQ(::mkfifo((db_ + "-wal").c_str(), 0600), 0);
  EXPECT_EQ(kinds()["no-file"], 1) << out_;
  EXPECT_EQ(code_, kExitDamaged);
  EXPECT_EQ(state(), "damaged");
  remove_file(db_ + "-wal");
  std::filesystem::create_directory(db_ + "-shm");
  EXPECT_EQ(kinds()["no-file"], 1) << out_;
  EXPECT_EQ(state(), "damaged");
  std::filesystem::remove(db_ + "-shm");
  std::filesystem::rename(db_, db_ + ".moved");
  std::filesystem::create_symlink(db_ + ".moved", db_);
  EXPECT_EQ(kinds()["no-file"], 1) << out_;
  EXPECT_NE(out_.find("put it in the link's place"), std::string::npos) << out_;
  EXPECT_EQ(code_, kExitDamaged);
  std::filesystem::rename(db_ + ".moved", db_);
  EXPECT_EQ(kinds(), Kinds{}) << out_;
}

// Root may read everything: another user looks.
TEST_F(VerifyFilesTest, WhatItsPermissionsKeepFromBeingReadIsUnreadableAndNotDamaged) {
  NEEDS(kRoot);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(builder_.path()))
    std::filesystem::permissions(entry, std::filesystem::perms(entry.is_directory() ? 0755 : 0644));
  for (std::filesystem::path path = builder_.path(); path != ::testing::TempDir() && path.has_relative_path();
       path = path.parent_path())
    std::filesystem::permissions(path, std::filesystem::perms(0755));
  for (const std::string& kept : {db_, run_.path}) {
    ASSERT_EQ(::chmod(kept.c_str(), 0), 0);
    EXPECT_EQ(run_child([&] {
                CHILD_CHECK(::setuid(65534) == 0);
                const Kinds found = kinds();
                CHILD_CHECK(found == (Kinds{{"unreadable", 1}}) && code_ == kExitDamaged);
                CHILD_CHECK(out_.find("permissions") != std::string::npos && out_.find(kept) != std::string::npos);
                return 0;
              }),
              0)
        << kept;
    ASSERT_EQ(::chmod(kept.c_str(), kept == db_ ? 0644 : 0755), 0);
  }
  EXPECT_EQ(kinds(), Kinds{}) << out_;
}

TEST_F(VerifyFilesTest, AFolderOfRunsThatCannotBeListedIsUnreadable) {
  const std::string runs = join_path(builder_.path(), "runs");
  std::filesystem::rename(runs, runs + ".moved");
  std::filesystem::create_symlink("runs", runs);
  EXPECT_EQ(kinds()["unreadable"], 1) << out_;
  EXPECT_NE(out_.find("check the disk and its permissions"), std::string::npos) << out_;
}

class VerifyFramesTest : public VerifyTest {
 protected:
  VerifyFramesTest() {
    WriterIdentity who = test_identity();
    who.run = run_.identity;
    who.journal_dir = "/gone";  // without a journal its writer, this process, would live
    auto file = FramesFile::open_or_create(run_.path, who);
    EXPECT_TRUE(file.ok()) << file.status().to_string();
    for (uint64_t seq = 1; seq <= 3; ++seq) EXPECT_TRUE((*file)->append({test_record(who, seq)}, false).ok());
    EXPECT_TRUE((*file)
                    ->append({record_of(event_frame(who, 4, EventType::kEnd, Value::Map{{"state", "finished"}}))}, true)
                    .ok());
    path_ = (*file)->path();
    sound_ = *read_file(path_, 10 << 20);
  }
  std::string path_, sound_;
};

TEST_F(VerifyFramesTest, ASoundFramesFileIsIntact) {
  EXPECT_EQ(kinds(), Kinds{}) << out_;
  EXPECT_EQ(code_, kExitOk);
}

TEST_F(VerifyFramesTest, OneThatIsCutIsNamed) {
  ASSERT_TRUE(write_file_atomic(path_, sound_.substr(0, sound_.size() - 7)).ok());
  EXPECT_EQ(kinds(), (Kinds{{"cut", 1}})) << out_;
  ASSERT_TRUE(write_file_atomic(path_, sound_.substr(0, 20)).ok());
  EXPECT_EQ(kinds(), (Kinds{{"frames-file", 1}})) << out_;
}

TEST_F(VerifyFramesTest, OneWithDamageInTheMiddleIsNamed) {
  std::string bytes = sound_;
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x20);
  ASSERT_TRUE(write_file_atomic(path_, bytes).ok());
  const auto found = kinds();
  EXPECT_EQ(code_, kExitDamaged);
  EXPECT_EQ(found, (Kinds{{"frames-file", 1}})) << out_;
}

TEST_F(VerifyFramesTest, OneThatHoldsMoreThanTheDatabaseBesideItIsNamed) {
  const std::string db = path_.substr(0, path_.size() - 7) + ".db";
  std::filesystem::copy_file(db_, db);
  EXPECT_EQ(kinds().count("frames-file"), 1u) << out_;
}

}  // namespace
}  // namespace tracker::internal
