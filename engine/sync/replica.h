// A rank's copy of everything that training changes.
#pragma once

#include <optional>
#include <vector>

#include "engine/comm/group.h"
#include "engine/nn/model.h"
#include "engine/optim/optimizer.h"
#include "engine/sync/device/flat_vector.h"
#include "engine/sync/sync_state.h"

namespace thalweg::engine {

/// The model's parameters as optimizers see them. The model must outlive what is made of it.
Parameters<float> parameters_of(const Model& model);

/// Flat, in the device's layout and (unless Place says otherwise) memory, but for `own` and
/// `scalars`, which are the host's.
struct Replica {
  enum class Place { device, host };
  /// `part`: of the parameters, which this rank alone updates; the optimizer's states of all others
  /// take no memory. Nothing: all, as every other rank does. `place`: of the memory.
  Replica(const Model& model, const Optimizer<float>& optimizer,
          const std::optional<comm::Group::Segment>& part = {}, Place place = Place::device);
  OptimizerMemory<float> memory(float* gradient);
  /// The weights to validate: `parameters`, or where the optimizer says otherwise, `evaluation`
  /// with its present values.
  const float* evaluated(const Optimizer<float>& optimizer);

  FlatVector parameters;
  FlatVector running;              ///< batch norm's running statistics
  std::vector<FlatVector> states;  ///< of the optimizer
  std::vector<float> own;          ///< of the optimizer: what has not the parameters' form
  std::vector<double> scalars;     ///< of the optimizer
  std::optional<comm::Group::Segment> part;  ///< of the parameters whose states are here; else all
  FlatVector evaluation;  ///< empty where the optimizer validates at `parameters`

 private:
  std::vector<float*> state_pointers_;
};

/// What a mode must save whose ranks' optimizers have states of their own: new ranks get the mean.
std::vector<SyncState> states_of_ranks(Replica& replica, const Model& model);

}  // namespace thalweg::engine
