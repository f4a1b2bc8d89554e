// Loops over flat vectors on any device: put into a stream of a GPU, or, where there is none, done
// on the host at once.
#pragma once

#include <cstddef>

namespace thalweg::engine {

namespace gpu {
class Stream;
}

namespace vectors {

/// into[i] += from[i]
void add(gpu::Stream* stream, float* into, const float* from, std::size_t count);
void zero(gpu::Stream* stream, float* at, std::size_t count);
/// *to = *from, rounded.
void narrow(gpu::Stream* stream, float* to, const double* from);
/// *to = from[0] + ... + from[count - 1], in an order of the device's that depends on `count`
/// alone.
void sum(gpu::Stream* stream, float* to, const double* from, std::size_t count);

}  // namespace vectors
}  // namespace thalweg::engine
