// bench_optimizers [seconds=2] [OPTIONS...]: one optimizer step over the 161 tensors of ResNet-50
// (25,557,032 parameters), one thread. Beside each optimizer that works weight by weight a loop
// that only reads and writes the same vectors, by turns: what the memory allows.
//   OPTIONS: trees such as "{name: adamw}"; none: adamw and momentum
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "engine/optim/fused.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/random.h"

namespace thalweg::engine {

using optim::Stretch;

template <class T>
struct Touch {
  template <class... S>
  THALWEG_INLINE void operator()(T& w, T g, S&... states) const {
    w += g;
    ((states += g), ...);
  }
};
namespace two {
THALWEG_FUSED(Touch, 0)
}
namespace three {
THALWEG_FUSED(Touch, 1)
}
namespace four {
THALWEG_FUSED(Touch, 2)
}
namespace five {
THALWEG_FUSED(Touch, 3)
}
namespace {

using Clock = std::chrono::steady_clock;

std::vector<ParameterInfo> resnet50() {
  std::vector<ParameterInfo> infos;
  const auto add = [&](Shape shape, bool norm_or_bias) {
    ParameterInfo info;
    info.name = "p" + std::to_string(infos.size());
    info.offset = infos.empty() ? 0 : infos.back().offset + infos.back().count;
    info.count = round_up(static_cast<std::size_t>(elements(shape)), alignment_floats);
    info.shape = std::move(shape);
    info.decay = !norm_or_bias;
    info.norm_or_bias = norm_or_bias;
    infos.push_back(std::move(info));
  };
  const auto convolution = [&](std::int64_t out, std::int64_t in, std::int64_t kernel) {
    add({out, in, kernel, kernel}, false);
    add({out}, true);
    add({out}, true);
  };
  convolution(64, 3, 7);
  std::int64_t in = 64;
  const int blocks[4] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage)
    for (int block = 0; block < blocks[stage]; ++block) {
      const std::int64_t width = 64 << stage;
      convolution(width, in, 1);
      convolution(width, width, 3);
      convolution(4 * width, width, 1);
      if (block == 0) convolution(4 * width, in, 1);
      in = 4 * width;
    }
  add({1000, 2048}, false);
  add({1000}, true);
  return infos;
}

void touch(int states, const Stretch<float>& x) {
  switch (states) {
    case 0:
      return two::run(Touch<float>{}, x);
    case 1:
      return three::run(Touch<float>{}, x);
    case 2:
      return four::run(Touch<float>{}, x);
    default:
      return five::run(Touch<float>{}, x);
  }
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x.at(x.size() / 2);
}

double timed_ms(const auto& f) {
  const Clock::time_point start = Clock::now();
  f();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void measure(const std::string& options, double seconds) {
  const Parameters<float> parameters{resnet50(), nullptr};
  const auto optimizer = make_optimizer<float>(jobspec::read_yaml(options, "bench"), parameters);
  const std::size_t floats = parameters.infos.back().offset + parameters.infos.back().count;
  std::vector<Buffer> vectors;
  for (int i = 0; i < optimizer->states() + 3; ++i)  // w, g, states, and g's values
    vectors.push_back(Buffer::of_floats(floats));
  float* const values = vectors.back().floats();
  for (std::size_t i = 0; i < floats; ++i) {
    const auto bits = philox(1, Stream::noise, 0, i);
    vectors[0].floats()[i] = uniform01(bits[0]) - 0.5f;
    values[i] = 0.01f * (uniform01(bits[1]) - 0.5f);
  }
  std::vector<float*> states;
  for (int i = 0; i < optimizer->states(); ++i)
    states.push_back(vectors[static_cast<std::size_t>(i) + 2].floats());
  std::vector<float> own(optimizer->own());
  std::vector<double> scalars(optimizer->scalars());
  const OptimizerMemory<float> memory{vectors[0].floats(), vectors[1].floats(), states, own,
                                      scalars};
  bool elementwise = optimizer->states() < 4;
  for (std::size_t p = 0; p < parameters.infos.size(); ++p)
    elementwise = elementwise && optimizer->elementwise(static_cast<int>(p));

  std::vector<double> step_ms, touch_ms;
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(seconds));
  for (std::int64_t step = 0; step < 3 || Clock::now() < end; ++step) {
    std::copy_n(values, floats, memory.g);
    step_ms.push_back(timed_ms([&] {
      for (std::size_t p = 0; p < parameters.infos.size(); ++p) {
        const ParameterInfo& info = parameters.infos[p];
        optimizer->update({step, 1e-4}, {static_cast<int>(p), info.offset, info.count}, memory);
      }
      optimizer->finish({step, 1e-4}, memory);
    }));
    if (!elementwise) continue;
    std::fill_n(memory.g, floats, 0.0f);  // leaves the weights as they are
    touch_ms.push_back(timed_ms([&] {
      touch(optimizer->states(), optim::stretch({0, 0, floats}, memory, optimizer->states()));
    }));
  }
  std::printf("%-60s ms=%8.2f", options.c_str(), median(step_ms));
  if (elementwise)
    std::printf("  memory alone=%8.2f  ratio=%.2f", median(touch_ms),
                median(step_ms) / median(touch_ms));
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace
}  // namespace thalweg::engine

int main(int argc, char** argv) {
  try {
    double seconds = 2;
    std::vector<std::string> trees;
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      if (argument.rfind("seconds=", 0) == 0)
        seconds = std::stod(argument.substr(8));
      else
        trees.push_back(argument);
    }
    if (trees.empty()) trees = {"{name: adamw}", "{name: momentum}"};
    for (const std::string& tree : trees)
      thalweg::engine::measure(tree, seconds);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_optimizers: %s\n", e.what());
    return 1;
  }
}
