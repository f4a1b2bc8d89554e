// The table of setters. Values come in the one form that jobspec gives them; what does not have it
// is a mistake of the asker and refused.
#include "daemon/slurm_agent/options.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <ctime>
#include <limits>

#include "daemon/slurm_agent/moment.h"

namespace thalweg::slurm_agent {
namespace {

using Text = const std::string&;

std::int64_t number(Text text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw BadOption("expected a whole number, found '" + text + "'");
  return value;
}

/// A number that Slurm's field holds; its last values mean "none" and "without limit" there.
template <class T>
T number_for(Text text, std::int64_t factor = 1) {
  const std::int64_t value = number(text);
  const auto most = static_cast<std::int64_t>(
      std::min<std::uint64_t>(std::numeric_limits<T>::max() - 2, std::int64_t{1} << 50));
  if (value < 0 || value > most / factor)
    throw BadOption("expected a number from 0 to " + std::to_string(most / factor) + ", found '" +
                    text + "'");
  return static_cast<T>(value * factor);
}

/// "4096M"
template <class T = std::uint64_t>
T mib(Text text) {
  if (text.empty() || text.back() != 'M') throw BadOption("expected MiB as 4096M, found " + text);
  return number_for<T>(text.substr(0, text.size() - 1));
}

/// Higher is later.
std::uint32_t nice(Text text) {
  constexpr std::int64_t most = NICE_OFFSET - 3;
  const std::int64_t value = number(text);
  if (value < -most || value > most)
    throw BadOption("expected a number from " + std::to_string(-most) + " to " +
                    std::to_string(most) + ", found '" + text + "'");
  return static_cast<std::uint32_t>(NICE_OFFSET + value);
}

std::time_t when(Text text) {
  if (const auto time = moment(text, std::time(nullptr))) return *time;
  throw BadOption("expected a time, found '" + text + "'");
}

std::vector<std::string> items(Text text) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    all.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

struct Bit {
  const char* name;
  std::uint64_t bits;
};

template <std::size_t size>
std::uint64_t bits(Text text, const Bit (&table)[size]) {
  std::uint64_t all = 0;
  for (const std::string& item : items(text)) {
    const auto* row = std::find_if(std::begin(table), std::end(table),
                                   [&](const Bit& bit) { return item == bit.name; });
    if (row == std::end(table)) throw BadOption("unknown word '" + item + "'");
    all |= row->bits;
  }
  return all;
}

constexpr Bit mail_types[] = {
    {"NONE", 0},
    {"BEGIN", MAIL_JOB_BEGIN},
    {"END", MAIL_JOB_END},
    {"FAIL", MAIL_JOB_FAIL},
    {"REQUEUE", MAIL_JOB_REQUEUE},
    {"INVALID_DEPEND", MAIL_INVALID_DEPEND},
    {"STAGE_OUT", MAIL_JOB_STAGE_OUT},
    {"TIME_LIMIT", MAIL_JOB_TIME100},
    {"TIME_LIMIT_90", MAIL_JOB_TIME90},
    {"TIME_LIMIT_80", MAIL_JOB_TIME80},
    {"TIME_LIMIT_50", MAIL_JOB_TIME50},
    {"ALL", MAIL_JOB_BEGIN | MAIL_JOB_END | MAIL_JOB_FAIL | MAIL_JOB_REQUEUE | MAIL_INVALID_DEPEND |
                MAIL_JOB_STAGE_OUT},
};

constexpr Bit profiles[] = {
    {"none", ACCT_GATHER_PROFILE_NONE},     {"all", ACCT_GATHER_PROFILE_ALL},
    {"energy", ACCT_GATHER_PROFILE_ENERGY}, {"task", ACCT_GATHER_PROFILE_TASK},
    {"lustre", ACCT_GATHER_PROFILE_LUSTRE}, {"network", ACCT_GATHER_PROFILE_NETWORK},
};

/// "2", "a100:2" or several of those: GPUs as one of the lists of resources.
void add_gpus(Description& d, char*& list, Text counts) {
  for (const std::string& count : items(counts))
    d.append(list, compat::gres_prefix + ("gpu:" + count));
}

void add_gres(Description& d, Text list) {
  for (const std::string& item : items(list)) {
    const bool full = item.rfind("gres:", 0) == 0 || item.rfind("gres/", 0) == 0;
    d.append(d.get().tres_per_node, compat::gres_prefix + (full ? item.substr(5) : item));
  }
}

/// "USR1@60", to the ranks: KILL_JOB_BATCH would reach srun only.
void set_signal(Description& d, Text text) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos || text.substr(0, at) != "USR1")
    throw BadOption("expected USR1@seconds, found " + text);
  d.get().warn_signal = SIGUSR1;
  d.get().warn_time = number_for<std::uint16_t>(text.substr(at + 1));
  d.get().warn_flags = 0;
}

/// "2@30" (minutes)
void set_switches(Description& d, Text text) {
  const std::size_t at = std::min(text.find('@'), text.size());
  d.get().req_switch = number_for<std::uint32_t>(text.substr(0, at));
  if (at < text.size()) d.get().wait4switch = number_for<std::uint32_t>(text.substr(at + 1), 60);
}

/// What sbatch makes of it; srun reads the exported variable.
void set_hint(Description& d, Text text) {
  if (text == "multithread") {
    d.get().ntasks_per_core = INFINITE16;
    return;
  }
  d.get().threads_per_core = 1;
  if (text == "memory_bound") d.get().cores_per_socket = 1;
}

void set_exclusive(Description& d, Text text) {
  if (text.empty())
    d.get().shared = JOB_SHARED_NONE;
  else if (text == "user")
    d.get().shared = JOB_SHARED_USER;
  else if (text == "mcs")
    d.get().shared = JOB_SHARED_MCS;
  else
    throw BadOption("unknown word '" + text + "'");
}

/// "4" or "2-8"
void set_nodes(Description& d, Text text) {
  const std::size_t dash = text.find('-');
  d.get().min_nodes = number_for<std::uint32_t>(text.substr(0, dash));
  d.get().max_nodes = dash == std::string::npos ? d.get().min_nodes
                                                : number_for<std::uint32_t>(text.substr(dash + 1));
}

/// One field of the description, from the value as it is.
#define TEXT(field) [](Description& d, Text v) { d.get().field = d.keep(v); }
#define NUMBER(field) \
  [](Description& d, Text v) { d.get().field = number_for<decltype(d.get().field)>(v); }
#define FLAG(field, value) [](Description& d, Text) { d.get().field = value; }

}  // namespace

const std::vector<OptionRow>& option_rows() {
  static const std::vector<OptionRow> rows = {
      {"partition", TEXT(partition)},
      {"account", TEXT(account)},
      {"qos", TEXT(qos)},
      {"reservation", TEXT(reservation)},
      {"constraint", TEXT(features)},
      {"gres", add_gres},
      {"nodelist", TEXT(req_nodes)},
      {"exclude", TEXT(exc_nodes)},
      {"licenses", TEXT(licenses)},
      {"exclusive", set_exclusive},

      {"acctg-freq", TEXT(acctg_freq)},
      {"batch", TEXT(batch_features)},
      {"bb", TEXT(burst_buffer)},
      {"begin", [](Description& d, Text v) { d.get().begin_time = when(v); }},
      {"cluster-constraint", TEXT(cluster_features)},
      {"container", TEXT(container), "SLURM_CONTAINER"},
      {"contiguous", FLAG(contiguous, 1)},
      {"core-spec", NUMBER(core_spec)},
      {"cores-per-socket", NUMBER(cores_per_socket)},
      {"cpus-per-gpu", [](Description& d, Text v) { add_gpus(d, d.get().cpus_per_tres, v); },
       "SLURM_CPUS_PER_GPU"},
      {"deadline", [](Description& d, Text v) { d.get().deadline = when(v); }},
      {"delay-boot",
       [](Description& d, Text v) { d.get().delay_boot = number_for<std::uint32_t>(v, 60); }},
      {"dependency", TEXT(dependency)},
      {"gpu-bind",
       [](Description& d, Text v) {
         d.append(d.get().tres_bind, compat::bind_prefix + ("gpu:" + v));
       },
       "SLURM_GPU_BIND"},
      {"gpu-freq", [](Description& d, Text v) { d.append(d.get().tres_freq, "gpu:" + v); },
       "SLURM_GPU_FREQ"},
      {"gpus", [](Description& d, Text v) { add_gpus(d, d.get().tres_per_job, v); }, "SLURM_GPUS"},
      {"gpus-per-socket", [](Description& d, Text v) { add_gpus(d, d.get().tres_per_socket, v); },
       "SLURM_GPUS_PER_SOCKET"},
      {"gpus-per-task", [](Description& d, Text v) { add_gpus(d, d.get().tres_per_task, v); },
       "SLURM_GPUS_PER_TASK"},
      {"gres-flags",
       [](Description& d, Text v) {
         d.get().bitflags |= v == "disable-binding" ? GRES_DISABLE_BIND : GRES_ENFORCE_BIND;
       }},
      {"hint", set_hint, "SLURM_HINT"},
      {"kill-on-invalid-dep",
       [](Description& d, Text v) {
         d.get().bitflags |= v == "yes" ? KILL_INV_DEP : NO_KILL_INV_DEP;
       }},
      {"mail-type",
       [](Description& d, Text v) {
         d.get().mail_type = static_cast<std::uint16_t>(bits(v, mail_types));
       }},
      {"mail-user", TEXT(mail_user)},
      {"mcs-label", TEXT(mcs_label)},
      {"mem-per-cpu", [](Description& d, Text v) { d.get().pn_min_memory = mib(v) | MEM_PER_CPU; },
       "SLURM_MEM_PER_CPU"},
      {"mem-per-gpu",
       [](Description& d, Text v) { add_gpus(d, d.get().mem_per_tres, std::to_string(mib(v))); },
       "SLURM_MEM_PER_GPU"},
      {"mincpus", NUMBER(pn_min_cpus)},
      {"network", TEXT(network), "SLURM_NETWORK"},
      {"nice", [](Description& d, Text v) { d.get().nice = nice(v); }},
      {"ntasks-per-core", NUMBER(ntasks_per_core), "SLURM_NTASKS_PER_CORE"},
      {"ntasks-per-gpu", NUMBER(ntasks_per_tres), "SLURM_NTASKS_PER_GPU"},
      {"ntasks-per-socket", NUMBER(ntasks_per_socket), "SLURM_NTASKS_PER_SOCKET"},
      {"overcommit", FLAG(overcommit, 1), "SLURM_OVERCOMMIT"},
      {"oversubscribe", FLAG(shared, JOB_SHARED_OK)},
      {"prefer", TEXT(prefer)},
      {"profile",
       [](Description& d, Text v) {
         d.get().profile = static_cast<std::uint32_t>(bits(v, profiles));
       },
       "SLURM_PROFILE"},
      {"reboot", FLAG(reboot, 1)},
      {"sockets-per-node", NUMBER(sockets_per_node)},
      {"spread-job", [](Description& d, Text) { d.get().bitflags |= SPREAD_JOB; }},
      {"switches", set_switches},
      {"thread-spec",
       [](Description& d, Text v) {
         d.get().core_spec =
             static_cast<std::uint16_t>(number_for<std::uint16_t>(v) | CORE_SPEC_THREAD);
       }},
      {"threads-per-core", NUMBER(threads_per_core), "SLURM_THREADS_PER_CORE"},
      {"time-min", NUMBER(time_min)},
      {"tmp", [](Description& d, Text v) { d.get().pn_min_tmp_disk = mib<std::uint32_t>(v); }},
      {"use-min-nodes", [](Description& d, Text) { d.get().bitflags |= USE_MIN_NODES; }},
      {"wait-all-nodes", NUMBER(wait_all_nodes)},
      {"wckey", TEXT(wckey)},

      {"nodes", set_nodes},
      {"ntasks", NUMBER(num_tasks)},
      {"ntasks-per-node", NUMBER(ntasks_per_node)},
      {"cpus-per-task", NUMBER(cpus_per_task)},
      {"time", NUMBER(time_limit)},
      {"mem", [](Description& d, Text v) { d.get().pn_min_memory = mib(v); }},
      {"gpus-per-node", [](Description& d, Text v) { add_gpus(d, d.get().tres_per_node, v); }},
      {"signal", set_signal},
      {"job-name", TEXT(name)},
      {"chdir", TEXT(work_dir)},
      {"output", TEXT(std_out)},
      {"error", TEXT(std_err)},
      {"open-mode", FLAG(open_mode, OPEN_MODE_APPEND)},
      {"no-requeue", FLAG(requeue, 0)},
      {"no-kill", FLAG(kill_on_node_fail, 0)},
  };
  return rows;
}

#undef TEXT
#undef NUMBER
#undef FLAG

Description::Description() {
  slurm_init_job_desc_msg(&description_);
}

// libslurm takes char* and does not write to it; it does not keep it either.
char* Description::keep(const std::string& text) {
  if (text.empty()) return nullptr;
  return texts_.emplace_back(text).data();
}

void Description::append(char*& list, const std::string& item) {
  list = keep(list ? std::string(list) + "," + item : item);
}

void Description::export_variable(const std::string& name, const std::string& value) {
  exported_.push_back(name + "=" + value);
}

void Description::set_environment(const std::vector<std::string>& entries) {
  for (const auto* list : {&entries, static_cast<const std::vector<std::string>*>(&exported_)})
    for (const std::string& entry : *list)
      environment_.push_back(keep(entry));
  description_.env_size = static_cast<std::uint32_t>(environment_.size());
  environment_.push_back(nullptr);
  description_.environment = environment_.data();
}

void set_options(Description& description, const Options& options) {
  const auto& rows = option_rows();
  for (const auto& [name, value] : options) {
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](auto& r) { return name == r.name; });
    if (row == rows.end()) throw BadOption("no option '" + name + "'");
    try {
      row->set(description, value);
    } catch (const BadOption& error) {
      throw BadOption(name + ": " + error.what());
    }
    // sbatch exports sizes in MiB without their unit, and a flag as 1.
    const bool size =
        row->variable && value.size() > 1 && value.back() == 'M' && name.rfind("mem-", 0) == 0;
    if (row->variable)
      description.export_variable(row->variable, value.empty() ? "1"
                                                 : size        ? value.substr(0, value.size() - 1)
                                                               : value);
  }
  job_desc_msg_t& d = description.get();
  // A range of nodes leaves open how many tasks there will be: one on each node at least.
  const bool range = d.min_nodes != NO_VAL && d.min_nodes < d.max_nodes;
  const std::uint32_t tasks = range && d.num_tasks == NO_VAL ? d.min_nodes : d.num_tasks;
  if (tasks != NO_VAL && d.cpus_per_task != NO_VAL16)
    d.min_cpus = options.count("overcommit") != 0 ? d.min_nodes : tasks * d.cpus_per_task;
}

Shape shape_of(const job_desc_msg_t& d) {
  Shape shape;
  if (d.partition) shape.partition = d.partition;
  shape.nodes = d.min_nodes;
  shape.tasks_per_node = d.overcommit == 1 || d.ntasks_per_node == NO_VAL16 ? 1 : d.ntasks_per_node;
  shape.cpus_per_task = d.cpus_per_task == NO_VAL16 ? 1 : d.cpus_per_task;
  if (d.pn_min_memory != NO_VAL64) {
    const auto memory = static_cast<std::int64_t>(d.pn_min_memory & ~MEM_PER_CPU);
    const bool per_cpu = (d.pn_min_memory & MEM_PER_CPU) != 0;
    shape.memory_mib = per_cpu ? memory * shape.tasks_per_node * shape.cpus_per_task : memory;
  }
  if (d.time_limit != NO_VAL) shape.minutes = d.time_limit;
  return shape;
}

}  // namespace thalweg::slurm_agent
