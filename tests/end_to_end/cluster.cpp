// Runs the scripts of tests/cluster and finds a cluster's processes by its namespaces.
#include "tests/end_to_end/cluster.h"

#include <net/if.h>
#include <signal.h>

#include <fstream>
#include <sstream>
#include <system_error>

namespace thalweg::test {

namespace fs = std::filesystem;

namespace {

/// The namespace of System V memory: every node has its own, whatever else its processes do.
std::string namespace_of(pid_t pid) {
  std::error_code gone;
  return fs::read_symlink("/proc/" + std::to_string(pid) + "/ns/ipc", gone).string();
}

std::string base_name(const std::string& line) {
  // slurmstepd calls itself "slurmstepd: [12.0]".
  const std::string word = line.substr(0, line.find_first_of(" :"));
  return fs::path(word).filename().string();
}

}  // namespace

Cluster::Cluster(const std::string& purpose, std::map<std::string, std::string> settings)
    : settings_(std::move(settings)) {
  settings_["THALWEG_CLUSTER_NAME"] =
      purpose + std::to_string(std::hash<std::string>{}(THALWEG_BIN_DIR) % 100000);
}

RunOptions Cluster::run_options(milliseconds deadline) const {
  RunOptions result;
  result.env = settings_;
  if (!slurm_conf_.empty()) result.env["SLURM_CONF"] = slurm_conf_;
  result.deadline = deadline;
  return result;
}

Outcome Cluster::command(std::vector<std::string> words, milliseconds deadline) const {
  words[0] = std::string(THALWEG_SOURCE_DIR) + "/tests/cluster/" + words[0];
  return run(words, run_options(deadline));
}

Outcome Cluster::slurm(const std::vector<std::string>& words, milliseconds deadline) const {
  return run(words, run_options(deadline));
}

std::string Cluster::unavailable() const {
  const Outcome check = command({"check"});
  return check.code == 0 ? "" : check.out + check.err;
}

bool Cluster::up(int nodes, milliseconds deadline) {
  const Outcome outcome = command({"up", std::to_string(nodes)}, deadline);
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);)
    if (const auto at = line.find("SLURM_CONF="); at != std::string::npos)
      slurm_conf_ = line.substr(at + 11);
  nodes_ = nodes;
  complaint_ = outcome.out + outcome.err;
  return outcome.code == 0 && !slurm_conf_.empty();
}

void Cluster::down() {
  if (!slurm_conf_.empty()) command({"down"}, milliseconds(120000));
}

void Cluster::resume_drained() const {
  std::istringstream drained(slurm({"sinfo", "-h", "-N", "-t", "drain", "-o", "%N"}).out);
  for (std::string node; drained >> node;)
    slurm({"scontrol", "update", "NodeName=" + node, "State=RESUME"});
}

bool Cluster::put_right() {
  for (int i = 0; i < 3; ++i) {
    slurm({"scontrol", "update", "NodeName=n[1-" + std::to_string(nodes_) + "]", "State=RESUME"});
    if (up(nodes_, milliseconds(90000))) return true;
  }
  return false;
}

void Cluster::repair() const {
  for (int node = 1; node <= nodes_; ++node)
    if (pid_of("n" + std::to_string(node)) == 0) command({"start-node", std::to_string(node)});
  resume_drained();
}

std::vector<std::string> Cluster::job_names(const std::string& states,
                                            const fs::path& folder) const {
  std::istringstream lines(slurm({"squeue", "-h", "-a", "-t", states, "-o", "%j %Z"}).out);
  std::vector<std::string> names;
  for (std::string name, directory; lines >> name && std::getline(lines, directory);)
    if (directory.starts_with(" " + folder.string())) names.push_back(name);
  return names;
}

fs::path Cluster::folder() const {
  return fs::path(slurm_conf_).parent_path();
}

pid_t Cluster::pid_of(const std::string& name) const {
  std::ifstream in(folder() / "pid" / name);
  pid_t pid = 0;
  in >> pid;
  return pid > 0 && kill(pid, 0) == 0 ? pid : 0;
}

bool Cluster::has_link(int node) const {
  std::ifstream settings(folder() / "settings");
  std::string number;
  std::getline(settings, number);  // number=3
  std::ifstream in("/sys/class/net/tw" + number.substr(number.find('=') + 1) + "v" +
                   std::to_string(node) + "/flags");
  unsigned flags = 0;
  in >> std::hex >> flags;
  return (flags & IFF_UP) != 0;
}

std::vector<pid_t> Cluster::processes(const std::string& program, int node) const {
  std::vector<std::string> inside;
  for (int i = 1; i <= nodes_; ++i)
    if (node == 0 || node == i)
      if (const pid_t pid = pid_of("n" + std::to_string(i)); pid != 0)
        inside.push_back(namespace_of(pid));
  std::vector<pid_t> found;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto pid = static_cast<pid_t>(std::stol(name));
    if (!program.empty() && base_name(command_line(pid)) != program) continue;
    const std::string where = namespace_of(pid);
    for (const std::string& one : inside)
      if (!where.empty() && where == one) found.push_back(pid);
  }
  return found;
}

}  // namespace thalweg::test
