// SPDX-License-Identifier: MIT
// A second copy of SQLite in this process, as Python's sqlite3 or pandas bring one: libsqlite3 under another name.
#pragma once

#include <dlfcn.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>

namespace tracker::internal {

// Without RTLD_DEEPBIND the second copy calls the functions of the first, and AddressSanitizer refuses it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kLoadFlags = RTLD_NOW | RTLD_LOCAL;
#else
inline constexpr int kLoadFlags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

struct SecondSqlite {
  decltype(&sqlite3_open_v2) open = nullptr;
  decltype(&sqlite3_exec) exec = nullptr;
  decltype(&sqlite3_close) close = nullptr;

  bool load(const std::string& folder) {
    Dl_info own{};
    if (::dladdr(reinterpret_cast<void*>(&sqlite3_open_v2), &own) == 0) return false;
    const std::string copy = folder + "/another-sqlite.so";
    std::filesystem::copy_file(std::filesystem::canonical(own.dli_fname), copy);
    void* library = ::dlopen(copy.c_str(), kLoadFlags);
    if (library == nullptr) return false;
    open = reinterpret_cast<decltype(open)>(::dlsym(library, "sqlite3_open_v2"));
    exec = reinterpret_cast<decltype(exec)>(::dlsym(library, "sqlite3_exec"));
    close = reinterpret_cast<decltype(close)>(::dlsym(library, "sqlite3_close"));
    return open != nullptr && exec != nullptr && close != nullptr && open != &sqlite3_open_v2;
  }

  bool open_read_close(const std::string& path) const {
    sqlite3* db = nullptr;
    bool ok = open(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK;
    ok = exec(db, "SELECT count(*), max(seq) FROM frames", nullptr, nullptr, nullptr) == SQLITE_OK && ok;
    return close(db) == SQLITE_OK && ok;
  }
};

}  // namespace tracker::internal
