// bench_step MODEL [key=value ...]: samples/s of whole training steps (forward, backward, sum over
// shards, momentum SGD), by the synchronous mode that training uses, on random data.
//   MODEL: mlp (784-512-512-10) or lenet (1x28x28); keys: batch, shards, threads, seconds, device,
//   dropout (0.2), batch_norm (1)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/nn/model.h"
#include "engine/sync/mode.h"
#include "engine/tensor/random.h"

namespace thalweg::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Settings {
  std::map<std::string, std::string> values{{"batch", "128"},   {"shards", "4"},   {"threads", "1"},
                                            {"seconds", "3"},   {"device", "cpu"}, {"dropout", "0"},
                                            {"batch_norm", "0"}};

  int number(const std::string& key) const { return std::atoi(values.at(key).c_str()); }
};

/// Different samples in each step, as in training.
struct Samples {
  Samples(const InputShape& shape, int count)
      : floats(static_cast<std::size_t>(elements(shape.sample))),
        inputs(Buffer::of_floats(floats * static_cast<std::size_t>(count))),
        labels(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; i < floats * labels.size(); ++i)
      inputs.floats()[i] = uniform01(philox(1, Stream::noise, 0, i)[0]) - 0.5f;
    for (std::size_t i = 0; i < labels.size(); ++i)
      labels[i] = static_cast<std::int32_t>(philox(1, Stream::noise, 1, i)[0] %
                                            static_cast<std::uint32_t>(shape.classes));
  }
  std::size_t floats;
  Buffer inputs;
  std::vector<std::int32_t> labels;
};

int measure(const std::string& name, const Settings& settings) {
  constexpr int batches = 16;
  const int batch = settings.number("batch"), shards = settings.number("shards");
  const InputShape shape{name == "mlp" ? Shape{784} : Shape{1, 28, 28}, 10};
  const jobspec::Map tree{{"name", name},
                          {"dropout", std::atof(settings.values.at("dropout").c_str())},
                          {"batch_norm", settings.number("batch_norm") != 0}};
  const auto model = build_model(tree, shape, batch / shards, settings.values.at("device"));
  const auto optimizer = make_optimizer<float>(
      jobspec::Map{{"name", "momentum"}, {"momentum", 0.9}}, parameters_of(*model));
  comm::Group group(std::move(comm::memory_transports(1).front()));
  LanePool lanes(*model, settings.number("threads"));
  Replica replica(*model, *optimizer);
  model->initialize(1, replica.parameters.floats(), replica.running.floats());
  const auto sync =
      make_sync_mode(jobspec::Map{},
                     {*model, *optimizer, group, lanes, replica, {shards, batch, 0, shards}, 1, 0});

  const Samples samples(shape, batch * batches);
  std::vector<double> times;
  double compute = 0, exposed = 0, update = 0, first_loss = 0, loss = 0;
  const auto step = [&](std::int64_t number) {
    const auto first = static_cast<std::size_t>(number % batches * batch);
    StepInput input;
    input.context = {number, 0.01};
    input.inputs = samples.inputs.floats() + first * samples.floats;
    input.labels = samples.labels.data() + first;
    input.sample_floats = samples.floats;
    const StepOutcome outcome = sync->step(input);
    if (number == 0) first_loss = outcome.loss;
    loss = outcome.loss;
    compute += outcome.compute_ms;
    exposed += outcome.wait_ms;
    update += outcome.optimizer_ms;
  };
  std::int64_t number = 0;
  while (number < 10)
    step(number++);
  compute = exposed = update = 0;
  for (const auto start = Clock::now(); seconds_since(start) < settings.number("seconds");) {
    const auto before = Clock::now();
    step(number++);
    times.push_back(seconds_since(before));
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2], n = static_cast<double>(times.size());
  std::printf(
      "%s parameters=%lld batch=%d shards=%d threads=%d loss %.3f->%.3f step_ms=%.3f "
      "(compute %.3f, sums %.3f, update %.3f) samples/s=%.0f\n",
      name.c_str(), static_cast<long long>(model->parameter_count()), batch, shards,
      lanes.threads(), first_loss, loss, median * 1e3, compute / n, exposed / n, update / n,
      batch / median);
  return 0;
}

}  // namespace
}  // namespace thalweg::engine

int main(int count, char** arguments) {
  using namespace thalweg::engine;
  Settings settings;
  for (int i = 2; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::size_t equals = argument.find('=');
    if (settings.values.count(argument.substr(0, equals)) == 0 || equals == std::string::npos) {
      std::fprintf(stderr, "bench_step: no setting '%s'\n", argument.c_str());
      return 2;
    }
    settings.values[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  if (count < 2) {
    std::fprintf(stderr,
                 "usage: bench_step mlp|lenet [batch=128] [shards=4] [threads=1] [seconds=3] "
                 "[device=cpu] [dropout=0] [batch_norm=0]\n");
    return 2;
  }
  try {
    return measure(arguments[1], settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_step: %s\n", error.what());
    return 1;
  }
}
