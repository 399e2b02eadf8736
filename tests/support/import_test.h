// SPDX-License-Identifier: MIT
// A folder of files of other tools, and a store that they are imported into.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "exchange/event_file.h"
#include "exchange/import_source.h"
#include "query/view/run_view.h"
#include "support/temp_folder.h"

namespace tracker::internal {

class ImportTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    const std::string path = source_.path() + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  // What an import of the source folder brings; its report is kept.
  Status import(const std::string& format, const std::string& path = "") {
    auto store = ImportStore::open(store_path());
    if (!store.ok()) return store.status();
    const ImportOptions options{path.empty() ? source_.path() : path, format, "p", store_media_};
    const auto files = look_for_files(options.source);
    if (!files.ok()) return files.status();
    const Status status = format == "csv" ? import_csv(store->get(), options, *files, {})
                                          : import_tensorboard(store->get(), options, *files, {});
    report_ = (*store)->report();
    return status;
  }
  std::unique_ptr<RunView> view(size_t index = 0) {
    auto store = Store::open(store_path());
    EXPECT_TRUE(store.ok());
    auto folder = store->find_run("p", report_.runs.at(index).run.id);
    EXPECT_TRUE(folder.has_value());
    auto out = RunView::open(*folder);
    EXPECT_TRUE(out.ok()) << out.status().to_string();
    return std::move(*out);
  }
  std::string store_path() const { return store_.path() + "/store"; }
  size_t names_in_store() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(store_path()), {}));
  }

  TempFolder source_, store_;
  ImportReport report_;
  StoreMedia store_media_;
};

inline std::string scalars(int from, int to, const std::string& tag = "loss") {
  std::string out;
  for (int i = from; i < to; ++i)
    append_scalar_event(tag, ValueType::kFloat32, bits_of(1.0f / static_cast<float>(i + 1)), i * 10, 1.7e9 + i * 0.25,
                        &out);
  return out;
}

}  // namespace tracker::internal
