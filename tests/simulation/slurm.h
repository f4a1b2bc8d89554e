// slurmctld and the agent that asks it, in memory: the agent's questions (daemon/slurm_agent/
// protocol.md) are answered here, by the real Slurm's rules and with its bad habits. What it knows
// is saved now and then, and a crash takes it back there.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/any_io_executor.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/backend/slurm_agent.h"
#include "daemon/slurm_agent/messages.h"
#include "tests/simulation/engines.h"
#include "tests/simulation/virtual_clock.h"

namespace thalweg::simulation {

struct SlurmJob {
  std::uint32_t number = 0;
  std::string token;      ///< in its comment; empty: somebody changed it
  bool released = false;  ///< so says the comment
  std::string name, folder, state = "PENDING", reason, node;
  bool held = true, of_a_stranger = false;
  double submitted = 0, started = 0, ended = 0;  ///< Unix seconds
  int exit = 0;                                  ///< a wait status
  double limit_s = 600, warning_s = 0;
  bool warned = false;
  std::uint32_t user = 1000;
  std::set<std::string> without;
  int start = 0;             ///< of its engine
  double ends_by_force = 0;  ///< what runs is killed then; 0 = it is not

  bool waits() const { return state == "PENDING"; }
  bool runs() const { return state == "RUNNING"; }
};

class Slurm {
 public:
  Slurm(Dice dice, VirtualClock& clock, Engines& engines);

  /// For one controller, whose executor it is.
  std::shared_ptr<daemon::SlurmAgent> agent(boost::asio::any_io_executor executor);

  /// Everything until now.
  void run();
  const std::map<std::uint32_t, SlurmJob>& jobs() const { return known_.jobs; }
  std::vector<SlurmJob*> jobs_that(const std::function<bool(const SlurmJob&)>& wanted);

  // What can happen to it.
  /// It comes back after `down_s` with what it knew `forgets_s` ago.
  void crash(double down_s, double forgets_s);
  void take_next_number();  ///< for a stranger's job
  void cancel(SlurmJob& job);
  void preempt(SlurmJob& job);
  void requeue(SlurmJob& job);
  double slow = 0, loses_answers = 0, agent_gone = 0, refuses = 0;  ///< until then
  std::pair<std::uint32_t, double> hangs{0, 0};  ///< a user whose calls are not answered until then
  /// Nothing is wrong with it any more, and nothing is held by hand.
  void heal();

  /// Folders of jobs that a node would not start, since it still ran that number.
  std::set<std::string> cancelled_itself;
  std::set<std::string> requeued;  ///< folders of jobs that somebody requeued

  double now_unix() const { return clock_.cluster_unix_s(); }

 private:
  friend class Agent;
  struct Known {
    std::map<std::uint32_t, SlurmJob> jobs;
    std::uint32_t next = 100;
  };

  bool down() const { return clock_.now() < down_; }
  Engine* engine_of(const SlurmJob& job);
  void take_ends();
  void watch_running(SlurmJob& job);
  void schedule();
  void nodes_register();
  void end(SlurmJob& job, const char* state, const std::string& reason = "");
  nlohmann::json answer(const nlohmann::json& question);
  slurm_agent::JobFacts facts(const SlurmJob& job);
  SlurmJob* find(const slurm_agent::JobQuestion& asked);

  slurm_agent::Result<slurm_agent::Hello::Answer> run(const slurm_agent::Hello&);
  slurm_agent::Result<slurm_agent::Submit::Answer> run(const slurm_agent::Submit& asked);
  slurm_agent::Result<slurm_agent::Nothing> run(const slurm_agent::Release& asked);
  slurm_agent::Result<slurm_agent::Cancel::Answer> run(const slurm_agent::Cancel& asked);
  slurm_agent::Result<slurm_agent::Poll::Answer> run(const slurm_agent::Poll& asked);
  slurm_agent::Result<slurm_agent::Job::Answer> run(const slurm_agent::Job& asked);
  slurm_agent::Result<slurm_agent::Nodes::Answer> run(const slurm_agent::Nodes&);
  slurm_agent::Result<slurm_agent::Nothing> run(const slurm_agent::Prepare& asked);
  slurm_agent::Result<slurm_agent::Remove::Answer> run(const slurm_agent::Remove& asked);
  slurm_agent::Result<slurm_agent::Nothing> run(const slurm_agent::Revoke&);
  template <class Question>
  slurm_agent::Result<typename Question::Answer> run(const Question&) {
    return slurm_agent::Failure{0, slurm_agent::Outcome::bad_request, "not in this simulation"};
  }

  Dice dice_;
  VirtualClock& clock_;
  Engines& engines_;
  Known known_;
  std::deque<std::pair<double, Known>> saved_;
  double down_ = 0;
  bool came_back_ = true;
  bool well_ = false;        ///< nothing fails any more
  double registration_ = 0;  ///< of the nodes, next
  std::uint64_t stamp_ = 1;
  std::vector<slurm_agent::JobFacts> listing_;  ///< that the stamp is of
  std::set<int> reported_;  ///< starts whose end it was told, or that nobody will tell it
};

}  // namespace thalweg::simulation
