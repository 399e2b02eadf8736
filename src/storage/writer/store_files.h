// SPDX-License-Identifier: MIT
// Chooses the kind of files for a writer in a folder, and opens them. SQLite needs locks and shared memory that network
// and FUSE file systems do not have, or only seem to have: there no database is written live (design 3). Threads: any.
// Cost: a few system calls; opening blocks on the disk.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "storage/database/writer_paths.h"
#include "storage/log/writer_store.h"

namespace tracker::internal {

struct StoreFilesChoice {
  StoreFiles kind = StoreFiles::kSqlite;
  std::string file_system;         // "NFS", "FUSE", "local", …
  std::string why;                 // the reason for frames in one line; empty for a database
  bool write_is_in_kernel = true;  // false: until its fsync, written data may be in another process (FUSE)
};
const char* store_files_name(StoreFiles kind);  // "sqlite", "frames"

// `option`: "auto" (or empty), "sqlite" or "frames". auto: frames if statfs reports network, FUSE or nothing, and if a
// shared mapping or a lock of a file in the folder fails.
// `probe` false: by statfs only.
StoreFilesChoice choose_store_files(const std::string& folder, std::string_view option, bool probe = true);
// The value of TRACKER_STORE_FILES; "auto" if it is not set.
std::string store_files_option();

// Opens the part of `identity` of the writer's files in `run_path`: of the existing kind, else a new file of `kind`.
// Used by the writer itself and by recoverers. Errors as of WriterDb and FramesFile.
Result<std::unique_ptr<WriterStore>> open_writer_store(const std::string& run_path, const WriterIdentity& identity,
                                                       StoreFiles kind);

}  // namespace tracker::internal
