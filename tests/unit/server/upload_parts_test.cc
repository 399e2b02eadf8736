// SPDX-License-Identifier: MIT
// Goal: a file arrives in parts, in order, and exists when all of it has the digest of its name. Method: parts over the
// service; its reported number of received bytes; the blob in the store.
#include "artifact/digest.h"
#include "support/service_fixture.h"

namespace tracker::internal {
namespace {

class UploadPartsTest : public ServiceTest {
 protected:
  Response put(const std::string& digest, uint64_t offset, std::string_view part) {
    return ask("PUT", "blobs/" + digest,
               {{"project", "p"}, {"offset", std::to_string(offset)}, {"bytes", std::to_string(content_.size())}},
               part);
  }
  std::string missing() {
    return ask("POST", "files/missing", {{"project", "p"}}, "{\"blobs\": [\"" + digest_ + "\"]}").body;
  }
  std::string blob() {
    const std::string path = store_path() + "/blobs/sha256/" + digest_.substr(0, 2) + "/" + digest_.substr(2);
    return read_file(path, content_.size()).value_or("");
  }
  const std::string content_ = std::string(1000, 'a') + std::string(1000, 'b');
  const std::string digest_ = sha256(content_).hex();
};

// Promise P3: A file that comes in parts goes on where it stopped, also after a restart; a file of another digest is
// discarded.
TEST_F(UploadPartsTest, PartsInOrderMakeTheFileAlsoAcrossARestart) {
  EXPECT_EQ(json(put(digest_, 0, content_.substr(0, 700))).int_or("received", 0), 700);
  restart();
  EXPECT_NE(missing().find("700"), std::string::npos);
  const Value done = json(put(digest_, 700, content_.substr(700)));
  EXPECT_EQ(done.find("complete")->as_bool() != nullptr && *done.find("complete")->as_bool(), true);
  EXPECT_EQ(blob(), content_);
  EXPECT_EQ(missing(), R"({"blobs":[],"media":[]})");
  EXPECT_TRUE(list_dir(store_path() + "/uploads").value_or({}).empty());
}

TEST_F(UploadPartsTest, AnotherOffsetIsRefusedAndTheAnswerSaysWhereToGoOn) {
  EXPECT_EQ(put(digest_, 0, content_.substr(0, 700)).status, 200);
  for (const uint64_t offset : {0, 699, 701, 5000}) {
    const Response response = put(digest_, offset, content_.substr(700));
    EXPECT_EQ(response.status, 422) << offset;
    EXPECT_EQ(from_json(response.body)->int_or("received", 0), 700);
  }
  EXPECT_EQ(put(digest_, 700, content_.substr(700) + "more").status, 422);
  EXPECT_EQ(put(digest_, 700, content_.substr(700)).status, 200);
}

TEST_F(UploadPartsTest, AFileOfAnotherDigestIsThrownAway) {
  const std::string other = sha256("other").hex();
  const Response response = put(other, 0, content_);
  EXPECT_EQ(response.status, 422);
  EXPECT_EQ(from_json(response.body)->int_or("received", -1), 0);
  EXPECT_TRUE(list_dir(store_path() + "/uploads").value_or({}).empty());
  EXPECT_FALSE(path_exists(store_path() + "/blobs/sha256/" + other.substr(0, 2) + "/" + other.substr(2)));
}

TEST_F(UploadPartsTest, AMediumNeedsARunThatIsThereAndAnExtensionThatReadersOpen) {
  const Query size{{"project", "p"}, {"bytes", std::to_string(content_.size())}};
  EXPECT_EQ(ask("PUT", "runs/" + uid() + "/media/" + digest_ + ".png", size, content_).status, 404);
  EXPECT_EQ(acked(post(batch(1, 1))), 1);
  EXPECT_EQ(ask("PUT", "runs/" + uid() + "/media/" + digest_ + ".exe", size, content_).status, 400);
  EXPECT_EQ(ask("PUT", "runs/" + uid() + "/media/" + digest_ + ".png", size, content_).status, 200);
  EXPECT_EQ(ask("GET", "runs/" + uid() + "/media/" + digest_ + ".png").status, 200);
}

}  // namespace
}  // namespace tracker::internal
