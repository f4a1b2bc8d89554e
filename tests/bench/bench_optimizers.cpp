// bench_optimizers [gpu] [gpt] [seconds=2] [OPTIONS...]: one optimizer step over the 161 tensors of
// ResNet-50 (25,557,032 parameters), one thread. Beside each optimizer that works weight by weight
// a loop that only reads and writes the same vectors, by turns: what the memory allows.
//   gpt: over the 16 hidden matrices of a GPT of four layers, 256 wide (3,145,728 parameters)
//   gpu: on this computer's GPU instead, beside copies within its memory that move as many bytes
//   OPTIONS: trees such as "{name: adamw}"; none: adamw and momentum
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "engine/optim/fused.h"
#include "engine/optim/on_gpu.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/random.h"

namespace thalweg::engine {

using optim::FlatRange;

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

void add_parameter(std::vector<ParameterInfo>& infos, Shape shape, bool norm_or_bias) {
  ParameterInfo info;
  info.name = "p" + std::to_string(infos.size());
  info.offset = infos.empty() ? 0 : infos.back().offset + infos.back().count;
  info.count = round_up(static_cast<std::size_t>(elements(shape)), alignment_floats);
  info.shape = std::move(shape);
  info.decay = !norm_or_bias;
  info.norm_or_bias = norm_or_bias;
  infos.push_back(std::move(info));
}

std::vector<ParameterInfo> gpt() {
  std::vector<ParameterInfo> infos;
  for (int layer = 0; layer < 4; ++layer)
    for (const Shape& shape :
         {Shape{768, 256}, Shape{256, 256}, Shape{1024, 256}, Shape{256, 1024}})
      add_parameter(infos, shape, false);
  return infos;
}

std::vector<ParameterInfo> resnet50() {
  std::vector<ParameterInfo> infos;
  const auto add = [&](Shape shape, bool norm_or_bias) {
    add_parameter(infos, std::move(shape), norm_or_bias);
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

void touch(int states, const FlatRange<float>& x) {
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

void fill(std::span<float> values, std::size_t key, float size) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = size * (uniform01(philox(1, Stream::noise, 0, i)[key]) - 0.5f);
}

/// Bytes that an update moves for each parameter; 0 where that is not known.
std::size_t bytes_moved(const std::string& options, const Optimizer<float>& optimizer) {
  const std::string name = jobspec::read_yaml(options, "bench").find("name")->to_text();
  if (name == "lars") return 28;  // norms of w and g; then w, v read and written, g read
  if (name == "lamb") return 40;  // w, g, m, v read, u, m, v written; then w += u
  return optimizer.elementwise(0) ? 12 + 8 * static_cast<std::size_t>(optimizer.states()) : 0;
}

void measure_on_gpu(const std::string& options, const Parameters<float>& parameters,
                    double seconds) {
  gpu::Gpu& machine = gpu::chosen_gpu();
  const auto optimizer = make_optimizer<float>(jobspec::read_yaml(options, "bench"), parameters);
  const auto updater = optimizer->on_gpu({machine, parameters.infos});
  const std::size_t floats = parameters.infos.back().offset + parameters.infos.back().count;
  const std::size_t bytes = floats * sizeof(float);
  std::vector<gpu::Memory> vectors;
  std::vector<float*> states;
  for (int i = 0; i < optimizer->states() + 3; ++i)  // w, g, g's values, states
    vectors.emplace_back(machine, bytes, "a vector of the bench");
  for (std::size_t i = 3; i < vectors.size(); ++i)
    states.push_back(vectors[i].floats());
  std::vector<float> values(floats), own(optimizer->own());
  std::vector<double> scalars(optimizer->scalars());
  fill(values, 0, 1);
  machine.copy(vectors[0].data(), values.data(), bytes);
  fill(values, 1, 0.01f);
  machine.copy(vectors[2].data(), values.data(), bytes);
  const OptimizerMemory<float> memory{vectors[0].floats(), vectors[1].floats(), states, own,
                                      scalars};
  const auto stream = machine.stream();
  const auto start = machine.event(), end = machine.event();
  const auto timed = [&](const auto& work) {
    stream->record(*start);
    work();
    stream->record(*end);
    end->wait();
    return end->ms_since(*start);
  };
  std::vector<double> step_ms, copy_ms;
  const Clock::time_point stop = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                    std::chrono::duration<double>(seconds));
  for (std::int64_t step = 0; step < 3 || Clock::now() < stop; ++step) {
    copy_ms.push_back(timed([&] { stream->copy(vectors[1].data(), vectors[2].data(), bytes); }));
    step_ms.push_back(timed([&] { updater->update(*stream, {step, 1e-4}, memory, {}); }));
  }
  const double gb_per_s = 2e-6 * static_cast<double>(bytes) / median(copy_ms);
  std::printf("%-60s ms=%8.3f  copy GB/s=%6.0f", options.c_str(), median(step_ms), gb_per_s);
  if (const std::size_t moved = bytes_moved(options, *optimizer))
    std::printf("  of that=%.2f",
                1e-6 * static_cast<double>(moved * floats) / median(step_ms) / gb_per_s);
  std::printf("  (%s)%s%s\n", machine.info().name.c_str(), updater->note().empty() ? "" : " ",
              updater->note().c_str());
  std::fflush(stdout);
}

void measure(const std::string& options, const Parameters<float>& parameters, double seconds) {
  const auto optimizer = make_optimizer<float>(jobspec::read_yaml(options, "bench"), parameters);
  const std::size_t floats = parameters.infos.back().offset + parameters.infos.back().count;
  std::vector<Buffer> vectors;
  for (int i = 0; i < optimizer->states() + 3; ++i)  // w, g, states, and g's values
    vectors.push_back(Buffer::of_floats(floats));
  float* const values = vectors.back().floats();
  fill({vectors[0].floats(), floats}, 0, 1);
  fill({values, floats}, 1, 0.01f);
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
      touch(optimizer->states(), optim::flat_range({0, 0, floats}, memory, optimizer->states()));
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
    bool gpu = false, gpt = false;
    std::vector<std::string> trees;
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      if (argument.rfind("seconds=", 0) == 0)
        seconds = std::stod(argument.substr(8));
      else if (argument == "gpu")
        gpu = true;
      else if (argument == "gpt")
        gpt = true;
      else
        trees.push_back(argument);
    }
    if (trees.empty()) trees = {"{name: adamw}", "{name: momentum}"};
    const thalweg::engine::Parameters<float> parameters{
        gpt ? thalweg::engine::gpt() : thalweg::engine::resnet50(), nullptr};
    for (const std::string& tree : trees)
      gpu ? thalweg::engine::measure_on_gpu(tree, parameters, seconds)
          : thalweg::engine::measure(tree, parameters, seconds);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_optimizers: %s\n", e.what());
    return 1;
  }
}
