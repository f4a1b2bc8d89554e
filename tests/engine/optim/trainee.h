// Parameters under an optimizer, without a model around them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/optim/optimizer.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/shape.h"
#include "jobspec/value.h"

namespace thalweg::engine::test {

/// A device that keeps every parameter backwards, with the padding in front: optimizers that need
/// the plain layout must ask for it.
template <class T>
class Backwards final : public Layout<T> {
 public:
  explicit Backwards(std::vector<ParameterInfo> infos) : infos_(std::move(infos)) {}
  void to_plain(int parameter, const T* device, T* plain) const override {
    const auto n = size(parameter), all = infos_[static_cast<std::size_t>(parameter)].count;
    for (std::size_t i = 0; i < n; ++i)
      plain[i] = device[all - 1 - i];
  }
  void from_plain(int parameter, const T* plain, T* device) const override {
    const auto n = size(parameter), all = infos_[static_cast<std::size_t>(parameter)].count;
    for (std::size_t i = 0; i < all; ++i)
      device[all - 1 - i] = i < n ? plain[i] : T(0);
  }

 private:
  std::size_t size(int parameter) const {
    return static_cast<std::size_t>(elements(infos_[static_cast<std::size_t>(parameter)].shape));
  }
  std::vector<ParameterInfo> infos_;
};

struct TraineeShape {
  std::string name;
  Shape shape;
  bool decay = true;
};

enum class Device { plain, backwards };

template <class T>
struct Trainee {
  using Number = T;
  using Values = std::vector<std::vector<T>>;  ///< one plain vector per parameter

  Trainee(const std::string& options, const std::vector<TraineeShape>& shapes,
          Device device = Device::plain) {
    std::size_t offset = 0;
    for (const TraineeShape& s : shapes) {
      ParameterInfo info{s.name, s.shape, offset, 0, s.decay, !s.decay};
      info.count = round_up(static_cast<std::size_t>(elements(s.shape)), 16);
      offset += info.count;
      parameters.infos.push_back(info);
    }
    if (device == Device::backwards)
      parameters.layout = std::make_shared<Backwards<T>>(parameters.infos);
    optimizer = make_optimizer<T>(jobspec::read_yaml(options, "test"), parameters);
    w.resize(offset);
    g.resize(offset);
    states.assign(static_cast<std::size_t>(optimizer->states()), std::vector<T>(offset));
    own.resize(optimizer->own());
    scalars.resize(optimizer->scalars());
  }

  OptimizerMemory<T> memory() {
    pointers.clear();
    for (auto& s : states)
      pointers.push_back(s.data());
    return {w.data(), g.data(), pointers, own, scalars};
  }
  void put(std::vector<T>& flat, const Values& values) const {
    for (std::size_t p = 0; p < values.size(); ++p) {
      const ParameterInfo& info = parameters.infos[p];
      if (parameters.layout)
        parameters.layout->from_plain(static_cast<int>(p), values[p].data(),
                                      flat.data() + info.offset);
      else
        std::copy(values[p].begin(), values[p].end(), flat.data() + info.offset);
    }
  }
  Values plain(const std::vector<T>& flat) const {
    Values values;
    for (std::size_t p = 0; p < parameters.infos.size(); ++p) {
      const ParameterInfo& info = parameters.infos[p];
      values.emplace_back(static_cast<std::size_t>(elements(info.shape)));
      if (parameters.layout)
        parameters.layout->to_plain(static_cast<int>(p), flat.data() + info.offset,
                                    values.back().data());
      else
        std::copy_n(flat.data() + info.offset, values.back().size(), values.back().data());
    }
    return values;
  }
  void step(const StepContext& context, const Values& gradients) {
    put(g, gradients);
    for (std::size_t p = 0; p < parameters.infos.size(); ++p)
      update(context, static_cast<int>(p));
    optimizer->finish(context, memory());
    observe(context, gradients);  // the published fixture observes the step's own gradient
  }
  void observe(const StepContext& context, const Values& gradients) {
    if (!optimizer->curvature_due(context.step)) return;
    put(g, gradients);
    for (std::size_t p = 0; p < parameters.infos.size(); ++p) {
      const ParameterInfo& info = parameters.infos[p];
      optimizer->observe_curvature(context, {static_cast<int>(p), info.offset, info.count},
                                   memory());
    }
  }
  void update(const StepContext& context, int p) {
    const ParameterInfo& info = parameters.infos[static_cast<std::size_t>(p)];
    optimizer->update(context, {p, info.offset, info.count}, memory());
  }
  /// Where the weights are validated.
  Values evaluated() {
    if (!optimizer->has_eval_weights()) return plain(w);
    std::vector<T> x(w.size());
    optimizer->eval_weights(memory(), x.data());
    return plain(x);
  }

  Parameters<T> parameters;
  std::unique_ptr<Optimizer<T>> optimizer;
  std::vector<T> w, g;
  std::vector<std::vector<T>> states;
  std::vector<T> own;
  std::vector<double> scalars;
  std::vector<T*> pointers;
};

}  // namespace thalweg::engine::test
