#include "engine/device/cuda/loss.h"

#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

struct AddUp {
  const LossSums* rows;
  std::int64_t count;
  double* result;
  THALWEG_HOST_DEVICE void operator()(gpu::Team team, std::int64_t) const {
    for (std::size_t k = 0; k < 1 + most_sums; ++k) {
      double mine = 0;
      for (std::int64_t row = team.rank(); row < count; row += team.size())
        mine += rows[row].of[k];
      const double all = team.sum(mine);
      if (team.rank() == 0) result[k] = all;
    }
  }
};

}  // namespace

void add_up_loss(const Frame& frame, TensorId sums, std::int64_t rows, TensorId result) {
  gpu::for_each_row(frame.queue, 1, 512,
                    AddUp{frame.as<LossSums>(sums), rows, frame.as<double>(result)});
}

}  // namespace thalweg::engine::cuda
