// SPDX-License-Identifier: MIT
#include "query/runs/runs_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/clock.h"
#include "model/did_you_mean.h"
#include "model/metric_definition.h"
#include "query/runs/filter_sql.h"
#include "query/runs/run_record.h"
#include "storage/store/run_folder.h"

namespace tracker::internal {
namespace {

constexpr size_t kKnownKeysMax = 100'000;  // of each kind, looked through for one that is spelt nearly so

struct Plan {
  Filter filter;
  std::vector<SortField> sort;
  FilterSql where;         // with the project
  bool documents = false;  // the filter or the order reads them
  int64_t now_us = 0;
};

bool looks_into_documents(const FilterNode& node) {
  return (node.kind == FilterNode::Kind::kTest && is_in_documents(node.field)) ||
         std::any_of(node.children.begin(), node.children.end(), looks_into_documents);
}

Result<Plan> make_plan(const RunsQuery& query, FilterError* error) {
  Plan plan;
  plan.now_us = query.now_us != 0 ? query.now_us : realtime_us();
  auto filter = Filter::parse(query.where, plan.now_us, error);
  if (!filter.ok()) return filter.status();
  plan.filter = std::move(*filter);
  if (query.sort.find_first_not_of(" \t") != std::string::npos) {
    auto sort = parse_sort(query.sort, error);
    if (!sort.ok()) return sort.status();
    plan.sort = std::move(*sort);
  }
  plan.where = compile_filter(plan.filter, plan.now_us);
  if (!query.project.empty()) {
    plan.where.condition =
        plan.where.condition.empty() ? "project = ?" : fmt::format("project = ? AND {}", plan.where.condition);
    plan.where.parameters.insert(plan.where.parameters.begin(), query.project);
  }
  plan.documents = (!plan.where.exact && looks_into_documents(*plan.filter.root())) ||
                   std::any_of(plan.sort.begin(), plan.sort.end(),
                               [](const SortField& sort) { return is_in_documents(sort.field); });
  return plan;
}

std::string select(const Plan& plan, bool documents) {
  std::string out = fmt::format("SELECT {}{}{} FROM runs{}", kCatalogColumns, documents ? ", " : "",
                                documents ? kCatalogDocuments : "", documents ? " LEFT JOIN documents USING(id)" : "");
  if (!plan.where.condition.empty()) out += " WHERE " + plan.where.condition;
  return out;
}

// Newest first, and the order of equals in every order.
constexpr std::string_view kNewestFirst = "created_us DESC, folder";

// ORDER BY where SQLite can find the order by itself; none where a document or a name of a state decides.
std::optional<std::string> order_by(const Plan& plan) {
  std::string out;
  for (const SortField& sort : plan.sort) {
    const std::string column = sql_of_field(sort.field.id, plan.now_us);
    if (column.empty() || sort.field.id == FilterFieldId::kState) return std::nullopt;
    out += fmt::format("{} {} NULLS LAST, ", column, sort.descending ? "DESC" : "ASC");
  }
  return out + std::string(kNewestFirst);
}

// One listing over one catalog.
class Listing {
 public:
  Listing(const Store& store, const RunsQuery& query, const Plan& plan, Sqlite& db)
      : store_(store), query_(query), plan_(plan), db_(db) {}

  Status run(RunsList* out) {
    const auto order = order_by(plan_);
    return plan_.where.exact && order ? page_by_sql(*order, out) : page_by_rows(out);
  }

  // A key that no run of the project has is most likely misspelt.
  Status name_unknown(RunsList* out) {
    std::vector<FilterField> asked = query_.columns;
    if (plan_.filter.root() != nullptr) add_fields(*plan_.filter.root(), &asked);
    for (const SortField& sort : plan_.sort) asked.push_back(sort.field);
    std::erase_if(asked, [](const FilterField& field) { return !is_in_documents(field) || is_pattern(field.key); });
    if (asked.empty()) return {};
    bool any = false;
    TRACKER_RETURN_IF_ERROR(each_run([&](const Statement&, const CatalogRow& view) -> Result<bool> {
      any = true;
      std::erase_if(asked, [&view](const FilterField& field) { return view.has_key(field); });
      return !asked.empty();
    }));
    if (!any || asked.empty()) return {};
    Keys known;
    TRACKER_RETURN_IF_ERROR(add_all_keys(&known));
    std::set<std::string> said;
    for (FilterField& field : asked) {
      field.stat = MetricStat::kLast;
      if (said.insert(field.text()).second)
        out->unknown.push_back(fmt::format("no run has {}{}", field.text(), suggestion(field, known)));
    }
    return {};
  }

  // The fields that somebody who wrote a key alone may have meant.
  Status fields_of(const std::string& key, std::vector<std::string>* out) {
    Keys known;
    TRACKER_RETURN_IF_ERROR(add_all_keys(&known));
    std::string path = key;
    std::replace(path.begin(), path.end(), '.', '/');
    for (const auto& [id, keys] : known)
      if (keys.contains(key) || keys.contains(path)) out->push_back(FilterField{id, key}.text());
    if (!out->empty()) return {};
    for (const auto& [id, keys] : known)
      for (const std::string& near : close_names(key, {keys.begin(), keys.end()}, 1))
        out->push_back(FilterField{id, near}.text());
    return {};
  }

 private:
  using Keys = std::map<FilterFieldId, std::set<std::string>>;

  // Of the query's project, whatever the filter; `visit` returns whether the next run is wanted too.
  Status each_run(const std::function<Result<bool>(const Statement& row, const CatalogRow& view)>& visit) {
    Plan all;
    if (!query_.project.empty()) {
      all.where.condition = "project = ?";
      all.where.parameters.emplace_back(query_.project);
    }
    auto rows = db_.prepare(select(all, true));
    if (!rows.ok()) return rows.status();
    bind_parameters(*rows, all.where.parameters);
    const CatalogRow view(*rows, true, plan_.now_us, query_.version_name);
    for (auto row = rows->step(); !row.ok() || *row; row = rows->step()) {
      if (!row.ok()) return row.status();
      const Result<bool> go_on = visit(*rows, view);
      if (!go_on.ok()) return go_on.status();
      if (!*go_on) break;
    }
    return {};
  }
  Status add_all_keys(Keys* out) {
    return each_run([out](const Statement& row, const CatalogRow&) -> Result<bool> {
      TRACKER_RETURN_IF_ERROR(add_keys(row, out));
      return true;
    });
  }

  int64_t limit() const {
    return query_.limit == 0 || query_.limit > std::numeric_limits<int64_t>::max() ? -1
                                                                                   : static_cast<int64_t>(query_.limit);
  }
  bool wants_documents() const {
    return query_.documents != CatalogDocuments::kNone ||
           std::any_of(query_.columns.begin(), query_.columns.end(), is_in_documents);
  }

  Status page_by_sql(const std::string& order, RunsList* out) {
    auto count = db_.prepare("SELECT count(*) FROM runs" +
                             (plan_.where.condition.empty() ? "" : " WHERE " + plan_.where.condition));
    if (!count.ok()) return count.status();
    bind_parameters(*count, plan_.where.parameters);
    auto counted = count->step();
    if (!counted.ok()) return counted.status();
    out->matched = count->u64_at(0);
    auto rows = db_.prepare(fmt::format("{} ORDER BY {} LIMIT ? OFFSET ?", select(plan_, wants_documents()), order));
    if (!rows.ok()) return rows.status();
    bind_parameters(*rows, plan_.where.parameters);
    rows->bind(limit()).bind(static_cast<int64_t>(std::min<uint64_t>(query_.offset, INT64_MAX)));
    for (;;) {
      auto row = rows->step();
      if (!row.ok()) return row.status();
      if (!*row) return {};
      TRACKER_RETURN_IF_ERROR(add(*rows, out));
    }
  }

  static void add_fields(const FilterNode& node, std::vector<FilterField>* out) {
    if (node.kind == FilterNode::Kind::kTest) out->push_back(node.field);
    for (const FilterNode& child : node.children) add_fields(child, out);
  }

  static void add_leaves(const Value& map, const std::string& prefix, bool nested, std::set<std::string>* out) {
    for (const auto& [key, value] : *map.as_map()) {
      if (nested && value.is_map()) add_leaves(value, prefix + key + "/", nested, out);
      else if (out->size() < kKnownKeysMax) out->insert(prefix + key);
    }
  }

  static Status add_keys(const Statement& row, Keys* out) {
    auto record = read_catalog_record(row, CatalogDocuments::kAll);
    if (!record.ok()) return record.status();
    add_leaves(record->config, "", true, &(*out)[FilterFieldId::kConfig]);
    add_leaves(record->summary, "", false, &(*out)[FilterFieldId::kSummary]);
    add_leaves(record->metrics, "", false, &(*out)[FilterFieldId::kMetrics]);
    return {};
  }

  // The same key elsewhere, else keys that are spelt nearly so.
  static std::string suggestion(const FilterField& field, const Keys& known) {
    std::vector<std::string> names;
    for (const auto& [id, keys] : known)
      if (keys.contains(field.key)) names.push_back(FilterField{id, field.key}.text());
    if (const auto at = known.find(field.id); names.empty() && at != known.end())
      for (const std::string& key : close_names(field.key, {at->second.begin(), at->second.end()}))
        names.push_back(FilterField{field.id, key}.text());
    return did_you_mean(names);
  }

  struct Found {
    int64_t row = 0;
    std::vector<std::optional<Value>> keys;
  };

  // Every row that SQLite cannot rule out is read; what is kept of one is its number and its place in the order.
  Status page_by_rows(RunsList* out) {
    auto rows = db_.prepare(fmt::format("{} ORDER BY {}", select(plan_, plan_.documents), kNewestFirst));
    if (!rows.ok()) return rows.status();
    bind_parameters(*rows, plan_.where.parameters);
    FilterNotes notes;
    std::vector<Found> found;
    const CatalogRow view(*rows, plan_.documents, plan_.now_us, query_.version_name);
    for (;;) {
      auto row = rows->step();
      if (!row.ok()) return row.status();
      if (!*row) break;
      if (plan_.documents) TRACKER_RETURN_IF_ERROR(check_documents(*rows));
      if (!plan_.filter.matches(view, &notes)) continue;
      Found& run = found.emplace_back();
      run.row = rows->int_at(kColumnRow);
      for (const SortField& sort : plan_.sort) run.keys.push_back(view.field(sort.field));
    }
    std::stable_sort(found.begin(), found.end(), [this](const Found& a, const Found& b) { return before(a, b); });
    out->matched = found.size();
    out->notes = notes.lines();
    return fetch(found, out);
  }

  bool before(const Found& a, const Found& b) const {
    for (size_t i = 0; i < plan_.sort.size(); ++i)
      if (const int order = compare_for_sort(a.keys[i], b.keys[i], plan_.sort[i].descending); order != 0)
        return order < 0;
    return false;
  }

  Status fetch(const std::vector<Found>& found, RunsList* out) {
    Plan by_row;
    by_row.where.condition = "runs.id = ?";
    auto row = db_.prepare(select(by_row, wants_documents()));
    if (!row.ok()) return row.status();
    const size_t begin = std::min<uint64_t>(query_.offset, found.size());
    const size_t end =
        query_.limit == 0 ? found.size() : begin + std::min<uint64_t>(query_.limit, found.size() - begin);
    for (size_t i = begin; i < end; ++i) {
      auto there = row->bind(found[i].row).step();
      if (!there.ok()) return there.status();
      if (*there) TRACKER_RETURN_IF_ERROR(add(*row, out));
      row->reset();
    }
    return {};
  }

  Status add(const Statement& row, RunsList* out) {
    if (wants_documents()) TRACKER_RETURN_IF_ERROR(check_documents(row));
    auto record = read_catalog_record(row, query_.documents);
    if (!record.ok()) return record.status();
    RunRow& run = out->rows.emplace_back();
    run.record = std::move(*record);
    name_versions(query_.version_name, &run.record.attributes);
    run.path = join_path(join_path(store_.path(), kRunsFolder), run.record.folder);
    const CatalogRow view(row, wants_documents(), plan_.now_us, query_.version_name);
    for (const FilterField& column : query_.columns) run.columns.push_back(view.field(column));
    return {};
  }

  const Store& store_;
  const RunsQuery& query_;
  const Plan& plan_;
  Sqlite& db_;
};

CatalogRefresh refresh_of(const RunsQuery& query) {
  return {query.project, query.files_now_us != 0 ? query.files_now_us : realtime_us(), query.progress};
}

void take_report(const Store& store, CatalogReport report, RunsList* out) {
  out->problems = std::move(report.problems);
  for (const std::string& folder : report.unsound)
    out->unsound.push_back(join_path(join_path(store.path(), kRunsFolder), folder));
  out->waiting = std::move(report.waiting);
  out->worst = report.worst;
  out->read = report.read;
}

// One moment for the count, the rows and the page.
Status list_rows(const Store& store, const RunsQuery& query, const Plan& plan, Catalog* catalog, RunsList* out) {
  TRACKER_RETURN_IF_ERROR(catalog->db().exec("BEGIN"));
  TRACKER_RETURN_IF_ERROR(Listing(store, query, plan, catalog->db()).run(out));
  if (query.name_unknown) TRACKER_RETURN_IF_ERROR(Listing(store, query, plan, catalog->db()).name_unknown(out));
  return catalog->db().exec("COMMIT");
}

Status list(const Store& store, const RunsQuery& query, const Plan& plan, Catalog::Place place, RunsList* out) {
  *out = RunsList();
  auto catalog = Catalog::open(store, place);
  if (!catalog.ok()) return catalog.status();
  out->in_memory = catalog->in_memory();
  CatalogReport report;
  const Status status = catalog->refresh(refresh_of(query), read_run_record, &report);
  take_report(store, std::move(report), out);
  if (!status.ok()) return status;
  return list_rows(store, query, plan, &*catalog, out);
}

// A bit of the catalog's that is wrong, or a row that somebody has changed, decides nothing here.
Status list_again(const Store& store, const RunsQuery& query, const Plan& plan, RunsList* out) {
  std::vector<std::string> folders;
  for (const RunRow& row : out->rows) folders.push_back(row.record.folder);
  auto catalog = Catalog::open(store, Catalog::Place::kEmptyMemory);
  if (!catalog.ok()) return catalog.status();
  CatalogReport report;
  TRACKER_RETURN_IF_ERROR(catalog->read_again(folders, refresh_of(query), read_run_record, &report));
  RunsList again;
  TRACKER_RETURN_IF_ERROR(list_rows(store, query, plan, &*catalog, &again));
  for (const std::string& folder : report.unsound)
    out->unsound.push_back(join_path(join_path(store.path(), kRunsFolder), folder));
  for (std::string& problem : report.problems)
    if (std::find(out->problems.begin(), out->problems.end(), problem) == out->problems.end())
      out->problems.push_back(std::move(problem));
  out->worst = worse_of(out->worst, report.worst);
  out->denied = out->rows.size() - std::min(out->rows.size(), again.rows.size());
  out->rows = std::move(again.rows);
  out->matched = again.matched;
  return {};
}

}  // namespace

Status name_known_field(const Store& store, const RunsQuery& query, const Status& status, FilterError* error) {
  if (error->key.empty()) return status;
  const Catalog::Place place = query.may_write ? Catalog::Place::kStore : Catalog::Place::kMemory;
  auto catalog = Catalog::open(store, place);
  if (!catalog.ok()) return status;
  CatalogReport report;
  std::vector<std::string> meant;
  if (!catalog->refresh(refresh_of(query), read_run_record, &report).ok()) return status;
  if (!Listing(store, query, Plan(), catalog->db()).fields_of(error->key, &meant).ok() || meant.empty()) return status;
  const std::string before = status.message().substr(0, status.message().size() - error->message.size());
  error->message = fmt::format("\"{}\" is no field{}", error->key, did_you_mean(meant));
  return Status(status.code(), before + error->message);
}

Result<RunsList> query_runs(const Store& store, const RunsQuery& query, FilterError* error) {
  FilterError own;
  if (error == nullptr) error = &own;
  auto plan = make_plan(query, error);
  if (!plan.ok()) return name_known_field(store, query, plan.status(), error);
  RunsList out;
  Status status(Code::kUnsupported, "not to be written");
  if (query.may_write) status = list(store, query, *plan, Catalog::Place::kStore, &out);
  // All of a damaged catalog can be had again; one that somebody still holds open is left to the next listing.
  const bool damaged = query.may_write && !status.ok() && status.code() != Code::kBusy;
  if (damaged && Catalog::discard(store).ok()) status = list(store, query, *plan, Catalog::Place::kStore, &out);
  for (const Catalog::Place place : {Catalog::Place::kMemory, Catalog::Place::kEmptyMemory})
    if (!status.ok()) status = list(store, query, *plan, place, &out);
  if (status.ok() && query.afresh && !out.rows.empty()) status = list_again(store, query, *plan, &out);
  if (!status.ok()) return status;
  return out;
}

}  // namespace tracker::internal
