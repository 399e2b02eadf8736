// SPDX-License-Identifier: MIT
// Sends the files of a run: media, then the blobs of artifacts, then each version's manifest and data
// (docs/formats/http.md, Uploading files). Threads: one at a time. Cost: blocks on disk and network.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "artifact/lineage.h"
#include "artifact/registry.h"
#include "storage/store/store.h"
#include "transport/server_link.h"

namespace tracker::internal {

struct SyncCounts {
  uint64_t points_sent = 0, files_sent = 0, bytes_sent = 0;
};

class FileUpload {
 public:
  // `project`: the project on the server for media and artifacts of the run's own project. `between_parts` is called
  // after each part of a file, so that points do not wait for a large file.
  FileUpload(ServerLink* server, std::string store_path, RunFolder run, std::string project, SyncCounts* counts,
             std::function<void()> between_parts);

  void set_project(const std::string& project) { project_ = project; }
  // Sends what the server lacks now: media, and the versions of `edges` that this store has. Ok if nothing is left
  // except what `problems` names.
  ServerAnswer send(const std::vector<LineageEdge>& edges, std::vector<std::string>* problems);

 private:
  struct Source {
    std::string file, target;  // target: the path on the server, without the query
  };
  using Listed = std::vector<std::pair<std::string, Source>>;  // by digest
  ServerAnswer send_media(std::vector<std::string>* problems);
  ServerAnswer send_artifacts(const std::vector<LineageEdge>& edges, std::vector<std::string>* problems);
  ServerAnswer send_version(const ArtifactInfo& info, const ArtifactVersion& version,
                            std::vector<std::string>* problems);
  ServerAnswer send_missing(const std::string& project, const char* list, const Listed& files,
                            std::vector<std::string>* problems);
  ServerAnswer send_file(const std::string& project, const Source& source, uint64_t received,
                         std::vector<std::string>* problems);
  std::string project_on_server(const std::string& project) const;

  ServerLink* const server_;
  const std::string store_path_;
  const RunFolder run_;
  std::string project_;
  SyncCounts* const counts_;
  const std::function<void()> between_parts_;
  std::set<std::string> media_done_;                                                // names, this process
  std::map<std::tuple<std::string, std::string, int64_t>, int64_t> versions_done_;  // marked_us
};

}  // namespace tracker::internal
