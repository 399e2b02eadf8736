// SPDX-License-Identifier: MIT
// Goal: one entry of an encoded document is the entry that decoding all of it gives. Method: both ways on one document,
// and on each of its truncations.
#include "model/cbor_find.h"

#include <gtest/gtest.h>

#include "model/value.h"

namespace tracker::internal {
namespace {

const Value kDocument =
    Value::Map{{"lr", 0.1},
               {"opt", Value::Map{{"name", "adam"}, {"betas", Value::List{0.9, 0.999, 3, nullptr}}}},
               {"a/b", 1},
               {"a", Value::Map{{"b", 2}, {"c", -7'000'000'000}}},
               {"flag", true}};

TEST(CborFindTest, PathsGiveWhatDecodingGives) {
  const std::string bytes = encode_cbor(kDocument);
  for (const char* path : {"lr", "opt", "opt/name", "opt/betas", "a/b", "a", "a/c", "flag", "nothing", "opt/nothing",
                           "", "lr/x", "/", "a/"}) {
    const auto found = cbor_path(bytes, path);
    const Value* expected = kDocument.find_path(path);
    ASSERT_EQ(found.has_value(), expected != nullptr) << path;
    if (!found) continue;
    EXPECT_EQ(*decode_cbor(*found), *expected) << path;
  }
}

TEST(CborFindTest, ElementsOfListsAreFoundByIndex) {
  const std::string bytes = encode_cbor(kDocument);
  const auto list = cbor_path(bytes, "opt/betas");
  ASSERT_TRUE(list);
  EXPECT_EQ(*decode_cbor(*cbor_element(*list, 1)), Value(0.999));
  EXPECT_EQ(*decode_cbor(*cbor_element(*list, 3)), Value());
  EXPECT_FALSE(cbor_element(*list, 4));
  EXPECT_FALSE(cbor_element(bytes, 0));
}

TEST(CborFindTest, CutDocumentsGiveNothingOrWhatIsWhole) {
  const std::string bytes = encode_cbor(kDocument);
  for (size_t size = 0; size < bytes.size(); ++size) {
    for (const char* path : {"lr", "opt/betas", "a/c", "flag"}) {
      const auto found = cbor_path(std::string_view(bytes).substr(0, size), path);
      if (!found) continue;
      EXPECT_EQ(*decode_cbor(*found), *kDocument.find_path(path)) << size << " " << path;
    }
  }
}

}  // namespace
}  // namespace tracker::internal
