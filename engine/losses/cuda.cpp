#include "engine/losses/cuda.h"

#include <algorithm>

namespace thalweg::engine::cuda {
namespace {

struct AddUp {
  const LossSums* slices;
  std::int64_t count;
  double* result;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t) const {
    LossSums mine{};
    for (std::int64_t i = block.rank(); i < count; i += block.size())
      for (std::size_t k = 0; k < 1 + max_sums; ++k)
        mine.of[k] += slices[i].of[k];
    for (std::size_t k = 0; k < 1 + max_sums; ++k) {
      const double all = block.sum(mine.of[k]);
      if (block.rank() == 0) result[k] = all;
    }
  }
};

}  // namespace

Slices slices_of(std::int64_t n, std::int64_t least) {
  constexpr std::int64_t most = 4096;  // one block adds them up
  const std::int64_t size = std::max(least, (n + most - 1) / most);
  return {size, (n + size - 1) / size};
}

void add_up_loss(gpu::Stream& stream, const LossSums* sums, std::int64_t slices, double* result) {
  gpu::for_each_row(stream, 1, 512, AddUp{sums, slices, result});
}

}  // namespace thalweg::engine::cuda
