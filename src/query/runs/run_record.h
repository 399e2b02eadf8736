// SPDX-License-Identifier: MIT
// A run as the catalog keeps it, and as a filter sees a row of the catalog. Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "model/filter/filter.h"
#include "query/view/run_view.h"
#include "storage/catalog/catalog.h"

namespace tracker::internal {

// Opens the run and takes what the catalog holds of it. Cost: about 0.2 ms a writer. What it made and used is
// "project/name:v3@<digest>"; the number is that of the store where it was said, and no more than a hint.
Result<CatalogRecord> read_run_record(const RunFolder& folder);

// What "project/name:v3@<digest>" is called in the store; anything else is given back.
using VersionNames = std::function<std::string(const std::string& name)>;
// Puts names into the lists `inputs` and `outputs` of a record; without `names` what was said.
void name_versions(const VersionNames& names, Value* attributes);

// The row that a statement over kCatalogColumns (and, where `with_documents`, kCatalogDocuments) is at. Documents are
// searched without decoding them.
class CatalogRow final : public FilterRow {
 public:
  CatalogRow(const Statement& row, bool with_documents, int64_t now_us, const VersionNames& names)
      : row_(row), with_documents_(with_documents), now_us_(now_us), names_(names) {}
  std::optional<Value> field(const FilterField& field) const override;
  std::optional<Value> contents(const FilterField& field) const override;
  // Of config, summary or metrics: whether the run has the key, whatever its value is.
  bool has_key(const FilterField& field) const { return entry(field).has_value(); }

 private:
  std::optional<std::string_view> entry(const FilterField& field) const;
  std::optional<Value> keyed(const FilterField& field) const;
  std::optional<Value> attribute(const FilterField& field) const;

  const Statement& row_;
  bool with_documents_;
  int64_t now_us_;
  const VersionNames& names_;
};

// Whether a field lies in the documents.
bool is_in_documents(const FilterField& field);

}  // namespace tracker::internal
