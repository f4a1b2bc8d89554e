#include "engine/sync/vector_ops.h"

#include <algorithm>
#include <numeric>

#include "engine/comm/reduction/reduce.h"
#include "engine/gpu/vectors.h"

namespace thalweg::engine::vectors {

void add(gpu::Queue* queue, float* into, const float* from, std::size_t count) {
  queue != nullptr ? gpu::add(*queue, into, from, count) : comm::add(into, from, count);
}

void zero(gpu::Queue* queue, float* at, std::size_t count) {
  if (queue != nullptr)
    queue->zero(at, count * sizeof(float));
  else
    std::fill_n(at, count, 0.0f);
}

void narrow(gpu::Queue* queue, float* to, const double* from) {
  if (queue != nullptr)
    gpu::narrow(*queue, to, from, 1);
  else
    *to = static_cast<float>(*from);
}

void sum(gpu::Queue* queue, float* to, const double* from, std::size_t count) {
  if (queue != nullptr)
    gpu::sum(*queue, to, from, count);
  else
    *to = static_cast<float>(std::accumulate(from, from + count, 0.0));
}

}  // namespace thalweg::engine::vectors
