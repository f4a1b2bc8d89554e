// Optimizers: one fused pass over flat parameter memory. Formula and source stand in each .cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::engine {

/// A contiguous run of parameters that is updated at once (a bucket or a tensor).
struct Segment {
  std::size_t offset = 0;  ///< in the flat memory
  std::size_t count = 0;
  bool decay = true;  ///< apply weight decay here
};

/// What holds for the whole step.
struct StepContext {
  std::int64_t step = 0;  ///< 0-based number of this update
  double lr = 0;          ///< already scheduled, for this update
  /// Set by schedules that move it: instead of the optimizer's own momentum (Adam's beta1).
  std::optional<double> momentum{};
};

/// Holds its state as `states()` flat vectors of the parameters' size. T is float or double. Not
/// thread-safe, but different segments may be updated from different threads.
template <class T>
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual int states() const = 0;
  /// w, g: whole flat memories; state: states() pointers to flat memories (zero at step 0).
  virtual void update(const StepContext& context, const Segment& segment, T* w, const T* g,
                      std::span<T* const> state) const = 0;
};

/// `options` is the trial's `train.optimizer` tree; lr is not used here (the schedule gives it).
/// Throws std::invalid_argument on an unknown name ("did you mean ...").
template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(const jobspec::Value& options);

/// The learning rate of the tree, or the literature default of that optimizer where it says `auto`.
/// `note` gets one sentence about where an automatic value came from.
double base_learning_rate(const jobspec::Value& options, std::string* note);

std::vector<jobspec::Section> optimizer_schema();

}  // namespace thalweg::engine
