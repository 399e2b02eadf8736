// SPDX-License-Identifier: MIT
// tracker init: makes the store, for this user or for a group.
#include <fmt/format.h>

#include "base/fs.h"
#include "cli/commands/command.h"
#include "cli/output/text.h"
#include "model/value.h"
#include "storage/store/share_store.h"

namespace tracker::internal {

int run_init(Console& console, const GlobalOptions& global, const InitCommandOptions& options) {
  const std::string path = Store::resolve(global.dir);
  const bool was_there = Store::open(path).ok();
  SharedStore shared;
  if (options.shared) {
    auto done = share_store(path, options.group);
    if (!done.ok()) return fail(console, done.status());
    shared = std::move(*done);
  }
  const auto store = Store::open_or_create(path);
  if (!store.ok()) return fail(console, store.status());
  const bool is_shared = is_shared_folder(path);
  if (!shared.closed_above.empty())
    console.note(fmt::format("only its owner gets through {}: `chmod g+x` there, or the group does not get here",
                             shared.closed_above));
  if (shared.of_others > 0)
    console.note(fmt::format("{} of other users stay as they are: each of them runs this command once, too",
                             counted(shared.of_others, "file")));
  if (options.json) {
    console.print(to_json(Value::Map{{"store", path},
                                     {"id", store->id().hex()},
                                     {"made", !was_there},
                                     {"shared", is_shared},
                                     {"group", shared.group.empty() ? Value() : Value(shared.group)},
                                     {"of_others", static_cast<int64_t>(shared.of_others)}},
                          2) +
                  "\n");
  } else {
    const std::string whose = !shared.group.empty() ? "the group " + shared.group + " reads and writes it"
                              : is_shared           ? "its folder's group reads and writes it"
                                                    : "as private as your umask makes it";
    console.print(visible(fmt::format("{} store {}: {}", was_there ? "the" : "made the", path, whose)) + "\n");
  }
  return finish(console, {}, Code::kOk);
}

}  // namespace tracker::internal
