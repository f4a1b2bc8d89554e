// The way of optimizers that have no kernels of their own.
#include <cmath>
#include <stdexcept>

#include "engine/optim/on_gpu.h"

namespace thalweg::engine {
namespace optim {
namespace {

/// Neighbouring parameters, copied at once.
struct Run {
  std::size_t first = 0, count = 0;
};

class UpdateOnHost final : public OptimizerOnGpu {
 public:
  UpdateOnHost(const Optimizer<float>& optimizer, const GpuPlace& place)
      : optimizer_(optimizer), infos_(place.infos) {
    std::size_t floats = 0;
    for (const ParameterInfo& info : infos_) {
      if (info.count == 0) continue;
      if (runs_.empty() || runs_.back().first + runs_.back().count != info.offset)
        runs_.push_back({info.offset, 0});
      runs_.back().count += info.count;
      floats = info.offset + info.count;
    }
    const auto pinned = [&](std::size_t bytes) {
      return gpu::Memory(place.gpu, bytes, "the host's copies of an update", true);
    };
    for (int i = 0; i < 2 + optimizer_.states(); ++i)
      vectors_.push_back(pinned(floats * sizeof(float)));
    squares_ = pinned(infos_.size() * sizeof(double));
    uses_ = pinned(infos_.size() * sizeof(float));
    for (int s = 0; s < optimizer_.states(); ++s)
      states_.push_back(vectors_[static_cast<std::size_t>(s) + 2].floats());
  }

  void update(gpu::Stream& stream, const StepContext& context, const OptimizerMemory<float>& memory,
              const GradientNotes& notes) override {
    const OptimizerMemory<float> here = fetch(stream, memory, notes);
    for_each_segment(notes, [&](const Segment& s) { optimizer_.update(context, s, here); });
    optimizer_.finish(context, here);
    put_back(stream, memory);
  }
  void eval_weights(gpu::Stream& stream, const OptimizerMemory<float>& memory, float* x) override {
    OptimizerMemory<float> there = memory;
    there.g = nullptr;
    const OptimizerMemory<float> here = fetch(stream, there, {});
    optimizer_.eval_weights(here, here.g);
    copy(stream, x, here.g);
  }
  void observe_curvature(gpu::Stream& stream, const StepContext& context,
                         const OptimizerMemory<float>& memory,
                         const GradientNotes& notes) override {
    const OptimizerMemory<float> here = fetch(stream, memory, notes);
    for_each_segment(notes,
                     [&](const Segment& s) { optimizer_.observe_curvature(context, s, here); });
    put_back(stream, memory);
  }
  std::string note() const override {
    return "the optimizer's update is done by the host: the GPU waits for it, and weights, "
           "gradients "
           "and states are copied there and back in every step";
  }

 private:
  void copy(gpu::Stream& stream, float* to, const float* from) const {
    for (const Run& run : runs_)
      stream.copy(to + run.first, from + run.first, run.count * sizeof(float));
  }
  /// Waits.
  OptimizerMemory<float> fetch(gpu::Stream& stream, const OptimizerMemory<float>& memory,
                               const GradientNotes& notes) {
    copy(stream, vectors_[0].floats(), memory.w);
    if (memory.g != nullptr) copy(stream, vectors_[1].floats(), memory.g);
    for (std::size_t s = 0; s < states_.size(); ++s)
      copy(stream, states_[s], memory.states[s]);
    if (notes.squares != nullptr) stream.copy(squares_.data(), notes.squares, squares_.bytes());
    if (notes.uses != nullptr) stream.copy(uses_.data(), notes.uses, uses_.bytes());
    stream.wait();
    return {vectors_[0].floats(), vectors_[1].floats(), states_, memory.own, memory.scalars};
  }
  void put_back(gpu::Stream& stream, const OptimizerMemory<float>& memory) const {
    copy(stream, memory.w, vectors_[0].floats());
    for (std::size_t s = 0; s < states_.size(); ++s)
      copy(stream, memory.states[s], states_[s]);
  }
  template <class F>
  void for_each_segment(const GradientNotes& notes, const F& f) const {
    for (std::size_t p = 0; p < infos_.size(); ++p) {
      if (infos_[p].count == 0) continue;
      if (notes.squares && !std::isfinite(static_cast<const double*>(squares_.data())[p])) continue;
      if (notes.uses && !(uses_.floats()[p] > 0)) continue;
      f(Segment{static_cast<int>(p), infos_[p].offset, infos_[p].count});
    }
  }

  const Optimizer<float>& optimizer_;
  std::vector<ParameterInfo> infos_;
  std::vector<Run> runs_;
  std::vector<gpu::Memory> vectors_;  ///< w, g, states
  gpu::Memory squares_, uses_;
  std::vector<float*> states_;
};

}  // namespace

std::unique_ptr<OptimizerOnGpu> update_on_host(const Optimizer<float>& optimizer,
                                               const GpuPlace& place) {
  return std::make_unique<UpdateOnHost>(optimizer, place);
}

}  // namespace optim

template <>
std::unique_ptr<OptimizerOnGpu> Optimizer<float>::on_gpu(const GpuPlace& place) const {
  return optim::update_on_host(*this, place);
}
template <>
std::unique_ptr<OptimizerOnGpu> Optimizer<double>::on_gpu(const GpuPlace&) const {
  throw std::logic_error("on a GPU optimizers compute in floats");
}

}  // namespace thalweg::engine
