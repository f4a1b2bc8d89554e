// Every step that is measured is one of training's own: sums over shards have the same bits with
// any buckets, so a candidate costs what its steps take longer, and no step is lost. Candidates
// take turns, in rounds and there and back, so that a machine that gets slower or faster meanwhile
// favours none of them; medians pass over single slow steps.
#include "engine/sync/bucket_tuner.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace thalweg::engine {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
// DistributedDataParallel is fastest with 10 to 25 MB over NCCL and 5 MB over Gloo (Li et al.,
// arXiv:2006.15704): sizes around these.
constexpr std::size_t kSizesMiB[] = {1, 2, 5, 10, 25, 50};
constexpr std::size_t kRounds = 3;
// Steps that a candidate makes in a round; the first one finds other buckets in the caches, and is
// not counted.
constexpr std::size_t kSteps = 6;
// Medians of so few steps differ by a percent or two without a reason.
constexpr double kWorthIt = 0.97;

std::string short_text(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", value < 1000 ? digits : 6, value);
  return text;
}

std::string mib_text(std::size_t bytes) {
  return short_text(static_cast<double>(bytes) / kMiB, 6);
}

}  // namespace

std::vector<BucketSizes> bucket_candidates(const std::vector<ParameterInfo>& parameters,
                                           const std::vector<int>& ready_order,
                                           const BucketSizes& usual) {
  std::size_t bytes = 0;
  for (const ParameterInfo& p : parameters)
    bytes = std::max(bytes, (p.offset + p.count) * sizeof(float));
  const std::size_t whole = (bytes / kMiB + 1) * kMiB;  // never full: the end closes it
  std::vector<BucketSizes> all{usual};
  for (const std::size_t mib : kSizesMiB)
    all.push_back({std::min(usual.first_bytes, mib * kMiB), mib * kMiB});
  all.push_back({whole, whole});

  std::vector<BucketSizes> candidates;
  std::vector<std::uint64_t> plans;
  for (const BucketSizes& sizes : all) {
    const std::uint64_t plan = hash_of(plan_buckets(parameters, ready_order, sizes));
    if (std::find(plans.begin(), plans.end(), plan) != plans.end()) continue;
    plans.push_back(plan);
    candidates.push_back(sizes);
  }
  return candidates;
}

std::size_t choose_buckets(const std::vector<double>& step_ms) {
  const auto best = std::min_element(step_ms.begin(), step_ms.end());
  return *best < kWorthIt * step_ms[0] ? static_cast<std::size_t>(best - step_ms.begin()) : 0;
}

BucketTuner::BucketTuner(std::vector<BucketSizes> candidates)
    : candidates_(std::move(candidates)), times_(candidates_.size()) {}

std::size_t BucketTuner::candidate() const {
  const std::size_t count = candidates_.size();
  const std::size_t turn = steps_ / kSteps, place = turn % count;
  return turn / count % 2 == 0 ? place : count - 1 - place;
}

void BucketTuner::add(double ms) {
  if (steps_ % kSteps != 0) times_[candidate()].push_back(ms);
  ++steps_;
}

bool BucketTuner::measured() const {
  return candidates_.size() < 2 || steps_ >= kRounds * kSteps * candidates_.size();
}

std::vector<double> BucketTuner::medians() const {
  std::vector<double> result;
  for (std::vector<double> times : times_) {
    std::sort(times.begin(), times.end());
    result.push_back(times.empty() ? 0 : times[times.size() / 2]);
  }
  return result;
}

BucketChoice BucketTuner::choose(const std::vector<double>& step_ms) const {
  const BucketSizes& sizes = candidates_[choose_buckets(step_ms)];
  std::string text = "sync.bucket_mib: auto is " + mib_text(sizes.bytes) +
                     ", with first_bucket_mib " + mib_text(sizes.first_bytes) + "; ";
  if (candidates_.size() < 2) return {sizes, text + "there was nothing to choose from"};
  text += "ms per step: ";
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    text +=
        (i == 0 ? "" : ", ") + mib_text(candidates_[i].bytes) + ": " + short_text(step_ms[i], 3);
  return {sizes, text};
}

}  // namespace thalweg::engine
