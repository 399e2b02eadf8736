// SPDX-License-Identifier: MIT
// Which store the journal of a writer belongs to: the store with the id that the journal names, at the path that it
// names or in the folder (device and inode) that it names. A copy of a store has the id and neither: it recovers the
// journal only on request (`tracker doctor --recover`). Threads: any. Cost: a few system calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/records.h"
#include "storage/store/store.h"

namespace tracker::internal {

// Whether a journal of `writer` belongs to this store. A journal whose store could not be made yet names a path alone.
// A writer whose store was removed while another process made one of another id at its path goes on there: its file is
// in that store, and its journal belongs to it.
bool is_of(const WriterIdentity& writer, const Store& store);

// Who wrote the journal in `dir`: as its definitions say; where these do not verify, or are gone from beside its rings,
// as that writer's own files in the run's folder say, for the folder of a journal is named after its writer. The second
// form looks in all runs of the store. kNotFound: no journal; kVersion; kCorrupt names the file, when nobody can tell.
// Cost: a read(2); a look at each run's folder where the definitions are damaged.
Result<WriterIdentity> writer_of_journal(const std::string& dir, const RunFolder& run);
Result<WriterIdentity> writer_of_journal(const std::string& dir, const Store& store);

// The newest run of this name, an id of the project, else "project/id" or a uid, of which a journal of this store is
// there. Where it has no folder the disk has taken nothing since it began. Cost: reads the begin of each journal's
// definitions.
std::optional<RunIdentity> run_in_journals(const Store& store, std::string_view project, std::string_view name);

// Store::open; where there is no store at `path` and the journal of a dead process names that path and no id, makes it.
// Cost: Store::open; without a store, reads the begin of each journal's definitions.
Result<Store> open_awaited_store(const std::string& path);

}  // namespace tracker::internal
