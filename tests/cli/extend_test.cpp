// thalweg extend: how it changes the recorded sweep file, and what it says.
#include "jobspec/value.h"
#include "tests/cli/command_fixture.h"

namespace thalweg::test {
namespace {

using jobspec::Value;
using testing::HasSubstr;
using testing::StartsWith;

class CliExtend : public CommandTest {
 protected:
  CliExtend() {
    recorded(
        "method: random\nrun_cap: 10\nseeds: 2\n"
        "parameters: {optimizer.lr: {values: [0.1, 0.2]}}\ntrain: {epochs: 2}\n");
    controller().answer("POST /v1/extend", {{"id", "12"},
                                            {"name", "opts"},
                                            {"new_trials", {"12.21", "12.22"}},
                                            {"trials", 22},
                                            {"configurations", 2},
                                            {"backend", "local"},
                                            {"notes", json::array()}});
  }
  void recorded(const std::string& text) {
    controller().answer("POST /v1/query", {{"columns", {"text"}}, {"rows", {{text}}}});
  }
  /// The file that is sent.
  Value sent(std::vector<std::string> words) {
    words.insert(words.begin(), {"extend", "12"});
    const Outcome outcome = thalweg(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return jobspec::read_yaml(controller().requests().back().body.value("text", ""), "sent");
  }
};

TEST_F(CliExtend, MoreSeedsAndDraws) {
  const Value file = sent({"--seeds", "+3", "--trials", "+20"});
  EXPECT_EQ(file.find("seeds")->as_int(), 5);
  EXPECT_EQ(file.find("run_cap")->as_int(), 30);
  EXPECT_EQ(file.find("train.epochs")->as_int(), 2);
  EXPECT_EQ(controller().requests().back().body["changes"], json({"seeds=5", "run_cap=30"}));
  const Outcome outcome = thalweg({"extend", "12", "--seeds", "+3"});
  EXPECT_THAT(
      outcome.out,
      StartsWith("sweep 12 opts: 2 new trials (12.21 to 12.22), now 22 in all, on local\n"));
  EXPECT_THAT(outcome.out, HasSubstr("thalweg watch 12"));
}

TEST_F(CliExtend, AListOfSeedsGoesOnAfterItsLargest) {
  recorded("seeds: [7, 4]\ntrain: {epochs: 2}\n");
  EXPECT_EQ(sent({"--seeds", "+2"}).find("seeds")->to_text(), "[7,4,8,9]");
  recorded("train: {epochs: 2}\n");
  EXPECT_EQ(sent({"--seeds", "+2"}).find("seeds")->as_int(), 3);
}

TEST_F(CliExtend, MoreValuesOfAParameter) {
  const Value file = sent(
      {"--set", "parameters.optimizer.lr.values=[0.1, 0.2, 0.4]", "--set", "limits.node_hours=5"});
  EXPECT_EQ(file.find("parameters.optimizer.lr")->find("values")->to_text(), "[0.1,0.2,0.4]");
  EXPECT_EQ(file.find("limits.node_hours")->as_int(), 5);
}

TEST_F(CliExtend, ProgramsSayThemselvesHowLongTheyTrain) {
  recorded("program: train.py\nparameters: {lr: {values: [0.1, 0.2]}}\n");
  const Outcome outcome = thalweg({"extend", "12", "--epochs", "5"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--epochs: a program of your own runs these trials"));
  EXPECT_EQ(thalweg({"extend", "12", "--seeds", "+1"}).code, 0);
}

TEST_F(CliExtend, LongerTrials) {
  controller().answer(
      "POST /v1/extend",
      {{"id", "12"}, {"new_trials", json::array()}, {"going_on", 3}, {"trials", 4}});
  const Value file = sent({"--epochs", "10"});
  EXPECT_EQ(file.find("train.epochs")->as_int(), 10);
  const json asked = controller().requests().back().body;
  EXPECT_EQ(asked["epochs"], 10);
  EXPECT_EQ(asked["changes"], json({"train.epochs=10"}));
  const Outcome outcome = thalweg({"extend", "12", "--epochs", "10"});
  EXPECT_THAT(outcome.out,
              StartsWith("3 finished trials of sweep 12 continue from the last checkpoint; "
                         "where there is none, from the start\n"));
}

TEST_F(CliExtend, NothingToAddIsSaid) {
  controller().answer("POST /v1/extend",
                      {{"id", "12"}, {"new_trials", json::array()}, {"trials", 20}});
  EXPECT_EQ(thalweg({"extend", "12", "--set", "seeds=2"}).out,
            "nothing to add: sweep 12 has all 20 trials of the changed file\n");
}

TEST_F(CliExtend, ChangedLimitsAreSaid) {
  controller().answer(
      "POST /v1/extend",
      {{"id", "12"}, {"new_trials", json::array()}, {"trials", 20}, {"limits_changed", true}});
  const Outcome outcome = thalweg({"extend", "12", "--set", "limits.deadline=2027-02-01"});
  EXPECT_THAT(outcome.out, StartsWith("the limits of sweep 12 are changed\n"));
  EXPECT_THAT(outcome.out, HasSubstr("thalweg retry 12 --state cancelled"));
}

TEST_F(CliExtend, MistakesAreTold) {
  const struct {
    std::vector<std::string> words;
    const char* said;
  } table[] = {
      {{"12"}, "--seeds +3, --trials +20"},
      {{"12", "--seeds", "3"}, "for example --seeds +3"},
      {{"12", "--trials", "+0"}, "expected how many more"},
      {{"12.3", "--seeds", "+3"}, "12.3 is no sweep"},
      {{"12", "--set", "seeds"}, "expected PATH=VALUE"},
  };
  for (const auto& row : table) {
    std::vector<std::string> words{"extend"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Outcome outcome = thalweg(words);
    EXPECT_EQ(outcome.code, 2) << row.said;
    EXPECT_THAT(outcome.err, HasSubstr(row.said));
  }
  recorded("method: grid\nparameters: {optimizer.lr: {values: [0.1, 0.2]}}\ntrain: {epochs: 2}\n");
  const Outcome grid = thalweg({"extend", "12", "--trials", "+2"});
  EXPECT_EQ(grid.code, 2);
  EXPECT_THAT(grid.err, HasSubstr("has all its configurations"));
}

TEST_F(CliExtend, ADryRunShowsTheTrials) {
  controller().answer("POST /v1/extend",
                      {{"name", "opts"},
                       {"trials",
                        {{{"id", ".21"},
                          {"seed", 3},
                          {"parameters", {{"optimizer.lr", 0.1}}},
                          {"resources", {{"nodes", 2}, {"ranks_per_node", 4}}}}}},
                       {"configurations", 1},
                       {"duplicates", 0},
                       {"backend", "local"}});
  const Outcome outcome = thalweg({"extend", "12", "--seeds", "+1", "--dry-run"});
  EXPECT_THAT(outcome.out, HasSubstr(".21"));
  EXPECT_THAT(outcome.out, HasSubstr("Nothing was submitted (--dry-run)."));
  EXPECT_EQ(controller().requests().back().body["dry_run"], true);
}

}  // namespace
}  // namespace thalweg::test
