#include "engine/sync/device/vector_ops.h"

#include <algorithm>
#include <numeric>

#include "engine/comm/reduction/reduce.h"
#include "engine/gpu/vectors.h"

namespace thalweg::engine::vectors {

void add(gpu::Stream* stream, float* into, const float* from, std::size_t count) {
  stream != nullptr ? gpu::add(*stream, into, from, count) : comm::add(into, from, count);
}

void zero(gpu::Stream* stream, float* at, std::size_t count) {
  if (stream != nullptr)
    stream->zero(at, count * sizeof(float));
  else
    std::fill_n(at, count, 0.0f);
}

void narrow(gpu::Stream* stream, float* to, const double* from) {
  if (stream != nullptr)
    gpu::narrow(*stream, to, from, 1);
  else
    *to = static_cast<float>(*from);
}

void sum(gpu::Stream* stream, float* to, const double* from, std::size_t count) {
  if (stream != nullptr)
    gpu::sum(*stream, to, from, count);
  else
    *to = static_cast<float>(std::accumulate(from, from + count, 0.0));
}

}  // namespace thalweg::engine::vectors
