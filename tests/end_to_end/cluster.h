// A Slurm cluster of network namespaces (tests/cluster) for one test suite.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace thalweg::test {

class Cluster {
 public:
  /// `purpose` makes the cluster this suite's own: two suites, or two builds, may be tested at
  /// once. `settings` are those of tests/cluster/README.md.
  explicit Cluster(const std::string& purpose, std::map<std::string, std::string> settings = {});

  /// Why no cluster can run here; empty where one can.
  std::string unavailable() const;
  /// Starts it, or repairs what died and waits until all nodes are ready. False with the reason in
  /// complaint().
  bool up(int nodes, milliseconds deadline = milliseconds(180000));
  void down();

  Outcome command(std::vector<std::string> words,
                  milliseconds deadline = milliseconds(60000)) const;
  /// A program of Slurm's, asked from outside the nodes.
  Outcome slurm(const std::vector<std::string>& words,
                milliseconds deadline = milliseconds(20000)) const;
  /// Names of jobs in these states ("all", or as squeue -t takes them), one entry a job; of those
  /// whose working directory is below `folder`, where it is given.
  std::vector<std::string> job_names(const std::string& states,
                                     const std::filesystem::path& folder = {}) const;

  /// What a person does where Slurm has drained nodes: after a slurmctld that was killed it may
  /// give a job's number out again ("Duplicate jobid"), or not get rid of a step.
  void resume_drained() const;
  /// What a person would do who finds the cluster in any state: up() with all nodes taking jobs.
  bool put_right();
  /// Switches dead nodes on again, and resume_drained(); waits for nothing. up() does.
  void repair() const;

  /// The environment that the scripts and Slurm's programs are run with.
  RunOptions run_options(milliseconds deadline = milliseconds(60000)) const;
  std::map<std::string, std::string> env() const { return {{"SLURM_CONF", slurm_conf_}}; }
  const std::string& slurm_conf() const { return slurm_conf_; }
  const std::string& complaint() const { return complaint_; }
  /// The cluster's folder: state/, pid/, log/.
  std::filesystem::path folder() const;
  int nodes() const { return nodes_; }
  /// Pid remembered under this name (slurmctld, munged, n1 ...); 0 = it does not run.
  pid_t pid_of(const std::string& name) const;
  /// Whether the node's network cable is in.
  bool has_link(int node) const;
  /// Live processes inside the nodes whose command line begins with `program` (slurmd, slurmstepd,
  /// srun, thalweg-train; empty: all), of one node where it is given (from 1).
  std::vector<pid_t> processes(const std::string& program, int node = 0) const;

 private:
  std::map<std::string, std::string> settings_;
  std::string slurm_conf_, complaint_;
  int nodes_ = 0;
};

}  // namespace thalweg::test
