// SPDX-License-Identifier: MIT
// Replays kept inputs through a fuzzer, in builds without libFuzzer: each file of the folder named on the command line,
// each of its truncations, and each with one byte changed, so that a handful of files still walks most error paths. A
// second argument n leaves that to each nth byte, for fuzzers whose runs take milliseconds.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kMutatedBytesMax = 4096;

void run_one(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  run_one("");
  if (argc < 2 || !std::filesystem::is_directory(argv[1])) {
    std::fprintf(stderr, "no folder of inputs: %s\n", argc < 2 ? "" : argv[1]);
    return 1;
  }
  const size_t stride = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  if (stride == 0) return 1;
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::string input((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    ++files;
    run_one(input);
    if (input.size() > kMutatedBytesMax) continue;
    for (size_t size = 0; size < input.size(); size += stride) run_one(input.substr(0, size));
    for (size_t at = 0; at < input.size(); at += stride) {
      const char kept = input[at];
      input[at] = static_cast<char>(kept ^ 0xff);
      run_one(input);
      input[at] = kept;
    }
  }
  std::printf("%zu inputs replayed\n", files);
  return files > 0 ? 0 : 1;
}
