// Parameters cut into chunks, one for each thread block of a GPU: big tensors share all
// multiprocessors, and all that differs from tensor to tensor is the same for a whole thread block.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/gpu/gpu.h"
#include "engine/tensor/parameter.h"

namespace thalweg::engine::optim {

struct Chunk {
  std::int64_t first = 0;  ///< in the flat memory, a multiple of 16
  std::int32_t count = 0;  ///< a multiple of 4
  std::int32_t parameter = 0;
  std::int32_t choice = 0;  ///< of the parameter: what the maker gave
};

/// As kernels see them, in the GPU's memory.
struct ChunkTable {
  const Chunk* chunks = nullptr;
  const std::int32_t* first = nullptr;  ///< of each parameter; one more: the end
  std::int32_t count = 0, parameters = 0;
};

/// Made once for a model. Thread-safe.
class Chunks {
 public:
  static constexpr int size = 2048;  ///< floats; of the last one of a parameter: at most

  /// `choices`: one for each parameter, or none.
  Chunks(gpu::Gpu& gpu, std::span<const ParameterInfo> infos, const std::vector<int>& choices = {});
  const ChunkTable& table() const { return table_; }
  std::int64_t count() const { return table_.count; }
  std::int64_t parameters() const { return table_.parameters; }
  /// Of a parameter; of the number of parameters: count().
  std::int64_t first(int parameter) const {
    return first_on_host_[static_cast<std::size_t>(parameter)];
  }

 private:
  gpu::Memory chunks_, first_;
  std::vector<std::int32_t> first_on_host_;
  ChunkTable table_;
};

}  // namespace thalweg::engine::optim
