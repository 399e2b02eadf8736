// SPDX-License-Identifier: MIT
#include "sync/server_project.h"

#include "base/fs.h"
#include "model/key.h"
#include "model/value.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

constexpr size_t kUploadFileBytesMax = 4096;
constexpr const char* kUploadFormat = "tracker-upload";
constexpr int64_t kUploadVersion = 1;

}  // namespace

std::string upload_project(const RunFolder& run) {
  const auto file = read_file(join_path(run.path, kUploadFile), kUploadFileBytesMax);
  const auto document = file.ok() ? from_json(*file) : Result<Value>(file.status());
  if (!document.ok() || document->text_or("format", "") != kUploadFormat ||
      document->int_or("version", 0) != kUploadVersion)
    return run.identity.project;
  const std::string project = document->text_or("project", "");
  return check_label("project", project).ok() ? project : run.identity.project;
}

Status remember_project(const RunFolder& run, const std::string& project) {
  if (project == upload_project(run)) return {};
  const Value::Map document{{"format", kUploadFormat}, {"version", kUploadVersion}, {"project", project}};
  return write_file_atomic(join_path(run.path, kUploadFile), to_json(Value(document)) + "\n");
}

}  // namespace tracker::internal
