// bench_gpu: what this GPU copies and multiplies at most, as one line "key=value ...", and with
// what libraries; ends with 77 where there is no GPU.
#include <cstdio>
#include <exception>

#include "engine/gpu/gpu.h"
#include "engine/gpu/library.h"
#include "tests/bench/gpu/rates.h"

namespace thalweg::engine::bench {
namespace {

int run() {
  if (gpu::gpu_count() == 0) {
    std::printf("skipped: %s\n", gpu::why_no_gpu().c_str());
    return 77;
  }
  gpu::Gpu& machine = gpu::chosen_gpu();
  const auto stream = machine.stream();
  std::printf("libraries: %s\n", stream->library().versions().c_str());
  std::printf("copy_gb_s=%.1f product_tflop_s=%.1f\n", copy_gb_s(machine, *stream),
              product_tflop_s(machine, *stream));
  return 0;
}

}  // namespace
}  // namespace thalweg::engine::bench

int main() {
  try {
    return thalweg::engine::bench::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gpu: %s\n", error.what());
    return 1;
  }
}
