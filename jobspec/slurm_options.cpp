// The table of sbatch's options, and the forms of their values. A value is brought into one form
// here, so that the #SBATCH line and what libslurm gets are the same text.
#include "jobspec/slurm_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "jobspec/reader.h"
#include "jobspec/resources.h"

namespace thalweg::jobspec {
namespace {

using enum SlurmUse;
using enum SlurmType;

constexpr std::int64_t max_nice = 2'147'483'645;  // NICE_OFFSET - 3

std::vector<SlurmOption> make_options() {
  return {
      {"partition", key, text, "partition, or several with commas"},
      {"account", key, text, "account that is charged"},
      {"qos", key, text, "quality of service"},
      {"reservation", key, text, "reservation to run in"},
      {"constraint", key, text, "features that the nodes must have"},
      {"gres", key, text, "generic resources of each node"},
      {"nodelist", key, text, "nodes that must be among the job's"},
      {"exclude", key, text, "nodes that must not"},
      {"licenses", key, text, "licences that the job holds"},
      {"exclusive",
       key,
       flag,
       "whole nodes, not shared with other jobs (or other users')",
       0,
       0,
       {"user", "mcs"}},

      {"acctg-freq", sbatch, text, "how often accounting samples"},
      {"batch", sbatch, text, "features of the node that runs the batch script"},
      {"bb", sbatch, text, "burst buffer"},
      {"begin", sbatch, moment, "not to start before this time"},
      {"cluster-constraint", sbatch, text, "features that the cluster must have"},
      {"container", sbatch, text, "OCI bundle to run in"},
      {"contiguous", sbatch, flag, "nodes that follow each other"},
      {"core-spec", sbatch, count, "cores of each node that the system keeps", 0},
      {"cores-per-socket", sbatch, count, "nodes with at least so many cores a socket"},
      {"cpus-per-gpu", sbatch, count, "CPUs for each GPU"},
      {"deadline", sbatch, moment, "removed where it cannot end before this time"},
      {"delay-boot", sbatch, minutes,
       "how long to wait for nodes with the features before booting"},
      {"dependency", sbatch, text, "other jobs to wait for, as afterok:1234"},
      {"gpu-bind", sbatch, text, "how tasks are bound to GPUs"},
      {"gpu-freq", sbatch, text, "clock of the GPUs"},
      {"gpus", sbatch, text, "GPUs of the whole job, [type:]number"},
      {"gpus-per-socket", sbatch, text, "GPUs for each socket, [type:]number"},
      {"gpus-per-task", sbatch, text, "GPUs for each rank, [type:]number"},
      {"gres-flags",
       sbatch,
       words,
       "binding of generic resources",
       0,
       0,
       {"disable-binding", "enforce-binding"}},
      {"hint",
       sbatch,
       words,
       "how tasks use cores",
       0,
       0,
       {"compute_bound", "memory_bound", "multithread", "nomultithread"}},
      {"kill-on-invalid-dep",
       sbatch,
       words,
       "whether a dependency that cannot be met ends the job",
       0,
       0,
       {"yes", "no"}},
      {"mail-type",
       sbatch,
       words,
       "when to send mail",
       0,
       0,
       {"NONE", "ALL", "BEGIN", "END", "FAIL", "REQUEUE", "INVALID_DEPEND", "STAGE_OUT",
        "TIME_LIMIT", "TIME_LIMIT_90", "TIME_LIMIT_80", "TIME_LIMIT_50"}},
      {"mail-user", sbatch, text, "who gets the mail"},
      {"mcs-label", sbatch, text, "multi-category security label"},
      {"mem-per-cpu", sbatch, memory, "memory for each CPU, instead of resources.memory"},
      {"mem-per-gpu", sbatch, memory, "memory for each GPU, instead of resources.memory"},
      {"mincpus", sbatch, count, "nodes with at least so many CPUs"},
      {"network", sbatch, text, "use of the network (switch plug-in)"},
      {"nice", sbatch, count, "lowers the priority; below 0 only for administrators", -max_nice,
       max_nice},
      {"ntasks-per-core", sbatch, count, "ranks on each core at most"},
      {"ntasks-per-gpu", sbatch, count, "ranks on each GPU"},
      {"ntasks-per-socket", sbatch, count, "ranks on each socket at most"},
      {"overcommit", sbatch, flag, "one CPU a node, whatever the number of ranks"},
      {"oversubscribe", sbatch, flag, "nodes may be shared with other jobs"},
      {"prefer", sbatch, text, "features that would be good to have"},
      {"profile",
       sbatch,
       words,
       "what accounting samples",
       0,
       0,
       {"none", "all", "energy", "task", "lustre", "network"}},
      {"reboot", sbatch, flag, "nodes are booted first"},
      {"sockets-per-node", sbatch, count, "nodes with at least so many sockets"},
      {"spread-job", sbatch, flag, "over as many nodes as possible"},
      {"switches", sbatch, text, "switches at most, count[@longest-wait]"},
      {"thread-spec", sbatch, count, "threads of each node that the system keeps"},
      {"threads-per-core", sbatch, count, "nodes with at least so many threads a core"},
      {"time-min", sbatch, minutes, "shortest time limit to accept for an earlier start"},
      {"tmp", sbatch, memory, "local disk of each node"},
      {"use-min-nodes", sbatch, flag, "where a range is given, the fewest nodes"},
      {"wait-all-nodes",
       sbatch,
       words,
       "whether to start only when all nodes are ready",
       0,
       0,
       {"0", "1"}},
      {"wckey", sbatch, text, "workload key for accounting"},

      {"nodes", ours, count, "from resources.nodes", 1, 1'000'000},
      {"ntasks", ours, count, "from resources.nodes and resources.ranks_per_node", 1,
       1'000'000'000},
      {"ntasks-per-node", ours, count, "from resources.ranks_per_node"},
      {"cpus-per-task", ours, count, "from resources.threads_per_rank"},
      {"time", ours, minutes, "from resources.time"},
      {"mem", ours, memory, "from resources.memory"},
      {"gpus-per-node", ours, text, "from resources.gpus_per_node"},
      {"signal", ours, text, "from slurm.signal_before_end_s"},
      {"job-name", ours, text, "jobs are named after their attempts, as thalweg-12.3.1"},
      {"chdir", ours, text, "jobs run in the attempt's folder"},
      {"output", ours, text, "stdout.log in the attempt's folder"},
      {"error", ours, text, "stderr.log in the attempt's folder"},
      {"open-mode", ours, words, "the attempt's output is appended", 0, 0, {"append", "truncate"}},
      {"no-requeue", ours, flag, "Thalweg makes a new attempt instead"},
      {"no-kill", ours, flag, "slurm.pack; other jobs end with their first node"},

      {"comment", refused, text, "Thalweg finds its jobs by it"},
      {"hold", refused, flag, "jobs are submitted held, and released once they are recorded"},
      {"priority", refused, text, "jobs are submitted held, with priority 0; nice lowers it"},
      {"requeue", refused, flag, "Thalweg makes a new attempt instead"},
      {"array", refused, text, "every trial is a job of its own"},
      {"distribution", refused, text, "ranks are counted node by node (block)"},
      {"input", refused, text, "training reads no input"},
      {"extra-node-info", refused, text, "write sockets-per-node and cores-per-socket"},
      {"nodefile", refused, text, "write nodelist"},
      {"export", refused, text,
       "jobs get the submitter's environment; `env` and slurm.setup change it"},
      {"export-file", refused, text,
       "jobs get the submitter's environment; `env` and slurm.setup change it"},
      {"get-user-env", refused, text, "slurm.setup makes the script a login shell's"},
      {"propagate", refused, text, "limits are those of the nodes; slurm.setup may call ulimit"},
      {"clusters", refused, text, "Thalweg asks the one cluster of its slurm.conf"},
      {"cpu-freq", refused, text, "an option of srun: slurm.srun takes it"},
      {"mem-bind", refused, text, "an option of srun: slurm.srun takes it"},
      {"bbf", refused, text, "write bb"},
      {"power", refused, text, "newer releases of Slurm no longer have it"},
      {"uid", refused, text, "jobs run as who submits them"},
      {"gid", refused, text, "jobs run as who submits them"},
      {"wait", refused, flag, "thalweg watch waits"},
      {"wrap", refused, text, "the batch script is Thalweg's; slurm.setup adds lines to it"},
      {"test-only", refused, flag, "thalweg submit --dry-run asks Slurm"},
      {"parsable", refused, flag, "it is about sbatch's own output"},
      {"quiet", refused, flag, "it is about sbatch's own output"},
      {"verbose", refused, flag, "it is about sbatch's own output"},
      {"ignore-pbs", refused, flag, "there are no #PBS lines"},
  };
}

bool one_line(const std::string& text) {
  return !text.empty() &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20; });
}

bool digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// `pattern`: d stands for a digit, everything else for itself.
bool like(std::string_view text, std::string_view pattern) {
  return std::equal(text.begin(), text.end(), pattern.begin(), pattern.end(), [](char c, char p) {
    return p == 'd' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : c == p;
  });
}

/// The form that the agent reads (daemon/slurm_agent/moment.h).
bool is_moment(std::string_view text) {
  for (const char* pattern : {"dddd-dd-dd", "dddd-dd-ddTdd:dd", "dddd-dd-ddTdd:dd:dd"})
    if (like(text, pattern)) return true;
  if (text == "now") return true;
  if (!text.starts_with("now+")) return false;
  text.remove_prefix(4);
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  if (!digits(text.substr(0, end)) || end > 8) return false;
  const std::string_view unit = text.substr(end);
  for (const char* known : {"", "seconds", "minutes", "hours", "days", "weeks"})
    if (unit == known) return true;
  return false;
}

std::optional<std::string> words_of(const SlurmOption& option, const std::string& given) {
  std::string canonical;
  for (std::size_t begin = 0; begin <= given.size();) {
    const std::size_t end = std::min(given.find(',', begin), given.size());
    const std::string word = given.substr(begin, end - begin);
    const auto same = [&](const std::string& known) {
      return std::equal(known.begin(), known.end(), word.begin(), word.end(), [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) ==
               std::tolower(static_cast<unsigned char>(b));
      });
    };
    const auto known = std::find_if(option.words.begin(), option.words.end(), same);
    if (known == option.words.end()) return {};
    canonical += (canonical.empty() ? "" : ",") + *known;
    begin = end + 1;
  }
  return canonical;
}

}  // namespace

const std::vector<SlurmOption>& slurm_options() {
  static const std::vector<SlurmOption> options = make_options();
  return options;
}

const SlurmOption* find_slurm_option(std::string_view name) {
  for (const SlurmOption& option : slurm_options())
    if (option.name == name) return &option;
  return nullptr;
}

bool is_off(const SlurmOption& option, const Value& value) {
  return option.type == flag && value.is_bool() && !value.as_bool();
}

std::optional<std::string> slurm_value(const SlurmOption& option, const Value& value) {
  switch (option.type) {
    case flag:
      if (value.is_bool() && value.as_bool()) return "";
      if (value.is_string() &&
          std::count(option.words.begin(), option.words.end(), value.as_string()) > 0)
        return value.as_string();
      return {};
    case count:
      if (!value.is_int() || value.as_int() < option.min || value.as_int() > option.max) return {};
      return std::to_string(value.as_int());
    case memory:
      if (const auto mib = parse_memory(value)) return std::to_string(*mib) + "M";
      return {};
    case minutes:
      if (const auto seconds = parse_time(value)) return std::to_string((*seconds + 59) / 60);
      return {};
    case words:
      if (value.is_int()) return words_of(option, std::to_string(value.as_int()));
      return value.is_string() ? words_of(option, value.as_string()) : std::nullopt;
    case moment:
      if (value.is_string() && is_moment(value.as_string())) return value.as_string();
      return {};
    case text:
      break;
  }
  if (value.is_string() && one_line(value.as_string())) return value.as_string();
  return {};
}

std::string expected_of(const SlurmOption& option) {
  switch (option.type) {
    case flag:
      return option.words.empty() ? "true or false" : "true, false, " + any_of(option.words);
    case count:
      return fmt::format("a whole number from {} to {}", option.min, option.max);
    case memory:
      return "MiB as a whole number, or text like \"2G\"";
    case minutes:
      return "\"HH:MM:SS\", \"D-HH:MM:SS\" or a whole number of minutes";
    case words:
      return any_of(option.words);
    case moment:
      return "now, now+2hours (seconds, minutes, hours, days, weeks) or a time like "
             "2027-01-31T18:00";
    case text:
      break;
  }
  return "one line of text";
}

std::string refusal_of(const SlurmOption& option) {
  return (option.use == ours ? "Thalweg sets it: " : "cannot be set: ") + std::string(option.doc);
}

std::string sbatch_argument(const std::string& name, const std::string& value) {
  const SlurmOption* option = find_slurm_option(name);
  std::string argument = "--" + name;
  if (option && option->type == flag && value.empty()) return argument;
  argument += "=";
  if (value.find_first_of(" \t\"'\\#") == std::string::npos) return argument + value;
  argument += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') argument += '\\';
    argument += c;
  }
  return argument + '"';
}

}  // namespace thalweg::jobspec
