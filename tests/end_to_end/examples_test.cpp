// The examples that need nothing but what stands beside them, run as a person would run them, to
// their end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;

const fs::path kExamples = fs::path(THALWEG_SOURCE_DIR) / "jobspec/examples";

struct Example {
  const char* name;
  std::size_t trials;
};

void PrintTo(const Example& example, std::ostream* out) {
  *out << example.name;
}

class ExampleRun : public testing::TestWithParam<Example> {};

TEST_P(ExampleRun, Finishes) {
  std::map<std::string, std::string> environment;
  // The one for GPUs needs one; the emulated one computes the same.
  if (std::string(GetParam().name) == "gpu") environment["THALWEG_GPU"] = "emulated";
  SweepHome home(std::move(environment));
  fs::copy(kExamples, home.folder(), fs::copy_options::recursive);
  const Outcome outcome = home.thalweg(
      {"run", std::string(GetParam().name) + ".yaml", "--backend", "local"}, milliseconds(120000));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const auto trials = home.query("SELECT state FROM trials");
  EXPECT_EQ(trials["rows"].size(), GetParam().trials) << trials.dump();
  const auto comparison = home.json({"compare", "1"});
  ASSERT_FALSE(comparison["rows"].empty());
  EXPECT_GE(comparison["rows"][0]["n"].get<int>(), 1)
      << "the metric of the file is reported: " << comparison.dump(2);
}

std::string name_of(const testing::TestParamInfo<Example>& tested) {
  std::string name = tested.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, ExampleRun,
                         testing::Values(Example{"own-data", 8}, Example{"regression", 4},
                                         Example{"graph", 4}, Example{"gpt", 4},
                                         Example{"segmentation", 2}, Example{"flood-filling", 2},
                                         Example{"gpu", 2}),
                         name_of);

/// Whether Python, as the sweeps find it, has the module.
bool python_has(const std::string& module) {
  return run({"python3", "-c", "import " + module}).code == 0;
}

TEST(Examples, OwnProgramFinishesAtItsTarget) {
  SweepHome home;
  fs::copy(kExamples, home.folder(), fs::copy_options::recursive);
  const Outcome outcome = home.thalweg({"run", "own-program.yaml", "--backend", "local"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  home.expect_nothing_lost_or_doubled("1");
  const auto comparison = home.json({"compare", "1"});
  ASSERT_EQ(comparison["rows"].size(), 3u);
  for (const auto& row : comparison["rows"])
    EXPECT_EQ(row["steps_to_target"]["reached"], 2) << row.dump();
  EXPECT_EQ(comparison["rows"][0]["group"]["lr"], 1.0);
}

TEST(Examples, PyTorchTrainsInParallel) {
  if (!python_has("torch")) GTEST_SKIP() << "python3 has no torch";
  SweepHome home;
  fs::copy(kExamples, home.folder(), fs::copy_options::recursive);
  const Outcome outcome =
      home.thalweg({"run", "pytorch-ddp.yaml", "--backend", "local"}, milliseconds(120000));
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  home.expect_nothing_lost_or_doubled("1");
  EXPECT_EQ(home.json({"compare", "1"})["rows"].size(), 4u);
}

TEST(Examples, TorchrunStartsTheRanks) {
  SweepHome home;
  // Debian 12's own, PyTorch 1.13 with Python 3.11, starts nothing.
  write_file(home.folder() / "nothing.py", "");
  const Outcome tried =
      run({"torchrun", "--nproc_per_node", "1", (home.folder() / "nothing.py").string()});
  if (tried.code == 127) GTEST_SKIP() << "there is no torchrun";
  if (tried.code != 0) GTEST_SKIP() << "this torchrun cannot start an empty program";
  fs::copy(kExamples, home.folder(), fs::copy_options::recursive);
  const Outcome outcome =
      home.thalweg({"run", "torchrun.yaml", "--backend", "local"}, milliseconds(240000));
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  home.expect_nothing_lost_or_doubled("1");
  EXPECT_EQ(home.json({"compare", "1"})["rows"].size(), 2u);
}

TEST(Examples, AVirtualEnvironmentIsActivated) {
  SweepHome home;
  fs::copy(kExamples, home.folder(), fs::copy_options::recursive);
  RunOptions options;
  options.directory = home.folder();
  const Outcome made = run({"python3", "-m", "venv", "--without-pip", "env"}, options);
  if (made.code != 0) GTEST_SKIP() << "python3 has no module venv";
  const std::string told = "\nimport sys\nprint(\"prefix\", sys.prefix)\n";
  write_file(home.folder() / "programs/fit.py",
             read_file(home.folder() / "programs/fit.py") + told);
  const Outcome outcome = home.thalweg({"run", "virtual-environment.yaml", "--backend", "local"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  home.expect_nothing_lost_or_doubled("1");
  EXPECT_NE(read_file(home.attempt_folder("1.1.1") / "stdout.log")
                .find("prefix " + (home.folder() / "env").string()),
            std::string::npos);
  // A folder that is not there: said before anything is queued, or by the attempt that could not
  // start; it is not tried again.
  fs::remove_all(home.folder() / "env");
  const Outcome without = home.thalweg({"run", "virtual-environment.yaml", "--backend", "local"});
  EXPECT_NE(without.code, 0);
  EXPECT_NE((without.out + without.err).find("env/bin/activate"), std::string::npos)
      << without.out << without.err;
}

TEST(Examples, MpiProgramTellsItsFigureOfMerit) {
  SweepHome home;
  fs::copy(kExamples, home.folder(), fs::copy_options::recursive);
  RunOptions options;
  options.directory = home.folder() / "programs";
  const Outcome compiled = run({"mpicc", "-O2", "-o", "ring", "ring.c"}, options);
  if (compiled.code == 127) GTEST_SKIP() << "there is no mpicc";
  if (compiled.err.find("fatal error: mpi.h") != std::string::npos)
    GTEST_SKIP() << "mpicc has no mpi.h (Debian: libopenmpi-dev)";
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  const std::string text = read_file(home.folder() / "mpi.yaml") +
                           "env: {OMPI_ALLOW_RUN_AS_ROOT: \"1\", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "
                           "\"1\", OMPI_MCA_rmaps_base_oversubscribe: \"1\"}\n";
  write_file(home.folder() / "mpi.yaml", text);
  const Outcome outcome = home.thalweg({"run", "mpi.yaml", "--backend", "local"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(home.query("SELECT * FROM latest_metrics WHERE metric = 'microseconds'")["rows"].size(),
            2u);
  EXPECT_NE(read_file(home.attempt_folder("1.1.1") / "stdout.log").find("ranks 2"),
            std::string::npos);
}

/// McCandlish et al. 2018: below the critical batch, a larger one saves steps and costs samples.
TEST(Examples, LargerBatchesReachTheTargetInFewerStepsAndMoreSamples) {
  SweepHome home;
  fs::copy(kExamples, home.folder(), fs::copy_options::recursive);
  const Outcome outcome = home.thalweg({"run", "critical-batch.yaml"}, milliseconds(240000));
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  std::map<int, std::pair<double, double>> taken;  // steps and samples by batch
  const auto comparison = home.json({"compare", "1"});
  for (const auto& row : comparison["rows"]) {
    EXPECT_EQ(row["steps_to_target"]["reached"], 3) << row.dump();
    taken[row["group"]["batch.global"].get<int>()] = {
        row["steps_to_target"]["median"].get<double>(),
        row["samples_to_target"]["median"].get<double>()};
  }
  ASSERT_EQ(taken.size(), 4u);
  EXPECT_GT(taken[16].first, 2 * taken[64].first);
  EXPECT_GT(taken[64].first, 1.5 * taken[256].first);
  EXPECT_GE(taken[256].first, taken[1024].first);
  EXPECT_GT(taken[1024].second, 2 * taken[16].second);
  // Trials ended where they got there: no ten epochs of 55,000 samples.
  const auto ended = home.query("SELECT max(step) FROM metrics WHERE metric = 'val/error'");
  EXPECT_LT(ended["rows"][0][0].get<int>(), 10'000);
}

/// Mitliagkas et al. 2016: asynchronous workers act like momentum: good where there is none, too
/// much of it beside 0.9.
TEST(Examples, AsynchronousWorkersBringMomentum) {
  SweepHome home;
  fs::copy(kExamples, home.folder(), fs::copy_options::recursive);
  const Outcome outcome = home.thalweg({"run", "asynchronous.yaml"}, milliseconds(240000));
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  std::map<std::pair<std::string, double>, double> accuracy;  // by mode and momentum
  const auto comparison = home.json({"compare", "1"});
  for (const auto& row : comparison["rows"])
    accuracy[{row["group"]["sync.mode"].get<std::string>(),
              row["group"]["optimizer.momentum"].get<double>()}] =
        row["best"]["median"].get<double>();
  ASSERT_EQ(accuracy.size(), 4u) << comparison.dump();
  EXPECT_GT((accuracy[{"sync", 0.9}]), (accuracy[{"sync", 0}]));
  EXPECT_GT((accuracy[{"async", 0}]), (accuracy[{"sync", 0}]));
  EXPECT_GT((accuracy[{"async", 0}] - accuracy[{"async", 0.9}]), 0.02) << "more, the staler";
}

/// Kurth et al. 2018: lag 1 costs little; more of it, and more of it at a large rate, costs much.
TEST(Examples, LaterGradientsNeedSmallerRates) {
  SweepHome home;
  fs::copy(kExamples, home.folder(), fs::copy_options::recursive);
  const Outcome outcome = home.thalweg({"run", "gradient-lag.yaml"}, milliseconds(240000));
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  std::map<std::pair<int, double>, double> accuracy;  // by lag and rate
  const auto comparison = home.json({"compare", "1"});
  for (const auto& row : comparison["rows"])
    accuracy[{row["group"]["sync.lag"].get<int>(), row["group"]["optimizer.lr"].get<double>()}] =
        row["best"]["median"].get<double>();
  ASSERT_EQ(accuracy.size(), 8u) << comparison.dump();
  for (const double lr : {0.02, 0.1})
    for (const auto& [less, more] : {std::pair{0, 1}, std::pair{1, 2}, std::pair{2, 4}})
      EXPECT_GT((accuracy[{less, lr}]), (accuracy[{more, lr}])) << lr << ", lag " << more;
  EXPECT_LT((accuracy[{0, 0.02}] - accuracy[{1, 0.02}]), 0.02);
  for (const int lag : {1, 2, 4})
    EXPECT_GT((accuracy[{lag, 0.02}] - accuracy[{lag, 0.1}]), 0.1) << "lag " << lag;
}

/// Goyal et al. 2017: a larger batch wants a larger rate, and that one a warm-up. At 32 times the
/// batch LARC has to help as well.
TEST(Examples, ALargerBatchWantsAScaledRateAndAWarmUp) {
  SweepHome home;
  fs::copy(kExamples, home.folder(), fs::copy_options::recursive);
  const Outcome outcome = home.thalweg({"run", "warm-up.yaml"}, milliseconds(240000));
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  std::map<std::pair<int, std::string>, double> accuracy;  // by batch and recipe
  const auto comparison = home.json({"compare", "1"});
  for (const auto& row : comparison["rows"]) {
    const auto& group = row["group"];
    accuracy[{group["batch.global"].get<int>(), group["schedule.scaling"].get<std::string>() + " " +
                                                    group["schedule.warmup"].get<std::string>() +
                                                    " " +
                                                    group["optimizer.larc"].get<std::string>()}] =
        row["best"]["median"].get<double>();
  }
  ASSERT_EQ(accuracy.size(), 10u) << comparison.dump();
  const auto at = [&](int batch, const char* recipe) { return accuracy.at({batch, recipe}); };
  EXPECT_LT(at(512, "none none none"), at(512, "linear none none"));
  EXPECT_LT(at(512, "none none none"), at(512, "sqrt none none"));
  EXPECT_LT(at(512, "linear none none"), at(512, "linear linear none"));
  EXPECT_LT(at(2048, "linear none none"), at(2048, "none none none")) << "too much of it";
  EXPECT_LT(at(2048, "linear none none"), at(2048, "linear linear none"));
  EXPECT_LT(at(2048, "linear linear none"), at(2048, "linear linear clip"));
  EXPECT_LT(at(2048, "none none none"), at(2048, "sqrt none none"));
  EXPECT_LT(at(2048, "sqrt none none"), at(2048, "linear linear clip"));
}

/// Maleki et al. 2020: with one worker's rate Adasum learns faster than the average of 16 and does
/// not diverge as their sum does.
TEST(Examples, AdasumNeedsNoOtherRate) {
  SweepHome home;
  fs::copy(kExamples, home.folder(), fs::copy_options::recursive);
  const Outcome outcome = home.thalweg({"run", "adasum.yaml"}, milliseconds(300000));
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  std::map<std::pair<std::string, double>, double> accuracy;  // by reduction and rate
  const auto comparison = home.json({"compare", "1"});
  for (const auto& row : comparison["rows"]) {
    const auto& group = row["group"];
    const std::string scaling = group["schedule.scaling"], mode = group["sync.mode"];
    accuracy[{mode == "adasum"      ? "adasum"
              : scaling == "linear" ? "sum"
                                    : "average",
              group["optimizer.lr"].get<double>()}] = row["best"]["median"].get<double>();
  }
  ASSERT_EQ(accuracy.size(), 6u) << comparison.dump();
  const auto at = [&](const char* reduction, double rate) {
    return accuracy.at({reduction, rate});
  };
  EXPECT_LT(at("sum", 0.05), at("average", 0.02)) << "diverges";
  EXPECT_LT(at("average", 0.02), at("average", 0.05));
  EXPECT_LT(at("average", 0.02), at("sum", 0.02));
  EXPECT_LT(at("average", 0.05), at("adasum", 0.02));
  EXPECT_LT(at("sum", 0.02), at("adasum", 0.02));
  EXPECT_LT(at("adasum", 0.02), at("adasum", 0.05));
}

/// Smith et al. 2017: a batch that grows does what a rate that falls by as much does, in fewer
/// updates.
TEST(Examples, AGrowingBatchTakesThePlaceOfAFallingRate) {
  SweepHome home;
  fs::copy(kExamples, home.folder(), fs::copy_options::recursive);
  const Outcome outcome = home.thalweg({"run", "growing-batch.yaml"}, milliseconds(240000));
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  std::map<std::pair<std::string, std::string>, double> accuracy;  // by decay and growth
  const auto comparison = home.json({"compare", "1"});
  for (const auto& row : comparison["rows"])
    accuracy[{row["group"]["schedule.decay"].get<std::string>(),
              row["group"]["batch_growth.by"].get<std::string>()}] =
        row["best"]["median"].get<double>();
  ASSERT_EQ(accuracy.size(), 4u) << comparison.dump();
  const double neither = accuracy[{"constant", "none"}], falls = accuracy[{"multistep", "none"}],
               grows = accuracy[{"constant", "epochs"}];
  EXPECT_GT(grows - neither, 0.005);
  EXPECT_LT(std::abs(grows - falls), 0.005);
  EXPECT_GT((accuracy[{"constant", "noise_scale"}] - neither), 0.005);
  // Trials 1 to 6 make 859 updates an epoch of 55,000 samples; 7 to 9 two epochs of these, two of
  // 214 and two of 53; 10 to 12 what the noise says.
  const auto steps = home.query(
      "SELECT trial, max(step) FROM metrics WHERE metric = 'val/accuracy' GROUP BY trial ORDER BY "
      "1");
  ASSERT_EQ(steps["rows"].size(), 12u) << steps.dump();
  EXPECT_EQ(steps["rows"][0][1].get<int>(), 6 * 859);
  EXPECT_EQ(steps["rows"][8][1].get<int>(), 2 * 859 + 2 * 214 + 2 * 53);
  for (std::size_t trial = 9; trial < 12; ++trial)
    EXPECT_LT(steps["rows"][trial][1].get<int>(), 3 * 859);
}

/// What some examples need beside Thalweg: launchers of others, and an environment that their first
/// lines say how to make.
bool lacks_what_it_starts_with(const std::string& message) {
  for (const char* missing :
       {"there is no mpirun in PATH", "there is no torchrun in PATH", "/env/bin/activate"})
    if (message.find(missing) != std::string::npos) return true;
  return false;
}

TEST(Examples, HaveNoMistakesAndNoAdvice) {
  TempDir home;
  RunOptions options;
  options.env = {{"THALWEG_HOME", home.path().string()}, {"THALWEG_GPU", "emulated"}};
  std::vector<std::string> words{"thalweg", "validate", "--json"};
  for (const auto& entry : fs::directory_iterator(kExamples))
    if (entry.path().extension() == ".yaml") words.push_back(entry.path().string());
  EXPECT_GE(words.size(), 3u + 10u);
  const auto answers = nlohmann::json::parse(run(words, options).out);
  for (const auto& answer : answers["files"]) {
    const auto& mistakes = answer["diagnostics"];
    if (mistakes.size() == 1 && lacks_what_it_starts_with(mistakes[0]["message"])) continue;
    ASSERT_TRUE(answer["ok"].get<bool>()) << answer.dump(2);
    // Such as which rate `lr: auto` is; one with a line is advice to write the file otherwise, but
    // for what a program of the user's is started with and when hyperband ends trials.
    for (const std::string note : answer["notes"]) {
      if (note.find(": trial 1 starts ") != note.npos) continue;
      if (note.find(": early_terminate: after ") != note.npos) continue;
      EXPECT_EQ(note.find(".yaml:"), note.npos) << note;
    }
    EXPECT_GE(answer["trials"].get<int>(), 2) << answer.dump(2);
  }
}

/// Rules of which `advise` warns, each once.
std::set<std::string> warnings_of(const nlohmann::json& answer) {
  std::set<std::string> rules;
  for (const auto& advice : answer["advice"])
    if (advice["verdict"] == "warning") rules.insert(advice["rule"].get<std::string>());
  return rules;
}

TEST(Examples, GetNoWarningButWhereTheyShowWhatIsWarnedOf) {
  TempDir home;
  RunOptions options;
  options.env = {{"THALWEG_HOME", home.path().string()}, {"THALWEG_GPU", "emulated"}};
  // Two are there to show what lag (on one rank, so that nothing else counts) and asynchronous
  // workers do to momentum, two what scaled rates do without a warm-up; 50,000 images are few for a
  // ResNet.
  const std::map<std::string, std::set<std::string>> expected = {
      {"adasum", {"warmup"}},
      {"asynchronous", {"asynchrony"}},
      {"gradient-lag", {"lag", "sync_mode"}},
      {"gpu", {"dataset_size"}},
      {"warm-up", {"rate_scaling", "warmup"}}};
  for (const auto& entry : fs::directory_iterator(kExamples)) {
    if (entry.path().extension() != ".yaml") continue;
    const Outcome outcome = run({"thalweg", "advise", "--json", entry.path().string()}, options);
    if (outcome.code == 2 && lacks_what_it_starts_with(outcome.err)) continue;
    ASSERT_EQ(outcome.code, 0) << entry.path() << outcome.err;
    const auto answer = nlohmann::json::parse(outcome.out);
    const auto known = expected.find(entry.path().stem());
    EXPECT_EQ(warnings_of(answer),
              known == expected.end() ? std::set<std::string>{} : known->second)
        << entry.path();
    std::set<std::string> rules;
    for (const auto& advice : answer["advice"]) {
      rules.insert(advice["rule"].get<std::string>());
      EXPECT_FALSE(advice["source"].get<std::string>().empty()) << advice.dump();
      EXPECT_FALSE(advice["basis"].get<std::string>().empty()) << advice.dump();
    }
    EXPECT_TRUE(rules.contains("seeds")) << entry.path();
  }
}

/// Of programs of their own, of which little is known: little is advised.
TEST(Examples, SweepFilesOfOtherPeopleGetNoWarning) {
  TempDir home;
  RunOptions options;
  options.env = {{"THALWEG_HOME", home.path().string()}};
  int files = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(THALWEG_SOURCE_DIR) / "tests/end_to_end/data/wandb")) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    const Outcome outcome = run({"thalweg", "advise", "--json", entry.path().string()}, options);
    ASSERT_EQ(outcome.code, 0) << entry.path() << outcome.err;
    const auto answer = nlohmann::json::parse(outcome.out);
    EXPECT_TRUE(warnings_of(answer).empty()) << entry.path() << answer.dump(2);
    std::set<std::string> advised;
    for (const auto& advice : answer["advice"])
      if (advice["verdict"] == "advice") advised.insert(advice["rule"].get<std::string>());
    EXPECT_EQ(advised, std::set<std::string>{"seeds"}) << entry.path() << ": all are single runs";
  }
  EXPECT_GE(files, 10);
}

TEST(Examples, AdviceKnowsWhatEarlierRunsMeasured) {
  SweepHome home;
  const std::string file = (home.folder() / "knee.yaml").string();
  write_file(file, R"(
name: knee
method: grid
parameters: {batch.per_rank: {values: [1, 64]}}
train:
  model: {name: mlp, hidden: [32]}
  data: {name: synthetic, samples: 2560}
  optimizer: {name: momentum, lr: 0.01}
  epochs: 1
)");
  const auto rule = [&](const std::string& name) {
    std::set<std::string> verdicts;
    const auto answer = home.json({"advise", file});
    for (const auto& advice : answer["advice"])
      if (advice["rule"] == name) verdicts.insert(advice["verdict"].get<std::string>());
    return verdicts;
  };
  EXPECT_EQ(home.json({"advise", file})["earlier_runs"], 0);
  EXPECT_EQ(rule("local_batch"), std::set<std::string>{"unknown"});
  ASSERT_EQ(home.thalweg({"run", file}, milliseconds(60000)).code, 0);
  EXPECT_EQ(home.json({"advise", file})["earlier_runs"], 2);
  // One sample at a time keeps no rank busy; 64 do as well as anything that was measured.
  EXPECT_EQ(rule("local_batch"), (std::set<std::string>{"advice", "fits"}));
  EXPECT_EQ(rule("critical_batch").contains("unknown"), false);
}

/// Balanced tags and nothing from elsewhere, by Python's own parser of HTML.
constexpr const char* check_page = R"(
import html.parser, sys
class Page(html.parser.HTMLParser):
    open_tags, headings, heading = [], [], False
    def handle_starttag(self, tag, attributes):
        assert tag not in ("link", "img", "iframe"), tag
        assert tag != "script" or {name for name, value in attributes} <= {"nonce", "type", "id"}, attributes
        for name, value in attributes:
            assert name not in ("src", "onclick", "onload"), name
            assert name != "href" or value.startswith("#"), value
        if tag not in ("meta", "br"):
            self.open_tags.append(tag)
        self.heading = tag == "h2"
    def handle_startendtag(self, tag, attributes):
        pass
    def handle_endtag(self, tag):
        assert self.open_tags and self.open_tags[-1] == tag, (tag, self.open_tags)
        self.open_tags.pop()
    def handle_data(self, data):
        if self.heading:
            self.headings.append(data)
            self.heading = False
text = open(sys.argv[1], encoding="utf-8").read()
page = Page()
page.feed(text)
page.close()
assert not page.open_tags, page.open_tags
print("; ".join(page.headings))
)";

TEST(Examples, MakeAReport) {
  SweepHome home;
  const std::string id = home.submit(R"(
name: a <b>report</b> & more
method: grid
metric: {name: val/error, goal: minimize, target: 0.5}
seeds: 2
parameters:
  batch.global: {values: [16, 32, 64]}
  resources.ranks_per_node: {values: [1, 2]}
train:
  model: {name: mlp, hidden: [8]}
  data: {name: synthetic, samples: 1280}
  optimizer: {name: momentum, lr: 0.05}
  eval: {every_steps: 4}
  epochs: 2
)",
                                     "local");
  ASSERT_TRUE(home.wait_for_end(id));
  const std::string file = (home.folder() / "page.html").string();
  const Outcome outcome = home.thalweg({"report", id, "-o", file});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string page = read_file(file);
  EXPECT_NE(page.find("Sweep 1 a &lt;b&gt;report&lt;/b&gt; &amp; more"), std::string::npos);
  EXPECT_EQ(page.find("<b>report"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), page.npos) << "nothing is loaded";
  const Outcome checked = run({"python3", "-c", check_page, file});
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_EQ(checked.out,
            "Summary; Comparison; Curves; Parallel coordinates; Performance profiles; Time against "
            "cost; Scaling; Batch size; Timeline; Configurations; Provenance; How each number was "
            "computed\n")
      << "6 configurations tell too little of what matters";
  EXPECT_EQ(home.thalweg({"report", "1.2"}).code, 2);
}

/// A Python that has pandas: of the system, where PATH has another one first; empty: none.
std::string python_with_pandas() {
  for (const char* python : {"/usr/bin/python3", "python3"})
    if (run({python, "-c", "import pandas"}).code == 0) return python;
  return "";
}

TEST(Examples, AreFramesOfPandas) {
  const std::string python = python_with_pandas();
  if (python.empty()) GTEST_SKIP() << "no python3 here has pandas (python3-pandas)";
  SweepHome home;
  const std::string id = home.submit(R"(
name: framed
method: grid
seeds: 2
parameters: {optimizer.lr: {values: [0.01, 0.1]}, batch.global: {values: [32, 64]}}
train:
  model: {name: mlp, hidden: [8]}
  data: {name: synthetic, samples: 640}
  optimizer: {name: sgd}
  epochs: 2
)",
                                     "local");
  ASSERT_TRUE(home.wait_for_end(id));
  RunOptions options;
  options.env = {{"THALWEG_HOME", home.home().string()},
                 {"PYTHONPATH", THALWEG_SOURCE_DIR "/packaging/python"}};
  const Outcome outcome = run({python, "-c", R"(
import thalweg
f = thalweg.frame(1)
print(len(f), f.index[0], f["optimizer.lr"].nunique(), f.groupby("batch.global").size().tolist())
print(f["val/loss"].notna().all(), set(f["state"]))
g = thalweg.frame("framed", metric="val/loss")
print(sorted(g.columns), g.groupby("id").size().tolist())
for wrong in (lambda: thalweg.frame(7), lambda: thalweg.frame(1, home="/nowhere")):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__, error)
)"},
                              options);
  EXPECT_EQ(outcome.out,
            "8 1.1 2 [4, 4]\n"
            "True {'finished'}\n"
            "['batch.global', 'id', 'optimizer.lr', 'step', 'time', 'val/loss'] "
            "[2, 2, 2, 2, 2, 2, 2, 2]\n"
            "KeyError 'there is no sweep 7'\n"
            "FileNotFoundError there is no record /nowhere/thalweg.db: set THALWEG_HOME, or give "
            "home=\n")
      << outcome.err;
}

}  // namespace
}  // namespace thalweg::test
