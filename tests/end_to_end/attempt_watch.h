// Looks on while attempts run, a few times a second: which of a trial's run beside each other, and
// for how long one makes no progress.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/end_to_end/cluster.h"
#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {

/// A time in which ranks lived, nobody disturbed them, and the journal told of no step.
struct Silence {
  std::string attempt;  ///< "12/3/1"
  double seconds = 0;   ///< of MachineClock
  double wall_s = 0;    ///< the same that passed
  std::string after;    ///< type of the journal's last line; empty: it had none
};

class AttemptWatch {
 public:
  /// Both must outlive it.
  AttemptWatch(SweepHome& home, const Cluster& cluster);
  ~AttemptWatch();

  /// Of every pair of attempts of a trial that ran at the same time for longer than `seconds`: who,
  /// and for how long.
  std::vector<std::string> overlaps(double seconds);
  /// Every attempt's longest silence, from the start of its first rank to the end of the last one;
  /// before the journal's first line another rank that starts is progress. Time in which one of
  /// them is stopped or its node's link is cut does not count.
  std::vector<Silence> silences();

 private:
  using Clock = MachineClock;
  using Attempts = std::map<std::string, std::vector<pid_t>>;  ///< "12/3/1" -> ranks

  /// Of an attempt that is seen.
  struct Seen {
    Clock::time_point looked;
    std::chrono::steady_clock::time_point looked_wall;
    std::size_t ranks = 0;
    bool disturbed = false;
    std::streamoff read = 0;  ///< bytes of its journal
    Silence silence;
  };

  void look();
  void look_for_overlaps(const Attempts& live);
  void look_for_progress(const Attempts& live);
  Attempts live_attempts();
  std::filesystem::path journal_of(const std::string& attempt) const;
  /// Ranks on nodes whose link is cut.
  std::set<pid_t> cut_off() const;
  /// Reads on in the journal; true where it tells of more than notes.
  bool goes_on(const std::string& attempt, Seen& seen) const;

  SweepHome& home_;
  const Cluster& cluster_;
  std::map<std::string, Clock::time_point> since_;  ///< pairs that run now
  std::map<std::string, Seen> seen_;
  std::mutex mutex_;  ///< guards what follows
  std::map<std::string, double> together_;
  std::map<std::string, Silence> silences_;
  std::atomic<bool> end_{false};
  std::thread thread_;
};

}  // namespace thalweg::test
