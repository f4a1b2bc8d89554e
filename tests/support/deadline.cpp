// The machine's load: /proc/loadavg counts the tasks that want a core, /proc/stat the time that a
// hypervisor took.
// (/proc/pressure/cpu says for how long anybody waited, which is all the time from one waiting task
// per core on.)
#include "tests/support/deadline.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>

namespace thalweg::test {
namespace {

using Steady = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kAskAgain{50};

double slowness_given() {
  const char* text = std::getenv("THALWEG_TEST_SLOWNESS");
  return text == nullptr ? 1 : std::max(1.0, std::atof(text));
}

int runnable_tasks() {
  std::ifstream in("/proc/loadavg");
  double skipped = 0;
  int runnable = 1;
  in >> skipped >> skipped >> skipped >> runnable;
  return runnable;
}

/// Since it was last asked.
class Stolen {
 public:
  double part() {
    std::ifstream in("/proc/stat");
    std::string cpu;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0, steal = 0;
    if (!(in >> cpu >> user >> nice >> system >> idle >> waiting >> irq >> softirq >> steal))
      return 0;
    const double busy = user + nice + system + irq + softirq;
    const double ours = busy - busy_, theirs = steal - stolen_;
    busy_ = busy, stolen_ = steal;
    return theirs > 0 ? theirs / (std::max(ours, 0.0) + theirs) : 0;
  }

 private:
  double busy_ = 0, stolen_ = 0;
};

Load load_of_this_machine() {
  static const double slowness = slowness_given();
  static Stolen stolen;
  return {static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), runnable_tasks(), stolen.part(),
          slowness};
}

}  // namespace

double Load::share() const {
  const double core = std::min(1.0, static_cast<double>(cores) / std::max(1, runnable));
  // Of a core that is all stolen something is left, so that time goes on.
  return core * std::max(0.01, 1 - stolen) / slowness;
}

MachineClock::duration MachineTime::look(Steady::time_point now) {
  const double before = share_;
  if (before == 0 || now - asked_ >= kAskAgain) {
    share_ = load_().share();
    asked_ = now;
  }
  if (before == 0) looked_ = now;
  const std::chrono::duration<double> passed = now - looked_;
  counted_ += std::chrono::duration_cast<MachineClock::duration>(passed * (before + share_) / 2);
  looked_ = now;
  return counted_;
}

MachineClock::time_point MachineClock::now() {
  static std::mutex mutex;
  static MachineTime time(load_of_this_machine);
  const std::lock_guard lock(mutex);
  return time_point(time.look(Steady::now()));
}

double slowdown() {
  const double cores = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  return slowness_given() * std::max(1.0, runnable_tasks() / cores);
}

std::string slowed_ms(long milliseconds) {
  return std::to_string(slowed(std::chrono::milliseconds(milliseconds)).count());
}

std::string slowed_s(double seconds) {
  return std::to_string(seconds * slowdown());
}

}  // namespace thalweg::test
