// Parameters under an optimizer on a GPU: this computer's, or where it has none the emulated one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/optim/on_gpu.h"
#include "tests/engine/optim/trainee.h"
#include "tests/support/emulated_gpu/emulated_gpu.h"

namespace thalweg::engine::test {

/// The GPU of this computer, or where it has none the emulated one.
inline gpu::Gpu& some_gpu() {
  return gpu::gpu_count() > 0 ? gpu::gpu(0) : gpu::emulated_gpu();
}

/// A flat vector in a GPU's memory, beside the host's.
class VectorOnGpu {
 public:
  VectorOnGpu(gpu::Gpu& machine, std::size_t floats)
      : machine_(machine), memory_(machine, floats * sizeof(float), "a test's vector") {}
  float* data() const { return memory_.floats(); }
  void put(const std::vector<float>& from) {
    machine_.copy(memory_.data(), from.data(), from.size() * sizeof(float));
  }
  void get(std::vector<float>& to) const {
    machine_.copy(to.data(), memory_.data(), to.size() * sizeof(float));
  }

 private:
  gpu::Gpu& machine_;
  gpu::Memory memory_;
};

struct TraineeOnGpu : Trainee<float> {
  TraineeOnGpu(const std::string& options, const std::vector<TraineeShape>& shapes,
               Device device = Device::plain, gpu::Gpu& on = some_gpu())
      : Trainee<float>(options, shapes, device),
        machine(on),
        stream(machine.stream()),
        there_w(machine, w.size()),
        there_g(machine, w.size()),
        updater(optimizer->on_gpu({machine, parameters.infos})) {
    for (std::size_t s = 0; s < states.size(); ++s) {
      there_states.emplace_back(machine, w.size());
      state_pointers.push_back(there_states.back().data());
    }
  }
  OptimizerMemory<float> memory_there() {
    return {there_w.data(), there_g.data(), state_pointers, own, scalars};
  }
  /// `w` and `states` go there and come back; what happens between must wait only where the
  /// optimizer's note says so.
  void step(const StepContext& context, const Values& gradients) {
    put(g, gradients);
    send();
    const gpu::Counts before = machine.counts();
    if (captured)
      update_captured(context);
    else
      updater->update(*stream, context, memory_there(), notes);
    const gpu::Counts after = machine.counts();
    waits = after.waits - before.waits;
    other = after.allocations - before.allocations + after.pageable_copies - before.pageable_copies;
    if (optimizer->curvature_due(context.step)) {
      there_g.put(g);
      updater->observe_curvature(*stream, context, memory_there(), {});
    }
    stream->wait();
    there_w.get(w);
    there_g.get(g);
    for (std::size_t s = 0; s < states.size(); ++s)
      there_states[s].get(states[s]);
  }
  Values evaluated() {
    if (!optimizer->has_eval_weights()) return plain(w);
    send();
    const VectorOnGpu x(machine, w.size());
    updater->eval_weights(*stream, memory_there(), x.data());
    stream->wait();
    std::vector<float> here(w.size());
    x.get(here);
    return plain(here);
  }

  gpu::Gpu& machine;
  std::unique_ptr<gpu::Stream> stream;
  GradientNotes notes;
  bool captured = false;  ///< by update_with(), from the second time on as a captured graph
  std::vector<double> squares() const { return read<double>(squares_); }
  std::vector<gpu::Bf16> narrow() const { return read<gpu::Bf16>(narrow_); }
  long waits = 0, other = 0;  ///< of the last update: the host's waits, what a step must not do

 private:
  template <class T>
  std::vector<T> read(const gpu::Memory& memory) const {
    std::vector<T> here(memory.bytes() / sizeof(T));
    machine.copy(here.data(), memory.data(), memory.bytes());
    return here;
  }
  void update_captured(const StepContext& context) {
    updater->write_factors(context, memory_there(), factors_.data());
    stream->copy(factors_there_.data(), factors_.data(), factors_.bytes());
    const auto work = [&] {
      updater->update_with(
          *stream, factors_there_.data(), memory_there(), notes,
          {static_cast<double*>(squares_.data()), static_cast<gpu::Bf16*>(narrow_.data())});
    };
    if (context.step == 0) return work();
    if (!graph_) {
      stream->begin_capture();
      work();
      graph_ = stream->end_capture();
    }
    stream->launch(*graph_);
  }
  void send() {
    there_w.put(w);
    there_g.put(g);
    for (std::size_t s = 0; s < states.size(); ++s)
      there_states[s].put(states[s]);
  }

  VectorOnGpu there_w, there_g;
  std::vector<VectorOnGpu> there_states;
  std::vector<float*> state_pointers;

 public:
  std::unique_ptr<OptimizerOnGpu> updater;

 private:
  gpu::Memory factors_{machine, updater->factor_bytes(), "factors", true};
  gpu::Memory factors_there_{machine, updater->factor_bytes(), "factors"};
  gpu::Memory squares_{machine, parameters.infos.size() * sizeof(double), "sums"};
  gpu::Memory narrow_{machine, w.size() * sizeof(gpu::Bf16), "weights in bfloat16"};
  std::unique_ptr<gpu::CapturedGraph> graph_;
};

}  // namespace thalweg::engine::test
