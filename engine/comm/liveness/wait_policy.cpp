// One loop for all waits of a group: when to spin, yield and sleep depends on what may end the
// wait.
#include "engine/comm/liveness/wait_policy.h"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "engine/comm/liveness/probe.h"

namespace thalweg::engine::comm {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Yielding to nobody costs little more than spinning, and where cores are shared (ranks, or a
// rank's own threads) spinning keeps the peer from running. So: spin for about a message's flight,
// yield for as long as a sleep would take to wake up from, then sleep.
constexpr microseconds kSpin{2};
constexpr microseconds kYield{100};
// Memory wakes nobody up: yields longer, then naps for a part of what it has waited already.
constexpr microseconds kMemoryYield{1000};
constexpr int kMemoryNapPart = 16;
constexpr milliseconds kMaxMemoryNap{10};
// Wakes up now and then even without news: peers' deaths are polled, and a wake-up may get lost.
constexpr milliseconds kNap{100};
// Where every peer answers and none waits for long itself, a link may be very slow, or others may
// be busy among themselves: only then is it worth waiting for more than the stall time.
constexpr int kMaxRounds = 4;

}  // namespace

void WaitPolicy::until(const std::function<bool()>& done, const WaitedCall& call) {
  if (done()) return;
  const auto happened = [this] { return transport_.completed() + work_; };
  auto seen = happened();
  auto last = Clock::now();
  const auto moved = [&] {
    unresponsive_ = {};
    rounds_ = calls_ = 0;
    warned_ = false;
  };
  moved();
  for (;;) {
    transport_.progress();
    if (done()) break;
    if (transport_.only_rests()) {
      transport_.rest(kNap);
      continue;
    }
    const auto now = Clock::now();
    // A long gap means that this rank itself was stopped, not that others do not answer.
    unresponsive_ += std::min<Clock::duration>(now - last, 2 * kNap);
    last = now;
    if (happened() != seen) {
      seen = happened();
      moved();
      continue;
    }
    if (unresponsive_ < kSpin) continue;
    if (unresponsive_ < (memory_ ? kMemoryYield : kYield)) {
      sched_yield();
      continue;
    }
    look_round(call);
    rest();
  }
  unresponsive_ = {};
}

void WaitPolicy::rest() {
  const milliseconds limit = std::min(kNap, std::max(stall_ / 16, milliseconds(1)));
  if (!memory_) return transport_.rest(limit);
  const Clock::duration part = unresponsive_ / kMemoryNapPart;
  if (part < milliseconds(1)) return std::this_thread::sleep_for(part);
  transport_.rest(std::min({limit, kMaxMemoryNap, std::chrono::duration_cast<milliseconds>(part)}));
}

milliseconds WaitPolicy::unresponsive_time() const {
  return std::chrono::duration_cast<milliseconds>(unresponsive_);
}

void WaitPolicy::look_round(const WaitedCall& call) {
  const auto in_round = unresponsive_ - rounds_ * stall_;
  // Twice, so that the last answers are not old.
  if (calls_ < 2 && in_round > (calls_ == 0 ? 3 : 6) * stall_ / 8) {
    const std::uint32_t number = transport_.probe_peers(ProbeQuestion{call.number}.pack());
    if (calls_++ == 0) since_ = number;
  }
  if (!warned_ && in_round > stall_ / 2) {
    warned_ = true;
    warn_("no progress for " + seconds_text(unresponsive_) + " in " + call.text() + ": " +
          Verdict(transport_, call, since_).text());
  }
  if (in_round <= stall_) return;
  ++rounds_;
  if (rounds_ >= kMaxRounds || Verdict(transport_, call, since_).hopeless(stall_ / 2)) {
    stalled(call);
  }
  calls_ = 0;
}

void WaitPolicy::stalled(const WaitedCall& call) {
  const Verdict verdict(transport_, call, since_);
  const int failed_rank = verdict.failed_rank();
  const CommError error("no progress for " + seconds_text(unresponsive_) + " in " + call.text() +
                            ": " + verdict.text(),
                        failed_rank, failed_rank < 0 ? "" : transport_.node_of(failed_rank));
  transport_.give_up(error);
  throw error;
}

std::string seconds_text(std::chrono::steady_clock::duration d) {
  const auto tenths = std::chrono::duration_cast<milliseconds>(d).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace thalweg::engine::comm
