// Which texts of a sweep file are taken as paths, and what they count from.
#include "jobspec/paths.h"

#include <gmock/gmock.h>

#include "jobspec/option.h"
#include "tests/jobspec/support.h"

namespace thalweg::jobspec {
namespace {

using ::testing::ElementsAre;

Schema path_schema() {
  Option parts = list_option("parts", {}, "");
  parts.path = true;
  Option targets = or_list(path_option("targets", {}, ""));
  targets.words = {"inputs"};
  Section data;
  data.path = "data";
  data.options = {path_option("stage", {}, "")};
  data.variants = {
      {"arrays",
       "",
       {path_option("inputs", {}, ""), path_option("labels", {}, ""), parts, targets}},
      {"cifar-100",
       "",
       {choice_option("labels", {"fine", "coarse"}, ""), path_option("dir", "auto", "")}}};
  Section root;
  root.options = {string_option("note", {}, "")};
  return Schema::from_json(Schema{"test", {root, data}}.to_json());
}

std::vector<Value> trains(const std::string& text, const std::string& directory = "/exp/a b") {
  Sweep sweep = parse_sweep(text, "sweep.yaml", path_schema());
  sweep.directory = directory;
  std::vector<Value> found;
  for (const ExpandedTrial& trial : expand(sweep, path_schema()).trials)
    found.push_back(trial.train);
  return found;
}

std::string inputs(const std::string& path) {
  return trains("train: {data: {name: arrays, inputs: \"" + path + "\"}}")
      .at(0)
      .find("data.inputs")
      ->as_string();
}

TEST(Paths, RelativeOnesCountFromTheSweepFile) {
  EXPECT_EQ(inputs("x.npz:X"), "/exp/a b/x.npz:X");
  EXPECT_EQ(inputs("./sub/../x.h5:g/X"), "/exp/a b/sub/../x.h5:g/X");
  EXPECT_EQ(inputs("~x"), "/exp/a b/~x");
  EXPECT_EQ(inputs("sub/$NAME.npy"), "/exp/a b/sub/$NAME.npy");
  EXPECT_EQ(inputs("$$x"), "/exp/a b/$$x");
  for (const char* kept : {"/data/./x.npy", "~/x.npy", "~", "$DATA/x.npy", "${DATA}x.npy", ""})
    EXPECT_EQ(inputs(kept), kept);
}

TEST(Paths, OfEveryTrialByItsOwnVariant) {
  const auto found = trains(R"(
method: grid
parameters:
  data.name: {values: [arrays, cifar-100]}
  data.labels: {values: [fine, coarse]}
  data.stage: {value: near}
train: {note: rel/ative, data: {}}
)");
  std::vector<std::string> labels;
  for (const Value& train : found) {
    labels.push_back(train.find("data.labels")->as_string());
    EXPECT_EQ(train.find("data.stage")->as_string(), "/exp/a b/near");
    EXPECT_EQ(train.find("note")->as_string(), "rel/ative");
  }
  EXPECT_THAT(labels, ElementsAre("/exp/a b/fine", "/exp/a b/coarse", "fine", "coarse"));
}

TEST(Paths, InListsAndDefaults) {
  const Value lists = trains("train: {data: {name: arrays, parts: [a, /b, c.npz:x]}}").at(0);
  EXPECT_EQ(lists.find("data.parts")->to_json(), R"(["/exp/a b/a","/b","/exp/a b/c.npz:x"])");
  EXPECT_EQ(*trains("train: {data: {name: cifar-100, dir: auto}}").at(0).find("data.dir"),
            Value("auto"));
  EXPECT_EQ(*trains("train: {data: {name: cifar-100, dir: x}}", "").at(0).find("data.dir"),
            Value("x"))
      << "without a folder paths stay as they are";
}

TEST(Paths, WordsNameNone) {
  const auto targets = [](const char* given) {
    return *trains(std::string("train: {data: {name: arrays, targets: ") + given + "}}")
                .at(0)
                .find("data.targets");
  };
  EXPECT_EQ(targets("inputs"), Value("inputs"));
  EXPECT_EQ(targets("./inputs"), Value("/exp/a b/inputs"));
  EXPECT_EQ(targets("[a.npy, /b.npy]"), Value(List{"/exp/a b/a.npy", "/b.npy"}));
}

TEST(Paths, TheFolderOfASweepFileIsAbsolute) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(directory_of("-"), here);
  EXPECT_EQ(directory_of("s.yaml"), here);
  EXPECT_EQ(directory_of("./sub/s.yaml"), here + "/sub");
  EXPECT_EQ(directory_of("/exp/s.yaml"), "/exp");
}

}  // namespace
}  // namespace thalweg::jobspec
