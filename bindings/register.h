// SPDX-License-Identifier: MIT
// The parts of the module tracker._core, one function for each file.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

namespace tracker::internal {
class Run;
}

namespace tracker::python {

class View;

void register_run(pybind11::module_& module);   // RunCore: init and the verbs beside log
void register_read(pybind11::module_& module);  // Store, RunFolder, RunView
// Column, Rows, Table, and the functions of RunView that read rows: history, align, chart, tail
void register_query(pybind11::module_& module, pybind11::class_<View>& type);
// The functions of RunCore and RunView for media.
void register_media(pybind11::module_& module, pybind11::class_<internal::Run, std::shared_ptr<internal::Run>>& run);
void register_media_reading(pybind11::class_<View>& view);
void register_runs(pybind11::module_& module);      // query_runs
void register_artifact(pybind11::module_& module);  // ArtifactDraft, LoggedArtifact, StoredVersion and their verbs
void register_import(pybind11::module_& module);    // ImportStore, RunImport
void register_cli(pybind11::module_& module);       // cli_main
void register_server(pybind11::module_& module);    // Service
void register_console(pybind11::module_& module);   // flush_c_streams
void register_values(pybind11::module_& module);    // summarize_values, count_in_bins

}  // namespace tracker::python
