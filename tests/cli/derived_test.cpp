// thalweg submit --from: which trial is taken, and how its learning rate follows the batch.
#include "jobspec/value.h"
#include "tests/cli/command_fixture.h"

namespace thalweg::test {
namespace {

using jobspec::Value;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CliDerived : public CommandTest {
 protected:
  CliDerived() {
    record(R"({"batch":{"per_rank":64},"optimizer":{"lr":0.1}})", 512);
    controller().answer("GET /v1/sweeps/12/compare?top=1",
                        {{"sweep", "12"},
                         {"metric", "val/error"},
                         {"rows",
                          {{{"rank", 1},
                            {"n", 3},
                            {"best", {{"median", 0.083}}},
                            {"trials", {"12.4", "12.5", "12.6"}}}}}});
    controller().answer("POST /v1/sweeps", {{"id", "20"},
                                            {"name", "opts-from-12-4"},
                                            {"trials", 1},
                                            {"configurations", 1},
                                            {"duplicates", 0},
                                            {"backend", "slurm"}});
  }
  void record(const std::string& train, std::int64_t batch) {
    constexpr char resources[] =
        R"({"nodes":2,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":1800,"memory_mib":0,"gpus_per_node":0})";
    controller().answer(
        "POST /v1/query",
        {{"rows", {{7, train, resources, "name: opts\ntrain: {}\n", "opts", "slurm", batch}}}});
  }
  std::string printed(std::vector<std::string> more) {
    std::vector<std::string> words{"submit", "--from", "12.4", "--print"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = thalweg(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
};

TEST_F(CliDerived, TheBestConfigurationOnMoreNodes) {
  const Outcome outcome =
      thalweg({"submit", "--from", "12", "--best", "--set", "resources.nodes=8"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              StartsWith("the best of sweep 12: 12.4, one of 3 seeds, val/error 0.083 "
                         "(first row of thalweg compare 12)\n"
                         "the batch goes from 512 to 2048 samples (4 times): the "
                         "learning rate 0.1, found at 512, is scaled by the rule 'auto'"));
  EXPECT_THAT(outcome.out, HasSubstr("sweep 20 opts-from-12-4: 1 trial"));
  const json asked = controller().requests().back().body;
  EXPECT_EQ(asked["backend"], "slurm") << "the other sweep's";
  const Value file = jobspec::read_yaml(asked["text"].get<std::string>(), "sent");
  EXPECT_EQ(file.find("train.schedule.scaling")->to_text(), "auto");
  EXPECT_EQ(file.find("train.schedule.scaling_batch")->as_int(), 512);
  EXPECT_EQ(file.find("train.optimizer.lr")->as_double(), 0.1) << "the engine scales it";
  EXPECT_EQ(file.find("seeds")->to_text(), "[7]");
}

TEST_F(CliDerived, NoneIsTheBestWhereAllHaveDiverged) {
  json answer = json::parse(R"({"metric": "val/error", "rows": [
      {"rank": 1, "n": 3, "best": {"median": "inf"}, "trials": ["12.4"]}]})");
  controller().answer("GET /v1/sweeps/12/compare?top=1", answer);
  const Outcome outcome = thalweg({"submit", "--from", "12", "--best"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("all trials of sweep 12 have diverged"));
}

TEST_F(CliDerived, NothingIsScaledWhereTheBatchStays) {
  const std::string text = printed({});
  EXPECT_THAT(text, Not(HasSubstr("scaling")));
  EXPECT_THAT(text, StartsWith("name: opts-from-12-4"));
}

TEST_F(CliDerived, ARuleOfItsOwnIsKept) {
  record(R"({"batch":{"global":256},"schedule":{"scaling":"sqrt","scaling_batch":64}})", 256);
  const std::string text = printed({"--set", "train.batch.global=1024"});
  EXPECT_THAT(text,
              StartsWith("# the batch goes from 256 to 1024 samples: the learning rate follows "
                         "by the trial's own rule (schedule.scaling: sqrt)\n"));
  EXPECT_EQ(jobspec::read_yaml(text, "x").find("train.schedule.scaling_batch")->as_int(), 64);
}

TEST_F(CliDerived, WhoSaysTheRateOrNoneIsBelieved) {
  EXPECT_THAT(printed({"--set", "resources.nodes=8", "--set", "train.optimizer.lr=0.3"}),
              StartsWith("# the batch goes from 512 to 2048 samples: the learning rate is what"));
  record(R"({"batch":{"per_rank":64},"optimizer":{"lr":0.1}})", 512);
  const std::string none = printed({"--set", "resources.nodes=8", "--scaling", "none"});
  EXPECT_THAT(none, HasSubstr("stays as it is"));
  EXPECT_EQ(jobspec::read_yaml(none, "x").find("train.schedule"), nullptr);
}

TEST_F(CliDerived, MistakesAreTold) {
  const struct {
    std::vector<std::string> words;
    const char* said;
  } table[] = {
      {{}, "SWEEP.yaml is required"},
      {{"x.yaml", "--from", "12.3"}, "two sweeps"},
      {{"--from", "12"}, "12 is a sweep: which of its trials?"},
      {{"--from", "12.3", "--best"}, "12.3 is one trial already"},
      {{"x.yaml", "--best"}, "are for --from"},
      {{"--from", "12.3", "--scaling", "cube"}, "linear"},
  };
  for (const auto& row : table) {
    std::vector<std::string> words{"submit"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Outcome outcome = thalweg(words);
    EXPECT_EQ(outcome.code, 2) << row.said;
    EXPECT_THAT(outcome.err, HasSubstr(row.said));
  }
  controller().answer("GET /v1/sweeps/12/compare?top=1",
                      {{"metric", "val/error"}, {"rows", json::array()}});
  const Outcome nothing = thalweg({"submit", "--from", "12", "--best"});
  EXPECT_EQ(nothing.code, 4);
  EXPECT_THAT(nothing.err, HasSubstr("no trial of sweep 12 has reported val/error yet"));
}

}  // namespace
}  // namespace thalweg::test
