#include "daemon/controller/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "jobspec/diagnostic.h"
#include "jobspec/schema.h"
#include "jobspec/sweep.h"
#include "tests/support/process.h"

namespace thalweg::daemon {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(Config, WhatAControllerOfManyUsersReads) {
  Config config;
  read_config(config,
              "site:\n"
              "  operators: {users: [ada], groups: [wheel, staff]}\n"
              "  agent_socket: /run/other/socket\n"
              "  environment: [PATH, LC_*]\n"
              "  max_connections: 3\n"
              "  requests_per_second: 5\n",
              "config.yaml");
  EXPECT_FALSE(config.site.enabled);  // no file makes it one
  EXPECT_EQ(config.site.operator_users, std::vector<std::string>{"ada"});
  EXPECT_EQ(config.site.operator_groups, (std::vector<std::string>{"wheel", "staff"}));
  EXPECT_EQ(config.site.agent_socket, "/run/other/socket");
  EXPECT_EQ(config.site.environment, (std::vector<std::string>{"PATH", "LC_*"}));
  EXPECT_EQ(config.site.max_connections, 3);
  EXPECT_EQ(config.site.requests_per_s, 5);
  for (const char* text :
       {"site: {operators: {users: ada}}", "site: {enabled: true}", "site: {max_connections: 0}"})
    EXPECT_THROW(read_config(config, text, "config.yaml"), jobspec::InputError) << text;
}

/// Whatever a number becomes, what it cannot hold is refused.
TEST(Config, NumbersThatAreTooLargeAreRefused) {
  std::mt19937_64 random(1);
  const auto takes = [](const ConfigOption& option, const jobspec::Value& value) {
    Config config;
    try {
      option.set(config, value);
    } catch (const std::exception&) {
      return false;
    }
    return true;
  };
  int numbers = 0;
  for (const ConfigOption& option : config_options()) {
    const bool number = takes(option, 1) || takes(option, 2.0) || takes(option, 100);
    const bool size = takes(option, "64G");
    if (!number && !size) continue;
    ++numbers;
    for (int i = 0; i < 100; ++i) {
      const double large = std::ldexp(1 + std::generate_canonical<double, 53>(random),
                                      63 + static_cast<int>(random() % 950));
      for (const double value : {large, -large})
        EXPECT_FALSE(takes(option, value)) << option.name << " " << value;
      const auto whole = static_cast<std::int64_t>(random() >> 1 | std::uint64_t{1} << 61);
      for (const std::int64_t value : {whole, -whole})
        EXPECT_FALSE(takes(option, value)) << option.name << " " << value;
      for (const char* unit : {"M", "G", "T"})
        if (size && !takes(option, "any text")) {
          EXPECT_FALSE(takes(option, std::to_string(whole) + unit)) << option.name << whole << unit;
          EXPECT_FALSE(takes(option, std::to_string(whole) + "000" + unit)) << option.name;
        }
    }
    for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL})
      EXPECT_FALSE(takes(option, value)) << option.name << " " << value;
  }
  EXPECT_GT(numbers, 20);
}

TEST(Config, ReadsEveryKindOfSetting) {
  Config config;
  read_config(config,
              "backend: local\n"
              "runs: ~/runs\n"
              "max_nodes_per_job: 8\n"
              "min_free: 50G\n"
              "gpu_memory: 80G\n"
              "prices: {currency: EUR, node_hour: 2, partitions: {gpu: 3.5, spot: 0.5}}\n"
              "push_listen: '0.0.0.0:7000'\n"
              "local: {cores: 3, grace: 1.5}\n"
              "slurm:\n  poll_interval: 7\n",
              "config.yaml");
  EXPECT_EQ(config.backend, "local");
  EXPECT_EQ(config.runs, fs::path(std::getenv("HOME")) / "runs");
  EXPECT_EQ(config.max_nodes_per_job, 8);
  EXPECT_EQ(config.min_free_mib, 50 * 1024);
  EXPECT_EQ(site_limits(config).gpu_memory_mib, 80 * 1024);
  EXPECT_EQ(jobspec::SiteLimits::from_json(site_limits(config).to_json()).gpu_memory_mib,
            80 * 1024);
  const jobspec::Prices prices =
      jobspec::SiteLimits::from_json(site_limits(config).to_json()).prices;
  EXPECT_EQ(prices.of(""), 2);
  EXPECT_EQ(prices.of("main"), 2);
  EXPECT_EQ(prices.of("spot"), 0.5);
  EXPECT_EQ(prices.of("spot,gpu"), 3.5);
  EXPECT_EQ(prices.amount(10.8), "10.8 EUR");
  EXPECT_FALSE(jobspec::Prices().of("gpu"));
  EXPECT_EQ(config.push_listen, "0.0.0.0:7000");
  EXPECT_EQ(config.local.cores, 3);
  EXPECT_EQ(config.local.grace_s, 1.5);
  EXPECT_EQ(config.slurm.poll_s, 7);
}

TEST(Config, TheUsersFileWinsKeyByKey) {
  test::TempDir dir;
  test::write_file(dir.path() / "site.yaml", "max_nodes_per_job: 16\nlocal: {cores: 2}\n");
  test::write_file(dir.path() / "user.yaml", "local: {cores: 1}\n");
  const Config config = load_config(dir.path() / "user.yaml", {dir.path() / "site.yaml"});
  EXPECT_EQ(config.max_nodes_per_job, 16);
  EXPECT_EQ(config.local.cores, 1);
}

std::string mistakes_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const jobspec::InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(Config, SweepsKeepWhatTheSiteSays) {
  test::TempDir dir;
  const auto site = dir.path() / "site.yaml";
  test::write_file(site, "keep: {checkpoints: last, trials: 5}\nenforce: [keep.checkpoints]\n");
  const jobspec::SiteLimits limits = jobspec::SiteLimits::from_json(
      site_limits(load_config(dir.path() / "none.yaml", {site})).to_json());
  EXPECT_EQ(limits.keep, (jobspec::Keep{jobspec::KeepCheckpoints::last, 5}));
  const auto schema = jobspec::Schema::from_json(
      test::read_file(std::string(THALWEG_SOURCE_DIR) + "/tests/daemon/support/schema.json"));
  const auto kept = [&](const std::string& text) {
    return jobspec::parse_sweep("train: {steps: 4}\n" + text, "s.yaml", schema, limits).keep;
  };
  EXPECT_EQ(kept(""), limits.keep);
  EXPECT_EQ(kept("keep: {trials: 1}\n").trials, 1);
  const auto sweep = jobspec::parse_sweep("train: {steps: 4}\n", "s.yaml", schema, limits);
  ASSERT_EQ(sweep.notes.size(), 1U) << "never without a word";
  EXPECT_THAT(sweep.notes[0], HasSubstr("(keep.checkpoints in " + site.string() + ")"));
  EXPECT_THAT(sweep.notes[0], HasSubstr("of the best 5 trials"));
  EXPECT_THAT(mistakes_of([&] { kept("keep: none\n"); }),
              HasSubstr("s.yaml:2: keep.checkpoints: fixed to last by " + site.string()));
}

TEST(Config, EmptyAndMissingFilesAreTheDefaults) {
  test::TempDir dir;
  test::write_file(dir.path() / "empty.yaml", "# nothing\n");
  const Config config = load_config(dir.path() / "empty.yaml", {dir.path() / "missing.yaml"});
  EXPECT_EQ(config.backend, "auto");
}

TEST(Config, WhatTheSiteEnforcesNobodySetsElsewhere) {
  test::TempDir dir;
  const auto site = dir.path() / "site.yaml", user = dir.path() / "user.yaml",
             second = dir.path() / "second.yaml";
  test::write_file(site,
                   "max_nodes_per_job: 16\n"
                   "slurm: {partition: main, account: ours}\n"
                   "enforce: [max_nodes_per_job, slurm.partition, slurm.reservation]\n");
  test::write_file(user, "slurm: {account: mine}\n");
  const Config config = load_config(user, {site});
  EXPECT_EQ(config.max_nodes_per_job, 16);
  EXPECT_EQ(config.slurm.defaults.option("partition"), "main");
  EXPECT_EQ(config.slurm.defaults.option("account"), "mine");  // not enforced
  const jobspec::SiteLimits limits = site_limits(config);
  EXPECT_EQ(limits.locked, (std::set<std::string>{"slurm.partition", "slurm.reservation"}));
  EXPECT_EQ(limits.sources.at("slurm.account"), user.string());
  EXPECT_EQ(limits.sources.at("slurm.reservation"), site.string());

  for (const char* text : {"max_nodes_per_job: 1000\n", "slurm: {partition: main}\n"}) {
    test::write_file(user, text);
    EXPECT_THAT(mistakes_of([&] { load_config(user, {site}); }),
                HasSubstr("fixed by " + site.string() + " (enforce)"));
    // A second site's file is bound, too: naming one of one's own is no way round.
    test::write_file(second, std::string(text) + "enforce: []\n");
    EXPECT_THAT(mistakes_of([&] {
                  load_config(dir.path() / "none", {site, second});
                }),
                HasSubstr(second.string() + ":1"));
  }
}

TEST(Config, OnlyTheSiteEnforces) {
  Config config;
  EXPECT_THAT(mistakes_of([&] { read_config(config, "enforce: [backend]\n", "f"); }),
              HasSubstr("only the site's file"));
  EXPECT_THAT(mistakes_of([&] { read_config(config, "enforce: [bakend]\n", "f", true); }),
              HasSubstr("did you mean backend?"));
  EXPECT_THAT(mistakes_of([&] { read_config(config, "enforce: backend\n", "f", true); }),
              HasSubstr("expected a list"));
}

TEST(Config, DefaultsOfTheSlurmBlock) {
  Config config;
  read_config(config,
              "slurm:\n  partition: main\n  sbatch: {nice: 100}\n  setup: [module load x]\n"
              "  mpi: pmix_v4\n  max_jobs: 50\n  poll_interval: 7\n"
              "max_trials: 500\n",
              "f");
  const jobspec::SiteLimits limits = jobspec::SiteLimits::from_json(site_limits(config).to_json());
  EXPECT_EQ(limits.slurm.options, (jobspec::SlurmRequest{{"partition", "main"}, {"nice", "100"}}));
  EXPECT_EQ(limits.slurm.setup, std::vector<std::string>{"module load x"});
  EXPECT_EQ(limits.slurm.mpi, "pmix_v4");
  EXPECT_EQ(limits.max_trials, 500);
  EXPECT_EQ(limits.source_of("max_trials"), " (max_trials in f)");
  EXPECT_EQ(config.slurm.max_jobs, 50);
  EXPECT_THAT(mistakes_of([&] { read_config(config, "slurm: {sbatch: {nise: 1}}\n", "f"); }),
              HasSubstr("f:1: slurm.sbatch.nise: no option of sbatch"));
}

TEST(Config, QuotasOfUsersAndAccounts) {
  Config config;
  read_config(config,
              "site:\n"
              "  quotas:\n"
              "    days: 7\n"
              "    user: {max_nodes: 16, node_hours: 100.5, trials: 500}\n"
              "    account: {node_hours: 1000}\n"
              "    users: {alice: {max_nodes: 4}, carol: {trials: 0}}\n"
              "    accounts: {hep: {max_nodes: 64, node_hours: 0}}\n",
              "f");
  const Quotas& quotas = config.policy.quotas;
  EXPECT_EQ(quotas.days, 7);
  EXPECT_EQ(quota_of_user(quotas, "bob").quota.max_nodes, 16);
  EXPECT_EQ(quota_of_user(quotas, "bob").quota.node_hours, 100.5);
  EXPECT_EQ(quota_of_user(quotas, "bob").setting, "site.quotas.user");
  EXPECT_EQ(quota_of_user(quotas, "alice").quota.max_nodes, 4);
  EXPECT_EQ(quota_of_user(quotas, "alice").quota.node_hours, 0) << "instead, not beside";
  EXPECT_EQ(quota_of_user(quotas, "alice").setting, "site.quotas.users.alice");
  EXPECT_EQ(Quotas().user.trials, 100'000);
  EXPECT_EQ(quota_of_user(quotas, "bob").quota.trials, 500);
  EXPECT_EQ(quota_of_user(quotas, "alice").quota.trials, 100'000) << "nobody is left without";
  EXPECT_EQ(quota_of_user(quotas, "carol").quota.trials, 0) << "but who is said to be";
  EXPECT_EQ(quota_of_account(quotas, "hep").quota.trials, 0);
  EXPECT_EQ(quota_of_account(quotas, "hep").name, "account hep");
  EXPECT_EQ(quota_of_account(quotas, "hep").quota.max_nodes, 64);
  EXPECT_EQ(quota_of_account(quotas, "bio").quota.node_hours, 1000);
  for (const auto& [text, expected] : std::map<std::string, std::string>{
           {"users: {alice: 4}", "alice: expected {max_nodes: N, node_hours: H, trials: T}"},
           {"users: {alice: {nodes: 4}}",
            "alice: 'nodes' is neither max_nodes nor node_hours nor trials"},
           {"accounts: {hep: {trials: 4}}", "hep: 'trials' is neither max_nodes nor node_hours"},
           {"user: {trials: -1}", "expected a number from 0 to"},
           {"accounts: [hep]", "expected names, each with its quota"},
           {"days: 0", "expected a number from 1 to 3660"},
           {"user: {node_hours: -1}", "expected a number from 0 to"}})
    EXPECT_THAT(mistakes_of([&] { read_config(config, "site: {quotas: {" + text + "}}", "f"); }),
                HasSubstr(expected));
}

TEST(Config, EverySettingIsDescribed) {
  for (const auto& option : config_options())
    EXPECT_FALSE(option.doc.empty()) << option.name;
}

/// Files in invalid/ are named for their mistake; the first line says what the message must hold.
TEST(Config, MistakesAreNamedWithFileLineAndRemedy) {
  int files = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(THALWEG_SOURCE_DIR) / "tests/daemon/invalid")) {
    const std::string text = test::read_file(entry.path());
    const std::string expected = text.substr(2, text.find('\n') - 2);
    Config config;
    try {
      read_config(config, text, entry.path().filename());
      ADD_FAILURE() << entry.path() << " was taken";
    } catch (const jobspec::InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(expected)) << entry.path();
      EXPECT_THAT(error.what(), HasSubstr(entry.path().filename().string() + ":2:"));
    }
    ++files;
  }
  EXPECT_GE(files, 8);
}

}  // namespace
}  // namespace thalweg::daemon
