// Kills, stops and misleads every part of a Slurm cluster and of Thalweg. What people or the
// cluster would put right by hand afterwards (a dead daemon, a node without power) is put right by
// `tests/cluster/up`, which the test calls.
#include "tests/end_to_end/disturbances.h"

#include <signal.h>

#include <algorithm>
#include <sstream>

namespace thalweg::test {

namespace fs = std::filesystem;

pid_t Scene::any(const std::vector<pid_t>& pids) {
  if (pids.empty()) return 0;
  return pids[std::uniform_int_distribution<std::size_t>(0, pids.size() - 1)(random)];
}

int Scene::any_node() {
  return std::uniform_int_distribution<int>(1, cluster.nodes())(random);
}

std::string Scene::any_job(const std::string& states) {
  std::istringstream lines(cluster.slurm({"squeue", "-h", "-a", "-t", states, "-o", "%A %j"}).out);
  std::vector<std::string> jobs;
  for (std::string id, name; lines >> id >> name;)
    if (name.rfind("thalweg-", 0) == 0) jobs.push_back(id);
  if (jobs.empty()) return {};
  return jobs[std::uniform_int_distribution<std::size_t>(0, jobs.size() - 1)(random)];
}

namespace {

constexpr milliseconds kShortWhile{3000};  ///< shorter than what anybody takes for a death
constexpr milliseconds kLongWhile{8000};   ///< longer than most requests are waited for

bool send(pid_t pid, int signal) {
  return pid > 0 && kill(pid, signal) == 0;
}

bool freeze(pid_t pid, milliseconds time) {
  if (!send(pid, SIGSTOP)) return false;
  sleep_for(time);
  send(pid, SIGCONT);
  return true;
}

bool kill_slurmctld(Scene& s) {
  return s.cluster.command({"restart-controller"}, milliseconds(90000)).code == 0;
}

bool absent_slurmctld(Scene& s) {
  if (s.cluster.command({"restart-controller", "stop"}).code != 0) return false;
  sleep_for(kLongWhile);
  return s.cluster.command({"restart-controller", "start"}, milliseconds(90000)).code == 0;
}

bool stop_slurmctld(Scene& s) {
  const pid_t pid = s.cluster.pid_of("slurmctld");
  if (!send(pid, SIGTERM)) return false;
  eventually([&] { return kill(pid, 0) != 0; }, milliseconds(20000));
  return s.cluster.command({"restart-controller", "start"}, milliseconds(90000)).code == 0;
}

bool freeze_slurmctld(Scene& s) {
  return freeze(s.cluster.pid_of("slurmctld"), kLongWhile);
}

/// It comes back with what it knew before jobs were submitted and started.
bool forgetful_slurmctld(Scene& s) {
  const fs::path state = s.cluster.folder() / "state", old = s.cluster.folder() / "state.old";
  const auto running = s.cluster.job_names("running");
  std::error_code error;
  fs::remove_all(old, error);
  fs::copy(state, old, fs::copy_options::recursive, error);
  if (error) return false;
  const bool more_run = eventually(
      [&] {
        for (const std::string& name : s.cluster.job_names("running"))
          if (std::find(running.begin(), running.end(), name) == running.end()) return true;
        sleep_for(milliseconds(200));
        return false;
      },
      milliseconds(10000));
  if (s.cluster.command({"restart-controller", "stop"}).code != 0) return false;
  fs::remove_all(state, error);
  fs::rename(old, state, error);
  return s.cluster.command({"restart-controller", "start"}, milliseconds(90000)).code == 0 &&
         more_run && !error;
}

bool kill_slurmd(Scene& s) {
  // `up` repairs whole nodes only; a slurmd that dies is started again on its node.
  const int node = s.any_node();
  if (!send(s.any(s.cluster.processes("slurmd", node)), SIGKILL)) return false;
  sleep_for(kShortWhile);
  start({THALWEG_SOURCE_DIR "/tests/cluster/on-node", std::to_string(node), "slurmd", "-N",
         "n" + std::to_string(node), "-f", s.cluster.slurm_conf()},
        s.cluster.run_options());
  return true;
}

bool freeze_slurmd(Scene& s) {
  return freeze(s.any(s.cluster.processes("slurmd")), kLongWhile);
}

bool kill_slurmstepd(Scene& s) {
  return send(s.any(s.cluster.processes("slurmstepd")), SIGKILL);
}

bool kill_srun(Scene& s) {
  return send(s.any(s.cluster.processes("srun")), SIGKILL);
}

bool kill_munged(Scene& s) {
  return send(s.cluster.pid_of("munged"), SIGKILL);
}

bool freeze_munged(Scene& s) {
  return freeze(s.cluster.pid_of("munged"), kShortWhile);
}

bool kill_node(Scene& s) {
  return s.cluster.command({"kill-node", std::to_string(s.any_node())}).code == 0;
}

bool drain_node(Scene& s) {
  const std::string node = "NodeName=n" + std::to_string(s.any_node());
  s.cluster.slurm({"scontrol", "update", node, "State=DRAIN", "Reason=test"});
  sleep_for(kShortWhile);
  return s.cluster.slurm({"scontrol", "update", node, "State=RESUME"}).code == 0;
}

bool down_node(Scene& s) {
  const std::string node = "NodeName=n" + std::to_string(s.any_node());
  s.cluster.slurm({"scontrol", "update", node, "State=DOWN", "Reason=test"});
  sleep_for(kShortWhile);
  return s.cluster.slurm({"scontrol", "update", node, "State=RESUME"}).code == 0;
}

bool cut_link(Scene& s) {
  return s.cluster.command({"cut-link", std::to_string(s.any_node()), "4"}).code == 0;
}

bool preempt(Scene& s) {
  return s.cluster
             .slurm({"srun", "-p", "urgent", "-N2", "--exclusive", "-t1", "sleep", "2"},
                    milliseconds(30000))
             .code == 0;
}

bool update_job(Scene& s, const std::string& change) {
  const std::string job = s.any_job("running,pending");
  return !job.empty() && s.cluster.slurm({"scontrol", "update", "JobId=" + job, change}).code == 0;
}

bool change_comment(Scene& s) {
  return update_job(s, "Comment=mine");
}

bool change_priority(Scene& s) {
  return update_job(s, "Priority=1");
}

bool change_time_limit(Scene& s) {
  return update_job(s, "TimeLimit=10");
}

bool hold_and_release(Scene& s) {
  const std::string job = s.any_job("pending");
  if (job.empty() || s.cluster.slurm({"scontrol", "hold", job}).code != 0) return false;
  sleep_for(kShortWhile);
  return s.cluster.slurm({"scontrol", "release", job}).code == 0;
}

bool requeue(Scene& s) {
  const std::string job = s.any_job("running");
  return !job.empty() && !s.cluster.slurm({"scontrol", "requeue", job}).timed_out;
}

bool scancel(Scene& s) {
  const std::string job = s.any_job("running");
  return !job.empty() && s.cluster.slurm({"scancel", job}).code == 0;
}

bool kill_controller(Scene& s) {
  return send(s.home.controller(), SIGKILL);
}

bool freeze_controller(Scene& s) {
  return freeze(s.home.controller(), kLongWhile);
}

bool kill_agent(Scene& s) {
  std::vector<pid_t> agents;
  for (const pid_t pid : processes_with_environment("THALWEG_HOME=" + s.home.home().string()))
    if (command_line(pid).find("thalweg-slurm-agent") != std::string::npos) agents.push_back(pid);
  return send(s.any(agents), SIGKILL);
}

bool kill_rank(Scene& s) {
  return send(s.any(s.home.engines()), SIGKILL);
}

bool freeze_rank(Scene& s) {
  return freeze(s.any(s.home.engines()), kShortWhile);
}

bool freeze_node(Scene& s) {
  const auto pids = s.cluster.processes("", s.any_node());
  for (const pid_t pid : pids)
    send(pid, SIGSTOP);
  sleep_for(kShortWhile);
  for (const pid_t pid : pids)
    send(pid, SIGCONT);
  return !pids.empty();
}

bool kill_ranks_of_a_node(Scene& s) {
  const auto ranks = s.cluster.processes("thalweg-train", s.any_node());
  for (const pid_t pid : ranks)
    send(pid, SIGKILL);
  return !ranks.empty();
}

bool kill_all_ranks(Scene& s) {
  const auto ranks = s.home.engines();
  for (const pid_t pid : ranks)
    send(pid, SIGKILL);
  return !ranks.empty();
}

}  // namespace

const std::vector<Disturbance>& disturbances() {
  static const std::vector<Disturbance> table = {
      {"slurmctld is killed", kill_slurmctld},
      {"slurmctld is away for a while", absent_slurmctld},
      {"slurmctld is stopped and started", stop_slurmctld},
      {"slurmctld stands still", freeze_slurmctld},
      {"slurmctld forgets running jobs", forgetful_slurmctld},
      {"a slurmd is killed", kill_slurmd},
      {"a slurmd stands still", freeze_slurmd},
      {"a slurmstepd is killed", kill_slurmstepd},
      {"an srun is killed", kill_srun},
      {"munged is killed", kill_munged},
      {"munged stands still", freeze_munged},
      {"a node loses power", kill_node},
      {"a node stands still", freeze_node},
      {"a node is drained", drain_node},
      {"a node is set down", down_node},
      {"a node's link is cut", cut_link},
      {"jobs are preempted", preempt},
      {"a job's comment is changed", change_comment},
      {"a job's priority is changed", change_priority},
      {"a job's time limit is changed", change_time_limit},
      {"a job is held and released", hold_and_release},
      {"a job is requeued", requeue},
      {"a job is cancelled by hand", scancel, true},
      {"the controller is killed", kill_controller},
      {"the controller stands still", freeze_controller},
      {"the agent is killed", kill_agent},
      {"a rank is killed", kill_rank},
      {"a rank stands still", freeze_rank},
      {"all ranks of a node are killed", kill_ranks_of_a_node},
      {"all ranks are killed", kill_all_ranks},
  };
  return table;
}

std::vector<const Disturbance*> disturbances_named(std::string_view text) {
  std::vector<const Disturbance*> kinds;
  for (const Disturbance& kind : disturbances())
    if (kind.name.find(text) != std::string::npos) kinds.push_back(&kind);
  return kinds;
}

const Disturbance& Deck::draw() {
  if (left_.empty()) {
    left_ = kinds_;
    std::shuffle(left_.begin(), left_.end(), random_);
  }
  const Disturbance* kind = left_.back();
  left_.pop_back();
  return *kind;
}

}  // namespace thalweg::test
