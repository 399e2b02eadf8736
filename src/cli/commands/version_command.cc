// SPDX-License-Identifier: MIT
#include "cli/commands/command.h"
#include "model/value.h"
#include "tracker/version.h"

namespace tracker::internal {

int run_version(Console& console, bool json) {
  if (json)
    console.print(to_json(Value::Map{{"version", TRK_VERSION_STRING}, {"store_version", kStoreVersion}}, 2) + "\n");
  else console.print("tracker " TRK_VERSION_STRING "\n");
  return finish(console, {}, Code::kOk);
}

}  // namespace tracker::internal
