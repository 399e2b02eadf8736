// SPDX-License-Identifier: MIT
// Which store the journal of a writer belongs to. A copy of a store has its id too, so the id alone decides nothing:
// who recovers a journal removes it, and its points would be missing in the store that was written. Threads: any.
// Cost: a few system calls.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/records.h"
#include "storage/store/store.h"

namespace tracker::internal {

// Whether the journal in `dir` is of this store. A run that began while the store could not be made knows only where it
// was to be.
bool is_of(const WriterIdentity& writer, const std::string& dir, const Store& store);

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

// Where the journal in `dir` belongs, when the store at `store_path` is a copy of that one: the path that its writer
// knows, as long as a store of the writer's id is there (or something that cannot be read) and is another folder, by
// device and inode. Empty otherwise: then the store has moved here, or this is the one. A journal that lies in the
// store itself was copied with it and belongs to the copy.
std::string original_of(const WriterIdentity& writer, const std::string& dir, const std::string& store_path);

}  // namespace tracker::internal
