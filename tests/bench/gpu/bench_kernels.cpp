// bench_kernels [MODEL] [batch=N] [precision=bf16] [seconds=300]: all algorithms of a model's
// library calls (default: resnet50), timed on this GPU, and what a bound of workspace costs: ms of
// the calls of a training step within each bound, beside the libraries' first algorithms and the
// fastest. Ends with 77 where there is no GPU.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "engine/device/memory_needs.h"
#include "engine/gpu/gpu.h"
#include "engine/nn/model.h"
#include "tests/support/models.h"

namespace thalweg::engine::bench {
namespace {

struct Arguments {
  std::string model = "resnet50", precision = "bf16";
  int batch = 0;  ///< 0: the model's
  double seconds = 300;
};

Arguments parse(int count, char** words) {
  Arguments a;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i], key = word.substr(0, word.find('='));
    const std::string value = word.substr(std::min(word.size(), key.size() + 1));
    if (key == word) {
      a.model = word;
    } else if (key == "batch") {
      a.batch = std::stoi(value);
    } else if (key == "precision") {
      a.precision = value;
    } else if (key == "seconds") {
      a.seconds = std::stod(value);
    } else {
      throw std::invalid_argument("unknown option " + key);
    }
  }
  return a;
}

const test::ModelCase& case_named(const std::string& name) {
  for (const auto* cases : {&test::gpu_model_cases(), &test::model_cases()})
    for (const test::ModelCase& c : *cases)
      if (c.name == name) return c;
  throw std::invalid_argument("no model " + name);
}

std::size_t largest_workspace(const KernelTimes& times) {
  std::size_t bytes = 0;
  for (const auto& [key, call] : times)
    for (const AlgorithmTime& algorithm : call.algorithms)
      bytes = std::max(bytes, algorithm.workspace);
  return bytes;
}

int run(const Arguments& a) {
  if (gpu::gpu_count() == 0) {
    std::printf("skipped: %s\n", gpu::why_no_gpu().c_str());
    return 77;
  }
  const test::ModelCase& c = case_named(a.model);
  const int batch = a.batch > 0 ? a.batch : c.batch;
  const auto model = build_model(c.model, c.data, batch, "cuda", {}, precision_named(a.precision));
  const ExecutorMemory executor = model->executor_memory();
  const std::size_t free = model->gpu()->free_bytes();
  const std::size_t taken = executor.activations + executor.weights + executor.staging +
                            3 * sizeof(float) * model->parameter_floats();
  MeasureOptions options;
  options.scratch = free > taken ? free - taken : 0;
  options.seconds = a.seconds;
  options.note = [](const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); };
  const KernelTimes times = model->measure_calls(options);
  const std::vector<CallKind> kinds = model->library_calls();

  const std::size_t largest = largest_workspace(times);
  int calls = 0;
  for (const CallKind& kind : kinds)
    calls += kind.calls;
  const StepTimes all = step_times(kinds, times, largest);
  std::printf("%s batch %d %s on %s: %d calls of %zu kinds, first_ms=%.3f best_ms=%.3f\n",
              c.name.c_str(), batch, a.precision.c_str(), model->gpu()->info().name.c_str(), calls,
              kinds.size(), all.first, all.best);
  for (std::size_t bound = 0;;
       bound = std::min(largest, std::max(bound * 4, std::size_t{1} << 20))) {
    std::printf("bound_mib=%.0f ms=%.3f\n", static_cast<double>(bound) / (1 << 20),
                step_times(kinds, times, bound).chosen);
    if (bound >= largest) break;
  }
  return 0;
}

}  // namespace
}  // namespace thalweg::engine::bench

int main(int count, char** words) {
  try {
    return thalweg::engine::bench::run(thalweg::engine::bench::parse(count, words));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_kernels: %s\n", error.what());
    return 1;
  }
}
