// A rank whose numbers differ (a processor or memory that errs, another library) spoils the run for
// all, silently: sums go on. Hashes of all tensors are compared instead of the tensors.
#include "engine/sync/replica_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "engine/optim/norm.h"

namespace thalweg::engine {
namespace {

/// FNV-1a (Fowler, Noll, Vo) over 32-bit words.
template <class T>
std::uint64_t hash_of(std::span<const T> values) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const T& value : values) {
    std::uint32_t words[sizeof(T) / 4];
    std::memcpy(words, &value, sizeof value);
    for (const std::uint32_t word : words)
      hash = (hash ^ word) * 0x100000001b3u;
  }
  return hash;
}

struct Hashes {
  std::vector<std::string> names;
  std::vector<std::uint64_t> values;

  void add(std::string name, std::uint64_t value) {
    names.push_back(std::move(name));
    values.push_back(value);
  }
};

Hashes hashes_of(const Model& model, const Replica& replica, const float* gradient) {
  Hashes all;
  const auto add = [&](const std::string& before, const float* flat) {
    for (const ParameterInfo& info : model.parameters())
      all.add(before + info.name, hash_of(std::span(flat + info.offset, info.count)));
  };
  // First what the other differences come from.
  if (gradient != nullptr) add("gradient of ", gradient);
  add("", replica.parameters.read().data());
  int number = 0;
  for (const FlatVector& state : replica.states)
    if (!replica.part) add("state " + std::to_string(++number) + " of ", state.read().data());
  all.add("running statistics", hash_of(std::span<const float>(replica.running.read())));
  all.add("the optimizer's own numbers", hash_of(std::span<const float>(replica.own)));
  all.add("the optimizer's scalars", hash_of(std::span<const double>(replica.scalars)));
  return all;
}

/// What most have; of as many the value of the first rank.
std::uint64_t most_of(const std::vector<std::uint64_t>& values) {
  std::map<std::uint64_t, int> counts;
  for (const std::uint64_t value : values)
    ++counts[value];
  std::uint64_t most = values[0];
  for (const std::uint64_t value : values)
    if (counts[value] > counts[most]) most = value;
  return most;
}

std::vector<double> norms(comm::Group& group, const Model& model, const float* gradient) {
  double squares = 0;
  for (const ParameterInfo& info : model.parameters())
    squares += optim::sum_of_squares(info.count, gradient + info.offset);
  const double mine = std::sqrt(squares);
  std::vector<double> all(static_cast<std::size_t>(group.size()));
  group.allgather(&mine, all.data(), sizeof mine);
  return all;
}

}  // namespace

std::optional<Divergence> find_divergence(comm::Group& group, const Model& model,
                                          const Replica& replica, const float* gradient) {
  const Hashes mine = hashes_of(model, replica, gradient);
  const auto ranks = static_cast<std::size_t>(group.size());
  const std::uint64_t whole = hash_of(std::span<const std::uint64_t>(mine.values));
  std::vector<std::uint64_t> wholes(ranks);
  group.allgather(&whole, wholes.data(), sizeof whole);
  const std::uint64_t most = most_of(wholes);
  const auto differs = [&](std::size_t rank) { return wholes[rank] != most; };
  Divergence found;
  found.ranks = 0;
  for (std::size_t rank = ranks; rank-- > 0;) {
    if (differs(rank)) {
      found.rank = static_cast<int>(rank);
      ++found.ranks;
    } else {
      found.reference = static_cast<int>(rank);
    }
  }
  if (found.ranks == 0) return std::nullopt;

  const std::size_t count = mine.values.size();
  std::vector<std::uint64_t> all(ranks * count);
  group.allgather(mine.values.data(), all.data(), count * sizeof(std::uint64_t));
  const auto* theirs = all.data() + static_cast<std::size_t>(found.rank) * count;
  const auto* good = all.data() + static_cast<std::size_t>(found.reference) * count;
  const auto at =
      static_cast<std::size_t>(std::mismatch(theirs, theirs + count, good).first - theirs);
  found.tensor = mine.names[at];
  if (gradient != nullptr && found.tensor.starts_with("gradient of ")) {
    const std::vector<double> norm = norms(group, model, gradient);
    found.norm = norm[static_cast<std::size_t>(found.rank)];
    found.reference_norm = norm[static_cast<std::size_t>(found.reference)];
  }
  return found;
}

std::string describe(const Divergence& found, const comm::Group& group) {
  std::string text = found.tensor + " differs: rank " + std::to_string(found.rank) + " on " +
                     group.node_of(found.rank) + " has other numbers than rank " +
                     std::to_string(found.reference);
  if (found.norm != found.reference_norm) {
    char norms[96];
    std::snprintf(norms, sizeof norms, " (norm of the whole gradient %.9g, there %.9g)", found.norm,
                  found.reference_norm);
    text += norms;
  }
  if (found.ranks > 1) text += ", and so have " + std::to_string(found.ranks - 1) + " more ranks";
  return text;
}

void broadcast_replica(comm::Group& group, Replica& replica, int from) {
  const auto spread = [&](FlatVector& vector) {
    std::vector<float> values = vector.read();
    group.broadcast(values.data(), values.size() * sizeof(float), from);
    if (group.rank() != from) vector.write(values.data());
  };
  spread(replica.parameters);
  spread(replica.running);
  for (FlatVector& state : replica.states)
    if (!replica.part) spread(state);
  group.broadcast(replica.own.data(), replica.own.size() * sizeof(float), from);
  group.broadcast(replica.scalars.data(), replica.scalars.size() * sizeof(double), from);
}

}  // namespace thalweg::engine
