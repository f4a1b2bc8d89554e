// Damaged and odd sweep files from a seeded generator: each is taken, or answered with diagnostics
// that can be shown. How many: tests/support/fuzz.h.
#include <gtest/gtest.h>

#include <algorithm>

#include "jobspec/diagnostic.h"
#include "tests/jobspec/support.h"
#include "tests/support/fuzz.h"

namespace thalweg::jobspec {
namespace {

/// The valid files, split into lines.
std::vector<std::vector<std::string>> sources() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_dir() / "tests/jobspec/valid"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::vector<std::string>> all;
  for (const auto& file : files) {
    std::istringstream text(read_file(file));
    all.emplace_back();
    for (std::string line; std::getline(text, line);)
      all.back().push_back(line);
  }
  return all;
}

const char* const odd_values[] = {
    "",
    "~",
    "-1",
    "0",
    "1.5",
    "1e400",
    "-.inf",
    ".nan",
    "true",
    "\"\"",
    "[]",
    "{}",
    "9223372036854775807",
    "18446744073709551615",
    "4294967296",
    "0x10",
    "1_000",
    "&a [1]",
    "*a",
    "!!binary x",
    "{<<: *a}",
    "|",
    "'",
    "[[[[[[",
    "{values: []}",
    "{values: [1, a, ~]}",
    "{min: 1, max: 0}",
    "{distribution: log_uniform, min: 0, max: 1e308}",
    "{distribution: q_normal, mu: 1e308, sigma: 1e308, q: 1e-308}",
    "{distribution: int_uniform, min: -9223372036854775808, max: 9223372036854775807}",
    "{distribution: uniform, min: -1e308, max: 1e308}",
    "99:99:99",
    "9999999-00:00:00",
    "9e18G",
    "\xc3\x28",
    "\xe2\x80\xae",
    "caf\xc3\xa9",
    "%s%n",
    "- - - a",
    "? a",
    "@",
    "\t"};

/// Whole lines moved about, values exchanged for odd ones, then perhaps bytes.
std::string odd(std::vector<std::string> lines, const std::vector<std::vector<std::string>>& all,
                std::mt19937& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  for (std::size_t changes = 1 + below(4); changes > 0 && !lines.empty(); --changes) {
    const std::size_t at = below(lines.size());
    const auto place = lines.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(5)) {
      case 0:
        lines.erase(place);
        break;
      case 1:
        lines.insert(place, lines[below(lines.size())]);
        break;
      case 2: {
        const auto& other = test::one_of(all, random);
        if (!other.empty()) lines.insert(place, test::one_of(other, random));
        break;
      }
      default: {
        const auto colon = lines[at].find(": ");
        const std::string value = test::one_of(odd_values, random);
        lines[at] = colon == std::string::npos ? lines[at] + ": " + value
                                               : lines[at].substr(0, colon + 2) + value;
      }
    }
  }
  std::string text;
  for (const std::string& line : lines)
    text += line + "\n";
  return below(4) == 0 ? test::damaged(std::move(text), random) : text;
}

/// Diagnostics travel as JSON: UTF-8, whatever the file held.
void expect_complaints(const InputError& error) {
  ASSERT_FALSE(error.diagnostics().empty());
  for (const Diagnostic& diagnostic : error.diagnostics()) {
    const std::string text = diagnostic.to_string();
    ASSERT_FALSE(text.empty());
    ASSERT_EQ(read_yaml(Value(text).to_json(), "complaint").as_string(), text);
  }
}

void expect_trials(const Expansion& expansion, const Sweep& sweep) {
  std::int64_t number = 0;
  for (const ExpandedTrial& trial : expansion.trials) {
    ASSERT_EQ(trial.number, ++number);
    ASSERT_EQ(trial.hash.size(), 32u);
    ASSERT_GE(trial.resources.ranks(), 1);
    if (number <= 20) {
      ASSERT_EQ(read_yaml(trial.train.to_json(), "train"), trial.train);
    }
  }
  const Expansion again = expand(sweep, test_schema());
  ASSERT_EQ(again.trials.size(), expansion.trials.size());
  for (std::size_t i = 0; i < again.trials.size(); ++i)
    ASSERT_EQ(again.trials[i].hash, expansion.trials[i].hash);
}

TEST(SweepFileFuzz, IsTakenOrAnsweredWithComplaints) {
  const auto all = sources();
  int taken = 0;
  test::fuzz(2000, [&](int number, std::mt19937& random) {
    const std::string text = odd(all[static_cast<std::size_t>(number) % all.size()], all, random);
    try {
      const Sweep sweep = parse(text);
      expect_trials(expand(sweep, test_schema()), sweep);
      ++taken;
    } catch (const InputError& error) {
      expect_complaints(error);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << "\n" << text;
    }
  });
  if (test::fuzz_range(2000).many()) {
    EXPECT_GT(taken, 0) << "the generator breaks every file";
  }
}

}  // namespace
}  // namespace thalweg::jobspec
