#include "engine/sync/replica.h"

#include <algorithm>

namespace thalweg::engine {
namespace {

class ModelLayout final : public Layout<float> {
 public:
  explicit ModelLayout(const Model& model) : model_(model) {}
  void to_plain(int parameter, const float* device, float* plain) const override {
    model_.to_plain(parameter, device, plain);
  }
  void from_plain(int parameter, const float* plain, float* device) const override {
    model_.from_plain(parameter, plain, device);
  }

 private:
  const Model& model_;
};

}  // namespace

Parameters<float> parameters_of(const Model& model) {
  return {model.parameters(), std::make_shared<ModelLayout>(model)};
}

Replica::Replica(const Model& model, const Optimizer<float>& optimizer,
                 const std::optional<comm::Group::Segment>& own_part, Place place)
    : own(optimizer.own()), scalars(optimizer.scalars()) {
  const auto vector = [&](std::size_t count, const char* what) {
    return place == Place::device ? FlatVector::of(model, count, what)
                                  : FlatVector(nullptr, count, what);
  };
  const std::size_t floats = model.parameter_floats();
  parameters = vector(floats, "parameters");
  running = vector(model.statistics(), "running statistics");
  if (parameters.on_host()) part = own_part;
  for (int i = 0; i < optimizer.states(); ++i) {
    if (part)
      states.push_back(FlatVector::sparse(floats));
    else
      states.push_back(vector(floats, "state of the optimizer"));
    state_pointers_.push_back(states.back().floats());
  }
  if (optimizer.has_eval_weights()) evaluation = vector(floats, "parameters to validate");
}

OptimizerMemory<float> Replica::memory(float* gradient) {
  return {parameters.floats(), gradient, state_pointers_, own, scalars};
}

const float* Replica::evaluated(const Optimizer<float>& optimizer) {
  if (!optimizer.has_eval_weights()) return parameters.floats();
  optimizer.eval_weights(memory(nullptr), evaluation.floats());
  return evaluation.floats();
}

std::vector<SyncState> states_of_ranks(Replica& replica, const Model& model) {
  using enum SyncState::Ranks;
  std::vector<SyncState> states;
  for (std::size_t i = 0; i < replica.states.size(); ++i)
    states.push_back({"state" + std::to_string(i + 1),
                      averaged,
                      {replica.states[i].floats(), model.parameter_floats()},
                      {},
                      true});
  if (!replica.own.empty()) states.push_back({"own", averaged, replica.own, {}, false});
  if (!replica.scalars.empty()) states.push_back({"scalars", averaged, {}, replica.scalars, false});
  return states;
}

}  // namespace thalweg::engine
