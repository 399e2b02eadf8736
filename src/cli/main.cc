// SPDX-License-Identifier: MIT
#include "cli/cli.h"

int main(int argc, char** argv) { return tracker::internal::cli_main(argc, argv); }
