// Outside of collectives ranks wait for the PMIx server too, which no probe reaches: where all
// ranks answer, the wait still has an end.
#include "engine/comm/liveness/watchdog.h"

#include <algorithm>
#include <vector>

#include "engine/comm/liveness/wait_policy.h"

namespace thalweg::engine::comm {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMaxGap{200};
// Where every peer answers, each is in a wait that ends: only somebody else (the PMIx server) can
// keep them all waiting.
constexpr int kMaxWatchRounds = 4;

}  // namespace

void Watchdog::look() {
  transport_.progress();
  transport_.rest(std::min(nap_, std::max(timeout_ / 16, milliseconds(1))));
  const auto now = Clock::now();
  // A long gap means that this rank itself was stopped.
  waited_ += std::min<Clock::duration>(now - last_, kMaxGap);
  last_ = now;
  const auto in_round = waited_ - rounds_ * timeout_;
  if (probe_ == 0 && in_round > timeout_ / 2) probe_ = transport_.probe_peers({});
  if (in_round <= timeout_) return;

  std::vector<int> absent;
  for (int r = 0; r < transport_.size(); ++r) {
    if (r != transport_.rank() && !transport_.answer_of(r, probe_)) absent.push_back(r);
  }
  if (!absent.empty()) {
    std::string names;
    for (const int r : absent) {
      names += (names.empty() ? "rank " : ", rank ") + std::to_string(r) + " on node " +
               transport_.node_of(r);
    }
    give_up(names + (absent.size() == 1 ? " does not answer" : " do not answer"), absent.front());
  }
  if (++rounds_ >= kMaxWatchRounds) give_up("every rank answers, but nothing comes of it", -1);
  probe_ = 0;
}

void Watchdog::give_up(const std::string& why, int failed_rank) {
  const CommError error("waited " + seconds_text(waited_) + " for " + what_ + ": " + why,
                        failed_rank, failed_rank < 0 ? "" : transport_.node_of(failed_rank));
  transport_.give_up(error);
  throw error;
}

}  // namespace thalweg::engine::comm
