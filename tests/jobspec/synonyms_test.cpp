// What the table of words says, and the notes about files that are right and hardly meant.
#include "jobspec/synonyms.h"

#include <gmock/gmock.h>

#include <set>

#include "jobspec/check.h"
#include "jobspec/json_schema.h"
#include "jobspec/reader.h"
#include "jobspec/slurm_block.h"
#include "jobspec/synonym_table.h"
#include "tests/jobspec/support.h"
#include "tests/jobspec/unknown_keys.h"

namespace thalweg::jobspec {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Synonyms, SquashedWordsIgnoreCaseAndDashes) {
  EXPECT_EQ(squashed("Weight-Decay"), "weightdecay");
  EXPECT_EQ(squashed("weight_decay"), squashed("weightDecay"));
}

TEST(Synonyms, EveryWordIsFoundAndNoRowHidesAnother) {
  for (const KeySynonym& row : key_synonyms()) {
    std::istringstream words{std::string(row.words)};
    for (std::string word; words >> word;) {
      EXPECT_EQ(squashed(word), word) << "write words squashed";
      std::string place(row.place == "*" ? "" : row.place);
      if (place.size() > 1 && place.substr(place.size() - 2) == ".*") place.back() = 'x';
      const std::vector<Meaning> found = meanings_of_key(place, word);
      EXPECT_FALSE(found.empty()) << place << ": " << word;
    }
  }
}

TEST(Synonyms, SaysHowToWriteIt) {
  const Value number = 128;
  EXPECT_EQ(how_to_write("train.optimizer.lr", "train.optimizer", number), "did you mean 'lr'?");
  EXPECT_EQ(how_to_write("train.batch.global", "train", number), "write batch: {global: 128}");
  EXPECT_EQ(how_to_write("train.batch.global", "train.model", number),
            "write batch: {global: 128} under train");
  EXPECT_EQ(how_to_write("train.batch.global", "parameters", number),
            "did you mean 'batch.global'?");
  EXPECT_EQ(how_to_write("resources.memory", "slurm", "64G"),
            "write resources: {memory: 64G} at the top level");
  EXPECT_EQ(how_to_write("seeds", "train", 3), "write seeds: 3 at the top level");
}

/// Other spellings of an option, and what it is called elsewhere.
std::vector<std::string> wrong_names(const std::string& section, const std::string& option) {
  std::vector<std::string> names{option + "s", option.substr(0, option.size() - 1), "my_" + option};
  for (const KeySynonym& row : key_synonyms()) {
    std::istringstream words{std::string(row.words)};
    for (std::string word; row.means == "train." + section + "." + option && words >> word;)
      names.push_back(word);
  }
  return names;
}

TEST(Synonyms, NoKeyIsNamedThatIsUnknownAtThatPlace) {
  const Schema& schema = test_schema();
  int named = 0, asked = 0;
  for (const Section& section : schema.sections)
    for (const Variant& picked : section.variants)
      for (const Variant& other : section.variants)
        for (const Option& option : other.options)
          for (const std::string& wrong : wrong_names(section.path, option.name)) {
            const Value train = read_yaml(section.path + ": {" + section.selector + ": " +
                                              picked.name + ", " + wrong + ": 1}",
                                          "train");
            for (const ValidationError& error : check_train(train, schema, {})) {
              if (error.path != section.path + "." + wrong) continue;
              ++asked;
              if (error.meant.empty() || !Target(schema, error.meant).known()) continue;
              if (error.hint.find(section.path + ": {") != error.hint.npos) continue;  // picks it
              ++named;
              EXPECT_TRUE(option_applies(schema, train, error.meant))
                  << section.path << ' ' << picked.name << ' ' << wrong << ": " << error.hint;
            }
          }
  EXPECT_GT(asked, 100);
  EXPECT_GT(named, 10);
}

TEST(Synonyms, OfRandomKeysNoneIsNamedThatIsUnknownAtThatPlace) {
  const NamedKeys counts = expect_named_keys_are_known(test_schema(), 4000);
  EXPECT_GT(counts.asked, counts.named);
  EXPECT_GT(counts.named, test::fuzz_range(4000).count / 20);
}

TEST(Synonyms, NoVariantIsNamedThatTheSchemaLacks) {
  const std::regex named(R"(^write (\w+): \{(\w+): ([\w-]+)\}$)");
  const auto picks = [](const std::string& path, const std::string& selector,
                        const std::string& name) {
    for (const Section& section : test_schema().sections)
      for (const Variant& variant : section.variants)
        if (section.path == path && section.selector == selector && variant.name == name)
          return true;
    return false;
  };
  int asked = 0;
  for (const ValueSynonym& row : value_synonyms())
    for (const Section& section : test_schema().sections) {
      if (section.variants.empty() || section.path.empty()) continue;
      if (row.path != "train." + section.path + "." + section.selector) continue;
      std::istringstream words{std::string(row.words)};
      for (std::string word; words >> word;) {
        const std::string hint = section_hint(test_schema(), section.path, Value(word));
        std::smatch found;
        if (!std::regex_match(hint, found, named) || hint == row.remedy) continue;
        ++asked;
        EXPECT_TRUE(picks(found[1], found[2], found[3])) << word << ": " << hint;
      }
    }
  EXPECT_GT(asked, 2);
}

TEST(Synonyms, ADottedNameIsAKeyOfItsSection) {
  ASSERT_FALSE(meanings_of_key("parameters", "optimizer.learning_rate").empty());
  EXPECT_EQ(meanings_of_key("parameters", "optimizer.learning_rate")[0].means,
            "train.optimizer.lr");
  EXPECT_EQ(meanings_of_key("parameters", "resources.gpus")[0].means, "resources.gpus_per_node");
}

TEST(Synonyms, OneWordHasTheMeaningThatFits) {
  const std::vector<std::string> of_gpt{"layers", "heads", "width"};
  EXPECT_EQ(unknown_key("train.model", "hidden_size", 64, of_gpt).hint, "did you mean 'width'?");
  const std::vector<std::string> of_mlp{"hidden", "dropout"};
  EXPECT_EQ(unknown_key("train.model", "hidden_size", 64, of_mlp).hint, "did you mean 'hidden'?");
}

TEST(Synonyms, LongListsOfNamesAreCutAndStandBehindTheHint) {
  std::vector<std::string> names;
  for (int i = 0; i < 50; ++i)
    names.push_back("name" + std::to_string(i));
  names.push_back("weight_decay");
  UnknownKey said = unknown_key("train.optimizer", "weight-decay", 0.1, names);
  tell_known(said.message, said.hint, names);
  EXPECT_EQ(said.message, "unknown key");
  EXPECT_THAT(said.hint, AllOf(HasSubstr("did you mean 'weight_decay'? known here: name0, name1"),
                               HasSubstr("or one of 43 more")));
}

std::vector<std::string> notes_of(const std::string& parameters, const std::string& more = "") {
  return parse("method: random\nrun_cap: 4\nparameters:\n" + parameters + "\n" + more +
               "train:\n  model: {name: mlp}\n  data: {name: synthetic}\n  batch: {global: 8}\n"
               "  optimizer: {name: sgd}\n")
      .notes;
}

TEST(Notes, ExponentsThatLookLikePlainEnds) {
  EXPECT_THAT(
      notes_of("  optimizer.lr: {distribution: log_uniform, min: 1e-4, max: 1e-1}"),
      ElementsAre(AllOf(
          HasSubstr("sweep.yaml:4: parameters.optimizer.lr: "),
          HasSubstr("values from 1.0001 to 1.1052 are drawn"),
          HasSubstr("for values from 0.0001 to 0.1 write distribution: log_uniform_values"))));
  EXPECT_THAT(notes_of("  optimizer.lr: {distribution: inv_log_uniform, min: 0.1, max: 0.5}"),
              ElementsAre(HasSubstr("inv_log_uniform_values")));
  EXPECT_THAT(notes_of("  optimizer.lr: {distribution: log_uniform, min: -9.2, max: -2.3}"),
              IsEmpty());
  EXPECT_THAT(notes_of("  optimizer.lr: {distribution: log_uniform_values, min: 1e-4, max: 1e-1}"),
              IsEmpty());
}

TEST(Notes, ValuesThatStandTwice) {
  EXPECT_THAT(notes_of("  batch.global: {values: [8, 16, 16, 8, 4]}"),
              Contains(AllOf(HasSubstr("sweep.yaml:4: parameters.batch.global: "),
                             HasSubstr("of 5 values 3 are different, each counts once; more than "
                                       "once: 16, 8"))));
  EXPECT_THAT(notes_of("  batch.global: {values: [8, 8]}\n  optimizer.lr: {values: [0.1, 0.2]}",
                       "zip: [batch.global, optimizer.lr]\n"),
              Not(Contains(HasSubstr("more than once"))))
      << "with zip each stands for another pair";
}

TEST(Notes, ARateOfZero) {
  EXPECT_THAT(
      notes_of("  optimizer.lr: {values: [0, 0.1, 0.2, 0.3, 0.4]}"),
      ElementsAre(HasSubstr("sweep.yaml:4: parameters.optimizer.lr: a learning rate of 0")));
}

TEST(DecimalCommas, AreToldByTheirBlanks) {
  const auto message = [](const std::string& values) {
    const auto found = diagnostics("method: grid\nparameters:\n  optimizer.lr: {values: " + values +
                                   "}\ntrain:\n  model: {name: mlp}\n  data: {name: synthetic}\n"
                                   "  batch: {global: 8}\n  optimizer: {name: sgd}\n");
    return found.empty() ? "" : found.front().to_string();
  };
  EXPECT_THAT(message("[0,001, 0,01]"), AllOf(HasSubstr("sweep.yaml:3: parameters.optimizer.lr: "),
                                              HasSubstr("write numbers with a point")));
  EXPECT_THAT(message("[1,5, 2,5, 3,5]"), HasSubstr("write numbers with a point"));
  EXPECT_EQ(message("[1, 2, 3, 4]"), "");
  EXPECT_EQ(message("[1,2,3,4]"), "");
  EXPECT_EQ(message("[1,2]"), "");
}

/// Every key that sweep-file.md names in the tables of these headings.
TEST(JsonSchema, HasEveryKeyOfTheReference) {
  const std::string page = read_file(source_dir() / "jobspec/sweep-file.md");
  const std::vector<std::pair<std::string, std::string>> headings{
      {"## Top level", ""}, {"## resources", "resources"}, {"## limits", "limits"}};
  const Value schema = read_yaml(json_schema(test_schema()), "schema");
  for (const auto& [heading, section] : headings) {
    const std::size_t at = page.find(heading + "\n");
    ASSERT_NE(at, page.npos) << heading;
    std::istringstream lines(page.substr(at + heading.size(), page.find("\n## ", at) - at));
    int rows = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.compare(0, 3, "| `") != 0) continue;
      // The first cell: one name or several.
      std::string cell = line.substr(2, line.find('|', 2) - 2);
      for (std::size_t tick = cell.find('`'); tick != cell.npos;) {
        const std::size_t end = cell.find('`', tick + 1);
        const std::string key = cell.substr(tick + 1, end - tick - 1);
        const Value* properties =
            schema.find(section.empty() ? "properties" : "properties." + section + ".properties");
        ASSERT_TRUE(properties);
        EXPECT_TRUE(properties->find(key))
            << "sweep.schema.json lacks " << section << " " << key
            << ": add a row to file_keys() in jobspec/json_schema.cpp";
        ++rows;
        tick = cell.find('`', end + 1);
      }
    }
    EXPECT_GT(rows, 4) << heading;
  }
}

TEST(JsonSchema, HasEveryKeyOfTheSlurmBlock) {
  const Value schema = read_yaml(json_schema(test_schema()), "schema");
  const Value* slurm = schema.find("properties.slurm.properties");
  ASSERT_TRUE(slurm);
  for (const std::string& key : slurm_keys())
    EXPECT_TRUE(slurm->find(key)) << key;
}

TEST(JsonSchema, OffersNoKeyThatTheFileDoesNotTake) {
  for (const FileKey& key : file_keys()) {
    const std::string text = (key.section.empty() ? "" : key.section + ": {") + key.name + ": 1" +
                             (key.section.empty() ? "\n" : "}\n") +
                             "train: {model: {name: mlp}, data: {name: synthetic}, batch: {global: "
                             "8}, optimizer: {name: sgd}}\n";
    for (const Diagnostic& diagnostic : diagnostics(text))
      EXPECT_THAT(diagnostic.message, Not(HasSubstr("unknown key"))) << text;
  }
}

}  // namespace
}  // namespace thalweg::jobspec
