// The agent's setters, against the table that people and the batch script see.
#include "daemon/slurm_agent/options.h"

#include <gmock/gmock.h>

#include <csignal>
#include <cstring>
#include <random>
#include <set>

#include "daemon/slurm_agent/moment.h"
#include "jobspec/slurm_options.h"

namespace thalweg::slurm_agent {
namespace {

using jobspec::SlurmOption;
using jobspec::SlurmType;
using jobspec::SlurmUse;

/// A value that fits the option, in canonical form.
std::string sample(const SlurmOption& option) {
  switch (option.type) {
    case SlurmType::flag:
      return "";
    case SlurmType::count:
      return "3";
    case SlurmType::memory:
      return "2048M";
    case SlurmType::minutes:
      return "30";
    case SlurmType::moment:
      return "2027-01-31T18:00";
    case SlurmType::words:
      return option.words.back();
    case SlurmType::text:
      break;
  }
  return option.name == "signal" ? "USR1@60" : "3";
}

/// A number that a field of Slurm's does not hold is refused: cut off, it would be another one.
TEST(SlurmOptionTables, NumbersThatAreTooLargeAreRefused) {
  const std::set<std::string> numbers = {"core-spec",
                                         "cores-per-socket",
                                         "delay-boot",
                                         "mem-per-cpu",
                                         "mem-per-gpu",
                                         "mincpus",
                                         "nice",
                                         "nodes",
                                         "ntasks-per-core",
                                         "ntasks-per-gpu",
                                         "ntasks-per-socket",
                                         "signal",
                                         "sockets-per-node",
                                         "switches",
                                         "thread-spec",
                                         "threads-per-core",
                                         "time-min",
                                         "tmp",
                                         "wait-all-nodes"};
  std::mt19937_64 random(1);
  std::set<std::string> met;
  for (const OptionRow& row : option_rows()) {
    if (numbers.count(row.name) == 0) continue;
    met.insert(row.name);
    const std::string name = row.name;
    const std::string before = name == "signal" ? "USR1@" : "";
    const std::string after =
        name == "mem-per-cpu" || name == "mem-per-gpu" || name == "tmp" ? "M" : "";
    for (int i = 0; i < 200; ++i) {
      std::string huge = std::to_string((random() >> 1) | (std::uint64_t{1} << 51));
      if (i % 4 == 1) huge += std::to_string(random());  // more than 64 bits
      if (i % 4 == 2) huge = "-" + huge;
      if (i % 4 == 3) huge = "1e" + std::to_string(random() % 400);
      Description description;
      EXPECT_THROW(row.set(description, before + huge + after), BadOption) << name << " " << huge;
    }
  }
  EXPECT_EQ(met, numbers);
}

TEST(SlurmOptionTables, EveryOptionHasADocLineAnArgumentAndASetter) {
  std::set<std::string> names;
  for (const SlurmOption& option : jobspec::slurm_options()) {
    const std::string name(option.name);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_GT(option.doc.size(), 5u) << name;
    if (option.type != SlurmType::flag) {
      EXPECT_EQ(option.type == SlurmType::words, !option.words.empty()) << name;
    }
    EXPECT_LE(option.min, option.max) << name;
    EXPECT_EQ(jobspec::sbatch_argument(name, sample(option)).rfind("--" + name, 0), 0u);
    const auto& rows = option_rows();
    const auto setters =
        std::count_if(rows.begin(), rows.end(), [&](auto& row) { return name == row.name; });
    EXPECT_EQ(setters, option.use == SlurmUse::refused ? 0 : 1) << name;
  }
  for (const OptionRow& row : option_rows())
    EXPECT_EQ(names.count(row.name), 1u) << row.name;
}

// A setter that does nothing would let the #SBATCH line promise what Slurm never hears.
TEST(SlurmOptionTables, EverySetterChangesTheDescription) {
  for (const SlurmOption& option : jobspec::slurm_options()) {
    if (option.use == SlurmUse::refused) continue;
    const std::string name(option.name);
    Description changed, untouched;
    set_options(changed, {{name, sample(option)}});
    const bool same = std::memcmp(&changed.get(), &untouched.get(), sizeof(job_desc_msg_t)) == 0;
    EXPECT_FALSE(same) << name;
  }
}

TEST(SlurmOptionTables, ExclusiveOfAllOrOfOtherUsers) {
  const auto shared = [](const std::string& value) {
    Description d;
    set_options(d, {{"exclusive", value}});
    return d.get().shared;
  };
  EXPECT_EQ(shared(""), JOB_SHARED_NONE);
  EXPECT_EQ(shared("user"), JOB_SHARED_USER);
  EXPECT_EQ(shared("mcs"), JOB_SHARED_MCS);
  EXPECT_THROW(shared("group"), BadOption);
}

TEST(SlurmOptionTables, ARangeOfNodesLeavesTheTasksOpen) {
  Description d;
  set_options(d, {{"nodes", "2-8"}, {"cpus-per-task", "12"}});
  EXPECT_EQ(d.get().min_nodes, 2u);
  EXPECT_EQ(d.get().max_nodes, 8u);
  EXPECT_EQ(d.get().num_tasks, NO_VAL) << "Slurm would take no more nodes than tasks";
  EXPECT_EQ(d.get().min_cpus, 24u) << "of the fewest nodes";
  EXPECT_EQ(shape_of(d.get()).nodes, 2);
  for (const char* wrong : {"2-", "-8", "2-x", "a"})
    EXPECT_THROW(set_options(d, {{"nodes", wrong}}), BadOption) << wrong;
}

TEST(SlurmOptionTables, FieldsOfTheDescription) {
  Description d;
  set_options(d, {{"partition", "main,long"},
                  {"mail-type", "END,FAIL"},
                  {"nice", "-5"},
                  {"gpus-per-node", "2"},
                  {"gres", "nvme:1,gres:ssd:2"},
                  {"mem-per-cpu", "2048M"},
                  {"nodes", "4"},
                  {"ntasks", "8"},
                  {"ntasks-per-node", "2"},
                  {"cpus-per-task", "3"},
                  {"time", "90"},
                  {"signal", "USR1@45"},
                  {"switches", "2@30"},
                  {"thread-spec", "1"},
                  {"hint", "nomultithread"},
                  {"begin", "2027-01-31T18:00"}});
  const job_desc_msg_t& m = d.get();
  EXPECT_STREQ(m.partition, "main,long");
  EXPECT_EQ(m.mail_type, MAIL_JOB_END | MAIL_JOB_FAIL);
  EXPECT_EQ(m.nice, NICE_OFFSET - 5);
  const std::string gres(compat::gres_prefix);
  EXPECT_EQ(m.tres_per_node, gres + "gpu:2," + gres + "nvme:1," + gres + "ssd:2");
  EXPECT_EQ(m.pn_min_memory, 2048u | MEM_PER_CPU);
  EXPECT_EQ(m.min_nodes, 4u);
  EXPECT_EQ(m.max_nodes, 4u);
  EXPECT_EQ(m.num_tasks, 8u);
  EXPECT_EQ(m.min_cpus, 24u);
  EXPECT_EQ(m.time_limit, 90u);
  EXPECT_EQ(m.warn_signal, SIGUSR1);
  EXPECT_EQ(m.warn_time, 45u);
  EXPECT_EQ(m.req_switch, 2u);
  EXPECT_EQ(m.wait4switch, 1800u);
  EXPECT_EQ(m.core_spec, 1u | CORE_SPEC_THREAD);
  EXPECT_EQ(m.threads_per_core, 1u);
  EXPECT_EQ(m.begin_time, moment("2027-01-31T18:00", 0));

  const Shape shape = shape_of(m);
  EXPECT_EQ(shape.partition, "main,long");
  EXPECT_EQ(shape.nodes, 4);
  EXPECT_EQ(shape.tasks_per_node, 2);
  EXPECT_EQ(shape.cpus_per_task, 3);
  EXPECT_EQ(shape.memory_mib, 2048 * 6);
  EXPECT_EQ(shape.minutes, 90);
}

// srun in the script takes some options of the job from variables that sbatch sets.
TEST(SlurmOptionTables, VariablesForSrun) {
  Description d;
  set_options(d, {{"hint", "nomultithread"}, {"mem-per-cpu", "2048M"}, {"overcommit", ""}});
  d.set_environment({"PATH=/bin"});
  std::vector<std::string> entries;
  for (char** entry = d.get().environment; *entry; ++entry)
    entries.emplace_back(*entry);
  EXPECT_EQ(d.get().env_size, 4u);
  EXPECT_THAT(entries,
              testing::UnorderedElementsAre("PATH=/bin", "SLURM_HINT=nomultithread",
                                            "SLURM_MEM_PER_CPU=2048", "SLURM_OVERCOMMIT=1"));
}

TEST(SlurmOptionTables, WhatIsUnknownOrWrongIsRefusedByName) {
  const auto message = [](const Options& options) {
    Description d;
    try {
      set_options(d, options);
    } catch (const BadOption& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({{"wrap", "x"}}), "no option 'wrap'");
  EXPECT_EQ(message({{"nodes", "many"}}), "nodes: expected a whole number, found 'many'");
  EXPECT_EQ(message({{"mem", "4096"}}), "mem: expected MiB as 4096M, found 4096");
  EXPECT_EQ(message({{"mail-type", "LUNCH"}}), "mail-type: unknown word 'LUNCH'");
  EXPECT_EQ(message({{"begin", "soon"}}), "begin: expected a time, found 'soon'");
}

TEST(SlurmMoments, Forms) {
  EXPECT_EQ(moment("now", 1000), 1000);
  EXPECT_EQ(moment("now+30", 1000), 1030);
  EXPECT_EQ(moment("now+2hours", 1000), 8200);
  EXPECT_EQ(moment("now+1weeks", 0), 604800);
  EXPECT_EQ(*moment("2027-01-31T18:00:30", 0) - *moment("2027-01-31", 0), 18 * 3600 + 30);
  for (const char* wrong : {"", "noon", "now+", "now+2years", "2027-1-31x", "now-5"})
    EXPECT_FALSE(moment(wrong, 0)) << wrong;
}

}  // namespace
}  // namespace thalweg::slurm_agent
