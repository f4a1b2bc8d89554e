// The `slurm` block: canonical values, defaults and locks of config.yaml.
#include <gmock/gmock.h>

#include "jobspec/diagnostic.h"
#include "jobspec/slurm_block.h"
#include "tests/jobspec/support.h"

namespace thalweg::jobspec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string base =
    "train:\n  model: {name: lenet}\n  data: {name: fashion-mnist}\n  batch: {global: 128}\n"
    "  optimizer: {name: sgd}\n";

std::string mistakes(const std::string& text, const SiteLimits& site) {
  try {
    expand(parse_sweep(text, "f", test_schema(), site), test_schema());
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(Slurm, ValuesAreBroughtIntoOneForm) {
  const Sweep sweep =
      parse(read_file(source_dir() / "tests/jobspec/valid/slurm_pass_through.yaml"));
  EXPECT_EQ(sweep.slurm.options, (SlurmRequest{{"partition", "main,long"},
                                               {"mail-type", "END,FAIL"},
                                               {"mail-user", "ada@example.org"},
                                               {"nice", "100"},
                                               {"hint", "nomultithread"},
                                               {"mem-per-cpu", "2048M"},
                                               {"dependency", "afterok:1234"},
                                               {"wckey", "fluids"},
                                               {"begin", "2027-01-31T18:00"},
                                               {"time-min", "10"},
                                               {"contiguous", ""},
                                               {"gpus-per-task", "a100:1"}}));
  EXPECT_THAT(sweep.slurm.srun, ElementsAre("--cpu-bind=cores", "--mem-bind=local"));
  EXPECT_EQ(sweep.slurm.mpi, "pmix_v4");
}

TEST(Slurm, SaysWhereAWarningIsCut) {
  const auto notes = [](const std::string& more) {
    std::string all;
    for (const std::string& note : parse(base + more).notes)
      all += note + "\n";
    return all;
  };
  const std::string block = "slurm: {partition: main}\n";
  EXPECT_EQ(notes("resources: {time: 1}\n" + block), "");
  EXPECT_THAT(notes("resources: {time: 2}\nslurm: {signal_before_end_s: 100}\n"),
              HasSubstr("slurm.signal_before_end_s: found 100: jobs of 120 s are told 60 s before "
                        "their end, half their time"));
  EXPECT_EQ(notes("resources: {time: 1}\nslurm: {signal_before_end_s: 20}\n"), "");
  EXPECT_EQ(notes("resources: {time: 10}\nslurm: {signal_before_end_s: 120}\n"), "");
  EXPECT_EQ(notes("resources: {time: 1}\nslurm: {signal_before_end_s: 0}\n"), "") << "none wanted";
}

TEST(Slurm, ExclusiveMayNameWhoSharesNodes) {
  const auto asked = [](const std::string& value) {
    return parse(base + "slurm: {exclusive: " + value + "}\n").slurm;
  };
  EXPECT_EQ(asked("user").option("exclusive"), "user");
  EXPECT_EQ(asked("true").options, (SlurmRequest{{"exclusive", ""}}));
  EXPECT_TRUE(asked("false").options.empty());
  EXPECT_EQ(sbatch_argument("exclusive", "user"), "--exclusive=user");
  EXPECT_EQ(sbatch_argument("exclusive", ""), "--exclusive");
  SiteLimits site;
  site.slurm = asked("user");
  EXPECT_EQ(SiteLimits::from_json(site.to_json()).slurm.option("exclusive"), "user");
  EXPECT_THAT(mistakes(base + "slurm: {exclusive: group}\n", {}),
              HasSubstr("expected true, false, user or mcs"));
}

TEST(Slurm, WrittenAndReadAgainIsTheSame) {
  const Sweep sweep =
      parse(read_file(source_dir() / "tests/jobspec/valid/slurm_pass_through.yaml"));
  SiteLimits site;
  site.slurm = sweep.slurm;
  const SiteLimits back = SiteLimits::from_json(site.to_json());
  EXPECT_EQ(back.slurm.options, sweep.slurm.options);
  EXPECT_EQ(back.slurm.srun, sweep.slurm.srun);
  EXPECT_EQ(back.slurm.mpi, sweep.slurm.mpi);
  EXPECT_EQ(back.slurm.signal_before_end_s, sweep.slurm.signal_before_end_s);
}

TEST(Slurm, APackIsANumberOrAMapAndSurvivesTheRecord) {
  const auto pack = [](const std::string& text) {
    SiteLimits site;
    site.slurm = parse(base + "slurm: {" + text + "}\n").slurm;
    return SiteLimits::from_json(site.to_json()).slurm.pack;
  };
  EXPECT_EQ(pack("account: a"), Pack());
  EXPECT_EQ(pack("pack: 16"), (Pack{16, 1, 0}));
  EXPECT_EQ(pack("pack: {trials: 16, jobs: 3, time_limit: \"04:00:00\"}"), (Pack{16, 3, 14400}));
  EXPECT_EQ(pack_limit_s({16, 1, 0}, 600), 2400);
  EXPECT_EQ(pack_limit_s({16, 1, 900}, 600), 900);
}

TEST(Slurm, ASitesPackIsForTrialsThatItSuits) {
  SiteLimits site;
  site.slurm.pack = {16, 1, 600};
  EXPECT_EQ(parse_sweep(base + "resources: {nodes: 2}\n", "f", test_schema(), site).slurm.pack,
            Pack());
  EXPECT_EQ(parse_sweep(base + "slurm: {pack: 0}\n", "f", test_schema(), site).slurm.pack, Pack());
  EXPECT_EQ(parse_sweep(base, "f", test_schema(), site).slurm.pack, (Pack{16, 1, 3600}))
      << "as long as a trial may take";
}

TEST(Slurm, ArgumentsAreQuotedAsSbatchReadsThem) {
  EXPECT_EQ(sbatch_argument("partition", "a,b"), "--partition=a,b");
  EXPECT_EQ(sbatch_argument("constraint", "[a*2&b]"), "--constraint=[a*2&b]");
  EXPECT_EQ(sbatch_argument("contiguous", ""), "--contiguous");
  EXPECT_EQ(sbatch_argument("chdir", "/a b/\"c\" #1\\"), R"(--chdir="/a b/\"c\" #1\\")");
}

TEST(Slurm, TheSitesDefaultsAreWhatAFileStartsFrom) {
  SiteLimits site;
  site.slurm.options = {{"partition", "main"}, {"account", "ours"}};
  site.slurm.setup = {"module load ucx"};
  const Sweep plain = parse_sweep(base, "f", test_schema(), site);
  EXPECT_EQ(plain.slurm.options, site.slurm.options);
  EXPECT_EQ(plain.slurm.setup, site.slurm.setup);
  const Sweep own =
      parse_sweep(base + "slurm: {account: mine, setup: []}\n", "f", test_schema(), site);
  EXPECT_EQ(own.slurm.option("partition"), "main");
  EXPECT_EQ(own.slurm.option("account"), "mine");
  EXPECT_TRUE(own.slurm.setup.empty());
}

TEST(Slurm, WhatTheSiteFixesASweepFileCannotChange) {
  SiteLimits site;
  site.slurm.options = {{"partition", "main"}, {"nice", "100"}};
  site.locked = {"slurm.partition", "slurm.reservation", "slurm.sbatch", "slurm.mpi"};
  for (const std::string& setting : site.locked)
    site.sources[setting] = "/etc/thalweg/config.yaml";
  const std::string fixed = "/etc/thalweg/config.yaml (enforce)";
  EXPECT_EQ(mistakes(base, site), "none");
  EXPECT_EQ(mistakes(base + "slurm: {partition: main, account: mine}\n", site), "none");
  EXPECT_THAT(mistakes(base + "slurm: {partition: short}\n", site),
              HasSubstr("f:6: slurm.partition: fixed to main by " + fixed));
  EXPECT_THAT(mistakes(base + "slurm: {sbatch: {partition: short}}\n", site),
              HasSubstr("slurm.partition: fixed to main by " + fixed));
  EXPECT_THAT(mistakes(base + "slurm: {reservation: mine}\n", site),
              HasSubstr("slurm.reservation: fixed to its default by " + fixed));
  EXPECT_THAT(mistakes(base + "slurm: {sbatch: {nice: 5}}\n", site),
              HasSubstr("slurm.sbatch: fixed to"));
  EXPECT_THAT(mistakes(base + "slurm: {mpi: pmix_v4}\n", site), HasSubstr("slurm.mpi: fixed to"));
}

TEST(Limits, NameTheFileThatSetsThem) {
  SiteLimits site;
  site.max_nodes_per_job = 8;
  site.max_trials = 2;
  site.sources = {{"max_nodes_per_job", "/etc/c.yaml"}, {"max_trials", "/etc/c.yaml"}};
  EXPECT_THAT(mistakes(base + "limits: {max_nodes_per_job: 9}\n", site),
              HasSubstr("expected at most 8, the site's cap (max_nodes_per_job in /etc/c.yaml)"));
  EXPECT_THAT(mistakes(base + "seeds: 3\n", site),
              HasSubstr("found 3 trials, expected at most 2 (max_trials in /etc/c.yaml)"));
  EXPECT_EQ(mistakes(base + "seeds: 2\n", site), "none");
}

TEST(Reference, NamesEverySlurmOption) {
  const std::string page = read_file(source_dir() / "jobspec/sweep-file.md");
  for (const SlurmOption& option : slurm_options())
    EXPECT_THAT(page, HasSubstr("`" + std::string(option.name) + "`"));
  for (const std::string& key : slurm_keys())
    EXPECT_THAT(page, HasSubstr("`" + key + "`"));
}

}  // namespace
}  // namespace thalweg::jobspec
