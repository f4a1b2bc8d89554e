// Limits in seconds that hold on a busy machine: they count the time that the machine had for a
// test, not the time that passed. What a test promises of an idle machine ("a death is noticed
// within 5 s") is then neither lost nor a matter of what else runs.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace thalweg::test {

/// What decides how much of a core a task gets.
struct Load {
  int cores = 1;
  int runnable = 1;      ///< tasks of the machine that run or wait for a core
  double stolen = 0;     ///< part of the cores' busy time that a hypervisor gave to others
  double slowness = 1;   ///< THALWEG_TEST_SLOWNESS: an idle core of ours against a usual one
  double share() const;  ///< of a usual core, for each task: at most 1
};

/// As std::chrono::steady_clock, but in a second it counts only the share of a usual core that a
/// task gets. Look often: what passes between two looks counts at the mean of the shares at both.
class MachineClock {
 public:
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MachineClock>;
  static constexpr bool is_steady = true;

  static time_point now();
};

/// MachineClock's reckoning, for any source of time and load.
class MachineTime {
 public:
  explicit MachineTime(std::function<Load()> load) : load_(std::move(load)) {}
  /// Counted since the first look. The load is asked for every 50 ms at most.
  MachineClock::duration look(std::chrono::steady_clock::time_point now);

 private:
  std::function<Load()> load_;
  std::chrono::steady_clock::time_point looked_, asked_;
  double share_ = 0;  ///< 0: never looked
  MachineClock::duration counted_{};
};

class Deadline {
 public:
  explicit Deadline(MachineClock::duration limit) : end_(MachineClock::now() + limit) {}
  bool passed() const { return MachineClock::now() >= end_; }

 private:
  MachineClock::time_point end_;
};

/// How many times longer than on an idle usual machine things take at the moment; at least 1.
double slowdown();

/// For limits of the product's own, which pass in wall time: as much longer as things take.
template <class Rep, class Period>
std::chrono::duration<Rep, Period> slowed(std::chrono::duration<Rep, Period> time) {
  return std::chrono::duration_cast<std::chrono::duration<Rep, Period>>(time * slowdown());
}

/// The same as words of a command line.
std::string slowed_ms(long milliseconds);
std::string slowed_s(double seconds);

}  // namespace thalweg::test
