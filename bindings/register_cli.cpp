// SPDX-License-Identifier: MIT
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "cli/cli.h"
#include "register.h"

namespace tracker::python {

namespace py = pybind11;

void register_cli(py::module_& module) {
  module.def(
      "cli_main",
      [](const std::vector<std::string>& arguments) {
        std::vector<const char*> argv;
        for (const std::string& argument : arguments) argv.push_back(argument.c_str());
        argv.push_back(nullptr);
        const py::gil_scoped_release without_gil;
        return internal::cli_main(static_cast<int>(arguments.size()), argv.data());
      },
      py::arg("argv"), "Runs the command line; argv[0] is the program. Returns its exit code. Blocks without the GIL.");
}

}  // namespace tracker::python
