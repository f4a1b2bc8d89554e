// Which edits of a program are noticed.
#include "engine/attempt/supervise/program_version.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

std::optional<std::string> no_environment(const std::string&) {
  return std::nullopt;
}

class ProgramVersion : public ::testing::Test {
 protected:
  ProgramVersion() {
    program.file = "train.py";
    program.directory = folder.path();
    write("train.py", "import model\n");
    write("model.py", "width = 8\n");
  }
  void write(const std::string& name, const std::string& text) {
    test::write_file(folder.path() / name, text);
  }
  std::string field(const char* key) const {
    const jobspec::Value version = program_version(program, {}, no_environment);
    const jobspec::Value* const found = version.find(key);
    return found ? found->as_string() : "";
  }
  bool git(const std::string& words) {
    return test::run({"/bin/sh", "-c",
                      "cd '" + folder.path().string() +
                          "' && git -c user.name=a -c user.email=a@b " + words +
                          " >/dev/null 2>&1"})
               .code == 0;
  }

  test::TempDir folder;
  jobspec::Program program;
};

TEST_F(ProgramVersion, FilesBesideItCountWithoutGit) {
  const std::string file = field("hash"), sources = field("sources");
  EXPECT_EQ(file.size(), 16u);
  EXPECT_EQ(sources.size(), 16u);
  EXPECT_EQ(field("commit"), "");
  write("notes.txt", "of another suffix");
  EXPECT_EQ(field("sources"), sources);
  write("model.py", "width = 9\n");
  EXPECT_EQ(field("hash"), file);
  EXPECT_NE(field("sources"), sources);
  write("model.py", "width = 8\n");
  EXPECT_EQ(field("sources"), sources);
}

TEST_F(ProgramVersion, GitSaysWhatItMayImport) {
  std::filesystem::create_directories(folder.path() / "lib");
  write("lib/net.py", "depth = 2\n");
  write("sweep.yaml", "name: a\n");
  if (!git("init -q")) GTEST_SKIP() << "git is not here";
  const std::string untracked = field("sources");
  ASSERT_TRUE(git("add -A") && git("commit -qm first"));
  const std::string sources = field("sources");
  EXPECT_NE(sources, untracked);
  EXPECT_EQ(field("commit").size(), 40u);
  write("sweep.yaml", "name: b\n");
  EXPECT_EQ(field("sources"), sources) << "the next sweep's file";
  write("lib/net.py", "depth = 3\n");
  const std::string edited = field("sources");
  EXPECT_NE(edited, sources);
  ASSERT_TRUE(git("commit -qam second"));
  EXPECT_NE(field("sources"), sources);
  write("lib/net.py", "depth = 2\n");
  ASSERT_TRUE(git("commit -qam third"));
  EXPECT_EQ(field("sources"), sources) << "the same files at another commit";
  EXPECT_EQ(test::read_file(folder.path() / "train.py"), "import model\n");
}

TEST_F(ProgramVersion, NothingIsKnownOfWhatIsNotThere) {
  program.file = "absent.py";
  EXPECT_TRUE(program_version(program, {}, no_environment).empty());
}

}  // namespace
}  // namespace thalweg::engine
