// bench_step MODEL [key=value ...]: whole training steps (forward, backward, sum over shards and
// ranks, update) on random data. MODEL: mlp, lenet, resnet18, gpt, cnn3d, lstm.
//   batch (the model's), threads (1), shards (as threads), optimizer (momentum, adamw, ...),
//   precision (fp32, bf16), device (cpu), seconds (2)
//   kernels=first  on a GPU: those that the libraries think best (measured: the fastest within
//                  1 GiB of workspace, as in a run)
//   times=FILE     a kernels.json to take measured times from and to add to
//   profile=1  what every operation takes, on the cpu device; on a GPU (device=cuda) the top=15
//   that
//              take longest, with bytes and arithmetic a second and what the library chose
//   first=20   so many first steps on one batch, twice: the losses, and whether they are finite,
//              fall and are the same bits again; on a GPU what each library call takes
//   loops=1    on a GPU: bytes a second of every loop of our own, beside those of a copy
//   sync.X, model.X  option X of train.sync, of the model
//   bind=N     rank r stays on core N + r (with threads > 1: no)
//   serve=DIR  takes commands from DIR/in.RANK and answers in DIR/out, as compare.py says
// Under thalweg-launch every rank has such a batch of its own. gflop, gbyte: the step's arithmetic,
// and the bytes that it moves at least (engine/nn/flops.h, traffic.h).
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>

#include "engine/comm/wireup/wireup.h"
#include "engine/gpu/library.h"
#include "tests/bench/gpu/profile.h"
#include "tests/bench/step/trainer.h"

namespace thalweg::engine::bench {
namespace {

/// VmHWM, VmRSS of this process in MiB.
double memory_mib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(field + ":", 0) == 0) return std::stod(line.substr(field.size() + 1)) / 1024;
  return 0;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

std::string format(const char* pattern, auto... values) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string describe(Trainer& trainer, const Times& t) {
  return format(
      "samples_per_s=%.2f step_ms=%.4f compute_ms=%.4f sums_ms=%.4f update_ms=%.4f loss=%.4f "
      "gflop=%.4f gbyte=%.4f parameters=%lld",
      t.samples_per_s, t.step_ms, t.compute_ms, t.sums_ms, t.update_ms, t.loss,
      trainer.flops_of_step() * 1e-9, trainer.bytes_of_step() * 1e-9,
      static_cast<long long>(trainer.model().parameter_count()));
}

/// Milliseconds of a step by group of operations.
std::string split(const Watched& watched) {
  double ms[kGroups] = {};
  for (const Observed& o : watched.operations)
    ms[group_of(o.operation)] += median(o.seconds) * 1e3;
  std::string text = format("step_ms=%.4f sums_ms=%.4f update_ms=%.4f", watched.times.step_ms,
                            watched.times.sums_ms, watched.times.update_ms);
  for (std::size_t g = 0; g < kGroups; ++g)
    text += format(" %s_ms=%.4f", group_names[g], ms[g]);
  return text;
}

/// Operations of one layer that are of one kind, as one line.
struct Line {
  std::string pass, layer, kind, implementation;
  int count = 0;
  double us = 0, flops = 0;
};

std::vector<Line> lines_of(const Graph& graph, const std::vector<Observed>& observed) {
  std::vector<Line> lines;
  std::string pass = "forward";
  for (const Observed& o : observed) {
    Line line{pass, "", kind_of(o.operation), implementation_of(o.operation)};
    if (o.operation == nullptr)
      pass = "backward";
    else
      line.layer = graph.layers[static_cast<std::size_t>(o.operation->layer)].name;
    auto found = std::find_if(lines.begin(), lines.end(), [&](const Line& l) {
      return l.pass == line.pass && l.layer == line.layer && l.kind == line.kind &&
             l.implementation == line.implementation;
    });
    if (found == lines.end()) found = lines.insert(lines.end(), std::move(line));
    ++found->count;
    found->us += median(o.seconds) * 1e6;
    found->flops += flops_of(o.operation);
  }
  return lines;
}

void print_profile(Trainer& trainer, double seconds) {
  const double limit = trainer.gflops();
  const Times plain = trainer.run(seconds);
  const Watched watched = trainer.observe(seconds);
  const std::vector<Line> lines = lines_of(trainer.graph(), watched.operations);
  double sum = 0;
  for (const Line& line : lines)
    sum += line.us;
  std::printf("%-9s %-20s %-24s %5s %9s %6s %8s  %s\n", "pass", "layer", "operation", "count", "us",
              "%", "GFLOP/s", "implementation");
  for (const Line& l : lines)
    std::printf("%-9s %-20s %-24s %5d %9.1f %6.2f %8s  %s\n", l.pass.c_str(), l.layer.c_str(),
                l.kind.c_str(), l.count, l.us, 100 * l.us / sum,
                l.flops > 0 ? format("%.0f", l.flops / l.us * 1e-3).c_str() : "",
                l.implementation.c_str());
  std::printf("%s\nwatched: %s\n", describe(trainer, plain).c_str(), split(watched).c_str());
  std::printf("limit %.0f GFLOP/s (matmul): %.3f ms, %.1f %% of the step\n", limit,
              trainer.flops_of_step() / limit * 1e-6,
              100 * trainer.flops_of_step() / limit * 1e-6 / plain.step_ms);
}

std::string memory(double at_start) {
  const double peak = memory_mib("VmHWM");
  return format("peak_mib=%.1f start_mib=%.1f", peak, at_start);
}

/// One command a line: "run SECONDS", "split SECONDS", "limit", "memory", "quit".
void serve(Trainer& trainer, const std::string& folder, int rank, double at_start) {
  std::ifstream commands(folder + "/in." + std::to_string(rank));
  const auto answer = [&](const std::string& text) {
    std::ofstream out(folder + "/out");
    out << std::to_string(rank) + " " + text + "\n" << std::flush;
  };
  answer("ready");
  for (std::string line; std::getline(commands, line);) {
    std::istringstream words(line);
    std::string command;
    double seconds = 0;
    words >> command >> seconds;
    if (command == "quit") return;
    if (command == "run") answer(describe(trainer, trainer.run(seconds)));
    if (command == "split") answer(split(trainer.observe(seconds)));
    if (command == "limit") answer(format("gflops=%.1f", trainer.gflops()));
    if (command == "memory") answer(memory(at_start));
  }
}

void bind(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) != 0)
    throw std::runtime_error("there is no core " + std::to_string(core));
}

ProfileSettings profile_settings(const Settings& settings) {
  ProfileSettings s;
  s.model = case_of(settings);
  s.batch = settings.number("batch") > 0 ? settings.number("batch") : s.model.batch;
  s.options = precision_named(settings.text("precision"));
  s.measured = settings.text("kernels") == "measured";
  s.times = settings.text("times");
  s.seconds = std::stod(settings.text("seconds"));
  s.top = static_cast<std::size_t>(settings.number("top"));
  return s;
}

void print_first_steps(const Settings& settings, comm::Group& group, int steps) {
  std::vector<double> losses[2];
  for (std::vector<double>& all : losses)
    all = Trainer(settings, group).losses(steps);
  for (const double loss : losses[0])
    std::printf("%.9g\n", loss);
  const auto finite = [](double loss) { return std::isfinite(loss); };
  const std::vector<double>& all = losses[0];
  if (settings.text("device") == "cuda") print_gpu_calls(profile_settings(settings));
  std::printf("loss_first=%.6f loss_last=%.6f finite=%d falls=%d same_bits=%d\n", all.front(),
              all.back(), std::all_of(all.begin(), all.end(), finite) ? 1 : 0,
              all.back() < all.front() ? 1 : 0, losses[0] == losses[1] ? 1 : 0);
}

int run(const Settings& settings) {
  if (settings.text("device") == "cuda" &&
      (settings.number("profile") != 0 || settings.number("loops") != 0))
    return settings.number("loops") != 0 ? print_gpu_loops(profile_settings(settings))
                                         : print_gpu_profile(profile_settings(settings));
  const auto wireup = comm::Wireup::connect();
  const int rank = wireup->world().rank;
  if (settings.number("bind") >= 0 && settings.number("threads") == 1)
    bind(settings.number("bind") + rank);
  {
    comm::Group group(wireup->transport(), {});
    const double at_start = memory_mib("VmRSS"), seconds = std::stod(settings.text("seconds"));
    if (const int steps = settings.number("first"); steps > 0) {
      print_first_steps(settings, group, steps);
      wireup->finalize();
      return 0;
    }
    Trainer trainer(settings, group);
    if (!settings.text("serve").empty()) {
      serve(trainer, settings.text("serve"), rank, at_start);
    } else if (settings.number("profile") != 0) {
      print_profile(trainer, seconds);
    } else {
      const Times times = trainer.run(seconds);
      for (const std::string& refusal : rank == 0 ? gpu::refusals() : std::vector<std::string>())
        std::printf("fallback: %s\n", refusal.c_str());
      if (rank == 0)
        std::printf("%s ranks=%d threads=%s %s %s\n", settings.model.c_str(), group.size(),
                    settings.text("threads").c_str(), describe(trainer, times).c_str(),
                    memory(at_start).c_str());
    }
    group.barrier();
  }
  wireup->finalize();
  return 0;
}

}  // namespace
}  // namespace thalweg::engine::bench

int main(int count, char** arguments) {
  using namespace thalweg::engine::bench;
  namespace jobspec = thalweg::jobspec;
  try {
    if (count < 2)
      throw std::invalid_argument("which model? mlp, lenet, resnet18, gpt, cnn3d, lstm");
    Settings settings;
    settings.model = arguments[1];
    for (int i = 2; i < count; ++i) {
      const std::string argument = arguments[i], key = argument.substr(0, argument.find('='));
      const std::size_t dot = key.find('.');
      if (key != argument && (key.rfind("sync.", 0) == 0 || key.rfind("model.", 0) == 0)) {
        const std::string name = key.substr(dot + 1);
        jobspec::Map& options = key[0] == 's' ? settings.sync : settings.model_options;
        options.emplace_back(name, jobspec::read_yaml(argument.substr(key.size() + 1), name));
        continue;
      }
      if (key == argument || settings.values.count(key) == 0)
        throw std::invalid_argument("no setting '" + argument + "'");
      settings.values[key] = argument.substr(key.size() + 1);
    }
    return run(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_step: %s\n", error.what());
    return 1;
  }
}
