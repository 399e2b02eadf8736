// SPDX-License-Identifier: MIT
// Names: which metric keys, projects and run ids are accepted, and how names become folder names. Threads: pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace tracker::internal {

// Limit: bytes of UTF-8 of a metric, config or summary key. Beyond it: the value is counted as rejected and the key
// named once on stderr; config and summary raise ValueError too.
constexpr size_t kKeyBytesMax = 1024;
// Limit: bytes of UTF-8 of a project, id, name, group, job_type, tag, alias, artifact name or type. Beyond it: an
// error.
constexpr size_t kLabelBytesMax = 256;
constexpr size_t kFolderNameBytesMax = 200;
// Limit: bytes of the path of a run's folder; of project and id each byte but letters, digits, ., _ and - takes three.
// Beyond it: an error of init.
constexpr size_t kRunPathBytesMax =
    440;  // of the folder of a run; SQLite takes 512 with the name of a file in the making
// Limit: bytes of a text that passes through the ring (P1). Beyond it: it waits in memory for the disk, at most 100 ms.
constexpr size_t kInlineTextBytesMax = 64 * 1024;

bool is_utf8(std::string_view text);
// A metric, config or summary key: 1..1024 bytes of UTF-8 without NUL. kInvalid says which rule was broken.
Status check_key(std::string_view key);
// A label such as a project or an id: 1..256 bytes of UTF-8 without control characters. `what` names it in the message.
Status check_label(std::string_view what, std::string_view label);

// A folder name made from a label: [A-Za-z0-9._-] kept, every other byte as %XX, "." and ".." escaped, cut at
// kFolderNameBytesMax and a hash of the whole label after it. Different labels give different names.
std::string folder_name(std::string_view label);

}  // namespace tracker::internal
