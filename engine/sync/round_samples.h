// How much of a trial rounds have taken whose samples are known only when they are summed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace thalweg::engine {

/// How many samples rounds have had, for the last few.
class RoundSamples {
 public:
  explicit RoundSamples(std::int64_t batch) : batch_(batch) {}

  void add(std::int64_t samples) {
    sums_.push_back(total() + samples);
    ++rounds_;
    if (sums_.size() > kept) sums_.pop_front();
  }
  std::int64_t rounds() const { return rounds_; }
  std::int64_t total() const { return up_to(rounds_ - 1); }
  /// Of all rounds up to `round`. Where that is not known, each had one pass of every rank.
  std::int64_t up_to(std::int64_t round) const {
    if (round < 0) return 0;
    if (sums_.empty()) return (round + 1) * batch_;
    const std::int64_t first = rounds_ - static_cast<std::int64_t>(sums_.size());
    if (round < first) return sums_.front() - (first - round) * batch_;
    return sums_[static_cast<std::size_t>(std::min(round, rounds_ - 1) - first)];
  }
  /// The first rounds of the trial were of another mode.
  void begin_at(std::int64_t round) { rounds_ = round; }

  static constexpr std::size_t kept = 4;
  std::vector<double> state() const {
    std::vector<double> state{static_cast<double>(rounds_)};
    for (std::size_t i = 0; i < kept; ++i)
      state.push_back(static_cast<double>(i < sums_.size() ? sums_[i] : -1));
    return state;
  }
  void restore(const std::vector<double>& state, std::size_t at) {
    rounds_ = static_cast<std::int64_t>(state.at(at));
    sums_.clear();
    for (std::size_t i = 1; i <= kept; ++i)
      if (state.at(at + i) >= 0) sums_.push_back(static_cast<std::int64_t>(state[at + i]));
  }

 private:
  std::int64_t batch_, rounds_ = 0;
  std::deque<std::int64_t> sums_;  ///< of all samples, after each of the last rounds
};

}  // namespace thalweg::engine
