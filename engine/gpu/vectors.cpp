#include "engine/gpu/vectors.h"

#include "engine/gpu/loops.h"

namespace thalweg::engine::gpu {
namespace {

struct Sum {
  THALWEG_HOST_DEVICE float operator()(float a, float b) const { return a + b; }
};

struct Narrow {
  float* to;
  const double* from;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = static_cast<float>(from[i]); }
};

struct Total {
  float* to;
  const double* from;
  std::int64_t count;
  THALWEG_HOST_DEVICE void operator()(Team team, std::int64_t) const {
    double mine = 0;
    for (std::int64_t i = team.rank(); i < count; i += team.size())
      mine += from[i];
    const double all = team.sum(mine);
    if (team.rank() == 0) *to = static_cast<float>(all);
  }
};

struct Blend {
  float parts;
  THALWEG_HOST_DEVICE float operator()(float running, float share, float sum) const {
    return (1 - share) * running + share * (sum / parts);
  }
};

}  // namespace

void add(Queue& queue, float* into, const float* from, std::size_t count) {
  const float* const before = into;
  map(queue, static_cast<std::int64_t>(count), Sum{}, into, before, from);
}

void narrow(Queue& queue, float* to, const double* from, std::size_t count) {
  for_each(queue, static_cast<std::int64_t>(count), Narrow{to, from});
}

void sum(Queue& queue, float* to, const double* from, std::size_t count) {
  for_each_row(queue, 1, 256, Total{to, from, static_cast<std::int64_t>(count)});
}

void blend(Queue& queue, float* running, const float* share, const float* sum, int parts,
           std::size_t count) {
  const float* const before = running;
  map(queue, static_cast<std::int64_t>(count), Blend{static_cast<float>(parts)}, running, before,
      share, sum);
}

}  // namespace thalweg::engine::gpu
