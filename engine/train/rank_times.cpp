// The ranks tell each other with every validation, where they meet anyway: one small allgather.
#include "engine/train/rank_times.h"

#include <algorithm>
#include <set>

#include "jobspec/value.h"

namespace thalweg::engine {

std::vector<std::string> gather_texts(comm::Group& group, const std::string& mine) {
  const auto ranks = static_cast<std::size_t>(group.size());
  std::vector<std::uint64_t> lengths(ranks);
  const std::uint64_t length = mine.size();
  group.allgather(&length, lengths.data(), sizeof length);
  const std::size_t longest = *std::max_element(lengths.begin(), lengths.end());
  if (longest == 0) return std::vector<std::string>(ranks);
  std::string padded = mine, all(ranks * longest, ' ');
  padded.resize(longest);
  group.allgather(padded.data(), all.data(), longest);
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    texts.push_back(all.substr(rank * longest, lengths[rank]));
  return texts;
}

void RankTimes::add(const StepOutcome& outcome) {
  own_.steps += 1;
  own_.compute_ms += outcome.compute_ms;
  own_.optimizer_ms += outcome.optimizer_ms;
  own_.passes += outcome.passes;
  if (!outcome.comm_before) return;
  own_.measured += 1;
  own_.exposed_ms += outcome.comm_before->exposed_ms;
  own_.skew_ms += outcome.comm_before->skew_ms;
}

RankTimes::All RankTimes::gather(comm::Group& group, const Energy& energy) const {
  struct Told {
    Sums sums;
    Energy energy;
  };
  const Told mine{own_, energy};
  std::vector<Told> told(static_cast<std::size_t>(group.size()));
  group.allgather(&mine, told.data(), sizeof mine);

  All all;
  all.record.emplace_back("steps", static_cast<std::int64_t>(own_.steps));
  const auto add = [&](const char* name, double Sums::*sum, double Sums::*count) {
    jobspec::List list;
    for (const Told& rank : told)
      list.emplace_back(rank.sums.*count > 0 ? rank.sums.*sum / (rank.sums.*count) : 0.0);
    all.record.emplace_back(name, std::move(list));
  };
  add("data_ms", &Sums::data_ms, &Sums::steps);
  add("compute_ms", &Sums::compute_ms, &Sums::steps);
  add("comm_exposed_ms", &Sums::exposed_ms, &Sums::measured);
  add("skew_ms", &Sums::skew_ms, &Sums::measured);
  add("optimizer_ms", &Sums::optimizer_ms, &Sums::steps);
  if (own_.passes > 0) add("passes", &Sums::passes, &Sums::steps);

  all.energy = {0, 0, 0, told.front().energy.slurm};
  std::set<std::string> machines;
  for (int rank = 0; rank < group.size(); ++rank) {
    const Energy& theirs = told[static_cast<std::size_t>(rank)].energy;
    all.energy.gpu += theirs.gpu;
    if (!machines.insert(group.node_of(rank)).second) continue;
    all.energy.cpu += theirs.cpu;
    all.energy.node += theirs.node;
  }
  return all;
}

}  // namespace thalweg::engine
