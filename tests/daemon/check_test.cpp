// thalwegd --check, as a program: on what is well, and on each thing that can be broken on purpose.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/api/client.h"
#include "daemon/server/daemon.h"
#include "db/store.h"
#include "tests/support/process.h"

namespace thalweg::daemon {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

struct CheckTest : testing::Test {
  test::TempDir dir;
  const api::Home home{dir.path() / "home"};
  std::map<std::string, std::string> environment;

  void SetUp() override {
    fs::create_directory(home.directory);
    chmod(home.directory.c_str(), 0700);
    configure("backend: local\n");
  }
  void configure(const std::string& text) {
    test::write_file(home.config(), text);
    chmod(home.config().c_str(), 0600);
  }
  test::Outcome run(std::vector<std::string> more = {}) {
    test::RunOptions options;
    options.env = environment;
    std::vector<std::string> command{"thalwegd", "--check", "--home", home.directory.string()};
    command.insert(command.end(), more.begin(), more.end());
    return test::run(command, options);
  }
  /// "error record: ..." of what is not well; the exit code must agree.
  std::vector<std::string> complaints() {
    const test::Outcome outcome = run({"--json"});
    const json answer = json::parse(outcome.out);
    std::vector<std::string> found;
    bool errors = false;
    for (const json& each : answer.at("findings")) {
      const std::string level = each.at("level");
      errors = errors || level == "error";
      if (level != "ok")
        found.push_back(level + " " + each.at("what").get<std::string>() + ": " +
                        each.at("text").get<std::string>() + " (" +
                        each.at("remedy").get<std::string>() + ")");
    }
    EXPECT_EQ(outcome.code, errors ? exit_failed : exit_ok) << outcome.out << outcome.err;
    EXPECT_EQ(answer.at("ok"), !errors);
    return found;
  }
  /// A program of that name that prints this, before all others.
  void stand_in(const std::string& name, const std::string& text, int code = 0) {
    const fs::path folder = dir.path() / "bin";
    fs::create_directory(folder);
    test::write_file(folder / name, "#!/bin/sh\ncat <<'END'\n" + text + "END\nexit " +
                                        std::to_string(code) + "\n");
    chmod((folder / name).c_str(), 0700);
    environment["PATH"] = folder.string() + ":/usr/bin:/bin";
  }
};

using testing::Contains;
using testing::IsEmpty;

TEST_F(CheckTest, WhatIsWellIsSaid) {
  { const auto record = db::Store::open(home.database()); }
  fs::create_directory(home.runs());
  EXPECT_THAT(complaints(), IsEmpty());
  const test::Outcome outcome = run();
  EXPECT_EQ(outcome.code, exit_ok);
  for (const char* part : {"ok       programs", "config.yaml", "no page is damaged", "none runs"})
    EXPECT_THAT(outcome.out, HasSubstr(part));
}

TEST_F(CheckTest, NothingIsMade) {
  fs::remove_all(home.directory);
  EXPECT_THAT(complaints(), Contains(HasSubstr("is not there yet")));
  EXPECT_FALSE(fs::exists(home.directory));
}

TEST_F(CheckTest, ADamagedPageIsFound) {
  {
    const auto record = db::Store::open(home.database());
    record->checkpoint();
  }
  std::fstream file(home.database(), std::ios::binary | std::ios::in | std::ios::out);
  constexpr std::streamoff page = 4096;
  file.seekp(5 * page);
  file << std::string(page, '\0');
  file.close();
  EXPECT_THAT(complaints(), Contains(HasSubstr("error record: " + home.database().string())));
}

TEST_F(CheckTest, WhatOthersMayWriteToIsFound) {
  chmod(home.directory.c_str(), 0777);
  EXPECT_THAT(complaints(), Contains(HasSubstr("error home: ")));
}

TEST_F(CheckTest, MistakesOfTheConfigurationHaveTheirLines) {
  configure("backend: local\nbakcend: slurm\n");
  EXPECT_THAT(complaints(),
              Contains(HasSubstr("config.yaml:2: bakcend: there is no such setting")));
}

TEST_F(CheckTest, AKilledControllerIsTold) {
  test::RunOptions options;
  options.env = environment;
  ASSERT_EQ(test::run({"thalwegd", "--home", home.directory.string()}, options).code, 0);
  EXPECT_THAT(complaints(), IsEmpty());
  EXPECT_THAT(run().out, HasSubstr("backend local"));
  const json status = json::parse(test::read_file(home.status_file()));
  kill(status.at("pid").get<pid_t>(), SIGKILL);
  EXPECT_TRUE(test::eventually([&] {
    return !complaints().empty() && complaints()[0].find("was killed") != std::string::npos;
  }));
}

TEST_F(CheckTest, SlurmIsAskedByItsOwnCommands) {
  configure("backend: slurm\n");
  stand_in("scontrol",
           "Configuration data as of now\nAccountingStorageType   = accounting_storage/none\n"
           "AuthType                = auth/munge\nClusterName             = main\n"
           "SLURM_VERSION           = 22.05.8\n");
  stand_in("srun", "MPI plugin types are...\n\tpmix\n\tnone\n");
  stand_in("munge", "MUNGE:AwQ\n");
  EXPECT_THAT(run().out, HasSubstr("22.05.8, cluster main, accounting accounting_storage/none"));
  for (const std::string& each : complaints())
    EXPECT_THAT(each, testing::Not(testing::StartsWith("error")));
  stand_in("srun", "MPI plugin types are...\n\tnone\n");
  stand_in("munge", "munge: Error: Failed to access socket\n", 6);
  const auto found = complaints();
  EXPECT_THAT(found, Contains(HasSubstr("error Slurm: srun has no PMIx plugin")));
  EXPECT_THAT(found, Contains(HasSubstr("error MUNGE: munged gives no credential")));
  stand_in("scontrol", "", 1);
  EXPECT_THAT(complaints(), Contains(HasSubstr("error Slurm: slurmctld does not answer")));
}

TEST_F(CheckTest, ASitesHomeLetsItsUsersThrough) {
  EXPECT_THAT(complaints(), Not(Contains(HasSubstr("must get through"))));
  const json answer = json::parse(run({"--json", "--site"}).out);
  EXPECT_THAT(answer.dump(), HasSubstr("must get through it to the socket"));
}

}  // namespace
}  // namespace thalweg::daemon
