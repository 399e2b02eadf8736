// SPDX-License-Identifier: MIT
// Goal: packages are those that importlib.metadata finds, within a bound. Method: folders as installers make them.
#include "monitor/source/python_packages.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_folder.h"

namespace tracker::internal {
namespace {

void install(const std::string& folder, const std::string& metadata, const std::string& name,
             const std::string& version) {
  const std::filesystem::path path = folder + "/" + metadata;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << "Metadata-Version: 2.1\nName: " << name << "\nVersion: " << version
                      << "\n\nName: of the text\n";
}

TEST(PackagesTest, NamesAndVersionsComeFromTheMetadataAndTheFirstPathWins) {
  const TempFolder first, second;
  install(first.path(), "PyYAML-6.0.dist-info/METADATA", "PyYAML", "6.0");
  install(first.path(), "old-1.egg-info/PKG-INFO", "old", "1");
  install(first.path(), "flat-2.egg-info", "flat", "2");
  install(second.path(), "pyyaml-5.1.dist-info/METADATA", "pyyaml", "5.1");
  std::filesystem::create_directories(second.path() + "/broken-1.dist-info");
  size_t left_out = 0;
  const Value value = python_packages({first.path(), "/no/such/folder", second.path(), "lib.zip"}, &left_out);
  EXPECT_EQ(to_json(value), R"({"flat":"2","old":"1","PyYAML":"6.0"})");
  EXPECT_EQ(left_out, 0u);
}

TEST(PackagesTest, NameAndVersionAreFoundAsFarAsTheHeadOfTheMetadataReaches) {
  // Bug: the start of a line that the bound cut was the name or the version.
  const TempFolder folder;
  const auto write = [&folder](const std::string& name, size_t bytes) {
    const std::string end = "\nName: " + name + "\nVersion: 1.23\n", begin = "Summary: ";
    std::ofstream(folder.path() + "/" + name + "-1.egg-info")
        << begin << std::string(bytes - begin.size() - end.size(), 'x') << end << "License: MIT\n";
  };
  write("whole", kPackageHeadBytes);
  write("cut", kPackageHeadBytes + 2);
  write("named", kPackageHeadBytes + 14);
  write("name", kPackageHeadBytes + 16);
  size_t left_out = 0;
  EXPECT_EQ(to_json(python_packages({folder.path()}, &left_out)), R"({"cut":"","named":"","whole":"1.23"})");
}

TEST(PackagesTest, SoManyPathsAreLookedInto) {
  const TempFolder last, beyond;
  install(last.path(), "last-1.egg-info", "last", "1");
  install(beyond.path(), "beyond-1.egg-info", "beyond", "1");
  std::vector<std::string> paths(kPythonPathsMax - 1, "/no/such/folder");
  paths.push_back(last.path());
  paths.push_back(beyond.path());
  size_t left_out = 0;
  EXPECT_EQ(to_json(python_packages(paths, &left_out)), R"({"last":"1"})");
}

TEST(PackagesTest, ThoseBeyondTheBoundAreCounted) {
  const TempFolder folder;
  for (size_t i = 0; i < kPackagesMax + 3; ++i) {
    const std::string name = "p" + std::to_string(i);
    install(folder.path(), name + "-1.egg-info", name, "1");
  }
  size_t left_out = 0;
  EXPECT_EQ(python_packages({folder.path()}, &left_out).as_map()->size(), kPackagesMax);
  EXPECT_EQ(left_out, 3u);
}

}  // namespace
}  // namespace tracker::internal
