#include "daemon/controller/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "jobspec/diagnostic.h"
#include "tests/support/process.h"

namespace thalweg::daemon {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(Config, ReadsEveryKindOfSetting) {
  Config config;
  read_config(config,
              "backend: local\n"
              "runs: ~/runs\n"
              "max_nodes_per_job: 8\n"
              "push_listen: '0.0.0.0:7000'\n"
              "local: {cores: 3, grace: 1.5}\n"
              "slurm:\n  poll_interval: 7\n",
              "config.yaml");
  EXPECT_EQ(config.backend, "local");
  EXPECT_EQ(config.runs, fs::path(std::getenv("HOME")) / "runs");
  EXPECT_EQ(config.max_nodes_per_job, 8);
  EXPECT_EQ(config.push_listen, "0.0.0.0:7000");
  EXPECT_EQ(config.local.cores, 3);
  EXPECT_EQ(config.local.grace_s, 1.5);
  EXPECT_EQ(config.slurm.poll_s, 7);
}

TEST(Config, TheUsersFileWinsKeyByKey) {
  test::TempDir dir;
  test::write_file(dir.path() / "site.yaml", "max_nodes_per_job: 16\nlocal: {cores: 2}\n");
  test::write_file(dir.path() / "user.yaml", "local: {cores: 1}\n");
  const Config config = load_config(dir.path() / "user.yaml", dir.path() / "site.yaml");
  EXPECT_EQ(config.max_nodes_per_job, 16);
  EXPECT_EQ(config.local.cores, 1);
}

TEST(Config, EmptyAndMissingFilesAreTheDefaults) {
  test::TempDir dir;
  test::write_file(dir.path() / "empty.yaml", "# nothing\n");
  const Config config = load_config(dir.path() / "empty.yaml", dir.path() / "missing.yaml");
  EXPECT_EQ(config.backend, "auto");
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
