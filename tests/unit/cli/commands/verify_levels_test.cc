// SPDX-License-Identifier: MIT
// Goal: verify holds every level against its segment. Method: a sound run long enough for levels, one row of the table
// changed in each test.
#include "storage/sqlite/sqlite.h"
#include "support/log_writer.h"
#include "support/storage.h"
#include "unit/cli/cli_fixture.h"

namespace tracker::internal {
namespace {

class VerifyLevelsTest : public CliTest {
 protected:
  VerifyLevelsTest() {
    BulkWriter writer(run_, dead_writer(run_, builder_.store()),
                      {{"loss", ValueType::kFloat32}, {"acc", ValueType::kFloat64}});
    for (int64_t step = 0; step < 20'000; ++step) {
      writer.row(step, {bits_of(static_cast<float>(step)), bits_of(0.5 * static_cast<double>(step))});
      if (writer.rows() == 200) writer.commit();
    }
    writer.finish();
    path_ = writer.path();
  }
  void sql(const std::string& statement) const {
    auto db = Sqlite::open(path_, SqliteOpen::kWrite, 1000);
    ASSERT_TRUE(db.ok() && db->exec(statement.c_str()).ok()) << statement;
  }
  // What verify says of the database after a statement.
  std::string said_after(const std::string& statement) {
    sql(statement);
    code_ = run({"verify"});
    return out_;
  }

  RunFolder run_ = builder_.run("mnist", "otter");
  std::string path_;
  int code_ = -1;
};

TEST_F(VerifyLevelsTest, SoundLevelsAndNoLevelsAreIntact) {
  EXPECT_EQ(run({"verify"}), kExitOk) << out_;
  auto db = Sqlite::open(path_, SqliteOpen::kRead, 1000);
  EXPECT_GE(*db->query_int("SELECT count(*) FROM levels"), 2);
  db->close();
  said_after("DELETE FROM levels WHERE level=0");
  EXPECT_EQ(code_, kExitOk) << out_ << "a level that is not there is no damage";
  said_after("DROP TABLE levels");
  EXPECT_EQ(code_, kExitOk) << out_;
}

TEST_F(VerifyLevelsTest, AByteThatIsChangedIsNamed) {
  const std::string said = said_after("UPDATE levels SET data = substr(data,1,20) || x'ff' || substr(data,22)");
  EXPECT_EQ(code_, kExitDamaged) << said;
  EXPECT_NE(said.find("are not those of their segments"), std::string::npos) << said;
}

TEST_F(VerifyLevelsTest, SoundCellsOfOtherRowsAreNamed) {
  const std::string said = said_after(
      "UPDATE levels SET data = (SELECT data FROM levels AS other WHERE other.series = 2 AND other.level = "
      "levels.level) "
      "WHERE series = 1");
  EXPECT_EQ(code_, kExitDamaged) << said;
  EXPECT_NE(said.find("other cells than its rows have"), std::string::npos) << said;
}

TEST_F(VerifyLevelsTest, LevelsOfNoSegmentAndOfNoSeriesAreNamed) {
  std::string said = said_after("UPDATE levels SET last_seq = last_seq + 1");
  EXPECT_EQ(code_, kExitDamaged) << said;
  EXPECT_NE(said.find("there is no such segment"), std::string::npos) << said;
  said = said_after("UPDATE levels SET last_seq = last_seq - 1, series = series + 7");
  EXPECT_EQ(code_, kExitDamaged) << said;
  EXPECT_NE(said.find("has no level"), std::string::npos) << said;
}

}  // namespace
}  // namespace tracker::internal
