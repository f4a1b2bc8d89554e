// Hands are dealt in turn, so that ranks which make one pass a round compute what they compute in
// the mode sync: their own shards of each global batch.
#include "engine/sync/sample_deal.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace thalweg::engine {

SampleDeal::SampleDeal(std::vector<int> hands, int passes, std::int64_t first) : next_(first) {
  for (const int hand : hands)
    ranks_.push_back({hand, passes, {}});
  deal();
}

std::int64_t SampleDeal::take() {
  if (returned_.empty()) return next_++;
  const std::int64_t shard = returned_.front();
  returned_.pop_front();
  return shard;
}

/// Each rank gets one at least: it may have used all others in the round that is not known yet.
void SampleDeal::deal() {
  bool first = true;
  for (bool dealt = true; std::exchange(dealt, false); first = false)
    for (Rank& rank : ranks_) {
      if (rank.own.size() >= hands_for(rank) && !first) continue;
      Hand hand(static_cast<std::size_t>(rank.hand));
      for (std::int64_t& shard : hand)
        shard = take();
      rank.own.push_back(std::move(hand));
      dealt = true;
    }
}

void SampleDeal::used(const std::vector<int>& passes) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    if (passes[i] < 1 || static_cast<std::size_t>(passes[i]) > rank.own.size())
      throw std::logic_error("a rank has used what it was not dealt");
    rank.own.erase(rank.own.begin(), rank.own.begin() + passes[i]);
    // Slowly down, so that a short round leaves enough for a long one after it.
    rank.recent = std::max(passes[i], rank.recent - (rank.recent + 7) / 8);
  }
  deal();
}

std::vector<double> SampleDeal::state() const {
  std::vector<double> state;
  const auto add = [&](auto number) { state.push_back(static_cast<double>(number)); };
  add(next_);
  add(ranks_.size());
  for (const Rank& rank : ranks_) {
    add(rank.hand);
    add(rank.recent);
    add(rank.own.size());
    for (const Hand& hand : rank.own)
      for (const std::int64_t shard : hand)
        add(shard);
  }
  add(returned_.size());
  for (const std::int64_t shard : returned_)
    add(shard);
  return state;
}

std::size_t SampleDeal::restore(const std::vector<double>& state, std::size_t at) {
  const auto next = [&]() -> std::int64_t {
    if (at >= state.size() || !(state[at] >= 0))
      throw std::invalid_argument("the account of samples is cut off");
    return static_cast<std::int64_t>(state[at++]);
  };
  const auto shards_of = [](const std::vector<Rank>& ranks) {
    return std::accumulate(ranks.begin(), ranks.end(), 0,
                           [](int sum, const Rank& rank) { return sum + rank.hand; });
  };
  std::int64_t first = next();
  std::vector<Rank> ranks(static_cast<std::size_t>(next()));
  std::vector<std::int64_t> left;
  for (Rank& rank : ranks) {
    rank.hand = static_cast<int>(next());
    rank.recent = static_cast<int>(next());
    for (std::int64_t hands = next(); hands > 0; --hands) {
      Hand& hand = rank.own.emplace_back();
      for (int i = 0; i < rank.hand; ++i)
        left.push_back(hand.emplace_back(next()));
    }
  }
  std::deque<std::int64_t> returned;
  for (std::int64_t count = next(); count > 0; --count)
    returned.push_back(next());
  const bool alike = std::equal(ranks.begin(), ranks.end(), ranks_.begin(), ranks_.end(),
                                [](const Rank& a, const Rank& b) { return a.hand == b.hand; });
  if (alike) {
    ranks_ = std::move(ranks);
    next_ = first;
    returned_ = std::move(returned);
    return at;
  }
  if (const int before = shards_of(ranks), now = shards_of(ranks_); before != now) {
    // Shards of another size: on with the next whole batch.
    first = (first + before - 1) / before * now;
    left.clear();
  } else {
    left.insert(left.end(), returned.begin(), returned.end());
    std::sort(left.begin(), left.end());
  }
  for (Rank& rank : ranks_)
    rank.own.clear();
  next_ = first;
  returned_.assign(left.begin(), left.end());
  deal();
  return at;
}

}  // namespace thalweg::engine
