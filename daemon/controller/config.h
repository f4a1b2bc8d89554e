// config.yaml: /etc/thalweg/config.yaml (the site's) and then <home>/config.yaml (the user's),
// which wins key by key.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/api/client.h"
#include "daemon/backend/local.h"
#include "daemon/state/actions.h"
#include "jobspec/value.h"

namespace thalweg::daemon {

struct SlurmSettings {
  std::string agent_program = "thalweg-slurm-agent";
  std::string
      engine_program;  ///< thalweg-train as the compute nodes see it; empty = beside our binary
  double poll_s = 2;
  double file_lag_s = 15;  ///< how long a shared filesystem may hide what a node wrote
};

struct Config {
  std::string backend = "auto";
  std::filesystem::path runs;  ///< attempt folders are made below it; empty = <home>/runs
  int max_nodes_per_job = 64;
  double ingest_s = 0.5;
  double query_s = 30;       ///< longest query of a user
  std::string push_listen;   ///< "host:port" for pushes over TCP; empty = none
  std::string push_address;  ///< "host:port" as the compute nodes reach it; empty = push_listen
                             ///< with our host name
  LocalBackendConfig local;
  double local_poll_s = 0.25;
  SlurmSettings slurm;
  Policy policy;
};

struct ConfigOption {
  std::string_view name;  ///< dotted
  std::string_view doc;
  void (*set)(Config&, const jobspec::Value&);  ///< throws std::invalid_argument
};

/// Where attempt folders go, whether or not config.yaml says.
std::filesystem::path runs_folder(const Config& config, const api::Home& home);

/// Every key there is.
const std::vector<ConfigOption>& config_options();

/// Puts what the text says into `config`. Throws jobspec::InputError with every mistake.
void read_config(Config& config, std::string_view text, const std::string& file_name);

/// Both files, where they are there. Throws jobspec::InputError.
Config load_config(const std::filesystem::path& user_file,
                   const std::filesystem::path& site_file = "/etc/thalweg/config.yaml");

}  // namespace thalweg::daemon
