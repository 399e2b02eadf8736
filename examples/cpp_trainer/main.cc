// SPDX-License-Identifier: MIT
// Data-parallel training in plain C++: each thread learns from its shard and logs its own loss, the step's sums are
// added up behind a barrier. A handle may be shared by threads; each thread writes into a ring of its own and waits for
// no other.
#include <barrier>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <tracker/tracker.hpp>
#include <vector>

#include "network.h"

namespace {

constexpr int kThreads = 4;
constexpr int kSteps = 1500;
constexpr size_t kBatch = 16;  // examples a thread and step
constexpr double kLearningRate = 0.3;

struct Shard {
  std::vector<Example> examples;
  Network gradient;
  size_t at = 0;
};

std::vector<Shard> split(const std::vector<Example>& examples) {
  std::vector<Shard> shards(kThreads);
  for (size_t i = 0; i < examples.size(); ++i) shards[i % kThreads].examples.push_back(examples[i]);
  return shards;
}

void train(tracker::Run& run, Network* network, std::vector<Shard>* shards, const std::vector<Example>& held_out) {
  int step = 0;
  // Runs on the thread that comes last, while the others wait: the only place where the network changes.
  const auto update = [&]() noexcept {
    for (Shard& shard : *shards) {
      network->add(shard.gradient, -kLearningRate / static_cast<double>(kBatch * kThreads));
      shard.gradient = Network{};
    }
    if (step % 50 == 0) {
      const Score score = evaluate(*network, held_out);
      run.log({{"val/loss", score.loss}, {"val/acc", score.accuracy}}, step);
    }
    ++step;
  };
  std::barrier barrier(kThreads, update);
  const auto work = [&](int index) {
    Shard& shard = (*shards)[static_cast<size_t>(index)];
    const tracker::Metric loss = run.metric("train/loss/" + std::to_string(index));
    for (int s = 0; s < kSteps; ++s) {
      double sum = 0;
      for (size_t i = 0; i < kBatch; ++i) {
        sum += network->learn(shard.examples[shard.at], &shard.gradient);
        shard.at = (shard.at + 1) % shard.examples.size();
      }
      loss.log(sum / static_cast<double>(kBatch), s);
      barrier.arrive_and_wait();
    }
  };
  std::vector<std::thread> threads;
  for (int index = 0; index < kThreads; ++index) threads.emplace_back(work, index);
  for (std::thread& thread : threads) thread.join();
}

// The network as a file of an artifact that the run has made; false: it is not stored.
bool store(const tracker::Run& run, const Network& network) {
  tracker::Artifact model("spirals-model", "model");
  std::ofstream file(model.new_file(run, "network.bin"), std::ios::binary);
  file.write(reinterpret_cast<const char*>(&network), sizeof network);
  file.close();
  run.log_artifact(model, {.aliases = {"last"}});
  if (model.wait() != tracker::Code::kOk || model.verify() != tracker::Code::kOk) {
    std::printf("the model is not stored: %s\n", model.error().c_str());
    return false;
  }
  for (const tracker::ArtifactUse& made : run.outputs()) std::printf("made %s\n", made.name.c_str());
  for (const tracker::ArtifactFile& each : model.list_files())
    std::printf("  %s, %llu bytes\n", each.path.c_str(), static_cast<unsigned long long>(each.bytes));
  return model.get_path("network.bin") != "";
}

}  // namespace

int main() {
  auto run = tracker::init({.project = "spirals",
                            .config = {{"threads", kThreads},
                                       {"steps", kSteps},
                                       {"batch", kBatch * kThreads},
                                       {"lr", kLearningRate},
                                       {"model/hidden", kHidden}},
                            .tags = {"example"}});
  std::vector<Shard> shards = split(make_spirals(2000, 1));
  const std::vector<Example> held_out = make_spirals(400, 2);
  Network network = Network::random(3);
  train(run, &network, &shards, held_out);

  const Score score = evaluate(network, held_out);
  run.set_summary("val/acc", score.accuracy);
  const bool stored = store(run, network);
  run.finish();
  const tracker::Status status = run.status();
  std::printf("accuracy %.3f; %llu points logged, %llu stored\n", score.accuracy,
              static_cast<unsigned long long>(status.points_logged),
              static_cast<unsigned long long>(status.points_stored));
  // So that it can serve as a test: it has learnt, and nothing is missing.
  constexpr unsigned long long kPoints = kThreads * kSteps + 2 * (kSteps / 50);
  return stored && score.accuracy > 0.9 && status.points_stored == kPoints ? 0 : 1;
}
