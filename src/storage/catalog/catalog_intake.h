// SPDX-License-Identifier: MIT
// <store>/catalog-intake/: at its end a run leaves here a file with its row for the catalog. The next listing uses the
// row if the folder is unchanged since, and need not open the run; else it reads the run. Threads: any.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/catalog/catalog_rows.h"
#include "storage/catalog/catalog_scan.h"
#include "storage/store/store.h"

namespace tracker::internal {

constexpr const char* kIntakeFolder = "catalog-intake";
// Limit: bytes of the row that a run leaves for the next listing. Beyond it: the run is read instead.
constexpr size_t kIntakeFileBytesMax = 256 * 1024;
// Limit: rows left by runs that one listing takes. Beyond it: these runs are read instead.
constexpr size_t kIntakeFilesMax = 100'000;
constexpr std::chrono::seconds kIntakeTornAge{3600};  // after this a file that cannot be read is removed

struct IntakeRow {
  CatalogRecord record;
  CatalogSign sign;
};
// With a CRC. decode: kCorrupt.
std::string encode_intake(const IntakeRow& row);
Result<IntakeRow> decode_intake(std::string_view bytes);

// Called at the end of a run, after its files are closed; `read` returns the catalog's record of it. Does nothing for a
// run that another process still writes, or that is damaged. Errors: those of reading and writing; no data is lost by
// an error. Cost: reading the run, and a small file without an fsync.
Status leave_intake(const Store& store, const RunFolder& folder, const Id128& writer,
                    const std::function<Result<CatalogRecord>(const RunFolder&)>& read);

// The files of the intake, by name.
std::vector<std::string> list_intake(const Store& store);
// The row in a file of the intake; none if it is out of date or the file cannot be read. `done`: the file can be
// removed.
std::optional<IntakeRow> look_at_intake(const Store& store, const std::string& name, int64_t now_us, bool* done);
void remove_intake(const Store& store, const std::vector<std::string>& names);

}  // namespace tracker::internal
