// SPDX-License-Identifier: MIT
// Goal: a batch that is damaged or forged is refused and changes nothing. Method: batches in which one thing is wrong,
// each with a CRC that is right; after each the store holds no run.
#include "base/bytes.h"
#include "base/crc32c.h"
#include "support/service_fixture.h"

namespace tracker::internal {
namespace {

class RefusedBatchTest : public ServiceTest {
 protected:
  static std::string with_crc(std::string bytes) {
    bytes.resize(bytes.size() - 4);
    ByteWriter out;
    out.bytes(bytes);
    out.u32(crc32c(bytes));
    return out.take();
  }
  void expect_refused(std::string_view body, int status, const std::string& project = "p") {
    const Response response = post(body, project);
    EXPECT_EQ(response.status, status) << response.body;
    EXPECT_EQ(runs(), 0);
    EXPECT_TRUE(list_dir(store_path() + "/runs").value_or({}).empty());
  }
};

// Promise P12: A batch that is damaged, cut at any byte, forged or too large changes nothing.
TEST_F(RefusedBatchTest, OneThatEndsAtAnyByteIsToBeSentAgain) {
  const std::string whole = batch(1, 1);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(post(std::string_view(whole).substr(0, size)).status, 422) << size;
  EXPECT_EQ(runs(), 0);
  EXPECT_EQ(acked(post(whole)), 1);
}

TEST_F(RefusedBatchTest, OneWithAWrongByteIsToBeSentAgain) {
  const std::string whole = batch(1, 1);
  for (size_t at = 0; at < whole.size(); at += 7) {
    std::string wrong = whole;
    wrong[at] ^= 0x10;
    EXPECT_EQ(post(wrong).status, 422) << at;
  }
  EXPECT_EQ(runs(), 0);
}

TEST_F(RefusedBatchTest, OneOfAnotherRunThanItsPath) {
  const std::string body = batch(1, 1);
  writer_.run.uid = Id128::random();
  expect_refused(body, 400);
}

TEST_F(RefusedBatchTest, OneWithAnIdOfZeros) {
  writer_.writer = {};
  expect_refused(batch(1, 1), 400);
  writer_ = test_identity();
  writer_.run.uid = {};
  expect_refused(batch(1, 1), 400);
}

TEST_F(RefusedBatchTest, OneWhoseFrameIsOfAnotherWriterOrNumber) {
  const std::string frame = encode_frame(test_frame(test_identity(), 1));
  expect_refused(encode_batch({writer_, 0, {{BatchUnitKind::kFrame, 0, 1, 1, 0, frame}}}), 400);
  const std::string own = encode_frame(test_frame(writer_, 1));
  expect_refused(encode_batch({writer_, 0, {{BatchUnitKind::kFrame, 0, 2, 2, 0, own}}}), 400);
  expect_refused(encode_batch({writer_, 0, {{BatchUnitKind::kSegment, 0, 1, 1, 0, own}}}), 400);
}

// A frame with a right CRC and bad content: of the units before it nothing is stored either.
TEST_F(RefusedBatchTest, OneWithASoundUnitBeforeABadOne) {
  const std::string good = encode_frame(test_frame(writer_, 1));
  const std::string bad = encode_frame(test_frame(test_identity(), 2));
  expect_refused(
      encode_batch({writer_, 0, {{BatchUnitKind::kFrame, 0, 1, 1, 0, good}, {BatchUnitKind::kFrame, 1, 2, 2, 0, bad}}}),
      400);
}

TEST_F(RefusedBatchTest, OneOfANewerVersion) {
  std::string newer = batch(1, 1);
  newer[4] = 2;
  expect_refused(with_crc(newer), 415);
}

TEST_F(RefusedBatchTest, OneThatIsTooLarge) { expect_refused(std::string(kBatchBytesMax + 1, 'x'), 413); }

TEST_F(RefusedBatchTest, OneWithMoreUnitsThanAllowed) {
  const std::string frame = encode_frame(test_frame(writer_, 1, 1, 1));
  Batch many{writer_, 0, std::vector<BatchUnit>(kBatchUnitsMax + 1, {BatchUnitKind::kFrame, 0, 1, 1, 0, frame})};
  expect_refused(encode_batch(many), 413);
}

TEST_F(RefusedBatchTest, OneWithoutAProjectOrWithALabelThatIsNone) {
  const std::string body = batch(1, 1);
  expect_refused(body, 400, "");
  for (const std::string project : {"a\nb", "a\x1b[2J", "\xff", " "}) expect_refused(body, 400, project);
  expect_refused(body, 400, std::string(300, 'p'));
  writer_.run.id = "tab\there";
  expect_refused(batch(1, 1), 400);
}

// Any other character is allowed in a name, and none of them leads to another folder.
// Promise P12: A name from a client never becomes a path.
TEST_F(RefusedBatchTest, NoNameBecomesAPath) {
  for (const std::string name : {"../../escaped", "/etc/escaped", "..", ".", "a/b", "%2e%2e%2fescaped"}) {
    writer_ = test_identity();
    writer_.run.id = name;
    EXPECT_EQ(acked(post(batch(1, 1), name)), 1) << name;
    EXPECT_EQ(points(), static_cast<int64_t>(kFramePoints));
    const auto run = Store::open(store_path())->find_run_by_uid(writer_.run.uid, name);
    ASSERT_TRUE(run.has_value()) << name;
    EXPECT_TRUE(path_exists(db_path(run->path, writer_))) << name;
  }
  EXPECT_EQ(list_dir(folder_.path()).value_or({}), std::vector<std::string>{"store"});
  for (const std::string& project : list_dir(store_path() + "/runs").value_or({}))
    for (const std::string& run : list_dir(store_path() + "/runs/" + project).value_or({}))
      EXPECT_TRUE(Id128::from_hex(run)) << project << "/" << run;
}

}  // namespace
}  // namespace tracker::internal
