#include <algorithm>

#include "engine/optim/wrap.h"

namespace thalweg::engine::optim {
namespace {

/// Where a group's own numbers start.
struct Place {
  std::size_t own = 0, scalars = 0;
};
template <class T>
StepContext context_of(StepContext c, const ParameterGroup<T>& group) {
  c.lr *= group.lr_factor;
  return c;
}
template <class T>
OptimizerMemory<T> memory_of(OptimizerMemory<T> x, const ParameterGroup<T>& group,
                             const Place& place) {
  x.own = x.own.subspan(place.own, group.optimizer->own());
  x.scalars = x.scalars.subspan(place.scalars, group.optimizer->scalars());
  return x;
}

class GroupsOnGpu final : public OptimizerOnGpu {
 public:
  GroupsOnGpu(const std::vector<ParameterGroup<float>>& groups, const std::vector<Place>& places,
              const std::vector<int>& group_of, const GpuPlace& place)
      : groups_(groups), places_(places) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      GpuPlace only = place;
      for (std::size_t p = 0; p < group_of.size(); ++p)
        if (static_cast<std::size_t>(group_of[p]) != g) only.infos[p].count = 0;
      parts_.push_back(groups[g].optimizer->on_gpu(only));
      if (groups[g].optimizer->has_eval_weights()) continue;
      for (const ParameterInfo& info : only.infos)
        if (info.count > 0) evaluated_here_.push_back(info);
    }
  }
  void update(gpu::Stream& stream, const StepContext& c, const OptimizerMemory<float>& x,
              const GradientNotes& notes) override {
    for (std::size_t g = 0; g < parts_.size(); ++g)
      parts_[g]->update(stream, context_of(c, groups_[g]), memory_of(x, groups_[g], places_[g]),
                        notes);
  }
  std::size_t factor_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& part : parts_) {
      if (part->factor_bytes() == 0) return 0;
      bytes += aligned(part->factor_bytes());
    }
    return bytes;
  }
  void write_factors(const StepContext& c, const OptimizerMemory<float>& x, void* to) override {
    if (factor_bytes() == 0) return OptimizerOnGpu::write_factors(c, x, to);  // throws
    auto* at = static_cast<std::byte*>(to);
    for (std::size_t g = 0; g < parts_.size(); ++g) {
      parts_[g]->write_factors(context_of(c, groups_[g]), memory_of(x, groups_[g], places_[g]), at);
      at += aligned(parts_[g]->factor_bytes());
    }
  }
  bool writes_narrow() const override {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const auto& part) { return part->writes_narrow(); });
  }
  void update_with(gpu::Stream& stream, const void* factors, const OptimizerMemory<float>& x,
                   const GradientNotes& notes, const BesidesUpdate& besides) override {
    const auto* at = static_cast<const std::byte*>(factors);
    for (std::size_t g = 0; g < parts_.size(); ++g) {
      parts_[g]->update_with(stream, at, memory_of(x, groups_[g], places_[g]), notes,
                             {nullptr, besides.narrow});
      at += aligned(parts_[g]->factor_bytes());
    }
  }
  void eval_weights(gpu::Stream& stream, const OptimizerMemory<float>& x, float* to) override {
    for (const ParameterInfo& info : evaluated_here_)
      stream.copy(to + info.offset, x.w + info.offset, info.count * sizeof(float));
    for (std::size_t g = 0; g < parts_.size(); ++g)
      if (groups_[g].optimizer->has_eval_weights())
        parts_[g]->eval_weights(stream, memory_of(x, groups_[g], places_[g]), to);
  }
  void observe_curvature(gpu::Stream& stream, const StepContext& c, const OptimizerMemory<float>& x,
                         const GradientNotes& notes) override {
    for (std::size_t g = 0; g < parts_.size(); ++g)
      if (groups_[g].optimizer->curvature_due(c.step))
        parts_[g]->observe_curvature(stream, context_of(c, groups_[g]),
                                     memory_of(x, groups_[g], places_[g]), notes);
  }
  std::string note() const override {
    std::string all;
    for (std::size_t g = 0; g < parts_.size(); ++g)
      if (const std::string note = parts_[g]->note(); !note.empty())
        all += (all.empty() ? "group " : "; group ") + std::to_string(g) + ": " + note;
    return all;
  }

 private:
  static std::size_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }

  const std::vector<ParameterGroup<float>>& groups_;
  const std::vector<Place>& places_;
  std::vector<ParameterInfo> evaluated_here_;
  std::vector<std::unique_ptr<OptimizerOnGpu>> parts_;
};

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
  bool has_eval_weights() const override {
    return std::any_of(groups_.begin(), groups_.end(),
                       [](const ParameterGroup<T>& g) { return g.optimizer->has_eval_weights(); });
  }
  void eval_weights(const OptimizerMemory<T>& x, T* to) const override {
    for (std::size_t p = 0; p < infos_.size(); ++p)
      if (!groups_[group(static_cast<int>(p))].optimizer->has_eval_weights())
        std::copy_n(x.w + infos_[p].offset, infos_[p].count, to + infos_[p].offset);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (groups_[g].optimizer->has_eval_weights())
        groups_[g].optimizer->eval_weights(memory(x, g), to);
  }
  bool observes_curvature() const override {
    return any_used([](const Optimizer<T>& o) { return o.observes_curvature(); });
  }
  bool curvature_due(std::int64_t step) const override {
    return any_used([step](const Optimizer<T>& o) { return o.curvature_due(step); });
  }
  void observe_curvature(const StepContext& c, const Segment& s,
                         const OptimizerMemory<T>& x) const override {
    const std::size_t g = group(s.parameter);
    if (groups_[g].optimizer->curvature_due(c.step))
      groups_[g].optimizer->observe_curvature(context(c, g), s, memory(x, g));
  }
  std::unique_ptr<OptimizerOnGpu> on_gpu(const GpuPlace& place) const override {
    if constexpr (std::is_same_v<T, float>)
      return std::make_unique<GroupsOnGpu>(groups_, places_, group_of_, place);
    else
      return Optimizer<T>::on_gpu(place);
  }

 private:
  /// Of groups that have a parameter: all may have an option of their own, none the optimizer's.
  template <class F>
  bool any_used(const F& is) const {
    return std::any_of(group_of_.begin(), group_of_.end(),
                       [&](int g) { return is(*groups_[static_cast<std::size_t>(g)].optimizer); });
  }
  std::size_t group(int parameter) const {
    return static_cast<std::size_t>(group_of_[static_cast<std::size_t>(parameter)]);
  }
  StepContext context(const StepContext& c, std::size_t g) const {
    return context_of(c, groups_[g]);
  }
  OptimizerMemory<T> memory(const OptimizerMemory<T>& x, std::size_t g) const {
    return memory_of(x, groups_[g], places_[g]);
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
