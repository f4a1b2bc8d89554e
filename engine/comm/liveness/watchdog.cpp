#include "engine/comm/liveness/watchdog.h"

#include <algorithm>
#include <vector>

#include "engine/comm/liveness/wait_policy.h"

namespace thalweg::engine::comm {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestGap{200};
// Where every peer answers, each is in a wait that ends: only somebody else (the PMIx server) can
// keep them all waiting.
constexpr int kMostRounds = 4;

}  // namespace

void Vigil::look() {
  peers_.progress();
  peers_.rest(std::min(nap_, std::max(patience_ / 16, milliseconds(1))));
  const auto now = Clock::now();
  // A long gap means that this rank itself was stopped.
  waited_ += std::min<Clock::duration>(now - last_, kLongestGap);
  last_ = now;
  const auto in_round = waited_ - rounds_ * patience_;
  if (roll_ == 0 && in_round > patience_ / 2) roll_ = peers_.probe_peers({});
  if (in_round <= patience_) return;

  std::vector<int> absent;
  for (int r = 0; r < peers_.size(); ++r) {
    if (r != peers_.rank() && !peers_.answer_of(r, roll_)) absent.push_back(r);
  }
  if (!absent.empty()) {
    std::string names;
    for (const int r : absent) {
      names += (names.empty() ? "rank " : ", rank ") + std::to_string(r) + " on node " +
               peers_.node_of(r);
    }
    give_up(names + (absent.size() == 1 ? " does not answer" : " do not answer"), absent.front());
  }
  if (++rounds_ >= kMostRounds) give_up("every rank answers, but nothing comes of it", -1);
  roll_ = 0;
}

void Vigil::give_up(const std::string& why, int culprit) {
  const CommError error("waited " + seconds_text(waited_) + " for " + what_ + ": " + why, culprit,
                        culprit < 0 ? "" : peers_.node_of(culprit));
  peers_.give_up(error);
  throw error;
}

}  // namespace thalweg::engine::comm
