// SPDX-License-Identifier: MIT
// A service on a store of the test's own, requests to it with a token, and batches of frames of known content.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/service.h"
#include "storage/writer/batch.h"
#include "support/storage.h"

namespace tracker::internal {

constexpr uint64_t kFramePoints = 6;  // of a test_frame()

class ServiceTest : public ::testing::Test {
 protected:
  using Query = std::vector<std::pair<std::string, std::string>>;

  ServiceTest() { restart(); }

  // What the store holds is all that stays.
  void restart() {
    service_.reset();
    auto opened = Service::open(*Store::open_or_create(store_path()), true);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    service_ = std::move(*opened);
    token_ = token(kScopeRead | kScopeIngest);
  }
  std::string store_path() const { return folder_.path() + "/store"; }
  std::string token(uint32_t scopes, const std::optional<std::string>& project = {}) {
    return *service_->access().create_token("test", scopes, project);
  }

  Response ask(const char* method, const std::string& path, Query query = {}, std::string_view body = {}) {
    Request request;
    request.method = method;
    request.path = path;
    request.query = std::move(query);
    request.authorization = token_.empty() ? "" : "Bearer " + token_;
    request.body = body;
    return service_->handle(request);
  }
  static Value json(const Response& response) {
    EXPECT_EQ(response.status, 200) << response.body;
    return from_json(response.body).value_or(Value::map());
  }

  std::string uid() const { return writer_.run.uid.hex(); }
  // Frames `first` to `last` of the run, each after the one before it.
  std::string batch(uint64_t first, uint64_t last) {
    std::vector<std::string> frames;
    Batch out{writer_, 0, {}};
    for (uint64_t seq = first; seq <= last; ++seq) frames.push_back(encode_frame(test_frame(writer_, seq)));
    for (uint64_t seq = first; seq <= last; ++seq)
      out.units.push_back({BatchUnitKind::kFrame, seq - 1, seq, seq, 0, frames[seq - first]});
    return encode_batch(out);
  }
  Response post(std::string_view body, const std::string& project = "p") {
    return ask("POST", "runs/" + uid() + "/frames", {{"project", project}}, body);
  }
  int64_t acked(const Response& response) { return json(response).int_or("acked_seq", -1); }
  // As a reader over HTTP has it; -1: there is no such run.
  int64_t points() {
    const Response response = ask("GET", "runs/" + uid());
    return response.status == 404 ? -1 : json(response).int_or("points", -2);
  }
  int64_t runs() { return json(ask("GET", "runs")).int_or("total", -1); }

  TempFolder folder_;
  std::unique_ptr<Service> service_;
  std::string token_;
  WriterIdentity writer_ = test_identity();
};

}  // namespace tracker::internal
