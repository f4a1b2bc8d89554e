// The man pages say what the program does.
#include <filesystem>
#include <sstream>

#include "tests/cli/command_fixture.h"

namespace thalweg::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class CliManPages : public CommandTest {};

std::string manual(const std::string& name) {
  std::string text = read_file(std::string(THALWEG_SOURCE_DIR) + "/packaging/man/" + name);
  for (std::size_t at; (at = text.find("\\-")) != std::string::npos;)
    text.replace(at, 2, "-");
  return text;
}

TEST_F(CliManPages, NameEveryCommandAndOption) {
  const std::string page = manual("thalweg.1");
  std::istringstream commands(thalweg({"--help"}).out);
  int found = 0;
  for (std::string line; std::getline(commands, line);) {
    if (!line.starts_with("  ") || line[2] < 'a' || line[2] > 'z') continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    const auto start = page.find("\n.BR " + name + " ");
    if (name == "thalweg") continue;  // the example
    ASSERT_NE(start, std::string::npos) << name;
    const std::string paragraph = page.substr(start, page.find("\n.TP", start) - start);
    std::istringstream help(thalweg({name, "--help"}).out);
    for (std::string option; std::getline(help, option);) {
      const auto at = option.find(" --");
      if (!option.starts_with("  ") || at == std::string::npos || at > 6) continue;
      const std::string word = option.substr(at + 1, option.find(' ', at + 1) - at - 1);
      if (word == "--help") continue;
      EXPECT_THAT(paragraph, HasSubstr(word)) << name;
      ++found;
    }
  }
  EXPECT_GT(found, 35);
}

TEST_F(CliManPages, NameEveryExitCode) {
  const std::string page = manual("thalweg.1");
  std::istringstream help(thalweg({"--help"}).out);
  std::string line;
  while (std::getline(help, line) && line != "Exit codes:") {
  }
  int codes = 0;
  while (std::getline(help, line) && !line.empty()) {
    std::string meaning = line.substr(7);
    EXPECT_THAT(page,
                HasSubstr(".B " + std::to_string(std::stoi(line)) + "\n" + meaning.substr(0, 15)));
    ++codes;
  }
  EXPECT_EQ(codes, 6);
}

TEST_F(CliManPages, FormatWithoutWarnings) {
  if (run({"/bin/sh", "-c", "command -v groff"}, options()).code != 0)
    GTEST_SKIP() << "groff is not installed";
  int pages = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(THALWEG_SOURCE_DIR) + "/packaging/man")) {
    const Outcome outcome =
        run({"groff", "-man", "-ww", "-z", "-Tutf8", entry.path().string()}, options());
    EXPECT_EQ(outcome.code, 0) << entry.path();
    EXPECT_THAT(outcome.err, IsEmpty()) << entry.path();
    ++pages;
  }
  EXPECT_GE(pages, 7);
}

}  // namespace
}  // namespace thalweg::test
