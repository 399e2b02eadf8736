// SPDX-License-Identifier: MIT
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "cli/args/cli.h"
#include "cli/commands/python_side.h"
#include "register.h"
#include "released_gil.h"
#include "value_convert.h"

namespace tracker::python {
namespace {

namespace py = pybind11;

using internal::Code;
using internal::Status;

// Converts the exception of a Python function to an error line of the command: no exception enters the command line's
// own code.
template <typename Call>
Status status_of_call(ReleasedGil* without_gil, Call&& call) {
  return without_gil->taken([&]() -> Status {
    try {
      call();
      return {};
    } catch (py::error_already_set& error) {
      const Code code = error.matches(PyExc_ModuleNotFoundError) ? Code::kUnsupported
                        : error.matches(PyExc_ValueError)        ? Code::kInvalid
                                                                 : Code::kIo;
      return Status(code, py::str(error.value()).cast<std::string>());
    }
  });
}

// From the module tracker._cli: import_source(store, format, source, project, progress, artifacts) and
// export_parquet(folder, metrics, all, output, progress) -> (rows, bytes, metrics), serve(store, host, port,
// takes_uploads, opens_browser, allowed_hosts).
internal::PythonSide python_side(py::handle side, ReleasedGil* without_gil) {
  internal::PythonSide out;
  out.import_source = [side, without_gil](internal::ImportStore* store, const internal::ImportOptions& options,
                                          const internal::ImportProgress& progress) {
    return status_of_call(without_gil, [&] {
      side.attr("import_source")(py::cast(store, py::return_value_policy::reference), options.format, options.source,
                                 options.project, py::cpp_function(progress), !options.no_artifacts);
    });
  };
  out.export_parquet = [side, without_gil](const std::string& folder, const internal::ExportOptions& options,
                                           const std::string& output) -> internal::Result<internal::ExportResult> {
    internal::ExportResult result;
    const Status status = status_of_call(without_gil, [&] {
      const py::object progress = options.progress ? py::object(py::cpp_function(options.progress)) : py::none();
      const py::object done = side.attr("export_parquet")(folder, options.metrics, options.all, output, progress);
      std::tie(result.rows, result.bytes, result.metrics) =
          done.cast<std::tuple<uint64_t, uint64_t, std::vector<std::string>>>();
    });
    return status.ok() ? internal::Result<internal::ExportResult>(std::move(result)) : status;
  };
  out.serve = [side, without_gil](const internal::ServeOptions& options) {
    return status_of_call(without_gil, [&] {
      side.attr("serve")(options.store, options.host, options.port, options.takes_uploads, options.opens_browser,
                         options.allowed_hosts);
    });
  };
  return out;
}

int run(const std::vector<std::string>& arguments, const py::object& side) {
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  const bool alone = side.is_none();
  ReleasedGil without_gil;
  const internal::PythonSide python = alone ? internal::PythonSide() : python_side(side, &without_gil);
  return internal::cli_main(static_cast<int>(arguments.size()), argv.data(), &python);
}

}  // namespace

void register_cli(py::module_& module) {
  module.def("cli_main", &run, py::arg("argv"), py::arg("side") = py::none(),
             "Runs the command line; argv[0] is the program. `side` has what is written in Python. Returns its exit "
             "code. Blocks without the GIL.");
}

}  // namespace tracker::python
