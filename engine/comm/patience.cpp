#include "engine/comm/patience.h"

#include <sched.h>

#include <algorithm>

namespace thalweg::engine::comm {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Yielding to nobody costs little more than spinning, and where cores are shared (ranks, or a
// rank's own threads) spinning keeps the peer from running. So: spin for about a message's flight,
// yield for as long as a sleep would take to wake up from, then sleep.
constexpr microseconds kSpin{2};
constexpr microseconds kYield{100};
// Wakes up now and then even without news: peers' deaths are polled, and a wake-up may get lost.
constexpr milliseconds kNap{100};
// Every peer answers but nothing completes: ranks called different operations, or a link is very
// slow. Only then is it worth waiting longer than the stall time.
constexpr int kAnsweredFactor = 4;

std::string seconds(std::chrono::steady_clock::duration d) {
  const auto tenths = std::chrono::duration_cast<milliseconds>(d).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

void Patience::until(const std::function<bool()>& done, const char* what) {
  if (done()) return;
  auto seen = transport_.completed();
  auto last = Clock::now();
  Clock::duration silence{};
  bool roll_called = false;
  for (;;) {
    transport_.progress();
    if (done()) return;
    const auto now = Clock::now();
    // A long gap means that this rank itself was stopped: no silence of others.
    silence += std::min<Clock::duration>(now - last, 2 * kNap);
    last = now;
    if (transport_.completed() != seen) {
      seen = transport_.completed();
      silence = {};
      roll_called = false;
      continue;
    }
    if (silence < kSpin) continue;
    if (silence < kYield) {
      sched_yield();
      continue;
    }
    if (silence > stall_ / 2 && !roll_called) {
      transport_.call_roll();
      roll_called = true;
    }
    if (silence > stall_ && (!transport_.absent().empty() || silence > kAnsweredFactor * stall_)) {
      stalled(silence, what);
    }
    transport_.rest(std::min(kNap, std::max(stall_ / 8, milliseconds(1))));
  }
}

void Patience::stalled(Clock::duration silence, const char* what) {
  const auto absent = transport_.absent();
  std::string message = std::string("no progress for ") + seconds(silence) + " in " + what + ": ";
  if (absent.empty()) {
    CommError error(message + "every rank answers; did they call different operations?", -1, "");
    transport_.give_up(error);
    throw error;
  }
  for (std::size_t i = 0; i < absent.size(); ++i) {
    const int rank = absent[i];
    message +=
        (i ? ", rank " : "rank ") + std::to_string(rank) + " on node " + transport_.node_of(rank);
  }
  message += absent.size() == 1 ? " does not answer" : " do not answer";
  CommError error(message, absent.front(), transport_.node_of(absent.front()));
  transport_.give_up(error);
  throw error;
}

CommError wrong_length(int from, std::size_t sent, int to, std::size_t expected,
                       const std::string& node) {
  return {"rank " + std::to_string(from) + " sent " + std::to_string(sent) + " bytes where rank " +
              std::to_string(to) + " expects " + std::to_string(expected) +
              ": the ranks call different operations or lengths",
          from, node};
}

}  // namespace thalweg::engine::comm
