// SPDX-License-Identifier: MIT
// Question: how fast are the columns of segments written and read, and how many bytes does a value take? Then the same
// of whole segments of 20 series, with the shares of values, times, table of frames and directory.
// Workload: columns of 102,400 values, all of a kind; CPU time of this thread. Every column is read back and compared.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "codec/best_column.h"
#include "codec/segment.h"
#include "codec/segment_parse.h"
#include "harness.h"
#include "values.h"

using namespace tracker::internal;

namespace {

using bench::Values;

constexpr size_t kRows = 200 * kMiniRows;
constexpr int kRounds = 15;
constexpr size_t kSeries = 20;

// For the other codecs of benchmarks/e2e/column_codecs.py.
void write_raw(const std::string& name, const std::vector<uint64_t>& bits, ValueType type) {
  const char* folder = std::getenv("TRACKER_BENCH_COLUMNS");
  if (folder == nullptr) return;
  std::string plain;
  put_column(ColumnEncoding::kPlain, bits, type, &plain);
  std::ofstream(std::string(folder) + "/" + name + "." + std::string(value_type_name(type)), std::ios::binary)
      << plain.substr(1);
}

// Time of the chosen encoding by that of encoding 4 with the same values.
void beside_packed(bench::Report* report, const std::string& name, const std::vector<uint64_t>& bits, ValueType type) {
  std::vector<double> encode, decode;
  std::vector<char> out(bits.size() * 8);
  for (int round = 0; round < kRounds; ++round) {
    std::string packed, best;
    const uint64_t t0 = bench::thread_cpu_ns();
    put_column(ColumnEncoding::kPacked, bits, type, &packed);
    const uint64_t t1 = bench::thread_cpu_ns();
    encode_best_column(bits, type, &best);
    const uint64_t t2 = bench::thread_cpu_ns();
    bool ok = decode_rows(packed, bits.size(), type, RowRange(), out.data()).ok();
    const uint64_t t3 = bench::thread_cpu_ns();
    ok = decode_rows(best, bits.size(), type, RowRange(), out.data()).ok() && ok;
    const uint64_t t4 = bench::thread_cpu_ns();
    bench::Report::require(ok, "both columns decode");
    encode.push_back(static_cast<double>(t2 - t1) / static_cast<double>(t1 - t0));
    decode.push_back(static_cast<double>(t4 - t3) / static_cast<double>(t3 - t2));
  }
  report->add({name + ": encode / packed", "x", encode, 3});
  report->add({name + ": decode / packed", "x", decode, 1.5});
}

void column(bench::Report* report, const std::string& name, ValueType type, double target,
            const std::function<uint64_t(size_t)>& value) {
  std::vector<uint64_t> bits(kRows);
  for (size_t i = 0; i < kRows; ++i) bits[i] = value(i);
  write_raw(name, bits, type);
  std::vector<double> encode, decode;
  std::string bytes;
  std::vector<char> out(kRows * 8);
  for (int round = 0; round < kRounds; ++round) {
    bytes.clear();
    const uint64_t begin = bench::thread_cpu_ns();
    encode_best_column(bits, type, &bytes);
    const uint64_t middle = bench::thread_cpu_ns();
    const bool ok = decode_rows(bytes, kRows, type, RowRange(), out.data()).ok();
    const uint64_t end = bench::thread_cpu_ns();
    bench::Report::require(ok, "a column decodes");
    encode.push_back(static_cast<double>(kRows) / static_cast<double>(middle - begin) * 1e3);
    decode.push_back(static_cast<double>(kRows) / static_cast<double>(end - middle) * 1e3);
  }
  std::vector<uint64_t> back;
  bench::Report::require(decode_value_column(bytes, kRows, type, &back).ok() && back == bits, "every bit came back");
  report->add({name + ": bytes", "B", {static_cast<double>(bytes.size()) / kRows}, target});
  report->add({name + ": encode", "M/s", encode, 0});
  report->add({name + ": decode", "M/s", decode, 0});
  const auto encoding = static_cast<ColumnEncoding>(bytes[0]);
  if (encoding == ColumnEncoding::kDecimal || encoding == ColumnEncoding::kPackedThird)
    beside_packed(report, name, bits, type);
}

void columns(bench::Report* report) {
  Values v;
  const auto f32 = [](double x) { return bits_of(static_cast<float>(x)); };
  const auto n = static_cast<double>(kRows);
  column(report, "noisy float32", ValueType::kFloat32, 2.65, [&](size_t i) { return f32(v.loss(i)); });
  column(report, "noisy float32, a NaN in 1,000", ValueType::kFloat32, 0,
         [&](size_t i) { return i % 1000 == 7 ? 0x7fc00000 : f32(v.loss(i)); });
  column(report, "float64 exact in float32", ValueType::kFloat64, 0,
         [&](size_t i) { return bits_of(double{static_cast<float>(v.loss(i))}); });
  column(report, "noisy float64", ValueType::kFloat64, 6.4, [&](size_t i) { return bits_of(v.loss(i)); });
  column(report, "uniform float64", ValueType::kFloat64, 0, [&](size_t) { return bits_of(v.uniform()); });
  column(report, "random bits as float64", ValueType::kFloat64, 0, [&](size_t) { return v.bits(); });
  column(report, "noisy bfloat16", ValueType::kBFloat16, 1.0, [&](size_t i) { return f32(v.loss(i)) >> 16; });
  column(report, "learning rate float64 (cosine)", ValueType::kFloat64, 1.5,
         [&](size_t i) { return bits_of(bench::Values::cosine(i, kRows)); });
  column(report, "learning rate float64 (linear)", ValueType::kFloat64, 0,
         [&](size_t i) { return bits_of(1e-3 * (1 - static_cast<double>(i) / n)); });
  column(report, "learning rate float64 (steps)", ValueType::kFloat64, 0,
         [](size_t i) { return bits_of(0.1 * std::pow(0.1, static_cast<double>(i / 30'000))); });
  double average = 2.5;
  column(report, "moving average float64", ValueType::kFloat64, 0,
         [&](size_t i) { return bits_of(average += 0.001 * (v.loss(i) - average)); });
  column(report, "a loss of two decimals float64", ValueType::kFloat64, 0,
         [&](size_t i) { return bits_of(std::round(v.loss(i) * 100) / 100); });
  // Each target is the entropy of the digits and a tenth of it.
  column(report, "accuracy of four decimals float64", ValueType::kFloat64, 1.33,
         [&](size_t) { return bits_of(v.accuracy()); });
  column(report, "perplexity of three decimals float64", ValueType::kFloat64, 1.47,
         [&](size_t) { return bits_of(v.perplexity()); });
  column(report, "milliseconds of one decimal float64", ValueType::kFloat64, 1.195,
         [&](size_t) { return bits_of(v.milliseconds()); });
  column(report, "epoch int64", ValueType::kInt64, 0.2, [](size_t i) { return i / 782; });
  column(report, "counter int64", ValueType::kInt64, 0.2, [](size_t i) { return i * 32; });
  column(report, "constant float32", ValueType::kFloat32, 0.2, [&](size_t) { return f32(1); });
  column(report, "times", ValueType::kInt64, 0, [&](size_t i) { return static_cast<uint64_t>(v.time(i)); });
  // As people compute it: not the float64 nearest to a decimal.
  column(report, "accuracy of four decimals times 100 float64", ValueType::kFloat64, 1.33,
         [&](size_t) { return bits_of(v.accuracy() * 100); });
  column(report, "accuracy of four decimals, a NaN in 16, float64", ValueType::kFloat64, 0,
         [&](size_t) { return v.uniform() < 1.0 / 16 ? bits_of(std::nan("")) : bits_of(v.accuracy()); });
}

// Frames as a drain makes them each 100 ms at one call a millisecond.
void add_frames(SegmentBuilder* builder, ValueType type, size_t calls, Values* v) {
  constexpr size_t kCallsAFrame = 100;
  for (size_t call = 0; call < calls;) {
    Frame frame;
    frame.seq = builder->last_seq() + 1;
    Block block;
    for (uint32_t s = 1; s <= kSeries; ++s) block.series.push_back(s);
    block.types.assign(kSeries, type);
    block.values.resize(kSeries);
    for (size_t n = 0; n < kCallsAFrame && call < calls; ++n, ++call) {
      block.steps.push_back(static_cast<int64_t>(call));
      block.times_us.push_back(v->time(call));
      for (size_t s = 0; s < kSeries; ++s) {
        const uint64_t loss = bits_of(static_cast<float>(v->loss(call)));
        block.values[s].push_back(type == ValueType::kFloat32    ? loss
                                  : type == ValueType::kBFloat16 ? loss >> 16
                                  : type == ValueType::kFloat64  ? bits_of(v->loss(call))
                                                                 : call * s);
      }
    }
    frame.blocks.push_back(std::move(block));
    const std::string bytes = encode_frame(frame);
    const auto view = FrameView::parse(bytes);
    bench::Report::require(view.ok() && builder->add(*view).ok(), "a frame fits");
  }
}

void segment(bench::Report* report, const std::string& name, ValueType type, size_t calls, double target) {
  Values v;
  std::vector<double> speed;
  std::string bytes;
  SegmentBuilder builder(Id128(), size_t{1} << 30);
  for (int round = 0; round < 3; ++round) {
    add_frames(&builder, type, calls, &v);
    const uint64_t begin = bench::thread_cpu_ns();
    auto finished = builder.finish();
    bench::Report::require(finished.ok(), "a segment is written");
    bytes = *finished;
    speed.push_back(static_cast<double>(calls * kSeries) / static_cast<double>(bench::thread_cpu_ns() - begin) * 1e3);
  }
  auto view = SegmentView::parse(bytes);
  bench::Report::require(view.ok() && view->points() == calls * kSeries && view->check().ok(), "every point arrived");
  const auto directory = parse_segment(bytes, bytes.size());
  const uint64_t table = directory->frame_numbers.size + directory->frame_rows.size;
  uint64_t values = 0, shared = 0;
  for (const SegmentBlockParts& parts : directory->parts) {
    shared += parts.steps.size + parts.times.size + parts.order.size;
    for (const SegmentPart& series : parts.values) values += series.size;
  }
  const auto points = static_cast<double>(calls * kSeries);
  const auto share = [&](const char* what, uint64_t n, double limit) {
    report->add({name + ": " + what, "B", {static_cast<double>(n) / points}, limit});
  };
  share("all", bytes.size(), target);
  share("values", values, 0);
  share("steps and times", shared, 0);
  share("table of frames", table, 0.02);
  share("header and directory", bytes.size() - values - table - shared, 0);
  report->add({name + ": encode", "M/s", speed, 0});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("codec", argc, argv);
  columns(&report);
  for (const size_t calls : {1'200, 10'000, 100'000}) {
    const std::string rows = std::to_string(calls);
    const double aimed = calls == 100'000 ? 1 : 0;  // the targets are those of series of 100,000 points and more
    segment(&report, "20 float32 x " + rows, ValueType::kFloat32, calls, aimed * 2.9);
    segment(&report, "20 bfloat16 x " + rows, ValueType::kBFloat16, calls, aimed * 1.0);
    segment(&report, "20 int64 x " + rows, ValueType::kInt64, calls, aimed * 0.2);
    segment(&report, "20 float64 x " + rows, ValueType::kFloat64, calls, aimed * 6.4);
  }
  return report.write();
}
