// Where a run begins: an attempt's checkpoints, found and shared among the ranks (what is written:
// attempt_checkpoints.cpp).
#include <algorithm>
#include <array>
#include <utility>

#include "engine/device/input_shape.h"
#include "engine/nn/graph.h"
#include "engine/train/attempt.h"
#include "engine/train/hash.h"
#include "engine/train/sync_states.h"

namespace thalweg::engine {
namespace {

/// A checkpoint of a shorter run is this run's own where training so far would have been the same:
/// then its identity with this run's length, else as it is.
jobspec::Value identity_in_longer_run(const Checkpoint& checkpoint, const Factory& factory,
                                      const RunLength& length) {
  jobspec::Value identity = checkpoint.identity;
  const jobspec::Value* const total = identity.find("total_steps");
  if (total == nullptr || total->as_int() >= length.total_steps) return identity;
  RunLength shorter = length;
  shorter.total_steps = total->as_int();
  const auto then = factory.schedule(shorter), now = factory.schedule(length);
  // Where steps have had more than a batch the checkpoint is further in the schedule than they say.
  const bool as_steps = checkpoint.growth.empty() && !factory.takes_on_demand();
  const std::int64_t behind = as_steps ? checkpoint.step : shorter.total_steps;
  for (std::int64_t step = 0; step < behind; ++step) {
    const ScheduleValue was = then->at(step), is = now->at(step);
    if (was.lr != is.lr || was.momentum != is.momentum)
      throw std::invalid_argument(
          "the checkpoint is of a run of " + std::to_string(shorter.total_steps) +
          " steps, whose length sets its learning rate: with " +
          std::to_string(length.total_steps) + " steps it differs from step " +
          std::to_string(step) + " on; train it from the start");
  }
  identity.set("total_steps", length.total_steps);
  return identity;
}

}  // namespace

FoundCheckpoint Attempt::find_checkpoint() {
  if (!is_root()) return {};
  FoundCheckpoint found = newest_checkpoint(checkpoint_folders());
  for (const std::string& reason : found.rejected)
    record.note("warning", "checkpoint passed over: " + reason);
  if (found.checkpoint)
    require_same_run(identity_in_longer_run(*found.checkpoint, factory, plan.length),
                     run_identity(resolved_config(), in.trial.seed, plan.length.total_steps),
                     found.file);
  return found;
}

void Attempt::load_beginning(FoundCheckpoint& found) {
  const std::optional<InitFrom> from = factory.init_from();
  if (!from) return;
  beginning =
      engine::load_beginning(*from, in.trial.init_from, factory.graph(input_shape(*dataset)));
  if (!beginning->checkpoint) return;
  found.file = beginning->file;
  found.checkpoint =
      continued(*beginning, run_identity(factory.resolved(settings, beginning->checkpoint->shards),
                                         in.trial.seed, plan.length.total_steps));
  beginning->checkpoint.reset();
  beginning->arrays.clear();
}

/// This attempt's own first.
std::vector<std::filesystem::path> Attempt::checkpoint_folders() const {
  std::vector<std::filesystem::path> folders{in.folder / checkpoints_folder};
  folders.insert(folders.end(), in.trial.resume.begin(), in.trial.resume.end());
  return folders;
}

void Attempt::start_fresh_or_resume(const FoundCheckpoint& found) {
  const auto count = static_cast<std::size_t>(model->parameter_count());
  std::vector<float> plain(count), running(model->statistics());
  // Plain numbers travel, so that each rank puts them into its own device's layout.
  const auto share = [&](const std::vector<float>* source, FlatVector& target) {
    if (source != nullptr) plain = *source;
    in.group.broadcast(plain.data(), count * sizeof(float), 0);
    model->from_plain(plain.data(), target.floats());
  };
  const Checkpoint* c = found.checkpoint ? &*found.checkpoint : nullptr;
  together(in.group, [&] {
    if (c != nullptr &&
        (c->parameters.size() != count || c->running.size() != model->statistics() ||
         c->states.size() != replica->states.size() || c->own.size() != replica->own.size() ||
         c->scalars.size() != replica->scalars.size()))
      throw BadCheckpoint(found.file.string() + ": its sizes are not those of this model");
    if (is_root() && c == nullptr) {
      model->initialize(in.trial.seed, replica->parameters.floats(), running.data());
      model->to_plain(replica->parameters.floats(), plain.data());
      if (beginning) beginning->put(plain, running);
    }
  });
  share(c != nullptr ? &c->parameters : nullptr, replica->parameters);
  if (c != nullptr) running = c->running;
  in.group.broadcast(running.data(), running.size() * sizeof(float), 0);
  replica->running.write(running.data());
  for (std::size_t i = 0; step > 0 && i < replica->states.size(); ++i) {
    const std::vector<float>* const source = c != nullptr ? &c->states[i] : nullptr;
    if (!replica->part) {
      share(source, replica->states[i]);
      continue;
    }
    FlatVector whole(nullptr, model->parameter_floats(), "a state of the optimizer");
    share(source, whole);
    const comm::Group::Segment& part = *replica->part;
    std::copy_n(whole.floats() + part.begin, part.count, replica->states[i].floats() + part.begin);
  }
  if (c != nullptr) {
    std::copy(c->own.begin(), c->own.end(), replica->own.begin());
    std::copy(c->scalars.begin(), c->scalars.end(), replica->scalars.begin());
  }
  in.group.broadcast(replica->own.data(), replica->own.size() * sizeof(float), 0);
  in.group.broadcast(replica->scalars.data(), replica->scalars.size() * sizeof(double), 0);
  share_learnt(found);
  std::array<double, 2> reported{};
  if (c != nullptr) reported = {c->interval_loss, static_cast<double>(c->interval_steps)};
  in.group.broadcast(reported.data(), sizeof reported, 0);
  if (c != nullptr) samples_before = c->samples;
  interval = Interval(reported[0], static_cast<std::int64_t>(reported[1]));
}

/// What was learnt from validation and gradients. Collective.
void Attempt::share_learnt(const FoundCheckpoint& found) {
  const Checkpoint* const c = found.checkpoint ? &*found.checkpoint : nullptr;
  const auto share = [&](auto& learner, const std::vector<double>* kept) {
    std::vector<double> state;
    together(in.group, [&] {
      if (kept == nullptr) return;
      learner.restore(*kept);  // says what is wrong with it
      state = *kept;
    });
    std::uint64_t count = state.size();
    in.group.broadcast(&count, sizeof count, 0);
    if (count == 0) return;
    state.resize(count);
    in.group.broadcast(state.data(), count * sizeof(double), 0);
    learner.restore(state);
  };
  share(*schedule, c != nullptr ? &c->schedule : nullptr);
  share(growth, c != nullptr ? &c->growth : nullptr);
  share(noise, c != nullptr ? &c->noise : nullptr);
  share(stop_rule, c != nullptr ? &c->stop : nullptr);
  share(best, c != nullptr ? &c->best : nullptr);
}

void Attempt::resume_mode(const FoundCheckpoint& found) {
  const std::vector<SyncState> states = mode->states();
  if (states.empty()) return;
  char fits = 1;
  together(in.group, [&] {
    if (!found.checkpoint) return;
    try {
      require_parts(found.checkpoint->parts, states, *model);
    } catch (const std::invalid_argument& e) {
      fits = 0;
      if (resumed) throw BadCheckpoint(found.file.string() + ": " + e.what());
      record.note("info", "init_from: the state of sync starts afresh: " + std::string(e.what()));
    }
  });
  in.group.broadcast(&fits, sizeof fits, 0);
  if (fits == 0) return;
  spread_states(found.checkpoint ? found.checkpoint->parts : std::vector<CheckpointPart>(), states,
                *model, in.group);
}

void Attempt::require_equal_replicas() {
  if (in.group.size() == 1) return;
  Hash hash;
  const std::size_t floats = model->parameter_floats();
  const auto add = [&](const FlatVector& vector, std::size_t count) {
    const std::vector<float> values = vector.read();
    hash.add(values.data(), count);
  };
  add(replica->parameters, floats);
  for (const FlatVector& state : replica->states)
    if (!replica->part) add(state, floats);
  hash.add(replica->own.data(), replica->own.size());
  add(replica->running, model->statistics());
  const std::uint64_t mine = hash.value();
  std::vector<std::uint64_t> all(static_cast<std::size_t>(in.group.size()));
  in.group.allgather(&mine, all.data(), sizeof mine);
  for (int rank = 1; rank < in.group.size(); ++rank)
    if (all[static_cast<std::size_t>(rank)] != all[0])
      throw std::runtime_error("rank " + std::to_string(rank) + " on " + in.group.node_of(rank) +
                               " has other parameters than rank 0 before step " +
                               std::to_string(step) + " (do the nodes have different processors?)");
}

}  // namespace thalweg::engine
