// SPDX-License-Identifier: MIT
// Goal: a listing takes what ended runs have left for it and opens none of them, and never believes a row that does not
// hold any more. Method: runs of the library, a catalog that counts what it reads, and one that reads everything.
#include "storage/catalog/catalog_intake.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/clock.h"
#include "base/fs.h"
#include "query/runs/run_record.h"
#include "run/run.h"
#include "storage/catalog/catalog.h"
#include "support/sandbox_folders.h"

namespace tracker::internal {
namespace {

constexpr int64_t kLaterUs = 5'000'000;  // a listing of then believes what is here now
constexpr const char* kRows =
    "SELECT group_concat(text, '|') FROM (SELECT folder || run_id || uid || name || state || detail || created_us || "
    "ended_us || points || dropped || hex(attributes) || hex(config) || hex(summary) || hex(metrics) AS text "
    "FROM runs JOIN documents USING(id) ORDER BY folder)";

class CatalogIntakeTest : public ::testing::Test {
 protected:
  void record(const std::string& id, Value config = Value::map()) {
    InitOptions options;
    options.project = "p", options.id = id, options.dir = store_path(), options.quiet = true;
    options.resume = "allow", options.config = std::move(config);
    auto run = Run::init(options);
    ASSERT_TRUE(run.ok());
    ASSERT_EQ((*run)->log_text("note", "a text", 1), Code::kOk);
    ASSERT_TRUE((*run)->finish(RunState::kFinished).ok());
  }
  std::string store_path() const { return sandbox_.store(); }
  Store store() const { return *Store::open(store_path()); }
  std::vector<std::string> left() const { return list_intake(store()); }
  // The rows, and how many runs were read for them.
  std::string list(Catalog::Place place, uint64_t* read) {
    auto catalog = Catalog::open(store(), place);
    EXPECT_TRUE(catalog.ok());
    CatalogReport report;
    EXPECT_TRUE(catalog->refresh({"", realtime_us() + kLaterUs, nullptr}, read_run_record, &report).ok());
    *read = report.read;
    return *catalog->db().query_text(kRows);
  }
  Sandbox sandbox_;
};

TEST_F(CatalogIntakeTest, TheFirstListingOpensNoRunThatHasEnded) {
  for (const char* id : {"a", "b", "c"}) record(id, Value::Map{{"lr", 0.1}});
  EXPECT_EQ(left().size(), 3u);
  uint64_t read = 0;
  const std::string all = list(Catalog::Place::kEmptyMemory, &read);
  EXPECT_EQ(read, 3u);
  EXPECT_EQ(list(Catalog::Place::kStore, &read), all);
  EXPECT_EQ(read, 0u);
  EXPECT_TRUE(left().empty());
  EXPECT_EQ(list(Catalog::Place::kStore, &read), all);
  EXPECT_EQ(read, 0u);
}

TEST_F(CatalogIntakeTest, ARunThatWentOnSinceIsTakenAsItStandsNow) {
  record("a");
  record("a");  // a second attempt
  EXPECT_EQ(left().size(), 2u);
  uint64_t read = 0;
  const std::string all = list(Catalog::Place::kEmptyMemory, &read);
  EXPECT_EQ(list(Catalog::Place::kStore, &read), all);
  EXPECT_EQ(read, 0u) << "the row of the second attempt";
}

TEST_F(CatalogIntakeTest, ARowOfAFolderThatHasChangedSinceIsNotTaken) {
  record("a");
  ASSERT_TRUE(write_file_atomic(store_path() + "/runs/p/a/another.db-wal", "x").ok());
  uint64_t read = 0;
  (void)list(Catalog::Place::kStore, &read);
  EXPECT_EQ(read, 1u);
  EXPECT_TRUE(left().empty());
}

TEST_F(CatalogIntakeTest, ARowOfARunThatIsGoneIsRemoved) {
  record("a");
  std::filesystem::remove_all(store_path() + "/runs/p/a");
  uint64_t read = 0;
  EXPECT_EQ(list(Catalog::Place::kStore, &read), "");
  EXPECT_TRUE(left().empty());
}

TEST_F(CatalogIntakeTest, ARowOfTooManyBytesIsNotLeft) {
  record("a", Value::Map{{"text", std::string(kIntakeFileBytesMax, 'x')}});
  EXPECT_TRUE(left().empty());
}

TEST_F(CatalogIntakeTest, ADamagedRowIsNoneWhateverIsDamaged) {
  record("a", Value::Map{{"lr", 0.1}});
  const std::string whole = *read_file(store_path() + "/catalog-intake/" + left().at(0), 1 << 20);
  ASSERT_TRUE(decode_intake(whole).ok());
  EXPECT_EQ(encode_intake(*decode_intake(whole)), whole);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_FALSE(decode_intake(std::string_view(whole).substr(0, i)).ok());
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    EXPECT_FALSE(decode_intake(flipped).ok());
  }
}

}  // namespace
}  // namespace tracker::internal
