#include "engine/attempt/journal.h"
#include "base/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <limits>
#include <system_error>

#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using testing::HasSubstr;

TEST(Journal, LinesAreNumberedJson) {
  const test::TempDir folder;
  std::string heard;
  {
    Journal journal(folder.path() / "journal.jsonl",
                    [&](const std::string& line) { heard += line; });
    journal.note("info", "a \"quoted\"\nnote");
    journal.metrics({{"train/loss", 10, 0.1}, {"lr", 10, 1e-5}});
  }
  const std::string text = test::read_file(folder.path() / "journal.jsonl");
  EXPECT_EQ(heard, text);
  const auto lines = read_journal(folder.path());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].find("n")->as_int(), 1);
  EXPECT_EQ(lines[0].find("text")->as_string(), "a \"quoted\"\nnote");
  EXPECT_NEAR(lines[0].find("t")->as_double(), unix_now(), 100);
  EXPECT_EQ(lines[1].find("n")->as_int(), 2);
  EXPECT_THAT(text,
              HasSubstr(R"("type":"metrics","points":[["train/loss",10,0.1],["lr",10,1e-05]]})"));
}

TEST(Journal, NumbersReadBackTheSameAndNanIsText) {
  const test::TempDir folder;
  const double odd = 0.1 + 0.2, tiny = 5e-324;
  {
    Journal journal(folder.path() / "journal.jsonl");
    journal.metrics({{"a", 1, odd},
                     {"b", 1, tiny},
                     {"c", 1, std::numeric_limits<double>::quiet_NaN()},
                     {"d", 1, -std::numeric_limits<double>::infinity()}});
  }
  const jobspec::List points = read_journal(folder.path())[0].find("points")->as_list();
  EXPECT_EQ(points[0].as_list()[2].as_double(), odd);
  EXPECT_EQ(points[1].as_list()[2].as_double(), tiny);
  EXPECT_EQ(points[2].as_list()[2].as_string(), "nan");
  EXPECT_EQ(points[3].as_list()[2].as_string(), "-inf");
}

TEST(Journal, GoesOnAfterTheLastWholeLine) {
  const test::TempDir folder;
  const auto file = folder.path() / "journal.jsonl";
  { Journal(file).note("info", "first"); }
  test::write_file(file,
                   test::read_file(file) + R"({"n":2,"t":17,"ty)");  // a writer that was killed
  { Journal(file).note("info", "second"); }
  const auto lines = read_journal(folder.path());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].find("n")->as_int(), 2);
  EXPECT_EQ(lines[1].find("text")->as_string(), "second");
}

TEST(Journal, LeavesOtherFilesAlone) {
  const test::TempDir folder;
  const auto file = folder.path() / "journal.jsonl";
  test::write_file(file, "dear diary\n");
  EXPECT_THROW(Journal{file}, std::runtime_error);
  EXPECT_EQ(test::read_file(file), "dear diary\n");
}

/// The disk is full after `bytes` more bytes, for files of this process.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    handler_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(Journal, AFullDiskIsAnErrorAndLeavesWholeLines) {
  const test::TempDir folder;
  const auto file = folder.path() / "journal.jsonl";
  Journal journal(file);
  journal.note("info", "fits");
  const std::string before = test::read_file(file);
  {
    const FullDisk disk(before.size() + 10);
    try {
      journal.note("info", "does not fit");
      ADD_FAILURE() << "accepted";
    } catch (const std::system_error& e) {
      EXPECT_THAT(e.what(), HasSubstr(file.string()));
    }
  }
  EXPECT_EQ(test::read_file(file), before);
  journal.note("info", "room again");
  EXPECT_EQ(read_journal(folder.path()).back().find("n")->as_int(), 2);
}

}  // namespace
}  // namespace thalweg::engine
