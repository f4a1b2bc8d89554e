// This machine's processes, simulated: the launchers of the local backend, the engines that they
// start, and strangers. It writes into an attempt's folder what thalweg-launch does.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "daemon/backend/process.h"
#include "tests/simulation/engines.h"
#include "tests/simulation/virtual_clock.h"

namespace thalweg::simulation {

struct Process {
  pid_t pid = 0, leader = 0;
  std::int64_t start = 0;  ///< unique, as pid and start are on a real machine
  std::string token, folder;
  int engine = 0;         ///< its start; of a launcher the one that it has started
  bool launcher = false;  ///< neither: a stranger, or an engine
  bool alive = true, stopped = false;
  bool zombie = false;  ///< of the present controller, which has not looked
  double claims_at = 0, ends_at = 0, killed_at = 0;
  bool claimed = false, timed_out = false;
  double limit_s = 0;
  int status = 0;  ///< a wait status
};

class Machine : public daemon::Processes {
 public:
  Machine(Dice dice, VirtualClock& clock, Engines& engines)
      : dice_(dice), clock_(clock), engines_(engines) {}

  /// Everything until now.
  void run();
  std::vector<Process*> that(const std::function<bool(const Process&)>& wanted);
  /// What the controller has started goes on without it.
  void controller_ended();

  // What can happen to it.
  void end(Process& process, int status);
  /// Somebody else's process gets the number of a launcher that has ended.
  bool reuse();
  void reboot();
  /// With a reboot: what launchers wrote in the last half minute may be empty. They do not
  /// synchronise it.
  void lose_power();
  double full = 0;  ///< until then a launcher cannot write how its ranks ended
  void heal();

  std::string harmed;  ///< a stranger's process that was sent a signal; empty = none

  pid_t start(const daemon::DetachedProcess& process) override;
  bool reap(pid_t child, int& status) override;
  void reap_later(pid_t child) override;
  void send(pid_t pid, int signal) override;
  std::optional<std::int64_t> start_time(pid_t pid) override;
  std::string boot() override { return std::to_string(boots_); }
  std::vector<pid_t> members(pid_t leader) override;
  bool carry(pid_t pid, const std::string& token, const std::filesystem::path& folder) override;
  bool real() const override { return false; }

 private:
  Process* find(pid_t pid);
  pid_t new_pid();
  void claim(Process& launcher);
  void watch(Process& launcher);
  Engine& engine_of(const Process& process) {
    return engines_.all()[static_cast<std::size_t>(process.engine - 1)];
  }

  Dice dice_;
  VirtualClock& clock_;
  Engines& engines_;
  std::deque<Process> all_;
  pid_t next_ = 0;
  std::int64_t starts_ = 0;
  int boots_ = 1;
};

}  // namespace thalweg::simulation
