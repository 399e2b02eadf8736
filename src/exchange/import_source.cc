// SPDX-License-Identifier: MIT
#include "exchange/import_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/fs.h"
#include "exchange/bundle.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

void take_file(const std::string& path, const std::string& name, SourceFiles* out) {
  if (name.find("tfevents") != std::string::npos) out->event_files.push_back(path);
  else if (name.ends_with(".csv")) out->csv_files.push_back(path);
  else if (name.ends_with(".jsonl")) out->jsonl_files.push_back(path);
  else if (name.ends_with(".wandb")) out->wandb_files.push_back(path);
  else if (name == "mlflow.db" || name == "mlruns.db") out->mlflow = true;
  else if (name == "meta.yaml" && path.find("/mlruns/") != std::string::npos) out->mlflow = true;
  else if (name.ends_with(".swanlab")) out->swanlab = true;
  else if (name.ends_with(".db") && path.find("/trackio/") != std::string::npos) out->trackio = true;
}

class Walk {
 public:
  explicit Walk(SourceFiles* out) : out_(out) {}
  Status folder(const std::string& path, int depth) {
    auto names = list_dir(path);
    if (!names.ok()) return depth == 0 ? names.status() : Status();
    for (const std::string& name : *names) {
      const std::string below = join_path(path, name);
      struct stat info{};
      if (::lstat(below.c_str(), &info) != 0) continue;
      const bool is_deep = S_ISDIR(info.st_mode) && depth >= kImportDepthMax;
      if (is_deep || seen_ >= kImportFilesMax) {
        if (out_->cut.empty())
          out_->cut = is_deep ? fmt::format("{} lies in {} folders; its content was not read", below, depth)
                              : fmt::format("{} comes after {} files; it and what follows was not read", below,
                                            kImportFilesMax);
        continue;
      }
      if (S_ISREG(info.st_mode)) ++seen_, take_file(below, name, out_);
      if (S_ISDIR(info.st_mode)) TRACKER_RETURN_IF_ERROR(folder(below, depth + 1));
    }
    return {};
  }

 private:
  SourceFiles* out_;
  size_t seen_ = 0;
};

}  // namespace

const std::vector<std::string>& import_formats() {
  static const std::vector<std::string> formats{"tensorboard", "csv",    "jsonl",   "bundle", "run",
                                                "wandb",       "mlflow", "trackio", "swanlab"};
  return formats;
}

bool is_python_format(std::string_view format) {
  return format != "tensorboard" && format != "csv" && format != "jsonl" && format != "bundle";
}

Result<SourceFiles> look_for_files(const std::string& source) {
  SourceFiles out;
  if (!path_exists(source)) return Status(Code::kNotFound, fmt::format("there is no {}", source));
  if (is_directory(source)) {
    TRACKER_RETURN_IF_ERROR(Walk(&out).folder(source, 0));
    if (last_name(source) == "mlruns" || is_directory(join_path(source, "mlruns"))) out.mlflow = true;
  } else {
    take_file(source, last_name(source), &out);
  }
  return out;
}

Result<std::string> detect_format(const std::string& source, const SourceFiles& files) {
  if (is_bundle(source)) return std::string("bundle");
  if (is_regular_file(join_path(source, kRunFile))) return std::string("run");
  std::vector<std::string> found;
  if (!files.event_files.empty()) found.emplace_back("tensorboard");
  if (!files.wandb_files.empty()) found.emplace_back("wandb");
  if (files.mlflow) found.emplace_back("mlflow");
  if (files.trackio) found.emplace_back("trackio");
  if (files.swanlab) found.emplace_back("swanlab");
  if (found.empty()) {  // other formats have such files, too
    if (!files.csv_files.empty()) found.emplace_back("csv");
    if (!files.jsonl_files.empty()) found.emplace_back("jsonl");
  }
  if (found.size() == 1) return found.front();
  if (found.empty())
    return Status(Code::kInvalid,
                  fmt::format("{} holds no file of a known format (run.json, *tfevents*, *.csv, *.jsonl, *.wandb, "
                              "*.swanlab, mlruns, mlflow.db)",
                              source),
                  fmt::format("--format says what it is: {}", fmt::join(import_formats(), ", ")));
  return Status(Code::kInvalid, fmt::format("{} holds files of several formats: {}", source, fmt::join(found, ", ")),
                "--format says which");
}

std::string name_below(const std::string& source, const std::string& path) {
  if (path.size() > source.size() + 1 && path.starts_with(source) && path[source.size()] == '/')
    return path.substr(source.size() + 1);
  return last_name(path);
}

uint64_t bytes_of(const std::vector<std::string>& files) {
  uint64_t out = 0;
  for (const std::string& path : files) {
    struct stat info{};
    if (::stat(path.c_str(), &info) == 0) out += static_cast<uint64_t>(info.st_size);
  }
  return out;
}

int64_t modified_us(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return 0;
  return int64_t{info.st_mtim.tv_sec} * 1'000'000 + info.st_mtim.tv_nsec / 1000;
}

}  // namespace tracker::internal
