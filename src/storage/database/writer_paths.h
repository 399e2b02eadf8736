// SPDX-License-Identifier: MIT
// The names of a writer's files in a run's folder: <writer>.db, or <writer>.frames where no database can be written
// live. Threads: pure functions, and one read of a header.
#pragma once

#include <string>
#include <string_view>

namespace tracker::internal {

// "<run>/<writer>.db" of "<run>/<writer>.frames" and back.
std::string frames_path_of(const std::string& db_path);
std::string db_path_of(const std::string& frames_path);
bool is_frames_path(std::string_view path);
// Whether the file is a database with the length that its header has. Never called for a file that this process has
// open.
bool is_whole_database(const std::string& path);

// The store of a run's folder <store>/runs/<project>/<id>.
std::string store_path_of(const std::string& run_path);

}  // namespace tracker::internal
