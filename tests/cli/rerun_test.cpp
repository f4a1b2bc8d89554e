// thalweg rerun: what it makes of a trial's record and of the old sweep file.
#include "jobspec/value.h"
#include "tests/cli/command_fixture.h"

namespace thalweg::test {
namespace {

using jobspec::Value;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char old_file[] =
    "name: other\n"
    "method: grid\n"
    "seeds: 2\n"
    "metric: {name: val/error, goal: minimize, targets: [0.2, 0.1]}\n"
    "parameters:\n"
    "  optimizer.name: {values: [momentum, adamw]}\n"
    "  resources.nodes: {values: [1, 2]}\n"
    "train: {data: {name: arrays, inputs: 'x.npz:X'}, epochs: 2}\n"
    "resources: {nodes: 1, time: 30}\n"
    "limits: {max_retries: 5}\n"
    "env: {OMP_PROC_BIND: 'true'}\n"
    "slurm: {partition: main}\n";

constexpr char old_train[] =
    R"({"data":{"name":"arrays","inputs":"/exp/x.npz:X"},"epochs":2,"optimizer":{"name":"adamw"},"sizes":[1,2]})";

constexpr char old_resources[] =
    R"({"nodes":2,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":1800,"memory_mib":2048,"gpus_per_node":0})";

class CliRerun : public CommandTest {
 protected:
  CliRerun() {
    controller().answer("POST /v1/query",
                        {{"columns", {"seed", "train", "resources", "text", "name", "backend"}},
                         {"rows", {{7, old_train, old_resources, old_file, "opts", "slurm"}}}});
    controller().answer("POST /v1/sweeps", {{"id", "20"},
                                            {"name", "opts-from-12-3"},
                                            {"trials", 1},
                                            {"configurations", 1},
                                            {"duplicates", 0},
                                            {"backend", "slurm"}});
  }

  /// The sweep file that rerun makes, as it prints it.
  Value printed(std::vector<std::string> more) {
    std::vector<std::string> words{"rerun", "12.3", "--print"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = thalweg(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return jobspec::read_yaml(outcome.out, "printed");
  }

  Outcome changed(const std::string& change) {
    return thalweg({"rerun", "12.3", "--print", "--set", change});
  }
};

TEST_F(CliRerun, SubmitsOneConfigurationMadeFromTheTrial) {
  const Outcome outcome = thalweg({"rerun", "12.3"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("sweep 20 opts-from-12-3: 1 trial (1 configuration)"));
  EXPECT_THAT(outcome.out, HasSubstr("thalweg watch 20"));
  json asked;
  for (const auto& request : controller().requests()) {
    if (request.target == "/v1/query") {
      EXPECT_EQ(request.body["parameters"], json({12, 3}));
    }
    if (request.target == "/v1/sweeps") asked = request.body;
  }
  EXPECT_EQ(asked["file_name"], "rerun of 12.3");
  EXPECT_EQ(asked["backend"], "slurm") << "the old sweep's";
  EXPECT_EQ(asked["directory"], std::filesystem::canonical(options().directory).string());
  EXPECT_FALSE(asked.contains("dry_run"));

  const Value file = jobspec::read_yaml(asked["text"].get<std::string>(), "sent");
  EXPECT_EQ(file.find("parameters"), nullptr);
  EXPECT_EQ(file.find("method"), nullptr);
  EXPECT_EQ(*file.find("name"), Value("opts-from-12-3"));
  EXPECT_EQ(*file.find("seeds"), Value(jobspec::List{7}));
  EXPECT_EQ(file.find("train")->to_json(), old_train) << "the paths in the record are absolute";
  EXPECT_EQ(
      file.find("resources")->to_json(),
      R"({"nodes":2,"ranks_per_node":4,"threads_per_rank":1,"time":"00:30:00","memory":2048})");
  const Value old = jobspec::read_yaml(old_file, "old");
  for (const char* block : {"metric", "limits", "env", "slurm"})
    EXPECT_EQ(*file.find(block), *old.find(block)) << block;
}

TEST_F(CliRerun, KeepsARangeOfNodes) {
  json resources = json::parse(old_resources);
  resources["nodes"] = 8;
  resources["min_nodes"] = 2;
  controller().answer("POST /v1/query",
                      {{"columns", {"seed", "train", "resources", "text", "name", "backend"}},
                       {"rows", {{7, old_train, resources.dump(), old_file, "opts", "slurm"}}}});
  EXPECT_EQ(printed({}).find("resources.nodes")->to_json(), R"({"min":2,"max":8})");
  EXPECT_EQ(*printed({"--set", "resources.nodes=4"}).find("resources.nodes"), Value(4));
}

TEST_F(CliRerun, MayHaveTheNodesThatItAsksFor) {
  constexpr char file[] =
      "name: opts\ntrain: {}\nlimits: {max_nodes_in_flight: 1, node_hours: 9}\n";
  controller().answer("POST /v1/query",
                      {{"columns", {"seed", "train", "resources", "text", "name", "backend"}},
                       {"rows", {{7, old_train, old_resources, file, "opts", "slurm"}}}});
  const auto in_flight = [&](const std::vector<std::string>& words) {
    return *printed(words).find("limits.max_nodes_in_flight");
  };
  EXPECT_EQ(in_flight({"--set", "resources.nodes=4"}), Value(4));
  EXPECT_EQ(in_flight({"--set", "resources.nodes={min: 1, max: 6}"}), Value(6));
  EXPECT_EQ(in_flight({"--set", "resources.nodes=1"}), Value(1));
  EXPECT_EQ(in_flight({"--set", "resources.nodes=4", "--set", "limits.max_nodes_in_flight=2"}),
            Value(2))
      << "who says so is believed, and told by the check";
}

TEST_F(CliRerun, SetChangesAddsAndTakesOut) {
  const Value file =
      printed({"--set", "train.epochs=", "--set", "train.steps=40", "--set", "train.sizes=[3,4]",
               "--set", "train.optimizer={name: sgd, lr: 1e-2}", "--set", "slurm=", "--set",
               "limits.node_hours=2", "--set", "name=a=b", "--seeds", "3"});
  EXPECT_EQ(file.find("train.epochs"), nullptr);
  EXPECT_EQ(*file.find("train.steps"), Value(40));
  EXPECT_EQ(file.find("train.sizes")->to_json(), "[3,4]") << "commas belong to the value";
  EXPECT_EQ(file.find("train.optimizer")->to_json(), R"({"name":"sgd","lr":0.01})");
  EXPECT_EQ(*file.find("train.data.inputs"), Value("/exp/x.npz:X"));
  EXPECT_EQ(file.find("slurm"), nullptr);
  EXPECT_EQ(file.find("limits")->to_json(), R"({"max_retries":5,"node_hours":2})");
  EXPECT_EQ(*file.find("name"), Value("a=b"));
  EXPECT_EQ(*file.find("seeds"), Value(3));
  EXPECT_FALSE(controller().was_asked("POST /v1/sweeps")) << "--print only prints";
}

TEST_F(CliRerun, AChangeThatCannotBeMadeIsBadInput) {
  for (const char* change : {"train.epochs", "=3", "train.=3", ".train=3", "train..x=3"}) {
    const Outcome outcome = changed(change);
    EXPECT_EQ(outcome.code, 2) << change;
    EXPECT_THAT(outcome.err, HasSubstr("expected PATH=VALUE")) << change;
  }
  const Outcome inside = changed("train.epochs.most=3");
  EXPECT_EQ(inside.code, 2);
  EXPECT_THAT(inside.err, HasSubstr("train.epochs is not a map of keys"));
  const Outcome broken = changed("train.sizes=[1,");
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, HasSubstr("--set train.sizes"));
}

TEST_F(CliRerun, OptionsOfTheTrainingStandUnderTrain) {
  for (const char* option : {"batch.global", "optimizer.lr", "epochs", "precision", "sync.mode"}) {
    const Outcome outcome =
        thalweg({"rerun", "12.3", "--print", "--set", std::string(option) + "=8"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("is no key of a sweep file"));
    EXPECT_THAT(outcome.err, HasSubstr("--set train." + std::string(option) + "=8"));
  }
}

TEST_F(CliRerun, AWrongPathIsToldByTheControllersCheck) {
  const json mistake{{"file", "rerun of 12.3"},
                     {"line", 9},
                     {"column", 3},
                     {"key", "train.epoch"},
                     {"message", "unknown key"},
                     {"hint", "did you mean epochs?"}};
  controller().answer(
      "POST /v1/sweeps",
      {{"error", {{"message", "1 mistake"}, {"diagnostics", json::array({mistake})}}}}, 400);
  const Outcome outcome = thalweg({"rerun", "12.3", "--set", "train.epoch=20"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("rerun of 12.3:9: train.epoch: unknown key"));
  EXPECT_THAT(outcome.err, HasSubstr("did you mean epochs?"));
}

TEST_F(CliRerun, DryRunShowsThePlanAndBackendCanBeChosen) {
  controller().answer("POST /v1/sweeps",
                      {{"name", "opts-from-12-3"},
                       {"trials",
                        {{{"id", ".1"},
                          {"seed", 7},
                          {"parameters", json::object()},
                          {"resources", {{"nodes", 2}, {"ranks_per_node", 4}}}}}},
                       {"configurations", 1},
                       {"duplicates", 0},
                       {"backend", "local"}});
  EXPECT_THAT(thalweg({"rerun", "12.3", "--dry-run", "--backend", "local"}).out,
              EndsWith("Nothing was submitted (--dry-run).\n"));
  const json asked = controller().requests().back().body;
  EXPECT_EQ(asked["dry_run"], true);
  EXPECT_EQ(asked["backend"], "local");
}

TEST_F(CliRerun, NeedsATrialThatIsThere) {
  const Outcome sweep = thalweg({"rerun", "12"});
  EXPECT_EQ(sweep.code, 2);
  EXPECT_THAT(sweep.err, HasSubstr("12 is no trial"));
  controller().answer("POST /v1/query", {{"columns", json::array()}, {"rows", json::array()}});
  const Outcome gone = thalweg({"rerun", "12.9"});
  EXPECT_EQ(gone.code, 4);
  EXPECT_THAT(gone.err, HasSubstr("there is no trial 12.9"));
}

}  // namespace
}  // namespace thalweg::test
