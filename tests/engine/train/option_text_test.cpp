// `thalweg-train --options`, the manual page made of the same tables, and that the words of
// jobspec's table mean options that there are.
#include "engine/train/option_text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

#include "engine/train/options.h"
#include "jobspec/check.h"
#include "jobspec/distribution.h"
#include "jobspec/json_schema.h"
#include "jobspec/search/spaces.h"
#include "jobspec/slurm_block.h"
#include "jobspec/slurm_options.h"
#include "jobspec/synonym_table.h"
#include "jobspec/synonyms.h"
#include "tests/jobspec/unknown_keys.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string options(const std::string& prefix) {
  return describe_options(train_schema(), prefix);
}

TEST(Options, OfRandomKeysNoneIsNamedThatIsUnknownAtThatPlace) {
  const jobspec::NamedKeys counts = jobspec::expect_named_keys_are_known(train_schema(), 2000);
  EXPECT_GT(counts.named, test::fuzz_range(2000).count / 20);
}

TEST(Options, OverviewNamesEverySectionAndAlternative) {
  const std::string text = options("");
  for (const jobspec::Section& section : train_schema().sections) {
    EXPECT_THAT(text, HasSubstr((section.path.empty() ? "train" : section.path) + ": "));
    for (const jobspec::Option& option : section.options)
      EXPECT_THAT(text, HasSubstr("\n  " + option.name + ": "));
    for (const jobspec::Variant& variant : section.variants)
      EXPECT_THAT(text, HasSubstr("\n    " + variant.name + ": "));
  }
}

TEST(Options, OnePart) {
  EXPECT_THAT(options("data"), AllOf(HasSubstr("data: {name: arrays}: "), HasSubstr("\n  inputs: "),
                                     HasSubstr("\n  shuffle: ")));
  EXPECT_THAT(
      options("data.arrays"),
      AllOf(HasSubstr("inputs: "), HasSubstr("; required)"), HasSubstr("and, as with every name:"),
            HasSubstr("validation: "), Not(HasSubstr("vocabulary"))));
  EXPECT_THAT(options("optimizer.adamw"), HasSubstr("beta2: decay of the mean squared gradient (a "
                                                    "number from 0 to 0.99999999; default 0.999)"));
  EXPECT_EQ(options("train.batch.global"), options("batch.global"));
  EXPECT_THAT(options("batch.global"),
              HasSubstr("a whole number from 1 to 2147483647; default 128"));
  EXPECT_THAT(options("schedule.decay"), HasSubstr("cosine"));
}

TEST(Options, AnUnknownPartIsToldWithTheNearest) {
  try {
    options("optimizer.adamww");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean optimizer.adamw?"));
  }
}

TEST(Options, TheManualHasThemAllAndFormatsWithoutWarnings) {
  const std::string page = options_manual(train_schema());
  for (const jobspec::Section& section : train_schema().sections)
    for (const jobspec::Option& option : section.options) {
      std::string name = option.name;
      for (std::size_t at = 0; (at = name.find('-', at)) != name.npos; at += 2)
        name.insert(at, "\\");
      EXPECT_THAT(page, HasSubstr("\n.B " + name + "\n"));
    }
  EXPECT_THAT(page, HasSubstr("\n.SS conv2d\n"));
  if (test::run({"/bin/sh", "-c", "command -v groff"}).code != 0)
    GTEST_SKIP() << "groff is not installed";
  const test::TempDir folder;
  test::write_file(folder.path() / "page.5", page);
  const test::Outcome outcome =
      test::run({"groff", "-man", "-ww", "-z", "-Tutf8", (folder.path() / "page.5").string()});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST(Words, MeanKeysThatThereAre) {
  const jobspec::Schema schema = train_schema();
  const auto is_key = [&](const std::string& path) {
    constexpr std::string_view train = "train.";
    if (path == "train" || path == "parameters") return true;
    constexpr std::string_view slurm = "slurm.";
    if (path.compare(0, slurm.size(), slurm) == 0 &&
        jobspec::find_slurm_option(path.substr(slurm.size())))
      return true;
    constexpr std::string_view pack = "slurm.pack.";
    if (path.compare(0, pack.size(), pack) == 0) {
      jobspec::SlurmOptions shared;
      shared.pack = {2, 2, 60};
      return jobspec::write_slurm(shared).find("pack")->find(path.substr(pack.size())) != nullptr;
    }
    if (path.compare(0, train.size(), train) != 0) {
      return std::any_of(
          jobspec::file_keys().begin(), jobspec::file_keys().end(), [&](const auto& key) {
            return path == (key.section.empty() ? "" : key.section + ".") + key.name ||
                   path == key.section;
          });
    }
    const std::string rest = path.substr(train.size());
    const bool section = std::any_of(schema.sections.begin(), schema.sections.end(),
                                     [&](const auto& s) { return s.path == rest; });
    return section || jobspec::Target(schema, rest).known();
  };
  for (const std::string& path : jobspec::meant_keys()) {
    if (path.find('*') != path.npos) continue;  // keys of a distribution
    EXPECT_TRUE(is_key(path)) << path;
  }
}

TEST(Words, MeanValuesThatThereAre) {
  const jobspec::Schema schema = train_schema();
  constexpr std::string_view train = "train.";
  int found = 0;
  for (const jobspec::ValueSynonym& row : jobspec::value_synonyms()) {
    if (row.path.substr(0, train.size()) != train || row.means.empty()) continue;
    std::string hint;
    const jobspec::Target target(schema, row.path.substr(train.size()));
    ASSERT_TRUE(target.known()) << row.path;
    EXPECT_EQ(target.mismatch(std::string(row.means), &hint), "") << row.path << ": " << row.means;
    ++found;
  }
  EXPECT_GT(found, 40);
}

/// With single spaces for what breaks lines.
std::string words_of(const std::filesystem::path& file) {
  std::istringstream in(test::read_file(file));
  std::string text;
  for (std::string word; in >> word;)
    text += word + " ";
  return text;
}

// What is said of the cuda device follows from one constant, and that from what was measured.
TEST(CudaDevice, IsExperimentalUntilATableOfAGpuStandsInTheResults) {
  const std::filesystem::path root = THALWEG_SOURCE_DIR;
  const std::regex table(R"(\d{4}-\d\d-\d\d-.+\.txt)");
  bool stands = false;
  for (const auto& entry : std::filesystem::directory_iterator(root / "tests/bench/results"))
    stands = stands || std::regex_match(entry.path().filename().string(), table);
  EXPECT_EQ(cuda_seen_on_gpu, stands)
      << "cuda_seen_on_gpu (engine/nn/device_table.h) says whether tests/bench/results holds a "
         "table of a real GPU";
}

TEST(CudaDevice, ItsCaveatIsSaidEverywhere) {
  const auto says = [](const std::string& text) { return text.find(cuda_caveat) != text.npos; };
  const std::filesystem::path root = THALWEG_SOURCE_DIR;
  for (const char* file : {"README.md", "jobspec/sweep-file.md", "packaging/man/thalweg-train.1",
                           "packaging/man/thalweg-sweep.5"})
    EXPECT_NE(says(words_of(root / file)), cuda_seen_on_gpu) << file;
  EXPECT_NE(says(options("device")), cuda_seen_on_gpu);
  EXPECT_NE(says(options_manual(train_schema())), cuda_seen_on_gpu);
  EXPECT_NE(says(train_schema().to_json()), cuda_seen_on_gpu);
  EXPECT_NE(says(jobspec::json_schema(train_schema())), cuda_seen_on_gpu);
  for (const DeviceKind& device : device_table()) {
    const bool caveat = device.name == "cuda" && !cuda_seen_on_gpu;
    EXPECT_EQ(says(device.doc), caveat) << device.name;
  }
}

/// All parameters of an optimizer at once, at both ends: what `study.spaces` draws always runs.
TEST(PublishedSpaces, HoldValuesThatTheEngineTakes) {
  for (const std::string& set : jobspec::space_names())
    for (const std::string& optimizer : jobspec::optimizers_of(set))
      for (const double u : {1e-9, 0.5, 1 - 1e-9}) {
        jobspec::Value train = jobspec::Map{};
        train.set("model.name", "mlp");
        train.set("data.name", "synthetic");
        train.set("batch.global", 100);
        train.set("epochs", 1);
        train.set("optimizer.name", optimizer);
        for (const jobspec::PublishedSpace& row : jobspec::published_spaces()) {
          if (row.set != set || row.value != optimizer) continue;
          EXPECT_FALSE(row.source.empty());
          jobspec::Diagnostics diagnostics("space");
          const auto values = jobspec::read_distribution(jobspec::read_yaml(row.values, "space"),
                                                         "space", diagnostics);
          ASSERT_TRUE(values) << row.values;
          train.set(std::string(row.parameter), values->sample(u));
        }
        for (const jobspec::ValidationError& error :
             jobspec::check_train(train, train_schema(), {}))
          ADD_FAILURE() << set << ", " << optimizer << ": " << jobspec::to_text(error);
      }
}

}  // namespace
}  // namespace thalweg::engine
