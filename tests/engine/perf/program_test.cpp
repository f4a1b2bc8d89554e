// thalweg-perf as people run it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/engine/perf/xml.h"
#include "tests/support/process.h"

namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using thalweg::test::Outcome;
using thalweg::test::TempDir;

std::vector<std::string> command(int ranks, std::vector<std::string> words) {
  std::vector<std::string> all{"thalweg-launch", "-n", std::to_string(ranks), "--",
                               THALWEG_BIN_DIR "/thalweg-perf"};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Outcome perf(int ranks, std::vector<std::string> words) {
  return thalweg::test::run(command(ranks, std::move(words)));
}

class PerfPrograms : public testing::TestWithParam<int> {};

TEST_P(PerfPrograms, MeasuresEveryCollective) {
  const TempDir folder;
  const auto file = folder.path() / "out.json", picture = folder.path() / "out.svg";
  const auto outcome = perf(GetParam(), {"all", "-a", "all", "--to", "64K", "-f", "16", "-s",
                                         "0.01", "--plot", "--json", file, "--svg", picture});
  EXPECT_EQ(0, outcome.code) << outcome.err << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("latency (p50) over size"));
  EXPECT_EQ(GetParam() == 3, outcome.out.find("# adasum is left out") != std::string::npos);
  EXPECT_THAT(outcome.out, Not(HasSubstr("WRONG")));
  const json whole = json::parse(thalweg::test::read_file(file));
  EXPECT_EQ(GetParam(), whole.at("ranks"));
  EXPECT_EQ(true, whole.at("complete"));
  EXPECT_GE(whole.at("results").size(), 4U * 6 + 1);  // sizes x collectives, and a barrier
  for (const auto& result : whole.at("results")) {
    EXPECT_GE(result.at("calls"), 1);
    EXPECT_GT(result.at("us").at("p50"), 0);
  }
  const std::string svg = thalweg::test::read_file(picture);
  EXPECT_EQ("", thalweg::test::xml_error(svg));
  EXPECT_THAT(svg, HasSubstr("<polyline"));
}

INSTANTIATE_TEST_SUITE_P(Ranks, PerfPrograms, testing::Values(1, 2, 3),
                         testing::PrintToStringParamName());

TEST(PerfProgram, WhenInterruptedItReportsWhatItHas) {
  const TempDir folder;
  const auto file = folder.path() / "out.json";
  const pid_t pid =
      thalweg::test::start(command(2, {"--to", "4", "--iterations", "10000000", "--json", file}));
  ASSERT_TRUE(thalweg::test::eventually([&] { return std::filesystem::exists(file); }));
  kill(pid, SIGINT);
  int status = 0;
  ASSERT_EQ(pid, waitpid(pid, &status, 0));
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(75, WEXITSTATUS(status));
  EXPECT_EQ(false, json::parse(thalweg::test::read_file(file)).at("complete"));
}

TEST(PerfProgram, AMistakeIsToldOnce) {
  const auto outcome = perf(3, {"alreduce"});
  EXPECT_EQ(2, outcome.code);
  const auto first = outcome.err.find("unknown collective 'alreduce'");
  ASSERT_NE(std::string::npos, first) << outcome.err;
  EXPECT_EQ(std::string::npos, outcome.err.find("unknown collective", first + 1));
}

TEST(PerfProgram, WhatTheseRanksCannotDoIsToldOnce) {
  const auto outcome = perf(2, {"broadcast", "--root", "5"});
  EXPECT_EQ(2, outcome.code);
  const auto first = outcome.err.find("broadcast: --root 5: there are 2 ranks");
  ASSERT_NE(std::string::npos, first) << outcome.err;
  EXPECT_EQ(std::string::npos, outcome.err.find("broadcast: --root", first + 1));
}

TEST(PerfProgram, AFileThatCannotBeWrittenIsToldBeforeAnythingIsMeasured) {
  const auto outcome = perf(2, {"--json", "/nowhere/out.json"});
  EXPECT_EQ(1, outcome.code);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write /nowhere/out.json: No such file"));
  EXPECT_EQ("", outcome.out);
}

TEST(PerfProgram, HelpOfAllRanksIsPrintedOnce) {
  const auto outcome = perf(2, {"--help"});
  EXPECT_EQ(0, outcome.code);
  for (const char* word : {"all_to_all     ", "--algorithm NAME", "--svg FILE", "Exit code"}) {
    const auto first = outcome.out.find(word);
    ASSERT_NE(std::string::npos, first) << word;
    EXPECT_EQ(std::string::npos, outcome.out.find(word, first + 1)) << word;
  }
}

TEST(PerfProgram, CompletionScriptsAreShell) {
  const TempDir folder;
  const auto bash = thalweg::test::run({"thalweg-perf", "--completion", "bash"});
  thalweg::test::write_file(folder.path() / "script", bash.out);
  const auto outcome =
      thalweg::test::run({"bash", "-c",
                          "source " + (folder.path() / "script").string() +
                              "; COMP_WORDS=(thalweg-perf --op m); COMP_CWORD=2; _thalweg_perf; "
                              "echo ${COMPREPLY[@]}; COMP_WORDS=(thalweg-perf --sv); COMP_CWORD=1; "
                              "_thalweg_perf; echo ${COMPREPLY[@]}"});
  EXPECT_EQ("min max\n--svg\n", outcome.out) << outcome.err;
  for (const char* shell : {"zsh", "fish"}) {
    EXPECT_THAT(thalweg::test::run({"thalweg-perf", "--completion", shell}).out,
                HasSubstr("all_to_all"));
  }
  EXPECT_EQ(2, thalweg::test::run({"thalweg-perf", "--completion", "csh"}).code);
}

}  // namespace
