// SPDX-License-Identifier: MIT
// Artifacts: the core of the package's Artifact and of reading artifacts.
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "artifact/alias_history.h"
#include "artifact/manifest_index.h"
#include "artifact/reference.h"
#include "base/clock.h"
#include "base/fs.h"
#include "model/visible.h"
#include "register.h"
#include "released_gil.h"
#include "run/run.h"
#include "run/services/artifacts.h"
#include "value_convert.h"

namespace tracker::python {
namespace {

using internal::ArtifactDraft;
using internal::ArtifactInfo;
using internal::ArtifactUse;
using internal::ArtifactVersion;
using internal::LineageEdge;
using internal::LogArtifactOptions;
using internal::LoggedArtifact;
using internal::ManifestEntry;
using internal::NameLease;
using internal::Run;
using internal::Store;

// A call without the GIL.
template <typename F>
auto released(F&& function) {
  const ReleasedGil without_gil;
  return function();
}

// A version that is stored, and where.
struct StoredVersion {
  std::string store_path;
  ArtifactInfo info;  // without its versions
  ArtifactVersion version;
  std::vector<internal::AliasMove> moves;
  uint64_t max_disk = 0;  // of the run that uses or made it; 0: no limit, or read without a run
  std::shared_ptr<const internal::ManifestIndex> index = {};  // made by the first search for an entry
};

StoredVersion make_version(std::string store_path, ArtifactInfo info, const ArtifactVersion& version) {
  const ArtifactVersion kept = version;
  std::vector<internal::AliasMove> moves = alias_history(info);
  info.versions.clear();
  info.marks.clear();
  return {std::move(store_path), std::move(info), kept, std::move(moves)};
}

Store store_of(const StoredVersion& self) { return take(Store::open(self.store_path)); }

py::object metadata_of(const internal::Value& value) { return value_to_python(value); }

std::optional<double> seconds_of(const std::optional<int64_t>& us) {
  if (!us) return std::nullopt;
  return static_cast<double>(*us) / 1e6;
}

py::list moves_of(const StoredVersion& self) {
  py::list out;
  for (const internal::AliasMove& move : self.moves)
    out.append(py::make_tuple(move.alias, move.from, move.to, static_cast<double>(move.time_us) / 1e6, move.run));
  return out;
}

py::tuple entry_to_python(const ManifestEntry& entry) {
  const bool is_file = entry.kind == internal::EntryKind::kFile;
  return py::make_tuple(entry.path, entry.bytes, is_file ? entry.digest.hex() : "", entry.uri, entry.checksum);
}

std::optional<ManifestEntry> find_entry(StoredVersion& self, const std::string& path) {
  const Store store = store_of(self);
  std::shared_ptr<const internal::ManifestIndex> index = self.index;
  auto found = released([&]() -> internal::Result<std::optional<ManifestEntry>> {
    if (index == nullptr) {
      auto made = internal::ManifestIndex::build(store, self.version.manifest);
      if (!made.ok()) return made.status();
      index = std::make_shared<const internal::ManifestIndex>(std::move(*made));
    }
    return index->find(store, path);
  });
  self.index = std::move(index);
  return take(std::move(found));
}

py::object entry_of(StoredVersion& self, const std::string& path) {
  const std::optional<ManifestEntry> found = find_entry(self, path);
  return found ? entry_to_python(*found) : py::object(py::none());
}

py::list entries_of(const StoredVersion& self) {
  std::vector<ManifestEntry> all;
  check(released([&]() -> internal::Status {
    const auto store = Store::open(self.store_path);
    if (!store.ok()) return store.status();
    const auto manifest = internal::StoredManifest::open(*store, self.version.manifest);
    if (!manifest.ok()) return manifest.status();
    return manifest->visit([&](const ManifestEntry& entry) {
      all.push_back(entry);
      return internal::Status();
    });
  }));
  py::list out;
  for (const ManifestEntry& entry : all) out.append(entry_to_python(entry));
  return out;
}

// `path`: that one file alone.
py::tuple download(StoredVersion& self, const std::string& root, const std::string& prefix, const std::string& path) {
  const Store store = store_of(self);
  std::optional<ManifestEntry> one;
  if (!path.empty() && !(one = find_entry(self, path)))
    check(internal::Status(internal::Code::kNotFound, "the artifact has no file \"" + path + "\""));
  const std::string folder = root.empty() ? internal::download_folder(store, self.info, self.version) : root;
  const internal::DownloadChoice choice{prefix, one ? &*one : nullptr};
  auto report = released([&] {
    return root.empty() ? internal::download_into_bounded_store(store, self.info, self.version, choice, self.max_disk)
                        : internal::download_artifact(store, self.version, folder, choice);
  });
  const internal::DownloadReport done = take(std::move(report));
  return py::make_tuple(folder, done.files, done.bytes, done.kept, done.references);
}

// How many there are, and the first of them.
std::tuple<uint64_t, std::string, std::string> verify(const StoredVersion& self, bool deep) {
  const Store store = store_of(self);
  auto found = released([&] { return internal::verify_artifact(store, self.version, deep); });
  const internal::ArtifactFindings findings = take(std::move(found));
  if (findings.empty()) return {};
  return {findings.size(), findings.listed[0].path, findings.listed[0].what};
}

py::dict edge_to_python(const LineageEdge& edge, const std::string& version_name) {
  py::dict out;
  out["use"] = edge.use == ArtifactUse::kOutput ? "output" : "input";
  out["run_project"] = edge.run.project;
  out["run_id"] = edge.run.id;
  out["run_uid"] = edge.run.uid.hex();
  out["project"] = edge.project;
  out["name"] = edge.name;
  out["type"] = edge.type;
  out["version_name"] = version_name;
  out["digest"] = edge.content.hex();
  out["aliases"] = edge.aliases;
  out["use_as"] = edge.use_as;
  out["time"] = static_cast<double>(edge.time_us) / 1e6;
  return out;
}

// With lines about what could not be read.
py::tuple edges_of_version(const StoredVersion& self, bool outputs) {
  const Store store = store_of(self);
  std::vector<std::string> problems;
  const std::vector<LineageEdge> edges = released([&] {
    const internal::Lineage lineage = internal::read_lineage(store);
    for (const internal::Status& each : lineage.problems) problems.push_back(internal::visible(each.to_string()));
    if (lineage.cut)
      problems.push_back("only the first " + std::to_string(internal::kLineageEdgesMax) +
                         " uses of the store were examined");
    return internal::edges_of_version(lineage, {self.info.project, self.info.name, self.version.content},
                                      outputs ? ArtifactUse::kOutput : ArtifactUse::kInput);
  });
  py::list out;
  for (const LineageEdge& edge : edges) out.append(edge_to_python(edge, edge.version_name()));
  return py::make_tuple(out, problems);
}

// <store>/runs/<project>/<id>
std::string store_of_folder(const std::string& path) {
  using internal::parent_path;
  return parent_path(parent_path(parent_path(path)));
}

// The versions with the names of the run's store; for a run without a store, with the names that the run recorded.
py::list edges_of_folder(const internal::RunFolder& folder) {
  std::vector<std::string> names;
  const std::vector<LineageEdge> edges = released([&] {
    std::vector<LineageEdge> found = internal::edges_of_run(folder);
    const auto store = found.empty() ? internal::Result<Store>(internal::Status(internal::Code::kNotFound, ""))
                                     : Store::open(store_of_folder(folder.path));
    std::optional<internal::VersionNumbers> numbers;
    if (store.ok()) numbers.emplace(*store);
    for (const LineageEdge& edge : found)
      names.push_back(numbers ? numbers->name_of(edge.version(), edge.number) : edge.version_name());
    return found;
  });
  py::list out;
  for (size_t i = 0; i < edges.size(); ++i) out.append(edge_to_python(edges[i], names[i]));
  return out;
}

py::list refused_by_folder(const internal::RunFolder& folder) {
  const auto refused = released([&] { return internal::refused_by_run(folder); });
  py::list out;
  for (const internal::RefusedArtifact& each : refused)
    out.append(py::make_tuple(each.project + "/" + each.name, each.type,
                              each.use == ArtifactUse::kOutput ? "output" : "input", each.use_as, each.reason,
                              static_cast<double>(each.time_us) / 1e6,
                              each.number > 0 ? py::object(py::int_(each.number)) : py::object(py::none()),
                              py::tuple(py::cast(each.aliases))));
  return out;
}

StoredVersion find(const Store& store, const std::string& name, const std::string& project) {
  auto found = take(released([&] { return internal::find_artifact(store, name, project); }));
  return make_version(store.path(), std::move(found.info), found.version);
}

// All versions that were not deleted, newest first within a name; and lines about what could not be read.
py::tuple list_artifacts(const Store& store, const std::string& project) {
  std::vector<internal::Status> problems;
  const std::vector<ArtifactInfo> all =
      released([&] { return internal::ArtifactRegistry(store).list(project, &problems); });
  py::list out;
  for (const ArtifactInfo& info : all) {
    ArtifactInfo head;
    head.project = info.project;
    head.name = info.name;
    head.type = info.type;
    head.created_us = info.created_us;
    problems.insert(problems.end(), info.problems.begin(), info.problems.end());
    const std::vector<internal::AliasMove> moves = alias_history(info);
    for (auto at = info.versions.rbegin(); at != info.versions.rend(); ++at)
      if (!at->deleted) out.append(py::cast(StoredVersion{store.path(), head, *at, moves}));
  }
  std::vector<std::string> lines;
  for (const internal::Status& problem : problems) lines.push_back(internal::visible(problem.to_string()));
  return py::make_tuple(out, lines);
}

std::shared_ptr<LoggedArtifact> log_artifact(Run& run, const ArtifactDraft& draft, std::vector<std::string> aliases,
                                             std::vector<std::string> tags, std::optional<int64_t> ttl_s, bool is_input,
                                             std::string use_as, std::string staging, std::shared_ptr<NameLease> held) {
  LogArtifactOptions options{
      std::move(aliases), std::move(tags),    ttl_s,          is_input ? ArtifactUse::kInput : ArtifactUse::kOutput,
      std::move(use_as),  std::move(staging), std::move(held)};
  return take(released([&] { return run.log_artifact(draft, std::move(options)); }));
}

StoredVersion use_artifact(Run& run, const std::string& name, const std::string& use_as) {
  auto used = released([&] { return run.use_artifact(name, use_as); });
  if (used.status().code() == internal::Code::kTimeout) {
    PyErr_SetString(PyExc_TimeoutError, internal::visible(used.status().to_string()).c_str());
    throw py::error_already_set();
  }
  auto found = take(std::move(used));
  StoredVersion out = make_version(run.store_path(), std::move(found.info), found.version);
  out.max_disk = run.max_disk();
  return out;
}

// Returns true if it is stored. Raises if it was refused.
bool wait(const LoggedArtifact& self, double seconds) {
  const std::chrono::milliseconds timeout(static_cast<int64_t>(std::clamp(seconds, 0.0, 86400.0) * 1000));
  const internal::Status status = released([&] { return self.wait(timeout); });
  if (status.code() == internal::Code::kTimeout && self.state() == internal::ArtifactState::kPending) return false;
  check(status);
  return true;
}

std::string state_of(const LoggedArtifact& self) {
  switch (self.state()) {
    case internal::ArtifactState::kPending: return "pending";
    case internal::ArtifactState::kStored: return "stored";
    case internal::ArtifactState::kFailed: return "failed";
    case internal::ArtifactState::kNotRecorded: return "not recorded";
  }
  return "failed";
}

py::object version_of(const LoggedArtifact& self, const std::string& store_path) {
  const std::optional<ArtifactVersion> version = self.version();
  if (!version) return py::none();
  ArtifactInfo info;
  info.project = self.project;
  info.name = self.name;
  info.type = self.type;
  return py::cast(StoredVersion{store_path, info, *version, {}, self.max_disk});
}

internal::HoldBy hold_by(std::optional<bool> copy) {
  if (!copy) return internal::HoldBy::kAuto;
  return *copy ? internal::HoldBy::kCopy : internal::HoldBy::kOpen;
}

void register_draft(py::module_& module) {
  py::class_<ArtifactDraft>(module, "ArtifactDraft", "An artifact in the making.")
      .def(py::init(
               [](const std::string& name, const std::string& type) { return take(ArtifactDraft::make(name, type)); }),
           py::arg("name"), py::arg("type"))
      .def(
          "add_file",
          [](ArtifactDraft& self, const std::string& file, const std::string& path, std::optional<bool> copy) {
            check(released([&] { return self.add_file(file, path, hold_by(copy)); }));
          },
          py::arg("file"), py::arg("path"), py::arg("copy"))
      .def(
          "add_folder",
          [](ArtifactDraft& self, const std::string& folder, const std::string& path, std::optional<bool> copy) {
            check(released([&] { return self.add_folder(folder, path, hold_by(copy)); }));
          },
          py::arg("folder"), py::arg("path"), py::arg("copy"))
      .def(
          "hold",
          [](ArtifactDraft& self, const std::string& store_path, bool may_copy) {
            self.hold(std::make_shared<internal::HeldFiles>(store_path, may_copy));
          },
          py::arg("store_path"), py::arg("may_copy"))
      .def("release_held", [](ArtifactDraft& self) { released([&] { self.release_held(); }); })
      .def(
          "add_reference",
          [](ArtifactDraft& self, const std::string& uri, const std::string& path, const std::string& checksum,
             uint64_t bytes) { check(self.add_reference(uri, path, checksum, bytes)); },
          py::arg("uri"), py::arg("path"), py::arg("checksum"), py::arg("bytes"))
      .def(
          "remove", [](ArtifactDraft& self, const std::string& path) { check(self.remove(path)); }, py::arg("path"))
      .def("contains", &ArtifactDraft::contains, py::arg("path"))
      .def(
          "set",
          [](ArtifactDraft& self, const std::string& description, py::handle metadata) {
            internal::Value value = value_from(metadata);
            self.description = description;
            self.metadata = std::move(value);
          },
          py::arg("description"), py::arg("metadata"))
      .def("entries",
           [](const ArtifactDraft& self) {
             std::vector<ManifestEntry> all;
             check(released([&] {
               return self.visit([&](const ArtifactDraft::Item& item) {
                 all.push_back(item.entry);
                 return internal::Status();
               });
             }));
             py::list out;
             for (const ManifestEntry& each : all)
               out.append(py::make_tuple(each.path, each.bytes, "", each.uri, each.checksum));
             return out;
           })
      .def_property_readonly("files", &ArtifactDraft::files)
      .def_property_readonly("bytes", &ArtifactDraft::bytes)
      .def_readonly("name", &ArtifactDraft::name)
      .def_readonly("type", &ArtifactDraft::type);
}

}  // namespace

void register_artifact(py::module_& module) {
  register_draft(module);
  py::class_<LoggedArtifact, std::shared_ptr<LoggedArtifact>>(module, "LoggedArtifact",
                                                              "An artifact that a run logged.")
      .def("wait", &wait, py::arg("seconds"))
      .def_property_readonly("state", &state_of)
      .def_property_readonly("files_done", &LoggedArtifact::files_done)
      .def_property_readonly("bytes_done", &LoggedArtifact::bytes_done)
      .def("version", &version_of, py::arg("store_path"));
  py::class_<NameLease, std::shared_ptr<NameLease>>(
      module, "NameLease", "A lease on a staging folder: gc keeps the folder as long as this object exists.")
      .def(py::init<const std::string&, const std::string&>(), py::arg("folder"), py::arg("name"));
  py::class_<StoredVersion>(module, "StoredVersion", "A version of an artifact in a store.")
      .def_property_readonly("project", [](const StoredVersion& self) { return self.info.project; })
      .def_property_readonly("name", [](const StoredVersion& self) { return self.info.name; })
      .def_property_readonly("type", [](const StoredVersion& self) { return self.info.type; })
      .def_property_readonly("number", [](const StoredVersion& self) { return self.version.number; })
      .def_property_readonly("digest", [](const StoredVersion& self) { return self.version.content.hex(); })
      .def_property_readonly("aliases", [](const StoredVersion& self) { return self.version.aliases; })
      .def_property_readonly("moves", &moves_of)
      .def_property_readonly("tags", [](const StoredVersion& self) { return self.version.tags; })
      .def_property_readonly("files", [](const StoredVersion& self) { return self.version.files; })
      .def_property_readonly("references", [](const StoredVersion& self) { return self.version.references; })
      .def_property_readonly("bytes", [](const StoredVersion& self) { return self.version.bytes; })
      .def_property_readonly("created", [](const StoredVersion& self) { return seconds_of(self.version.created_us); })
      .def_property_readonly("expires", [](const StoredVersion& self) { return seconds_of(self.version.expires_us); })
      .def_property_readonly("run", [](const StoredVersion& self) { return self.version.run; })
      .def_property_readonly("description", [](const StoredVersion& self) { return self.version.description; })
      .def_property_readonly("metadata", [](const StoredVersion& self) { return metadata_of(self.version.metadata); })
      .def_readonly("store_path", &StoredVersion::store_path)
      .def("entries", &entries_of)
      .def("entry", &entry_of, py::arg("path"))
      .def("download", &download, py::arg("root"), py::arg("prefix"), py::arg("path"))
      .def("verify", &verify, py::arg("deep"))
      .def("edges", &edges_of_version, py::arg("outputs"));
  module.def("make_store_folder", [](const std::string& path) { check(internal::make_dirs(path)); }, py::arg("path"));
  module.def("log_artifact", &log_artifact, py::arg("run"), py::arg("draft"), py::arg("aliases"), py::arg("tags"),
             py::arg("ttl_s"), py::arg("is_input"), py::arg("use_as"), py::arg("staging"), py::arg("held"));
  module.def("use_artifact", &use_artifact, py::arg("run"), py::arg("name"), py::arg("use_as"));
  module.def("find_artifact", &find, py::arg("store"), py::arg("name"), py::arg("project"));
  module.def("list_artifacts", &list_artifacts, py::arg("store"), py::arg("project"));
  module.def("edges_of_run", &edges_of_folder, py::arg("folder"));
  module.def("refused_by_run", &refused_by_folder, py::arg("folder"));
}

}  // namespace tracker::python
