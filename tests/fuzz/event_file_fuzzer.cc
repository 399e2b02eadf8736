// SPDX-License-Identifier: MIT
// Goal: no bytes make the reader of TensorBoard's event files crash, run for ever, or take memory that is not there.
// Method: the input as a file, whose CRCs a fuzzer does not guess; and as the message within a record.
#include <cstddef>
#include <cstdint>
#include <string>

#include "exchange/event_file.h"
#include "exchange/event_media.h"
#include "exchange/wire.h"
#include "scratch.h"

using namespace tracker::internal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scratch scratch;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  auto file = EventFile::open(scratch.write("events", input));
  for (std::string_view record; file.ok();) {
    auto got = file->next(&record);
    if (got.ok() && !*got) break;
  }
  WireReader reader(input);
  WireField field;
  while (reader.next(&field)) {
    EventValue value;
    if (field.type == WireType::kBytes) (void)read_event_value(field.bytes, &value);
    if (field.type == WireType::kBytes)
      for (const char* plugin : {"", "images", "histograms", "audio"}) (void)read_event_media(value, plugin);
  }
  EventValue value;
  (void)read_event_value(input, &value);
  return 0;
}
