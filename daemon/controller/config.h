// config.yaml: the site's (/etc/thalweg/config.yaml) and then <home>/config.yaml (the user's),
// which wins key by key, except over what the site's file enforces. The controller runs as the
// user: that is advice to people who cooperate, no wall.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/api/client.h"
#include "daemon/backend/local.h"
#include "daemon/state/actions.h"
#include "jobspec/fwd.h"
#include "jobspec/site.h"

namespace thalweg::daemon {

struct SlurmSettings {
  std::string agent_program = "thalweg-slurm-agent";
  std::string
      engine_program;  ///< thalweg-train as the compute nodes see it; empty = beside our binary
  std::string attempt_program{};  ///< thalweg-attempt; empty = beside engine_program
  double poll_s = 2;
  int max_jobs = 0;                ///< jobs queued or running at once; 0 = no limit
  jobspec::SlurmOptions defaults;  ///< what the `slurm` block of a sweep file starts from
  double file_lag_s = 15;          ///< how long a shared filesystem may hide what a node wrote
  double start_timeout_s = 1800;   ///< from a job's start to its ranks' first sign; 0 = any time
};

/// One controller for the users of a site.
struct SiteSettings {
  bool enabled = false;                                    ///< by thalwegd's --site, no setting
  std::string agent_socket = "/run/thalweg-agent/socket";  ///< of a thalweg-slurm-agent --site
  /// Of a submitter's environment attempts take these over; `X*` = all that begin with X.
  std::vector<std::string> environment = {
      "PATH",        "HOME",    "USER",  "LOGNAME",         "SHELL",
      "LANG",        "LC_*",    "TZ",    "LD_LIBRARY_PATH", "PYTHONPATH",
      "VIRTUAL_ENV", "CONDA_*", "OMP_*", "UCX_*",           "CUDA_*",
      "THALWEG_*"};
  std::string listen;        ///< "host:port" for users on other machines; empty = none
  std::string munge_socket;  ///< munged's; empty = the machine's
  std::vector<std::string> operator_users, operator_groups;
  int max_connections = 16;    ///< at once, of one user
  double requests_per_s = 20;  ///< of one user, on average; ten seconds' worth at once
};

struct Config {
  std::string backend = "auto";
  std::filesystem::path runs;  ///< attempt folders are made below it; empty = <home>/runs
  std::string data;            ///< THALWEG_DATA of attempts, where the environment has none
  int max_nodes_per_job = jobspec::SiteLimits().max_nodes_per_job;
  std::int64_t max_trials = jobspec::SiteLimits().max_trials;
  std::int64_t gpu_memory_mib = 0;  ///< jobspec::SiteLimits
  std::int64_t min_free_mib = 0;    ///< of the run folders' filesystem; 0 = no limit
  jobspec::Prices prices;           ///< of node-hours, for who compares costs
  jobspec::Keep keep;               ///< what `keep` of sweep files starts from
  double ingest_s = 0.5;
  double query_s = 30;       ///< longest query of a user
  std::string push_listen;   ///< "host:port" for pushes over TCP; empty = none
  std::string push_address;  ///< "host:port" as the compute nodes reach it; empty = push_listen
                             ///< with our host name
  LocalBackendConfig local;
  double local_poll_s = 0.25;
  SlurmSettings slurm;
  SiteSettings site;
  Policy policy;
  std::map<std::string, std::string> sources;  ///< setting -> the file that it comes from
  std::set<std::string> enforced;              ///< settings that only a site's file may set
};

struct ConfigOption {
  std::string name;  ///< dotted
  std::string doc;
  /// Throws std::invalid_argument, or jobspec::InputError with messages of its own.
  std::function<void(Config&, const jobspec::Value&)> set;
};

/// Where attempt folders go, whether or not config.yaml says.
std::filesystem::path runs_folder(const Config& config, const api::Home& home);

/// Every key there is.
const std::vector<ConfigOption>& config_options();

/// Puts what the text says into `config`. Only a site's file may `enforce` settings, which files
/// read later may not set. Throws jobspec::InputError with every mistake.
void read_config(Config& config, std::string_view text, const std::string& file_name,
                 bool site = false);

/// /etc/thalweg/config.yaml, and the file that $THALWEG_SITE_CONFIG names, if any. The second is
/// read after the first and is bound by what that enforces.
std::vector<std::filesystem::path> site_config_files();

/// Every site's file and then the user's, where they are there. Throws jobspec::InputError, also
/// where others may write to the user's.
Config load_config(const std::filesystem::path& user_file,
                   const std::vector<std::filesystem::path>& site_files = site_config_files());

/// What sweep files are checked against.
jobspec::SiteLimits site_limits(const Config& config);

}  // namespace thalweg::daemon
