// Walks valid/, invalid/ and the examples. A bug report becomes one more file.
#include <gmock/gmock.h>

#include <algorithm>

#include "jobspec/early/rule.h"
#include "jobspec/reader.h"
#include "jobspec/resources.h"
#include "jobspec/search/search.h"
#include "tests/jobspec/support.h"

namespace thalweg::jobspec {
namespace {

using std::filesystem::path;

std::vector<path> files_in(const path& folder) {
  std::vector<path> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string name_of(const ::testing::TestParamInfo<path>& info) {
  std::string name = info.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Diagnostics travel as JSON, so they must be UTF-8 whatever the file held. Throws where one is
/// not.
void check_complaints(const std::string& text) {
  for (const Diagnostic& diagnostic : diagnostics(text)) {
    read_yaml(Value(diagnostic.to_string()).to_json(), "complaint");
  }
}

/// Lists that grow with tables: of search methods "{methods}" is all of them, "{learning}" those
/// that learn from results, "{drawing}" those that only draw; "{rules}" end trials early.
std::string with_lists(std::string text) {
  const std::pair<std::string, std::string> lists[] = {
      {"{methods}", any_of(search_methods().names())},
      {"{rules}", any_of(early_rules().names())},
      {"{learning}", names_of_methods(true)},
      {"{drawing}", names_of_methods(false)}};
  for (const auto& [mark, list] : lists)
    if (const std::size_t at = text.find(mark); at != text.npos)
      text.replace(at, mark.size(), list);
  return text;
}

/// The texts after "# <word>: " at the start of the file, one a line.
std::vector<std::string> headers(const std::string& text, const std::string& word) {
  const std::string mark = "# " + word + ": ";
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line) && line.compare(0, mark.size(), mark) == 0;) {
    found.push_back(line.substr(mark.size()));
  }
  return found;
}

class Invalid : public ::testing::TestWithParam<path> {};

TEST_P(Invalid, SaysWhatAndWhere) {
  const std::string text = read_file(GetParam());
  const std::vector<std::string> expected = headers(text, "expect");
  ASSERT_FALSE(expected.empty()) << "the file should start with '# expect: LINE: TEXT'";
  const std::vector<Diagnostic> found = diagnostics(text, "f.yaml");
  std::string all;
  for (const Diagnostic& diagnostic : found)
    all += diagnostic.to_string() + "\n";
  ASSERT_EQ(found.size(), expected.size()) << all;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t colon = expected[i].find(": ");
    EXPECT_EQ(std::to_string(found[i].place.line), expected[i].substr(0, colon)) << all;
    EXPECT_THAT(found[i].to_string(),
                ::testing::HasSubstr(with_lists(expected[i].substr(colon + 2))));
    EXPECT_EQ(found[i].file, "f.yaml");
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Invalid, ::testing::ValuesIn(files_in("tests/jobspec/invalid")),
                         name_of);

class Valid : public ::testing::TestWithParam<path> {};

TEST_P(Valid, Expands) {
  const std::string text = read_file(GetParam());
  const std::vector<std::string> trials = headers(text, "trials");
  ASSERT_EQ(trials.size(), 1u) << "the file should start with '# trials: NUMBER'";
  const Expansion first = expand(parse(text), test_schema());
  EXPECT_EQ(std::to_string(first.trials.size()), trials[0]);
  // Twice the same.
  const Expansion second = expand(parse(text), test_schema());
  ASSERT_EQ(first.trials.size(), second.trials.size());
  for (std::size_t i = 0; i < first.trials.size(); ++i) {
    EXPECT_EQ(first.trials[i].hash, second.trials[i].hash);
    EXPECT_EQ(first.trials[i].train, second.trials[i].train);
    EXPECT_EQ(first.trials[i].number, static_cast<std::int64_t>(i) + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Valid, ::testing::ValuesIn(files_in("tests/jobspec/valid")),
                         name_of);

TEST(Reference, NamesEveryDistributionAndResource) {
  const std::string page = read_file(source_dir() / "jobspec/sweep-file.md");
  for (const auto& [name, doc] : distribution_docs()) {
    EXPECT_THAT(page, ::testing::HasSubstr("`" + name + "`"));
  }
  for (const std::string& key : resource_keys()) {
    EXPECT_THAT(page, ::testing::HasSubstr("`" + key + "`"));
  }
}

TEST(Damage, CutFilesNeverCrash) {
  for (const path& file : files_in("tests/jobspec/valid")) {
    const std::string text = read_file(file);
    for (std::size_t length = 0; length < text.size(); ++length) {
      SCOPED_TRACE(file.string() + " cut to " + std::to_string(length));
      EXPECT_NO_THROW(check_complaints(text.substr(0, length)));
    }
  }
}

TEST(Damage, ChangedFilesNeverCrash) {
  // A fixed generator: the same damage on every run.
  std::uint64_t state = 1;
  const auto next = [&state](std::size_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state >> 33) % below;
  };
  static constexpr char bytes[] = "{}[]:,-#&*!|>'\"%@`? \n\t0159.eE+_~aztrue\\\x04\xc3\xff";
  constexpr int rounds = 300;
  for (const path& file : files_in("tests/jobspec/valid")) {
    const std::string original = read_file(file);
    for (int round = 0; round < rounds; ++round) {
      std::string text = original;
      for (std::size_t edits = 1 + next(4); edits > 0; --edits) {
        const std::size_t at = next(text.size());
        switch (next(5)) {
          case 0:
            text[at] = bytes[next(sizeof bytes - 1)];
            break;
          case 1:
            text.insert(at, 1, bytes[next(sizeof bytes - 1)]);
            break;
          case 2:
            text.erase(at, 1 + next(10));
            break;
          case 3:
            text.insert(at, "\\\xc3\xa9");
            break;
          default:
            text.insert(at, original.substr(next(original.size()), next(40)));
            break;
        }
        if (text.empty()) text = " ";
      }
      SCOPED_TRACE(text);
      EXPECT_NO_THROW(check_complaints(text));
    }
  }
}

}  // namespace
}  // namespace thalweg::jobspec
