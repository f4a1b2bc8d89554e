// Into how many shards a batch falls, and a shard into micro-batches. Sums over shards are added up
// in one order whatever the ranks, so trials with the same shards have the same bits.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/train/options.h"

namespace thalweg::engine {
namespace {

// One machine's worth of ranks shares the shards, so that a trial can move between 1, 2 and 4
// ranks.
constexpr int kMinShards = 4;
// A GPU computes its shards one after another: the fewer, the better it is filled.
constexpr int kMinShardsOfGpus = 1;

std::string list_divisors(int batch, int at_least) {
  std::string text;
  int found = 0;
  for (int n = at_least; n <= batch && found < 4; ++n) {
    if (batch % n != 0) continue;
    text += (found++ == 0 ? "" : ", ") + std::to_string(n);
  }
  return text;
}

/// What does not divide the batch where nothing fits.
int automatic_shards(const Settings& settings, int ranks) {
  int bound = settings.device == "cuda" ? kMinShardsOfGpus : kMinShards;
  while (bound < ranks)
    bound *= 2;
  for (int n = bound; n >= ranks; --n)
    if (settings.global_batch % n == 0) return n;
  for (int n = bound + 1; n <= 2 * bound; ++n)
    if (settings.global_batch % n == 0) return n;
  return bound;
}

/// Those of the sweep's largest trial, where they fit this one.
int automatic_shards(const Settings& settings, const Ranks& ranks) {
  const int of_sweep = automatic_shards(settings, std::max(ranks.here, ranks.of_sweep));
  return settings.global_batch % of_sweep == 0 ? of_sweep : automatic_shards(settings, ranks.here);
}

}  // namespace

std::string shards_note(const Settings& settings, const Ranks& ranks, int shards) {
  const int of_one = automatic_shards(settings, {1, ranks.of_sweep});
  if (settings.shards || shards == of_one) return "";
  return "batch.shards: auto is " + std::to_string(shards) + " for " + std::to_string(ranks.here) +
         " ranks and " + std::to_string(of_one) +
         " for one: a different order of sums (and batch norm over other shards), so a different "
         "curve. Set batch.shards to compare rank counts";
}

int choose_shards(const Settings& settings, const Ranks& all_ranks, int resumed) {
  const int ranks = all_ranks.here;
  int shards = automatic_shards(settings, all_ranks);
  if (resumed >= ranks) shards = resumed;
  if (settings.shards) shards = *settings.shards;
  const std::string batch = std::to_string(settings.global_batch);
  if (shards < ranks && settings.shares.empty() && !settings.measures_shares)
    throw std::invalid_argument("batch.shards: " + std::to_string(ranks) + " ranks cannot share " +
                                std::to_string(shards) + " shards; use at most " +
                                std::to_string(shards) + " ranks, or more shards");
  if (settings.global_batch % shards != 0)
    throw std::invalid_argument(
        "batch.global: " + batch + " samples do not divide into " + std::to_string(shards) +
        " shards; use a multiple of " + std::to_string(shards) +
        (settings.global_batch < ranks
             ? ""
             : ", or set batch.shards to one of " + list_divisors(settings.global_batch, ranks)));
  return shards;
}

std::vector<int> divide_shards(const std::vector<RankSpeed>& ranks, int shards) {
  std::vector<int> counts(ranks.size());
  const auto done = [&](std::size_t rank) {
    const int rounds = counts[rank] / ranks[rank].threads + 1;  // with one shard more
    return ranks[rank].seconds * rounds;
  };
  for (int shard = 0; shard < shards; ++shard) {
    std::size_t best = ranks.size();
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank].seconds <= 0) continue;
      // Of two that are done at once the one that has less to do, the last ones first: as equal
      // ranks share, those behind have more.
      if (best == ranks.size() || done(rank) < done(best) ||
          (done(rank) == done(best) && counts[rank] <= counts[best]))
        best = rank;
    }
    ++counts[best];
  }
  std::vector<int> first{0};
  for (const int count : counts)
    first.push_back(first.back() + count);
  return first;
}

std::vector<RankSpeed> speeds_of(const std::vector<double>& shares, int ranks) {
  if (shares.size() != static_cast<std::size_t>(ranks))
    throw std::invalid_argument("batch.shares: " + std::to_string(shares.size()) + " shares for " +
                                std::to_string(ranks) + " ranks; give one for each rank");
  std::vector<RankSpeed> speeds;
  for (const double share : shares) {
    if (!(share >= 0) || !std::isfinite(share))
      throw std::invalid_argument("batch.shares: a share is a number of at least 0");
    speeds.push_back({share > 0 ? 1 / share : 0, 1});
  }
  if (std::all_of(shares.begin(), shares.end(), [](double share) { return share == 0; }))
    throw std::invalid_argument("batch.shares: all are 0; give some rank a share");
  return speeds;
}

std::string division_text(const std::vector<int>& first) {
  std::string text;
  for (std::size_t rank = 0; rank + 1 < first.size(); ++rank)
    text += (rank == 0 ? "" : ", ") + std::to_string(first[rank + 1] - first[rank]);
  return text + " of " + std::to_string(first.back()) + " shards";
}

int micro_batches(const Settings& settings, int shards) {
  const int count = settings.micro_batches, samples = settings.global_batch / shards;
  if (samples % count == 0) return count;
  throw std::invalid_argument("sync.accumulate: a shard of " + std::to_string(samples) +
                              " samples (batch.global over " + std::to_string(shards) +
                              " shards) does not divide into " + std::to_string(count) +
                              " micro-batches; use one of " + list_divisors(samples, 1));
}

}  // namespace thalweg::engine
