#include "jobspec/trial.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "jobspec/diagnostic.h"
#include "jobspec/resources.h"
#include "tests/support/process.h"

namespace thalweg::jobspec {
namespace {

using ::testing::HasSubstr;

class TrialFile : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    std::ofstream(folder_ / "trial.yaml") << text;
    return folder_ / "trial.yaml";
  }

  test::TempDir temp_;
  const std::filesystem::path& folder_ = temp_.path();
};

TEST_F(TrialFile, RangesOfNodesRoundTrip) {
  Trial trial;
  trial.resources.nodes = 8;
  trial.resources.min_nodes = 2;
  write_trial(trial, folder_ / "trial.yaml");
  const Resources back = read_trial(folder_ / "trial.yaml").resources;
  EXPECT_EQ(back.nodes, 8);
  EXPECT_EQ(back.min_nodes, 2);
  EXPECT_EQ(back.required_nodes(), 2);
  EXPECT_EQ(back.at_most(5).nodes, 5);
  EXPECT_TRUE(back.at_most(5).elastic());
  EXPECT_EQ(back.at_most(20).nodes, 8);
  EXPECT_FALSE(back.at_most(2).elastic()) << "no choice is left";
}

TEST_F(TrialFile, ARangeOfOneSizeIsThatSize) {
  const Trial trial =
      read_trial(write("train: {}\nresources: {nodes: {min: 4, max: 4}, ranks_per_node: 2}\n"));
  EXPECT_FALSE(trial.resources.elastic());
  EXPECT_EQ(trial.resources.ranks(), 8);
}

TEST_F(TrialFile, RoundTrips) {
  Trial trial;
  trial.seed = 7;
  trial.train = read_yaml("{optimizer: {name: adamw, lr: 1.0}, model: {hidden: [512, 512]}}", "f");
  trial.resources = {2, 3, 4, 90'061, 2048, 1};
  trial.metric = {"val/accuracy", Goal::maximize, {0.9, 0.7}};
  trial.sweep_ranks = 16;
  trial.id = {12, 3, 1};
  trial.token = "0123456789012345";
  trial.push = "unix:/run/user/1000/a b.sock";
  trial.push_secret = "5432109876543210";
  trial.node_failure_s = 86400.5;
  trial.resume = {"/a/checkpoints", "/b c/checkpoints"};
  trial.init_from = {"/other/checkpoints"};
  const auto path = folder_ / "trial.yaml";
  write_trial(trial, path);
  write_trial(trial, path);  // replaces
  const Trial back = read_trial(path);

  EXPECT_EQ(back.seed, 7u);
  EXPECT_EQ(back.train, trial.train);
  EXPECT_FALSE(back.train.find("optimizer.lr")->is_int());
  EXPECT_EQ(back.resources.ranks(), 6);
  EXPECT_EQ(back.resources.threads_per_rank, 4);
  EXPECT_EQ(back.resources.time_limit_s, 90'061);
  EXPECT_EQ(back.resources.memory_mib, 2048);
  EXPECT_EQ(back.resources.gpus_per_node, 1);
  EXPECT_EQ(back.metric.name, "val/accuracy");
  EXPECT_EQ(back.metric.goal, Goal::maximize);
  EXPECT_EQ(back.metric.targets, trial.metric.targets);
  EXPECT_EQ(back.metric.target(), 0.9);
  EXPECT_EQ(back.sweep_ranks, 16);
  EXPECT_EQ(back.node_failure_s, 86400.5);
  EXPECT_EQ(back.id, trial.id);
  EXPECT_EQ(back.token, trial.token);
  EXPECT_EQ(back.push, trial.push);
  EXPECT_EQ(back.push_secret, trial.push_secret);
  EXPECT_EQ(back.resume, trial.resume);
  EXPECT_EQ(back.init_from, trial.init_from);

  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(TrialFile, OnlyTrainIsNeeded) {
  const Trial trial = read_trial(write("train: {epochs: 1}\n"));
  EXPECT_EQ(trial.seed, 1u);
  EXPECT_EQ(trial.id, Id{});
  EXPECT_EQ(trial.train.find("epochs")->as_int(), 1);
  EXPECT_EQ(trial.resources.ranks(), 1);
  EXPECT_TRUE(trial.token.empty());
}

TEST_F(TrialFile, NamesEveryMistake) {
  const auto path =
      write("trian: {}\nseed: -1\nresources: {nodes: 0, time: 5m}\nattempt: {id: x}\n");
  try {
    read_trial(path);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics().size(), 5u) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(path.string() + ":1: trian: unknown key"));
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'train'?"));
    EXPECT_THAT(error.what(),
                HasSubstr(":2: seed: found -1, expected a whole number of at least 0"));
    EXPECT_THAT(error.what(), HasSubstr(":3: resources.nodes: found 0"));
    EXPECT_THAT(error.what(), HasSubstr(":3: resources.time: found text \"5m\""));
    EXPECT_THAT(error.what(), HasSubstr(":4: attempt.id: found text \"x\""));
  }
}

TEST_F(TrialFile, MissingFileAndFolderAreRuntimeErrors) {
  EXPECT_THROW(read_trial(folder_ / "none.yaml"), std::runtime_error);
  EXPECT_THROW(write_trial({}, folder_ / "none" / "trial.yaml"), std::runtime_error);
}

TEST(Id, ReadsAndWrites) {
  EXPECT_EQ(Id::parse("12.3.1"), (Id{12, 3, 1}));
  EXPECT_EQ(Id::parse("12.3"), (Id{12, 3, 0}));
  EXPECT_EQ(Id::parse("12"), (Id{12, 0, 0}));
  for (const char* bad :
       {"", ".", "1.", "1..2", "a", "1.2.3.4", "-1", "1.-2", " 1", "1 ", "99999999999999999999"}) {
    EXPECT_EQ(Id::parse(bad), std::nullopt) << bad;
  }
  EXPECT_EQ((Id{12, 3, 1}).to_string(), "12.3.1");
  EXPECT_EQ((Id{12, 3, 0}).to_string(), "12.3");
  EXPECT_EQ((Id{12, 0, 0}).to_string(), "12");
}

TEST(Resources, TimesAndMemory) {
  EXPECT_EQ(parse_time("00:30:00"), 1800);
  EXPECT_EQ(parse_time("100:00:00"), 360'000);
  EXPECT_EQ(parse_time("1-02:00:01"), 93'601);
  EXPECT_EQ(parse_time(90), 5400);
  for (const Value& bad : {Value("30:00"), Value("00:00:00"), Value("1:60:00"), Value("1-2"),
                           Value("5m"), Value(0), Value(-1), Value(1.5), Value("-1:00:00")}) {
    EXPECT_EQ(parse_time(bad), std::nullopt) << bad.to_text();
  }
  EXPECT_EQ(format_time(1800), "00:30:00");
  EXPECT_EQ(format_time(93'601), "1-02:00:01");
  EXPECT_EQ(parse_memory(4096), 4096);
  EXPECT_EQ(parse_memory("64G"), 65'536);
  EXPECT_EQ(parse_memory("1TiB"), 1 << 20);
  EXPECT_EQ(parse_memory("64 gigs"), std::nullopt);
  EXPECT_EQ(parse_memory(-1), std::nullopt);
}

}  // namespace
}  // namespace thalweg::jobspec
