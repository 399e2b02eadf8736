// SPDX-License-Identifier: MIT
// Goal: no bytes in the documents of an artifact, a request to stop or a claim of an attempt crash a program; what is
// read of a version or a mark is written and read again the same. Method: the input is each of them in turn, and the
// registry reads the artifact whose files all hold it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "artifact/reference.h"
#include "artifact/registry_documents.h"
#include "base/fs.h"
#include "scratch.h"
#include "storage/store/attempt_claim.h"
#include "storage/store/stop_request.h"

using namespace tracker::internal;

namespace {

constexpr int64_t kNumber = 3;

bool same(const ArtifactVersion& a, const ArtifactVersion& b) {
  return a.number == b.number && a.content == b.content && a.manifest == b.manifest && a.files == b.files &&
         a.references == b.references && a.bytes == b.bytes && a.created_us == b.created_us && a.run == b.run &&
         a.description == b.description && a.metadata == b.metadata;
}

bool same(const ArtifactMark& a, const ArtifactMark& b) {
  return a.number == b.number && a.of == b.of && a.time_us == b.time_us && a.run == b.run &&
         a.aliases_added == b.aliases_added && a.aliases_removed == b.aliases_removed && a.tags_added == b.tags_added &&
         a.tags_removed == b.tags_removed && a.ttl_s == b.ttl_s && a.deleted == b.deleted && a.manifest == b.manifest &&
         a.logged_again_at == b.logged_again_at && a.description == b.description && a.metadata == b.metadata;
}

// In our form it may be longer than may be.
template <typename T>
void check_again(const Result<T>& first, const Result<T>& again) {
  if (again.ok() ? !same(*first, *again) : again.status().code() != Code::kLimit) std::abort();
}

void check_documents(const Scratch& scratch, const std::string& path) {
  const auto version = read_version_document(path, kNumber);
  if (version.ok())
    check_again(version, read_version_document(scratch.write("again.json", version_document(*version)), kNumber));
  const auto mark = read_mark_document(path, kNumber);
  if (mark.ok()) check_again(mark, read_mark_document(scratch.write("again.json", mark_document(*mark)), kNumber));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scratch scratch;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string path = scratch.write("document.json", input);
  (void)read_artifact_document(path);
  check_documents(scratch, path);
  scratch.write(kStopFile, input);
  if (const auto request = read_stop_request(scratch.path()); request.ok() && *request) (void)(*request)->text();
  scratch.write("attempt-2.json", input);
  if (attempt_claims(scratch.path()).size() != 1) std::abort();
  if (const auto name = parse_artifact_name(input, "project"); name.ok() && name->name.empty()) std::abort();
  return 0;
}
