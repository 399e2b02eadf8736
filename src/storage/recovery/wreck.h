// SPDX-License-Identifier: MIT
// Wrecks: folders of runs of which neither run.json nor a database says who they are. `ls` names them as damaged and
// `rm` takes them away; a wreck is known by where it stands. Threads: any.
#pragma once

#include <string_view>

#include "storage/store/run_folder.h"
#include "storage/store/store.h"

namespace tracker::internal {

// `name`: project/id or an id alone, as the run had them, or the path of the folder. Who the run is comes from a
// journal on this machine where there is one; else its uid is zero, and project and id are as in `name`, or as the
// folders are called. kNotFound: no such folder, or it is no wreck; kInvalid: an id of several; kVersion: its run.json
// is of a newer version. Cost: a look at each project, and at each journal of this user.
Result<RunFolder> find_wreck(const Store& store, std::string_view name);

}  // namespace tracker::internal
