// SPDX-License-Identifier: MIT
// Finds the store that the journal of a writer belongs to: the store with the id in the journal, at the path or in the
// folder (device and inode) in the journal. A copy of a store has the id but neither path nor folder: it recovers the
// journal only on request (`tracker doctor --recover`). Threads: any. Cost: a few system calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/records.h"
#include "storage/store/store.h"

namespace tracker::internal {

// Whether a journal of `writer` belongs to this store. If the store could not be made yet, the journal has only a path.
// If a writer's store was removed and another process made one with another id at its path, the writer continues there:
// its file is in that store, and so its journal belongs to it.
bool is_of(const WriterIdentity& writer, const Store& store);

// The writer of the journal in `dir`, from its definitions. If these are damaged, or missing while there are rings,
// from that writer's own files in the run's folder, because a journal's folder is named after its writer. The second
// form searches all runs of the store. kNotFound: no journal; kVersion; kCorrupt names the file, if the writer cannot
// be determined. Cost: a read(2); if the definitions are damaged, a search of each run's folder.
Result<WriterIdentity> writer_of_journal(const std::string& dir, const RunFolder& run);
Result<WriterIdentity> writer_of_journal(const std::string& dir, const Store& store);

// The newest run with this name, as an id of the project, else as "project/id" or uid, that has a journal of this
// store. If it has no folder, the disk has accepted nothing since it started. Cost: reads the start of each journal's
// definitions.
std::optional<RunIdentity> run_in_journals(const Store& store, std::string_view project, std::string_view name);

// Store::open; if there is no store at `path` and the journal of a dead process has that path and no id, makes it.
// Cost: Store::open; without a store, reads the start of each journal's definitions.
Result<Store> open_awaited_store(const std::string& path);

}  // namespace tracker::internal
