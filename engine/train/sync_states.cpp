#include "engine/train/sync_states.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace thalweg::engine {
namespace {

std::size_t plain_count(const SyncState& state, const Model& model) {
  if (state.model_layout) return static_cast<std::size_t>(model.parameter_count());
  return std::max(state.floats.size(), state.doubles.size());
}

std::vector<float> plain_floats(const SyncState& state, const Model& model) {
  if (!state.model_layout) return {state.floats.begin(), state.floats.end()};
  std::vector<float> plain(static_cast<std::size_t>(model.parameter_count()));
  model.to_plain(state.floats.data(), plain.data());
  return plain;
}

bool is_own(const SyncState& state) {
  return state.ranks != SyncState::Ranks::equal;
}

/// With one vector.
CheckpointPart part_of(const SyncState& state, const Model& model) {
  CheckpointPart part;
  part.name = state.name;
  if (state.list != nullptr)
    part.doubles = {*state.list};
  else if (!state.doubles.empty())
    part.doubles = {{state.doubles.begin(), state.doubles.end()}};
  else
    part.floats = {plain_floats(state, model)};
  return part;
}

/// The vector of this rank out of those of a checkpoint, which rank 0 has.
template <class T>
std::vector<T> spread(const std::vector<std::vector<T>>& all, std::size_t count,
                      SyncState::Ranks how, comm::Group& group) {
  std::int64_t parts = static_cast<std::int64_t>(all.size());
  group.broadcast(&parts, sizeof parts, 0);
  const bool own = parts == group.size();
  std::vector<T> vector(count), mine(count);
  std::vector<double> sum(own ? 0 : count);
  for (std::int64_t part = 0; part < parts; ++part) {
    if (group.rank() == 0) vector = all[static_cast<std::size_t>(part)];
    group.broadcast(vector.data(), count * sizeof(T), 0);
    if (own && part == group.rank()) mine = vector;
    if (!own)
      for (std::size_t i = 0; i < count; ++i)
        sum[i] += static_cast<double>(vector[i]);
  }
  if (own) return mine;
  const double divisor =
      how == SyncState::Ranks::summed ? group.size() : static_cast<double>(parts);
  for (std::size_t i = 0; i < count; ++i)
    mine[i] = static_cast<T>(sum[i] / divisor);
  return mine;
}

void spread_list(const std::vector<std::vector<double>>& all, std::vector<double>& list,
                 comm::Group& group) {
  if (group.rank() == 0) list = all.at(0);
  std::uint64_t count = list.size();
  group.broadcast(&count, sizeof count, 0);
  list.resize(count);
  group.broadcast(list.data(), count * sizeof(double), 0);
}

}  // namespace

bool differ_by_rank(const std::vector<SyncState>& states) {
  return std::any_of(states.begin(), states.end(), is_own);
}

std::vector<CheckpointPart> common_parts(const std::vector<SyncState>& states, const Model& model,
                                         bool sliced) {
  std::vector<CheckpointPart> parts;
  for (const SyncState& state : states) {
    if (sliced && is_own(state))
      parts.push_back({state.name, {}, {}, true});
    else
      parts.push_back(part_of(state, model));
  }
  return parts;
}

std::vector<CheckpointPart> own_parts(const std::vector<SyncState>& states, const Model& model) {
  std::vector<CheckpointPart> parts;
  for (const SyncState& state : states)
    if (is_own(state)) parts.push_back(part_of(state, model));
  return parts;
}

void require_parts(const std::vector<CheckpointPart>& parts, const std::vector<SyncState>& states,
                   const Model& model) {
  if (parts.size() != states.size()) throw std::invalid_argument("it holds no state of sync");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (states[i].list != nullptr) {
      if (parts[i].name != states[i].name || parts[i].doubles.size() != 1)
        throw std::invalid_argument("its state of sync is not that of this mode");
      continue;
    }
    const std::size_t count = plain_count(states[i], model);
    const auto fits = [&](const auto& vectors) {
      return !vectors.empty() && std::all_of(vectors.begin(), vectors.end(),
                                             [&](const auto& v) { return v.size() == count; });
    };
    if (parts[i].name != states[i].name ||
        !(states[i].doubles.empty() ? fits(parts[i].floats) : fits(parts[i].doubles)))
      throw std::invalid_argument("its state of sync is not that of this model");
  }
}

void spread_states(const std::vector<CheckpointPart>& parts, const std::vector<SyncState>& states,
                   const Model& model, comm::Group& group) {
  static const CheckpointPart nothing;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const SyncState& state = states[i];
    const CheckpointPart& part = group.rank() == 0 ? parts[i] : nothing;
    if (state.list != nullptr) {
      spread_list(part.doubles, *state.list, group);
      continue;
    }
    const std::size_t count = plain_count(state, model);
    if (!state.doubles.empty()) {
      const auto mine = spread(part.doubles, count, state.ranks, group);
      std::copy(mine.begin(), mine.end(), state.doubles.begin());
      continue;
    }
    const auto mine = spread(part.floats, count, state.ranks, group);
    if (state.model_layout)
      model.from_plain(mine.data(), state.floats.data());
    else
      std::copy(mine.begin(), mine.end(), state.floats.begin());
  }
}

}  // namespace thalweg::engine
