// The table of settings, and how the files that hold them go together.
#include "daemon/controller/config.h"

#include <fmt/format.h>
#include <wordexp.h>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "base/writers.h"
#include "daemon/controller/backends.h"
#include "jobspec/diagnostic.h"
#include "jobspec/reader.h"
#include "jobspec/resources.h"

namespace thalweg::daemon {

using jobspec::Value;

namespace {

double number(const Value& value, double min, double max) {
  const double x = value.is_number() ? value.as_double() : std::nan("");
  if (!(x >= min && x <= max))
    throw std::invalid_argument(
        fmt::format("expected a number from {} to {}, found {}", min, max, value.to_text()));
  return x;
}

int integer(const Value& value, int min, int max) {
  const double x = number(value, min, max);
  if (x != std::floor(x))
    throw std::invalid_argument("expected an integer, found " + value.to_text());
  return static_cast<int>(x);
}

std::string text(const Value& value) {
  if (!value.is_string()) throw std::invalid_argument("expected text, found " + value.to_text());
  return value.as_string();
}

/// A list of users or groups.
std::vector<std::string> names(const Value& value) {
  if (!value.is_list()) throw std::invalid_argument("expected a list of names");
  std::vector<std::string> result;
  for (const Value& name : value.as_list())
    result.push_back(text(name));
  return result;
}

/// "host:port", with [::1]:port for IPv6.
std::string address(const Value& value) {
  const std::string result = text(value);
  const auto colon = result.rfind(':');
  const std::string port = colon == std::string::npos ? "" : result.substr(colon + 1);
  constexpr int largest_port = 65535;
  const bool digits = !port.empty() && port.size() <= 5 &&
                      port.find_first_not_of("0123456789") == std::string::npos;
  const int number = digits ? std::stoi(port) : 0;
  if (!result.empty() && (colon == 0 || number < 1 || number > largest_port))
    throw std::invalid_argument("expected \"host:port\" with a port from 1 to 65535, found " +
                                result);
  return result;
}

std::string backend(const Value& value) {
  std::vector<std::string> names = backend_names();
  names.insert(names.begin(), "auto");
  const std::string name = text(value);
  for (const auto& known : names)
    if (known == name) return name;
  throw std::invalid_argument(
      fmt::format("there is no backend '{}', expected {}", name, fmt::join(names, ", ")));
}

/// A full path, in which ~ and $VARIABLES stand for what they mean to the controller.
std::filesystem::path folder(const Value& value) {
  const std::string given = text(value);
  wordexp_t words{};
  const int error = wordexp(given.c_str(), &words, WRDE_NOCMD | WRDE_UNDEF);
  const std::string full = error == 0 && words.we_wordc == 1 ? words.we_wordv[0] : "";
  if (error == 0) wordfree(&words);
  if (error == WRDE_BADVAL)
    throw std::invalid_argument(given + " names a variable that the controller does not have");
  if (full.empty() || full[0] != '/')
    throw std::invalid_argument(
        "expected the full path of a folder (it may contain ~ and $USER), found " + given);
  return full;
}

/// A key of the `slurm` block, as in sweep files.
ConfigOption slurm_default(const std::string& key) {
  const std::string name = "slurm." + key;
  const jobspec::SlurmOption* option = jobspec::find_slurm_option(key);
  std::string doc = "default for sweep files: ";
  doc += option ? std::string(option->doc) : "the key " + key + " of their slurm block";
  return {name, doc, [key, name](Config& c, const Value& v) {
            jobspec::Diagnostics diagnostics("");
            jobspec::read_slurm_key(key, v, name, c.slurm.defaults, diagnostics);
            diagnostics.throw_if_any();
          }};
}

/// A key of the `keep` block, as in sweep files.
ConfigOption keep_default(const std::string& key, const std::string& doc) {
  const std::string name = "keep." + key;
  return {name, "default for sweep files: " + doc, [key, name](Config& c, const Value& v) {
            jobspec::Diagnostics diagnostics("");
            jobspec::read_keep_key(key, v, name, c.keep, diagnostics);
            diagnostics.throw_if_any();
          }};
}

std::int64_t size_mib(const Value& v) {
  const auto mib = jobspec::parse_memory(v);
  if (!mib) throw std::invalid_argument("expected a size as 50G, found " + v.to_text());
  return *mib;
}

constexpr double min_poll_s = 0.01, max_poll_s = 3600, max_start_s = 86400;
constexpr int max_nodes = 1'000'000, max_gpus = 1024, max_days = 3660;
constexpr int max_open_trials = 1'000'000'000;
constexpr double max_hours = 1e12, max_price = 1e12;

/// {gpu: 3.2}
std::map<std::string, double> prices(const Value& value) {
  if (!value.is_map()) throw std::invalid_argument("expected partitions, each with its price");
  std::map<std::string, double> result;
  for (const auto& [partition, price] : value.as_map())
    result[partition] = number(price, 0, max_price);
  return result;
}

/// {alice: {max_nodes: 8, node_hours: 100}}; of users also trials, which have a limit in any case.
std::map<std::string, Quota> quotas(const Value& value, bool of_users) {
  if (!value.is_map()) throw std::invalid_argument("expected names, each with its quota");
  std::map<std::string, Quota> result;
  for (const auto& [name, entry] : value.as_map()) {
    Quota quota{0, 0, of_users ? kUsualTrials : 0};
    if (!entry.is_map())
      throw std::invalid_argument(fmt::format("{}: expected {{max_nodes: N, node_hours: H{}}}",
                                              name, of_users ? ", trials: T" : ""));
    for (const auto& [key, one] : entry.as_map()) {
      if (key == "max_nodes")
        quota.max_nodes = integer(one, 0, max_nodes);
      else if (key == "node_hours")
        quota.node_hours = number(one, 0, max_hours);
      else if (key == "trials" && of_users)
        quota.trials = integer(one, 0, max_open_trials);
      else
        throw std::invalid_argument(fmt::format("{}: '{}' is neither max_nodes nor node_hours{}",
                                                name, key, of_users ? " nor trials" : ""));
    }
    result[name] = quota;
  }
  return result;
}

}  // namespace

namespace {

std::vector<ConfigOption> make_options() {
  std::vector<ConfigOption> options = {
      {"backend",
       "backend of sweeps that do not name one: auto (slurm where there is one), local or slurm",
       [](Config& c, const Value& v) { c.backend = backend(v); }},
      {"runs",
       "folder for the attempt folders, which compute nodes must see under the same path; by "
       "default runs in the controller's home",
       [](Config& c, const Value& v) { c.runs = folder(v); }},
      {"max_nodes_per_job", "sweeps that ask for more nodes a job are refused or clamped",
       [](Config& c, const Value& v) { c.max_nodes_per_job = integer(v, 1, max_nodes); }},
      {"max_trials", "sweeps with more trials are refused",
       [](Config& c, const Value& v) {
         c.max_trials = integer(v, 1, static_cast<int>(jobspec::SiteLimits().max_trials));
       }},
      {"data",
       "folder of the data sets: THALWEG_DATA of attempts where the environment does not set it "
       "(where it is enforced: always)",
       [](Config& c, const Value& v) { c.data = folder(v).string(); }},
      keep_default("checkpoints",
                   "checkpoints of each trial that stay when a sweep has ended: all, last, best "
                   "or none"),
      keep_default("trials", "only the best so many trials keep them; 0 = all"),
      keep_default("points", "about so many points of each curve stay; 0 = all"),
      {"gpu_memory",
       "memory of one GPU of the compute nodes, as 80G: sweeps that do not fit are refused before "
       "they are queued, also where no GPU is",
       [](Config& c, const Value& v) { c.gpu_memory_mib = size_mib(v); }},
      {"min_free",
       "space that the run folders' filesystem must have left for attempts to be started, as 50G",
       [](Config& c, const Value& v) { c.min_free_mib = size_mib(v); }},
      {"prices.currency", "currency of the prices, as it is printed: EUR",
       [](Config& c, const Value& v) { c.prices.currency = text(v); }},
      {"prices.node_hour", "price of an hour of one node; 0 = not known",
       [](Config& c, const Value& v) { c.prices.node_hour = number(v, 0, max_price); }},
      {"prices.partitions",
       "price of an hour of one node in some Slurm partitions: {gpu: 3.2, spot: 0.9}",
       [](Config& c, const Value& v) { c.prices.partitions = prices(v); }},
      {"ingest_interval", "seconds between two looks at the journals of running attempts",
       [](Config& c, const Value& v) { c.ingest_s = number(v, min_poll_s, max_poll_s); }},
      {"query_time_limit", "seconds that a user's query may take",
       [](Config& c, const Value& v) { c.query_s = number(v, 0.1, 90); }},
      {"push_listen",
       "host:port to take pushes over TCP on (attempts prove themselves by a secret of their own); "
       "none by default",
       [](Config& c, const Value& v) { c.push_listen = address(v); }},
      {"push_address",
       "host:port under which compute nodes reach push_listen; by default our host name",
       [](Config& c, const Value& v) { c.push_address = address(v); }},
      {"retry_backoff",
       "seconds before the second attempt of a trial that failed; four times longer each time",
       [](Config& c, const Value& v) { c.policy.first_backoff_s = number(v, 0, max_poll_s); }},
      {"local.cores", "ranks x threads at once; 0 = all cores of the machine",
       [](Config& c, const Value& v) { c.local.cores = integer(v, 0, max_nodes); }},
      {"local.gpus",
       "GPUs that attempts may have at once, each its own (CUDA_VISIBLE_DEVICES); by default those "
       "of the machine, or of the controller's own CUDA_VISIBLE_DEVICES",
       [](Config& c, const Value& v) { c.local.gpus = integer(v, 0, max_gpus); }},
      {"local.memory",
       "memory that attempts may ask for at once (resources.memory); by default the machine's",
       [](Config& c, const Value& v) { c.local.memory_mib = size_mib(v); }},
      {"local.grace", "seconds from SIGTERM to SIGKILL when an attempt is cancelled",
       [](Config& c, const Value& v) { c.local.grace_s = number(v, 0, max_poll_s); }},
      {"local.poll_interval",
       "seconds between two looks at the processes; the end of one is seen at once",
       [](Config& c, const Value& v) { c.local_poll_s = number(v, min_poll_s, max_poll_s); }},
      {"local.launch_program", "thalweg-launch: a name or a path",
       [](Config& c, const Value& v) { c.local.launch_program = text(v); }},
      {"local.engine_program", "thalweg-train: a name or a path",
       [](Config& c, const Value& v) { c.local.engine_program = text(v); }},
      {"local.attempt_program", "thalweg-attempt, which runs users' own programs: a name or a path",
       [](Config& c, const Value& v) { c.local.attempt_program = text(v); }},
      {"slurm.agent_program", "thalweg-slurm-agent: a name or a path",
       [](Config& c, const Value& v) { c.slurm.agent_program = text(v); }},
      {"site.agent_socket", "socket of thalweg-slurm-agent --site",
       [](Config& c, const Value& v) { c.site.agent_socket = folder(v).string(); }},
      {"site.listen",
       "host:port for commands from other machines (THALWEG_CONTROLLER), each proven by MUNGE; "
       "none by default",
       [](Config& c, const Value& v) { c.site.listen = address(v); }},
      {"site.munge_socket", "socket of munged; by default the machine's",
       [](Config& c, const Value& v) { c.site.munge_socket = folder(v).string(); }},
      {"site.environment",
       "list of the variables that attempts take over from their submitter's environment; X* = all "
       "that begin with X; the sweep file's env sets others",
       [](Config& c, const Value& v) { c.site.environment = names(v); }},
      {"site.operators.users", "list of users who see and end everybody's sweeps, beside root",
       [](Config& c, const Value& v) { c.site.operator_users = names(v); }},
      {"site.operators.groups", "list of groups whose members do",
       [](Config& c, const Value& v) { c.site.operator_groups = names(v); }},
      {"site.quotas.days", "days that node-hours count for, today among them",
       [](Config& c, const Value& v) { c.policy.quotas.days = integer(v, 1, max_days); }},
      {"site.quotas.user.max_nodes",
       "nodes of each user's jobs that wait or run at once; 0 = no limit",
       [](Config& c, const Value& v) {
         c.policy.quotas.user.max_nodes = integer(v, 0, max_nodes);
       }},
      {"site.quotas.user.node_hours",
       "node-hours of each user in site.quotas.days, after which nothing more of theirs is "
       "started; 0 = no limit",
       [](Config& c, const Value& v) {
         c.policy.quotas.user.node_hours = number(v, 0, max_hours);
       }},
      {"site.quotas.user.trials",
       "trials of each user's open sweeps at once; more are refused, also in dry runs; 0 = no "
       "limit",
       [](Config& c, const Value& v) {
         c.policy.quotas.user.trials = integer(v, 0, max_open_trials);
       }},
      {"site.quotas.account.max_nodes", "the same of each account (slurm.account of sweep files)",
       [](Config& c, const Value& v) {
         c.policy.quotas.account.max_nodes = integer(v, 0, max_nodes);
       }},
      {"site.quotas.account.node_hours", "the same of each account",
       [](Config& c, const Value& v) {
         c.policy.quotas.account.node_hours = number(v, 0, max_hours);
       }},
      {"site.quotas.users", "other quotas for some users: {alice: {max_nodes: 8, node_hours: 100}}",
       [](Config& c, const Value& v) { c.policy.quotas.users = quotas(v, true); }},
      {"site.quotas.accounts", "the same for some accounts",
       [](Config& c, const Value& v) { c.policy.quotas.accounts = quotas(v, false); }},
      {"site.max_connections", "connections of one user at once; more are closed",
       [](Config& c, const Value& v) { c.site.max_connections = integer(v, 1, max_nodes); }},
      {"site.requests_per_second",
       "requests of one user a second on average; more are answered 429",
       [](Config& c, const Value& v) { c.site.requests_per_s = number(v, 0.1, max_nodes); }},
      {"slurm.engine_program", "thalweg-train as the compute nodes see it",
       [](Config& c, const Value& v) { c.slurm.engine_program = text(v); }},
      {"slurm.attempt_program",
       "thalweg-attempt as the compute nodes see it; by default beside slurm.engine_program",
       [](Config& c, const Value& v) { c.slurm.attempt_program = text(v); }},
      {"slurm.poll_interval",
       "seconds between two status requests (one for all jobs); fifteen times as many while each "
       "job is in the queue or its journal grows",
       [](Config& c, const Value& v) { c.slurm.poll_s = number(v, 0.1, max_poll_s); }},
      {"slurm.file_lag", "seconds that the shared filesystem may hide what a node wrote",
       [](Config& c, const Value& v) { c.slurm.file_lag_s = number(v, 0, max_poll_s); }},
      {"slurm.start_timeout",
       "seconds from a job's start to the first line of its journal, setup included; after that it "
       "is ended and retried, as its ranks may never have started; 0 = no limit",
       [](Config& c, const Value& v) { c.slurm.start_timeout_s = number(v, 0, max_start_s); }},
      {"slurm.max_jobs", "jobs of one controller that wait or run at once; 0 = no limit",
       [](Config& c, const Value& v) { c.slurm.max_jobs = integer(v, 0, max_nodes); }},
  };
  for (const std::string& key : jobspec::slurm_keys())
    options.push_back(slurm_default(key));
  return options;
}

}  // namespace

const std::vector<ConfigOption>& config_options() {
  static const std::vector<ConfigOption> options = make_options();
  return options;
}

namespace {

class Reader {
 public:
  Reader(Config& config, std::string file) : config_(config), file_(std::move(file)) {
    for (const auto& option : config_options())
      names_.emplace_back(option.name);
  }

  void section(const jobspec::Map& map, const std::string& prefix) {
    for (const auto& [key, value] : map) {
      const std::string name = prefix + key;
      if (name == "enforce") continue;
      if (const ConfigOption* option = find(name)) {
        set(*option, value);
      } else if (value.is_map() && is_section(name)) {
        section(value.as_map(), name + ".");
      } else {
        unknown(value, name);
      }
    }
  }

  /// After the settings: the file's own values are the ones that stay.
  void enforce(const Value& list, bool site) {
    if (!site)
      return report_error(list, "enforce", "only the site's file can enforce settings",
                          "leave it out here");
    if (!list.is_list()) return report_error(list, "enforce", "expected a list of settings", "");
    for (const Value& item : list.as_list()) {
      const std::string name = item.to_text();
      if (find(name) == nullptr) {
        unknown(item, name);
        continue;
      }
      config_.enforced.insert(name);
      config_.sources[name] = file_;  // also where it keeps the default
    }
  }

  void report_error(const Value& value, const std::string& key, const std::string& message,
                    const std::string& hint) {
    diagnostics_.push_back({file_, value.place, key, message, hint});
  }

  void finish() {
    if (!diagnostics_.empty()) throw jobspec::InputError(std::move(diagnostics_));
  }

 private:
  void set(const ConfigOption& option, const Value& value) {
    if (config_.enforced.count(option.name) != 0)
      return report_error(value, option.name,
                          "fixed by " + config_.sources.at(option.name) + " (enforce)",
                          "leave it out here");
    try {
      option.set(config_, value);
      config_.sources[option.name] = file_;
    } catch (const std::invalid_argument& error) {
      report_error(value, option.name, error.what(), option.doc);
    } catch (const jobspec::InputError& error) {
      for (jobspec::Diagnostic diagnostic : error.diagnostics()) {
        diagnostic.file = file_;
        diagnostics_.push_back(std::move(diagnostic));
      }
    }
  }
  void unknown(const Value& value, const std::string& name) {
    const std::string near = jobspec::nearest(name, names_);
    report_error(value, name, "there is no such setting",
                 near.empty() ? "" : "did you mean " + near + "?");
  }
  static const ConfigOption* find(const std::string& name) {
    for (const auto& option : config_options())
      if (option.name == name) return &option;
    return nullptr;
  }
  bool is_section(const std::string& name) const {
    for (const auto& known : names_)
      if (known.rfind(name + ".", 0) == 0) return true;
    return false;
  }

  Config& config_;
  std::string file_;
  std::vector<std::string> names_;
  std::vector<jobspec::Diagnostic> diagnostics_;
};

}  // namespace

std::filesystem::path runs_folder(const Config& config, const api::Home& home) {
  return config.runs.empty() ? home.runs() : config.runs;
}

void read_config(Config& config, std::string_view content, const std::string& file_name,
                 bool site) {
  const Value root = jobspec::read_yaml(content, file_name);
  if (root.is_null()) return;  // an empty file
  Reader reader(config, file_name);
  if (root.is_map())
    reader.section(root.as_map(), "");
  else
    reader.report_error(root, "", "expected settings as `key: value`", "");
  if (const Value* list = root.is_map() ? root.find("enforce") : nullptr)
    reader.enforce(*list, site);
  reader.finish();
}

std::vector<std::filesystem::path> site_config_files() {
  std::vector<std::filesystem::path> files{"/etc/thalweg/config.yaml"};
  if (const char* more = std::getenv("THALWEG_SITE_CONFIG"); more != nullptr && *more != '\0')
    files.emplace_back(more);
  return files;
}

Config load_config(const std::filesystem::path& user_file,
                   const std::vector<std::filesystem::path>& site_files) {
  Config config;
  const auto read = [&](const std::filesystem::path& file, bool site) {
    std::ifstream in(file);
    if (!in) return;
    // It names programs. A site's files are where the user's own environment says, or root's.
    if (const std::string others = site ? "" : other_writers(file); !others.empty())
      throw jobspec::InputError({{file.string(),
                                  {},
                                  "",
                                  others + "; others could start programs as you through it",
                                  "a config.yaml must be yours or root's"}});
    std::ostringstream content;
    content << in.rdbuf();
    read_config(config, content.str(), file.string(), site);
  };
  for (const auto& file : site_files)
    read(file, true);
  read(user_file, false);
  return config;
}

jobspec::SiteLimits site_limits(const Config& config) {
  jobspec::SiteLimits limits;
  limits.max_nodes_per_job = config.max_nodes_per_job;
  limits.max_trials = config.max_trials;
  limits.gpu_memory_mib = config.gpu_memory_mib;
  limits.keep = config.keep;
  limits.prices = config.prices;
  limits.slurm = config.slurm.defaults;
  limits.sources = config.sources;
  for (const std::string& setting : config.enforced)
    if (setting.starts_with("slurm.") || setting.starts_with("keep."))
      limits.locked.insert(setting);
  return limits;
}

}  // namespace thalweg::daemon
