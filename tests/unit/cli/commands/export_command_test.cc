// SPDX-License-Identifier: MIT
// Goal: `tracker export` writes whole files or leaves what was there, and its options do what they say.
// Method: exports to stdout and to files in a temporary folder.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/fs.h"
#include "model/value.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {
namespace {

class ExportCommandTest : public CliTest {
 protected:
  void write_run(int rows = 2) {
    auto writer = builder_.writer(builder_.run("mnist", "otter"));
    for (int i = 0; i < rows; ++i) writer.log("loss", i, 0.5, 1'000'000);
    writer.log("acc", 0, 0.1, 1'000'000).end(RunState::kFinished).finish();
  }
  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string content(const std::string& name) const { return read_file(file(name), 1 << 20).value_or("(none)"); }

  TempFolder folder_;
};

TEST_F(ExportCommandTest, CsvGoesToStdoutByDefault) {
  write_run();
  EXPECT_EQ(run({"export", "otter"}), kExitOk);
  EXPECT_EQ(out_,
            "metric,step,time,value,rank,attempt\nacc,0,1.000000,0.1,0,1\n"
            "loss,0,1.000000,0.5,0,1\nloss,1,1.000000,0.5,0,1\n");
  EXPECT_EQ(err_, "");
}

TEST_F(ExportCommandTest, MetricsAndFormatAreChosen) {
  write_run();
  EXPECT_EQ(run({"export", "otter", "--metric", "loss", "--metric", "acc", "--wide"}), kExitOk);
  EXPECT_EQ(out_, "step,loss,acc\n0,0.5,0.1\n1,0.5,\n");
  EXPECT_EQ(run({"export", "--metric", "acc", "otter", "--format", "jsonl", "--all"}), kExitOk);
  EXPECT_EQ(out_, "{\"metric\":\"acc\",\"step\":0,\"time\":1.000000,\"value\":0.1,\"rank\":0,\"attempt\":1}\n");
}

TEST_F(ExportCommandTest, AFileAppearsWholeAndItsJsonDescribesIt) {
  write_run();
  EXPECT_EQ(run({"export", "otter", "-o", file("run.csv"), "--json"}), kExitOk);
  const auto document = from_json(out_);
  ASSERT_TRUE(document.ok()) << out_;
  EXPECT_EQ(document->int_or("rows", 0), 3);
  EXPECT_EQ(document->int_or("bytes", 0), static_cast<int64_t>(content("run.csv").size()));
  EXPECT_EQ(document->text_or("output", ""), file("run.csv"));
  EXPECT_EQ(list_dir(folder_.path())->size(), 1u);
}

TEST_F(ExportCommandTest, ALinkStaysAndTheFileBehindItIsReplaced) {
  write_run();
  ASSERT_TRUE(write_file_atomic(file("target.csv"), "old").ok());
  ASSERT_EQ(::symlink("target.csv", file("link.csv").c_str()), 0);
  ASSERT_EQ(::symlink("new.csv", file("to_nothing.csv").c_str()), 0);
  for (const char* name : {"link.csv", "to_nothing.csv"}) {
    EXPECT_EQ(run({"export", "otter", "-o", file(name)}), kExitOk) << err_;
    EXPECT_TRUE(is_link(file(name)));
  }
  EXPECT_NE(content("target.csv").find("loss,1,"), std::string::npos);
  EXPECT_EQ(content("new.csv"), content("target.csv"));
  ASSERT_EQ(::symlink("otter.trkb", file("bundle").c_str()), 0);
  EXPECT_EQ(run({"export", "otter", "--bundle", file("bundle")}), kExitOk) << err_;
  EXPECT_TRUE(is_link(file("bundle")));
  EXPECT_TRUE(is_regular_file(file("otter.trkb")));
  EXPECT_EQ(list_dir(folder_.path())->size(), 6u) << "a part is left";
}

// Into `>> file` the rows go after what is there, and /dev/stdout is never replaced by a file.
TEST_F(ExportCommandTest, ANameOfADescriptorMeansTheDescriptor) {
  write_run();
  ASSERT_TRUE(write_file_atomic(file("log"), "before\n").ok());
  auto log = open_file(file("log"), O_WRONLY | O_APPEND);
  ASSERT_TRUE(log.ok());
  ASSERT_EQ(::symlink("/dev/fd", file("descriptors").c_str()), 0);
  const std::string number = std::to_string(log->get());
  ASSERT_EQ(::symlink(("/proc/self/fd/" + number).c_str(), file("stdout").c_str()), 0);
  for (const std::string& name : {file("stdout"), file("descriptors/" + number), "/dev/fd/" + number}) {
    EXPECT_EQ(run({"export", "otter", "-o", name}), kExitOk) << err_;
    EXPECT_EQ(run({"export", "otter", "--bundle", name}), kExitUsage);
    EXPECT_NE(err_.find("is no file, and a bundle appears whole in one"), std::string::npos) << err_;
  }
  EXPECT_TRUE(is_link(file("stdout")));
  const std::string text = content("log");
  EXPECT_TRUE(text.starts_with("before\nmetric,step")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 3 * 4);
  EXPECT_EQ(run({"export", "otter", "-o", "/proc/self/fd/999"}), kExitFailed);
}

TEST_F(ExportCommandTest, LinksInACircleAndALinkInPlaceOfTheUnfinishedFileAreNotFollowed) {
  write_run();
  ASSERT_EQ(::symlink("b", file("a").c_str()), 0);
  ASSERT_EQ(::symlink("a", file("b").c_str()), 0);
  EXPECT_EQ(run({"export", "otter", "-o", file("a")}), kExitFailed);
  EXPECT_NE(err_.find("Too many levels of symbolic links"), std::string::npos) << err_;
  ASSERT_TRUE(write_file_atomic(file("precious"), "mine").ok());
  ASSERT_EQ(::symlink("precious", (file("run.csv.part-") + std::to_string(::getpid())).c_str()), 0);
  EXPECT_EQ(run({"export", "otter", "-o", file("run.csv")}), kExitOk) << err_;
  EXPECT_EQ(content("precious"), "mine");
  EXPECT_TRUE(is_regular_file(file("run.csv")));
}

TEST_F(ExportCommandTest, AFailedExportLeavesTheOldFile) {
  write_run();
  ASSERT_TRUE(write_file_atomic(file("run.csv"), "old").ok());
  EXPECT_EQ(run({"export", "otter", "-o", file("run.csv"), "--metric", "nothing"}), kExitFailed);
  EXPECT_EQ(content("run.csv"), "old");
  EXPECT_EQ(list_dir(folder_.path())->size(), 1u);
}

TEST_F(ExportCommandTest, AsJsonOnStdoutItIsOneDocumentWithEveryRow) {
  write_run(20'000);
  EXPECT_EQ(run({"export", "otter", "--json"}), kExitOk);
  const auto document = from_json(out_);
  ASSERT_TRUE(document.ok()) << document.status().to_string();
  const std::string whole = out_;
  EXPECT_EQ(run({"export", "otter", "--format", "jsonl"}), kExitOk);
  const Value::List* rows = document->find("data")->as_list();
  ASSERT_NE(rows, nullptr);
  const std::string lines = out_.substr(out_.find('\n') + 1);
  EXPECT_EQ(from_json(out_.substr(0, out_.find('\n')))->find("run")->text_or("id", ""), "otter") << "the run first";
  ASSERT_EQ(rows->size(), static_cast<size_t>(std::count(lines.begin(), lines.end(), '\n')));
  EXPECT_EQ(document->int_or("rows", -1), static_cast<int64_t>(rows->size()));
  EXPECT_EQ(to_json(rows->front()), to_json(*from_json(lines.substr(0, lines.find('\n')))));
  EXPECT_EQ(document->find("run")->text_or("id", ""), "otter");
  ASSERT_NE(document->find("metrics"), nullptr);
  EXPECT_EQ(document->find("problems")->as_list()->size(), 0u);
  EXPECT_EQ(run({"export", "otter", "--json", "--metric", "nope"}), kExitFailed);
  EXPECT_EQ(out_, "") << "no half a document";
}

TEST_F(ExportCommandTest, AFolderThatIsNotThereIsOneClearLine) {
  write_run();
  EXPECT_EQ(run({"export", "otter", "-o", file("no/run.csv")}), kExitFailed);
  EXPECT_NE(err_.find("No such file or directory"), std::string::npos) << err_;
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1) << err_;
}

TEST_F(ExportCommandTest, OptionsThatExcludeEachOtherAreUsageErrors) {
  write_run();
  EXPECT_EQ(run({"export", "otter", "--wide", "--all"}), kExitUsage);
  EXPECT_EQ(run({"export", "otter", "--wide", "--format", "jsonl"}), kExitUsage);
  EXPECT_EQ(run({"export", "otter", "--json", "--format", "csv"}), kExitUsage);
  EXPECT_EQ(run({"export", "otter", "--json", "--wide"}), kExitUsage);
  EXPECT_EQ(run({"export", "otter", "--format", "parquet"}), kExitUsage);
}

TEST_F(ExportCommandTest, AReaderThatLeavesEndsTheExportQuietly) {
  write_run(100'000);
  out_limit_ = 1;
  EXPECT_EQ(run({"export", "otter"}), kExitOk);
  EXPECT_EQ(err_, "");
  EXPECT_LT(out_.size(), size_t{1} << 20);
}

TEST_F(ExportCommandTest, LongExportsDrawABarOnATerminalAndLeaveAnEmptyLine) {
  write_run();
  console_.progress = true;
  console_.progress_after_ns = 0;
  for (const std::vector<std::string>& form : std::vector<std::vector<std::string>>{
           {"-o", file("run.csv")}, {"-o", file("board"), "--format", "tensorboard"}}) {
    std::vector<std::string> command = {"export", "otter"};
    command.insert(command.end(), form.begin(), form.end());
    EXPECT_EQ(run(command), kExitOk);
    EXPECT_TRUE(err_.starts_with("\r\033[Kwriting points [")) << err_;
    EXPECT_NE(err_.find("] 3 of 3, "), std::string::npos) << err_;
    EXPECT_NE(err_.find(" left\r\033[Ktracker: wrote "), std::string::npos) << err_;
  }
  EXPECT_EQ(run({"export", "otter", "--bundle", file("run.trkb")}), kExitOk);
  EXPECT_TRUE(err_.starts_with("\r\033[Kwriting KiB [")) << err_;
  EXPECT_NE(err_.find(" left\r\033[Ktracker: wrote "), std::string::npos) << err_;
}

// Bug: "wrote 2 files" and exit code 0, though the run could not be read.
TEST_F(ExportCommandTest, ABundleOfARunThatCannotBeReadWholeSaysSoAndIsWritten) {
  write_run();
  const auto files = builder_.store().find_run("mnist", "otter")->writer_dbs();
  ASSERT_EQ(files.size(), 1u);
  const std::string sound = read_file(files[0], 1 << 20).value_or("");
  ASSERT_GT(sound.size(), 8192u);
  std::string newer = sound;
  newer.replace(60, 4, std::string("\0\0\0\x63", 4));  // user_version
  const std::string cut = sound.substr(0, sound.size() - 4096);
  for (const auto& [bytes, code] : {std::pair(cut, kExitDamaged), std::pair(newer, kExitVersion)}) {
    ASSERT_TRUE(write_file_atomic(files[0], bytes).ok());
    EXPECT_EQ(run({"export", "otter", "--bundle", file("run.trkb")}), code) << err_;
    EXPECT_NE(err_.find("wrote 2 files"), std::string::npos) << err_;
    EXPECT_NE(err_.find(files[0]), std::string::npos) << err_;
    EXPECT_EQ(run({"export", "otter", "--bundle", file("run.trkb"), "--json"}), code) << err_;
    const auto document = from_json(out_);
    ASSERT_TRUE(document.ok()) << out_;
    const Value* problems = document->find("problems");
    ASSERT_TRUE(problems != nullptr && !problems->as_list()->empty()) << out_;
    EXPECT_NE(problems->as_list()->front().as_text()->find(files[0]), std::string::npos) << out_;
  }
}

TEST_F(ExportCommandTest, TheBarIsNeitherInADocumentNorBetweenRowsOnATerminal) {
  write_run();
  console_.progress = true;
  console_.progress_after_ns = 0;
  EXPECT_EQ(run({"export", "otter"}), kExitOk);
  EXPECT_EQ(err_, "") << "the rows are on the same terminal";
  console_.width = 0;  // into a pipe
  EXPECT_EQ(run({"export", "otter"}), kExitOk);
  EXPECT_NE(err_.find("writing points ["), std::string::npos) << err_;
  EXPECT_EQ(out_.find('\r'), std::string::npos);
  EXPECT_EQ(run({"export", "otter", "--bundle", file("run.trkb"), "--json"}), kExitOk);
  EXPECT_TRUE(from_json(out_).ok()) << out_;
  console_.progress = false;
  EXPECT_EQ(run({"export", "otter", "-o", file("run.csv"), "--json"}), kExitOk);
  EXPECT_TRUE(from_json(out_).ok()) << out_;
  EXPECT_EQ(err_, "");
}

}  // namespace
}  // namespace tracker::internal
