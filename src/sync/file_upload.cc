// SPDX-License-Identifier: MIT
#include "sync/file_upload.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "artifact/artifact_store.h"
#include "artifact/blob_store.h"
#include "base/fs.h"
#include "model/media.h"

namespace tracker::internal {
namespace {

// Limit: restarts of one file at another offset. Beyond it: the file is given up and named.
constexpr int kRestartsMax = 3;
constexpr size_t kDigestHexChars = 64;

std::string file_problem(const std::string& file, std::string_view why) {
  return fmt::format("{} was not sent: {}; it stays in the store", file, why);
}

// Up to `size` bytes at `offset`.
Result<std::string> read_part(const Fd& fd, const std::string& path, uint64_t offset, size_t size) {
  std::string out(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::pread(fd.get(), out.data() + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::from_errno(errno, "cannot read", path);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  out.resize(done);
  return out;
}

Value::List texts(const std::vector<std::string>& from, std::string_view without = "") {
  Value::List out;
  for (const std::string& each : from)
    if (each != without) out.emplace_back(each);
  return out;
}

}  // namespace

FileUpload::FileUpload(ServerLink* server, std::string store_path, RunFolder run, std::string project,
                       SyncCounts* counts, std::function<void()> between_parts)
    : server_(server),
      store_path_(std::move(store_path)),
      run_(std::move(run)),
      project_(std::move(project)),
      counts_(counts),
      between_parts_(std::move(between_parts)) {}

std::string FileUpload::project_on_server(const std::string& project) const {
  return project == run_.identity.project ? project_ : project;
}

ServerAnswer FileUpload::send(const std::vector<LineageEdge>& edges, std::vector<std::string>* problems) {
  ServerAnswer answer = send_media(problems);
  return answer.ok() ? send_artifacts(edges, problems) : answer;
}

// Every file of the media folder with a name that this run could have given.
ServerAnswer FileUpload::send_media(std::vector<std::string>* problems) {
  const std::string folder = join_path(run_.path, kMediaFolder);
  if (!is_directory(folder)) return {};
  Listed files;
  std::vector<std::string> names;
  const auto flush = [&]() -> ServerAnswer {
    ServerAnswer answer = send_missing(project_, "media", files, problems);
    if (answer.ok()) media_done_.insert(names.begin(), names.end());
    files.clear();
    names.clear();
    return answer;
  };
  for (const std::string& part : list_dir(folder).value_or({}))
    for (const std::string& name : list_dir(join_path(folder, part)).value_or({})) {
      if (name.size() <= kDigestHexChars + 1 || media_done_.count(name) > 0) continue;
      const std::string digest = name.substr(0, kDigestHexChars), ext = name.substr(kDigestHexChars + 1);
      if (media_file_name(digest, ext) != join_path(join_path(kMediaFolder, part), name)) continue;
      files.push_back(
          {digest,
           {join_path(join_path(folder, part), name), fmt::format("runs/{}/media/{}", run_.identity.uid.hex(), name)}});
      names.push_back(name);
      if (files.size() < server_->limits().digests) continue;
      if (ServerAnswer answer = flush(); !answer.ok()) return answer;
    }
  return files.empty() ? ServerAnswer() : flush();
}

// Asks which of the files are missing and sends those. `list`: "media" or "blobs".
ServerAnswer FileUpload::send_missing(const std::string& project, const char* list, const Listed& files,
                                      std::vector<std::string>* problems) {
  const bool is_media = std::string_view(list) == "media";
  Value::List asked;
  std::map<std::string, Source> by_name;
  for (const auto& [digest, source] : files) {
    if (!is_media) {
      asked.emplace_back(digest);
      by_name[digest] = source;
      continue;
    }
    const std::string ext = source.file.substr(source.file.rfind('.') + 1);
    asked.emplace_back(Value::Map{{"run", run_.identity.uid.hex()}, {"digest", digest}, {"ext", ext}});
    by_name[digest + "." + ext] = source;
  }
  const std::string query = "?project=" + url_encoded(project);
  const ServerAnswer answer =
      server_->call("POST", "files/missing" + query, to_json(Value::Map{{list, std::move(asked)}}));
  if (!answer.ok()) return answer;
  const Value* missing = answer.document.find(list);
  if (missing == nullptr || !missing->is_list()) return {};
  for (const Value& each : *missing->as_list()) {
    const std::string digest = each.text_or("digest", "");
    const auto found = by_name.find(is_media ? digest + "." + each.text_or("ext", "") : digest);
    if (found == by_name.end()) continue;
    const auto received = static_cast<uint64_t>(std::max<int64_t>(0, each.int_or("received", 0)));
    if (ServerAnswer sent = send_file(project, found->second, received, problems); !sent.ok()) return sent;
  }
  return {};
}

// A file that cannot be read, or that the server refuses, is reported in `problems` and skipped.
ServerAnswer FileUpload::send_file(const std::string& project, const Source& source, uint64_t received,
                                   std::vector<std::string>* problems) {
  auto fd = open_file(source.file, O_RDONLY | O_NOFOLLOW);
  struct stat st{};
  if (!fd.ok() || ::fstat(fd->get(), &st) != 0 || !S_ISREG(st.st_mode)) {
    problems->push_back(file_problem(source.file, fd.ok() ? "it is no regular file" : fd.status().message()));
    return {};
  }
  const auto size = static_cast<uint64_t>(st.st_size);
  uint64_t offset = std::min(received, size);
  size_t part_bytes = server_->limits().part_bytes;
  for (int restarts = 0;;) {
    auto part = read_part(*fd, source.file, offset, std::min<uint64_t>(part_bytes, size - offset));
    if (!part.ok()) {
      problems->push_back(file_problem(source.file, part.status().message()));
      return {};
    }
    const ServerAnswer answer = server_->call(
        "PUT", fmt::format("{}?project={}&offset={}&bytes={}", source.target, url_encoded(project), offset, size),
        *part, "application/octet-stream");
    if (answer.ok()) {
      counts_->bytes_sent += part->size();
      offset = static_cast<uint64_t>(std::max<int64_t>(0, answer.document.int_or("received", 0)));
      if (answer.document.find("complete") != nullptr && *answer.document.find("complete") == Value(true)) {
        ++counts_->files_sent;
        return {};
      }
    } else if (answer.kind == AnswerKind::kDamaged && ++restarts <= kRestartsMax) {
      const Value* error = answer.document.find("error");
      const int64_t there = answer.document.int_or("received", error == nullptr ? 0 : error->int_or("received", 0));
      offset = std::min(static_cast<uint64_t>(std::max<int64_t>(0, there)), size);
    } else if (constexpr size_t kPartLeast = 4096; answer.kind == AnswerKind::kTooLarge && part_bytes > kPartLeast) {
      part_bytes /= 2;
    } else if (answer.kind == AnswerKind::kDamaged || answer.kind == AnswerKind::kInvalid ||
               answer.kind == AnswerKind::kTooLarge || answer.kind == AnswerKind::kNotFound) {
      problems->push_back(file_problem(source.file, answer.message));
      return {};
    } else {
      return answer;
    }
    if (between_parts_) between_parts_();
  }
}

// The versions that the run made or used and this store has.
ServerAnswer FileUpload::send_artifacts(const std::vector<LineageEdge>& edges, std::vector<std::string>* problems) {
  if (edges.empty()) return {};
  const auto store = Store::open(store_path_);
  if (!store.ok()) {
    problems->push_back(store.status().to_string());
    return {};
  }
  const ArtifactRegistry registry(*store);
  std::set<VersionId> seen;
  for (const LineageEdge& edge : edges) {
    if (!seen.insert(edge.version()).second) continue;
    const auto info = registry.read(edge.project, edge.name);
    if (!info.ok()) continue;  // of another store: the frames name it by its digest
    for (const ArtifactVersion& version : info->versions) {
      if (version.content != edge.content || version.deleted) continue;
      if (ServerAnswer answer = send_version(*info, version, problems); !answer.ok()) return answer;
    }
  }
  return {};
}

ServerAnswer FileUpload::send_version(const ArtifactInfo& info, const ArtifactVersion& version,
                                      std::vector<std::string>* problems) {
  int64_t marked_us = version.created_us;
  std::optional<int64_t> ttl_s;
  for (const ArtifactMark& mark : info.marks) {
    if (mark.of != version.number) continue;
    marked_us = std::max(marked_us, mark.time_us);
    if (mark.ttl_s) ttl_s = mark.ttl_s;
  }
  int64_t& done = versions_done_[{info.project, info.name, version.number}];
  if (done == marked_us) return {};
  const auto store = Store::open(store_path_);
  auto manifest = store.ok() ? StoredManifest::open(*store, version.manifest) : Result<StoredManifest>(store.status());
  const std::string name = fmt::format("{}/{}:{}", info.project, info.name, version.name());
  if (!manifest.ok()) {
    problems->push_back(file_problem(name, manifest.status().message()));
    return {};
  }
  const std::string project = project_on_server(info.project);
  const BlobStore blobs(store_path_);
  Listed files;
  ServerAnswer answer;
  const auto add = [&](const Digest& digest) {
    files.push_back({digest.hex(), {blobs.path_of(digest), "blobs/" + digest.hex()}});
    if (files.size() < server_->limits().digests) return;
    answer = send_missing(project, "blobs", files, problems);
    files.clear();
  };
  const Status read = manifest->visit([&](const ManifestEntry& entry) {
    if (entry.kind == EntryKind::kFile && answer.ok()) add(entry.digest);
    return answer.ok() ? Status() : Status(Code::kClosed, "");
  });
  if (!answer.ok()) return answer;
  if (!read.ok()) {
    problems->push_back(file_problem(name, read.message()));
    return {};
  }
  add(version.manifest);
  if (answer.ok() && !files.empty()) answer = send_missing(project, "blobs", files, problems);
  if (!answer.ok()) return answer;
  Value::Map said{{"name", info.name},
                  {"type", info.type},
                  {"digest", version.content.hex()},
                  {"manifest", version.manifest.hex()},
                  {"created_us", version.created_us},
                  {"run", version.run},
                  {"description", version.description},
                  {"metadata", version.metadata},
                  {"aliases", texts(version.aliases, kLatestAlias)},
                  {"tags", texts(version.tags)},
                  {"ttl_s", ttl_s ? Value(*ttl_s) : Value()},
                  {"marked_us", marked_us}};
  answer = server_->call("PUT", "artifacts/versions?project=" + url_encoded(project), to_json(Value(std::move(said))));
  if (answer.kind == AnswerKind::kInvalid || answer.kind == AnswerKind::kMissing ||
      answer.kind == AnswerKind::kDamaged) {
    problems->push_back(file_problem(name, answer.message));
    done = marked_us;
    return {};
  }
  if (answer.ok()) done = marked_us;
  return answer;
}

}  // namespace tracker::internal
