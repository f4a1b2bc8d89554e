// The steps of all sync modes side by side, and how much of their communication hides behind
// computation:
//   thalweg-launch -n 2 -- bench_sync [MODEL ...] [key=value ...]
//   MODEL: mlp (784-512-512-10), lenet (1x28x28); both where none is named
//   keys: batch (128), shards (4), threads (1), rounds (12), steps (40, in a round), device (cpu),
//   rows (all; names of rows separated by commas), slowdown (4,4,2,1: ranks slowed so on purpose;
//   adds the row "unequal": shares by speed), and any option of train.sync
// The same training by turns in one run; the table has the medians of all steps, averaged over the
// ranks, but for samples/s, which is of all steps together: modes that communicate now and then
// have steps of several kinds, and in those of "abs" there are as many samples as fit in. Rank 0
// prints.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/comm/wireup/wireup.h"
#include "engine/device/input_shape.h"
#include "engine/nn/model.h"
#include "engine/sync/bucket_tuner.h"
#include "engine/sync/emulate.h"
#include "engine/sync/mode.h"
#include "engine/sync/server_roles.h"
#include "engine/tensor/random.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Settings {
  std::map<std::string, std::string> values{{"batch", "128"}, {"shards", "4"}, {"threads", "1"},
                                            {"rounds", "12"}, {"steps", "40"}, {"device", "cpu"},
                                            {"rows", ""},     {"slowdown", ""}};
  jobspec::Map sync;
  std::vector<std::string> models;

  int number(const std::string& key) const { return std::atoi(values.at(key).c_str()); }
};

/// What is measured of every step, in ms.
enum Column : std::size_t { kStep, kCompute, kComm, kExposed, kSkew, kUpdate, kColumns };
constexpr const char* kHeads[] = {"step", "backward", "comm", "exposed", "skew", "update"};

constexpr const char* kUnequal = "unequal";  ///< shares by speed

/// What is compared; the first row that is measured is the reference.
const std::vector<std::pair<const char*, jobspec::Map>>& rows() {
  using jobspec::Map;
  static const std::vector<std::pair<const char*, Map>> all = {
      {"sync", Map{}},
      {"no overlap", Map{{"overlap", false}}},
      {"sum: ranks", Map{{"sum", "ranks"}}},
      {"bf16", Map{{"compress", "bf16"}}},
      {"powersgd", Map{{"compress", "powersgd"}}},
      {"lag 1", Map{{"mode", "lag"}}},
      {"local 8", Map{{"mode", "local"}, {"period", 8}}},
      {"abs", Map{{"mode", "abs"}}},
      {"async", Map{{"mode", "async"}}},
      {"async with server", Map{{"mode", "async"}, {"servers", 1}}},
      {"hybrid 2", Map{{"mode", "hybrid"}, {"groups", 2}}},
      {"hybrid with server", Map{{"mode", "hybrid"}, {"groups", 2}, {"servers", 1}}},
      {"adasum", Map{{"mode", "adasum"}}},
      {"adasum, change", Map{{"mode", "adasum"}, {"form", "change"}}},
      {kUnequal, Map{}},
  };
  return all;
}

/// The same samples again and again, for modes that ask for more of them when they want to.
class Repeated final : public SampleSource {
 public:
  explicit Repeated(const StepInput& samples) : samples_(samples) {}
  void want(const std::vector<std::int64_t>& shards) override { wanted_ = shards; }
  void next(StepInput& input) override {
    input.inputs = samples_.inputs;
    input.labels = samples_.labels;
    input.sample_floats = samples_.sample_floats;
    input.shards = wanted_.data();
  }

 private:
  const StepInput& samples_;
  std::vector<std::int64_t> wanted_;
};

/// One row, with all that it needs.
struct Training {
  Training(const char* row, const Model& model, const Optimizer<float>& optimizer,
           comm::Group& group, ExecutorPool& executors, const Sharding& sharding,
           const jobspec::Map& sync, const Emulation& emulation)
      : name(row),
        batch(sharding.global_batch),
        firsts(group.first_shards(sharding.shards)),
        replica(model, optimizer) {
    model.initialize(1, replica.parameters.floats(), replica.running.floats());
    SyncParts parts{model, optimizer, group, executors, replica, sharding, 1};
    parts.emulation = &emulation;
    for (const auto& [key, value] : sync)
      tuning = tuning || (key == "bucket_mib" && value == jobspec::Value("auto"));
    parts.on_buckets = [this, &group](const BucketChoice& choice) {
      tuning = false;
      if (group.rank() == 0) std::printf("%s: %s\n", name, choice.text.c_str());
    };
    mode = make_sync_mode(sync, parts);
  }
  void step(const StepInput& input) {
    const auto start = Clock::now();
    const std::optional<StepOutcome> outcome = mode->step(input);
    columns[kStep].push_back(ms_since(start));
    total_ms += columns[kStep].back();
    if (!outcome) return;
    samples += outcome->samples > 0 ? outcome->samples : batch;
    columns[kCompute].push_back(outcome->compute_ms);
    columns[kUpdate].push_back(outcome->optimizer_ms);
    if (!outcome->comm_before) return;
    columns[kComm].push_back(outcome->comm_before->comm_ms);
    columns[kExposed].push_back(outcome->comm_before->exposed_ms);
    columns[kSkew].push_back(outcome->comm_before->skew_ms);
  }
  void forget() {
    for (auto& column : columns)
      column.clear();
    total_ms = 0;
    samples = 0;
  }
  std::vector<double> medians(comm::Group& group) {
    std::vector<double> result;
    for (auto& column : columns) {
      std::sort(column.begin(), column.end());
      result.push_back(column.empty() ? 0 : column[column.size() / 2] / group.size());
    }
    group.allreduce(result.data(), result.size(), comm::Type::f64, comm::Op::sum);
    return result;
  }

  const char* name;
  int batch;
  std::vector<int> firsts;  ///< who owns which shards
  Replica replica;
  std::unique_ptr<SyncMode> mode;
  bool tuning = false;  ///< sync.bucket_mib: auto, until it is decided
  std::vector<double> columns[kColumns];
  double total_ms = 0;
  std::int64_t steps = 0, samples = 0;
};

bool is_chosen(const Settings& settings, const std::string& row) {
  const std::string& rows = settings.values.at("rows");
  return rows.empty() || ("," + rows + ",").find("," + row + ",") != std::string::npos;
}

std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    numbers.push_back(std::strtod(at, &end));
    if (end == at) throw std::invalid_argument("slowdown: " + text + " is no list of numbers");
    at = *end == ',' ? end + 1 : end;
  }
  return numbers;
}

/// Each of the shards to the rank that is done with it first.
std::vector<int> by_speed(const Emulation& emulation, int ranks, int shards) {
  std::vector<int> counts(static_cast<std::size_t>(ranks));
  const auto done = [&](int rank) {
    return emulation.slowdown_of(rank) * (counts[static_cast<std::size_t>(rank)] + 1);
  };
  for (int shard = 0; shard < shards; ++shard) {
    int best = 0;
    for (int rank = 1; rank < ranks; ++rank)
      if (done(rank) < done(best)) best = rank;
    ++counts[static_cast<std::size_t>(best)];
  }
  std::vector<int> first{0};
  for (const int count : counts)
    first.push_back(first.back() + count);
  return first;
}

void measure(const std::string& name, const Settings& settings, comm::Group& group) {
  constexpr int batches = 16;
  const InputShape shape{name == "mlp" ? Shape{784} : Shape{1, 28, 28}, 10};
  Sharding sharding;
  sharding.shards = settings.number("shards");
  sharding.global_batch = settings.number("batch");
  Emulation emulation;
  emulation.slowdown = numbers_of(settings.values.at("slowdown"));
  const std::vector<int> equal = group.first_shards(sharding.shards);
  const auto take = [&](const std::vector<int>& firsts) {
    group.own_shards(firsts);
    sharding.first = firsts[static_cast<std::size_t>(group.rank())];
    sharding.end = firsts[static_cast<std::size_t>(group.rank()) + 1];
  };
  const auto model = build_model(jobspec::Map{{"name", name}}, shape, sharding.shard_batch(),
                                 settings.values.at("device"));
  const auto optimizer = make_optimizer<float>(
      jobspec::Map{{"name", "momentum"}, {"momentum", 0.9}}, parameters_of(*model));
  ExecutorPool executors(*model, settings.number("threads"));
  std::vector<std::unique_ptr<Training>> all;
  for (const auto& [row, own] : rows()) {
    const bool unequal = row == kUnequal;
    if (!is_chosen(settings, row) || (unequal && !emulation.any())) continue;
    jobspec::Map sync = settings.sync;
    sync.insert(sync.end(), own.begin(), own.end());
    const int servers = dedicated_servers(sync);
    take(unequal       ? by_speed(emulation, group.size(), sharding.shards)
         : servers > 0 ? shards_of_workers(group.size(), servers, sharding.shards)
                       : equal);
    try {
      all.push_back(std::make_unique<Training>(row, *model, *optimizer, group, executors, sharding,
                                               sync, emulation));
    } catch (const std::invalid_argument& e) {
      if (group.rank() == 0) std::printf("%s: %s\n", row, e.what());
    }
  }

  const auto samples = static_cast<std::size_t>(sharding.global_batch);  // more than any rank has
  const auto floats = static_cast<std::size_t>(elements(shape.sample));
  Buffer inputs = Buffer::of_floats(samples * batches * floats);
  std::vector<std::int32_t> labels(samples * batches);
  for (std::size_t i = 0; i < labels.size() * floats; ++i)
    inputs.floats()[i] =
        uniform01(philox(1, Stream::noise, static_cast<std::uint32_t>(group.rank()), i)[0]) - 0.5f;
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::int32_t>(philox(1, Stream::noise, 99, i)[0] % 10);

  const auto run = [&](Training& training, int steps) {
    for (const std::int64_t end = training.steps + steps; training.steps < end; ++training.steps) {
      const auto first = static_cast<std::size_t>(training.steps % batches) * samples;
      StepInput input;
      input.context = {training.steps, 0.01};
      input.inputs = inputs.floats() + first * floats;
      input.labels = labels.data() + first;
      input.sample_floats = floats;
      const StepInput samples_of_step = input;
      Repeated source(samples_of_step);
      input.source = &source;
      training.step(input);
    }
    training.mode->settle();
    const auto start = Clock::now();
    training.mode->meet();  // asynchronous ranks may be some steps apart
    training.total_ms += ms_since(start);
  };
  for (int round = -1; round < settings.number("rounds"); ++round)
    for (const auto& training : all) {
      take(training->firsts);
      do
        run(*training, settings.number("steps"));
      while (training->tuning);
      if (round < 0) training->forget();  // warming up
    }
  if (group.rank() == 0) {
    std::printf("%s: %lld parameters, batch %d in %d shards, %d ranks; ms per step\n%-20s",
                name.c_str(), static_cast<long long>(model->parameter_count()),
                sharding.global_batch, sharding.shards, group.size(), "");
    for (const char* head : kHeads)
      std::printf("%10s", head);
    std::printf("%12s%10s\n", "samples/s", "of first");
  }
  double first = 0;
  for (const auto& training : all) {
    const std::vector<double> medians = training->medians(group);
    if (group.rank() != 0) continue;
    const double rate = 1000 * static_cast<double>(training->samples) / training->total_ms;
    if (first == 0) first = rate;
    std::printf("%-20s", training->name);
    for (const double value : medians)
      std::printf("%10.3f", value);
    std::printf("%12.0f%10.3f\n", rate, rate / first);
  }
}

Settings read(int count, char** arguments) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const std::string key = argument.substr(0, equals);
    if (equals == std::string::npos)
      settings.models.push_back(argument);
    else if (settings.values.count(key) != 0)
      settings.values[key] = argument.substr(equals + 1);
    else
      settings.sync.emplace_back(key, jobspec::read_yaml(argument.substr(equals + 1), key));
  }
  if (settings.models.empty()) settings.models = {"lenet", "mlp"};
  return settings;
}

int run(int count, char** arguments) {
  const Settings settings = read(count, arguments);
  const auto wireup = comm::Wireup::connect();
  if (wireup->world().size < 2)
    throw std::runtime_error("one rank has nobody to talk to; use thalweg-launch -n 2 --");
  {
    comm::Group group(wireup->transport(), group_options(settings.sync));
    for (const std::string& model : settings.models)
      measure(model, settings, group);
    group.barrier();
  }
  wireup->finalize();
  return 0;
}

}  // namespace
}  // namespace thalweg::engine

int main(int count, char** arguments) {
  try {
    return thalweg::engine::run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_sync: %s\n", error.what());
    return 1;
  }
}
