// The state is in every checkpoint, so the newest one says which is the best: no file of its own
// could disagree with them.
#include "engine/train/best.h"

#include <stdexcept>

namespace thalweg::engine {

void Best::observe(std::int64_t step, const std::string& name, double value) {
  if (idle_ || name != metric_.name || jobspec::has_diverged(value)) return;
  const bool maximize = metric_.goal == jobspec::Goal::maximize;
  if (best_ && (maximize ? value <= best_->value : value >= best_->value)) return;
  before_ = best_;
  best_ = Seen{value, step};
}

std::vector<double> Best::state() const {
  if (!best_) return {};
  return {best_->value, static_cast<double>(best_->step)};
}

void Best::restore(const std::vector<double>& state) {
  best_.reset();
  before_.reset();
  if (idle_ || state.empty()) return;
  if (state.size() != 2)
    throw std::invalid_argument("checkpoint.best keeps 2 numbers, not " +
                                std::to_string(state.size()));
  best_ = Seen{state[0], static_cast<std::int64_t>(state[1])};
}

}  // namespace thalweg::engine
