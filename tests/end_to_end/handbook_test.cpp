// Each page of the handbook is a script: its shell blocks run in the order of the page, in a home
// of their own; a block of YAML that begins with "# NAME.yaml" becomes that file and must be valid.
// Blocks of kind `console` need root, Slurm or another machine and name the test that does the same
// (Documents.TestsThatAreNamedExist looks for it).
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;

const fs::path kPages = fs::path(THALWEG_SOURCE_DIR) / "packaging/handbook/pages";

struct Block {
  std::string kind, text, before;  ///< the last line before it that is not empty
  int line = 0;
};

std::vector<Block> blocks_of(const std::string& page) {
  std::vector<Block> found;
  std::istringstream stream(page);
  std::string before;
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.starts_with("```") && !inside) {
      found.push_back({line.substr(3), "", before, number});
      inside = true;
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      found.back().text += line + "\n";
    }
    if (!line.empty()) before = line;
  }
  EXPECT_FALSE(inside) << "the last block has no end";
  return found;
}

/// NAME.yaml of "# NAME.yaml"; empty where the block does not begin so.
std::string file_of(const Block& block) {
  const std::string first = block.text.substr(0, block.text.find('\n'));
  return first.starts_with("# ") && first.ends_with(".yaml") ? first.substr(2) : "";
}

std::vector<std::string> pages() {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(kPages))
    if (entry.path().extension() == ".md")
      found.push_back(fs::relative(entry.path(), kPages).string());
  std::sort(found.begin(), found.end());
  return found;
}

class HandbookPage : public testing::TestWithParam<std::string> {};

TEST_P(HandbookPage, RunsAsItStands) {
  SweepHome home;
  const auto expect_works = [&](const std::string& command, const Block& block) {
    const Outcome outcome =
        home.shell("HOME=$PWD; export HOME; set -e\n" + command, milliseconds(300000));
    EXPECT_EQ(outcome.code, 0) << GetParam() << ":" << block.line << ":\n"
                               << command << '\n'
                               << outcome.out << outcome.err;
  };
  for (const Block& block : blocks_of(read_file(kPages / GetParam()))) {
    if (block.kind == "sh") {
      expect_works(block.text, block);
    } else if (block.kind == "yaml") {
      const std::string file = file_of(block);
      ASSERT_FALSE(file.empty()) << GetParam() << ":" << block.line << ": begin with # NAME.yaml";
      write_file(home.folder() / file, block.text);
      expect_works("thalweg validate " + file, block);
    } else if (block.kind == "console") {
      EXPECT_TRUE(block.before.starts_with("<!-- run by "))
          << GetParam() << ":" << block.line << ": which test does the same?";
    } else {
      EXPECT_EQ(block.kind, "text") << GetParam() << ":" << block.line;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, HandbookPage, testing::ValuesIn(pages()),
                         [](const testing::TestParamInfo<std::string>& page) {
                           std::string name = page.param;
                           for (char& letter : name)
                             if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
                           return name;
                         });

TEST(Handbook, ThePagesHaveExamples) {
  int run = 0, files = 0;
  for (const std::string& page : pages())
    for (const Block& block : blocks_of(read_file(kPages / page))) {
      run += block.kind == "sh";
      files += block.kind == "yaml";
    }
  EXPECT_GT(run, 15);
  EXPECT_GT(files, 8);
}

}  // namespace
}  // namespace thalweg::test
