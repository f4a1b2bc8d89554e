// What one simulated run is made of; faults change it, checks look at it.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "daemon/controller/controller.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/engines.h"
#include "tests/simulation/machine.h"
#include "tests/simulation/power.h"
#include "tests/simulation/simulation.h"
#include "tests/simulation/slurm.h"
#include "tests/simulation/virtual_clock.h"
#include "tests/support/process.h"

namespace thalweg::simulation {

/// So long, the controller takes it, may the filesystem hide what was written.
constexpr double file_lag_s = 5;

/// In place of SIGKILL; no std::exception, so that nothing on the way takes it for an error.
struct Killed {};

/// A promise that was not kept.
struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What the run knows of a sweep, from the answers that people got.
struct Known {
  bool removed = false;    ///< somebody asked for it, and was told yes
  bool cancelled = false;  ///< the same
  std::string name;        ///< the last that was given to it
};

/// What was done to a trial, by (sweep, trial).
struct Deeds {
  bool cancelled = false;  ///< by somebody, in Thalweg or in Slurm
  int own_failures = 0;    ///< engines that failed, or were killed on their node
  bool lost_end = false;   ///< an end record of it may have been damaged
};

class Run {
 public:
  explicit Run(const Plan& plan);
  ~Run();

  RunResult go();

  // The world.
  Dice dice;
  test::TempDir home;
  VirtualClock clock;
  Engines engines;
  Slurm slurm;
  std::shared_ptr<Machine> machine;  ///< nullptr where Slurm is the backend
  std::map<std::int64_t, Known> sweeps;
  std::map<std::pair<std::int64_t, std::int64_t>, Deeds> deeds;

  // The controller; nullptr while none lives.
  daemon::Controller* controller() { return life_ ? life_->controller.get() : nullptr; }
  db::Store& store() { return *life_->store; }
  double disk_hangs = 0, record_full = 0, record_fails = 0;  ///< until then
  double down = 0;                                           ///< no controller is started before
  int passes_until_kill = 0;  ///< of fault points; 0 = it is not to be killed
  bool loses_power = false;   ///< with the next kill
  int lives = 0;
  int promoted = 0;  ///< counted at the end
  int looks = 0;     ///< the same

  const Plan& plan() const { return plan_; }
  void kill();
  void note(const std::string& text);
  Deeds& deeds_of(const Id& id) { return deeds[{id.sweep, id.trial}]; }
  std::optional<Id> trial_of(const SlurmJob& job) const;

 private:
  struct Life {
    boost::asio::io_context io{1};
    std::unique_ptr<db::Store> store;
    std::unique_ptr<daemon::Controller> controller;
  };

  std::unique_ptr<daemon::Backend> slurm_backend(const boost::asio::any_io_executor& executor);
  std::unique_ptr<daemon::Backend> local_backend();
  void live();
  void begin_life();
  void end_life();
  void work();
  void advance();
  void strike();
  void heal();
  bool over();
  void pass(std::string_view point);
  std::string events(std::size_t longest);
  std::uint64_t digest();

  Plan plan_;
  RunResult result_;
  std::unique_ptr<Life> life_;
  struct Fault {
    double at;
    int kind;
    std::uint64_t seed;
  };
  std::vector<Fault> faults_;
  std::size_t next_fault_ = 0;
  bool dying_ = false, healed_ = false;
  double cpu_s_ = 0;  ///< of this thread, when it was asked
  std::chrono::steady_clock::time_point asked_cpu_;
  double next_tick_ = 0;
  Dice tokens_;
};

/// A kind of what can happen: the table of faults.
struct FaultKind {
  const char* name;
  double weight;  ///< how often, beside the others
  void (*strike)(Run&, Dice&);
  enum class Where { anywhere, slurm, local } where = Where::anywhere;
};
const std::vector<FaultKind>& fault_kinds(bool local);

// Checks; they throw Broken.
void check_training(Run& run, const Engine& began);
void check_record(Run& run);  ///< that what was promised is in the record, at each start
void check_now(Run& run);     ///< after each event
void check_end(Run& run);     ///< when everything is over

/// A sweep of a few trials, given in.
void submit_sweep(Run& run, Dice& dice);

}  // namespace thalweg::simulation
