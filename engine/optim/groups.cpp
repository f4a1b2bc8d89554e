#include <algorithm>

#include "engine/optim/wrap.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
class Groups final : public Optimizer<T> {
 public:
  Groups(std::vector<ParameterGroup<T>> groups, std::vector<int> group_of,
         const std::vector<ParameterInfo>& infos)
      : groups_(std::move(groups)), group_of_(std::move(group_of)), infos_(infos) {
    for (const ParameterGroup<T>& group : groups_) {
      const Optimizer<T>& o = *group.optimizer;
      places_.push_back({own_, scalars_});
      states_ = std::max(states_, o.states());
      own_ += o.own();
      scalars_ += o.scalars();
    }
  }
  int states() const override { return states_; }
  std::size_t own() const override { return own_; }
  std::size_t scalars() const override { return scalars_; }
  bool elementwise(int parameter) const override {
    return groups_[group(parameter)].optimizer->elementwise(parameter);
  }
  void update(const StepContext& c, const Segment& s, const OptimizerMemory<T>& x) const override {
    const std::size_t g = group(s.parameter);
    groups_[g].optimizer->update(context(c, g), s, memory(x, g));
  }
  void finish(const StepContext& c, const OptimizerMemory<T>& x) const override {
    for (std::size_t g = 0; g < groups_.size(); ++g)
      groups_[g].optimizer->finish(context(c, g), memory(x, g));
  }
  bool evaluates_elsewhere() const override {
    return std::any_of(groups_.begin(), groups_.end(), [](const ParameterGroup<T>& g) {
      return g.optimizer->evaluates_elsewhere();
    });
  }
  void evaluation_point(const OptimizerMemory<T>& x, T* to) const override {
    for (std::size_t p = 0; p < infos_.size(); ++p)
      if (!groups_[group(static_cast<int>(p))].optimizer->evaluates_elsewhere())
        std::copy_n(x.w + infos_[p].offset, infos_[p].count, to + infos_[p].offset);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (groups_[g].optimizer->evaluates_elsewhere())
        groups_[g].optimizer->evaluation_point(memory(x, g), to);
  }
  int curvature_every() const override {
    int every = 0;
    for (const ParameterGroup<T>& g : groups_)
      every = std::max(every, g.optimizer->curvature_every());
    return every;
  }
  void observe_curvature(const StepContext& c, const Segment& s,
                         const OptimizerMemory<T>& x) const override {
    const std::size_t g = group(s.parameter);
    if (groups_[g].optimizer->curvature_every() > 0)
      groups_[g].optimizer->observe_curvature(context(c, g), s, memory(x, g));
  }

 private:
  struct Place {
    std::size_t own = 0, scalars = 0;
  };

  std::size_t group(int parameter) const {
    return static_cast<std::size_t>(group_of_[static_cast<std::size_t>(parameter)]);
  }
  StepContext context(StepContext c, std::size_t g) const {
    c.lr *= groups_[g].lr_factor;
    return c;
  }
  OptimizerMemory<T> memory(OptimizerMemory<T> x, std::size_t g) const {
    const Optimizer<T>& o = *groups_[g].optimizer;
    x.own = x.own.subspan(places_[g].own, o.own());
    x.scalars = x.scalars.subspan(places_[g].scalars, o.scalars());
    return x;
  }

  std::vector<ParameterGroup<T>> groups_;
  std::vector<int> group_of_;
  std::vector<ParameterInfo> infos_;
  std::vector<Place> places_;
  int states_ = 0;
  std::size_t own_ = 0, scalars_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<Optimizer<T>> in_groups(std::vector<ParameterGroup<T>> groups,
                                        std::vector<int> group_of,
                                        const std::vector<ParameterInfo>& infos) {
  return std::make_unique<Groups<T>>(std::move(groups), std::move(group_of), infos);
}
template std::unique_ptr<Optimizer<float>> in_groups(std::vector<ParameterGroup<float>>,
                                                     std::vector<int>,
                                                     const std::vector<ParameterInfo>&);
template std::unique_ptr<Optimizer<double>> in_groups(std::vector<ParameterGroup<double>>,
                                                      std::vector<int>,
                                                      const std::vector<ParameterInfo>&);

}  // namespace thalweg::engine::optim
