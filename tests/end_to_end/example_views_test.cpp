// What Thalweg says about sweep files and what it makes of their records: mistakes and advice, the
// report's page, frames of pandas.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/end_to_end/examples.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;

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
  noise: {beta: 0.9}
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
  EXPECT_EQ(
      checked.out,
      "Comparison; Summary; Curves; Parallel coordinates; Performance profiles; Time against "
      "cost; Scaling; Batch size; Each parameter against the metric; Best value so far; Best of k "
      "configurations; Timeline; Configurations; "
      "Provenance; How each number was computed\n")
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
