// Latency and bandwidth of allreduce and of the shard sum between processes, per size:
//   thalweg-launch -n 2 -- build/release/tests/bench_allreduce
// Prints the median over rounds; the buffers are rewritten before each call, as training does.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/comm/algorithms/table.h"
#include "engine/comm/group.h"

namespace {

using namespace thalweg::engine::comm;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kSmallest = 4;
constexpr std::size_t kLargest = 64U << 20U;

int rounds_for(std::size_t bytes) {
  return static_cast<int>(std::clamp<std::size_t>((256U << 20U) / bytes, 7, 2000));
}

template <class F>
double median_us(Group& group, int rounds, std::vector<float>& data, F&& call) {
  std::vector<double> times;
  for (int i = -rounds / 10 - 2; i < rounds; ++i) {
    std::fill(data.begin(), data.end(), 1.0F);
    group.barrier();
    const auto start = Clock::now();
    call();
    if (i >= 0) {
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<std::size_t>(rounds) / 2];
}

}  // namespace

int main() {
  auto wireup = Wireup::connect();
  Group group(wireup->transport());
  const bool talks = wireup->world().rank == 0;
  const auto names = names_of(Collective::allreduce);
  if (talks) {
    std::printf("%d ranks, median us per call\n%10s", group.size(), "bytes");
    for (const auto& name : names) {
      std::printf(" %19s", name.c_str());
    }
    std::printf(" %12s %12s\n", "shard_sum", "its GB/s");
  }
  for (std::size_t bytes = kSmallest; bytes <= kLargest; bytes *= 4) {
    std::vector<float> data(bytes / sizeof(float));
    if (talks) std::printf("%10zu", bytes);
    for (const auto& name : names) {
      group.use_allreduce(name);
      const double us = median_us(group, rounds_for(bytes), data, [&] {
        group.allreduce(data.data(), data.size(), Type::f32, Op::sum);
      });
      if (talks) std::printf(" %19.1f", us);
    }
    float* mine[] = {data.data()};
    const double us = median_us(group, rounds_for(bytes), data, [&] {
      group.start_shard_sum(mine, data.size(), group.size())->wait();
    });
    if (talks) {
      std::printf(" %12.1f %12.2f\n", us, static_cast<double>(bytes) / us / 1e3);
      std::fflush(stdout);
    }
  }
  wireup->finalize();
}
