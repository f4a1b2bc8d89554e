// Which variables attempts start with.
#include "daemon/backend/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thalweg::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Environment, LeavesThisMachineAndOtherJobsBehind) {
  EXPECT_THAT(
      job_environment({"PATH=/bin", "HOME=/home/ada", "SLURM_JOB_ID=5", "SLURM_CONF=/etc/s.conf",
                       "SLURM=x", "PMIX_RANK=0", "SSH_CLIENT=1", "TERM=xterm", "TERMINFO=/t",
                       "EMPTY=", "A=b=c", "=odd", "nothing", "BASH_FUNC_module%%=() { :; }",
                       "DISPLAY=:0", "PWD=/x", "MODULEPATH=/m"}),
      ElementsAre("PATH=/bin", "HOME=/home/ada", "SLURM_CONF=/etc/s.conf", "SLURM=x", "TERMINFO=/t",
                  "EMPTY=", "A=b=c", "BASH_FUNC_module%%=() { :; }", "MODULEPATH=/m"));
}

TEST(Environment, TheSweepFileAddsReplacesAndRemoves) {
  EXPECT_THAT(with_changes({"A=1", "AB=2", "C=3"},
                           {{"A", "x=y"}, {"C", std::nullopt}, {"D", ""}, {"E", std::nullopt}}),
              ElementsAre("AB=2", "A=x=y", "D="));
}

TEST(Environment, WhatNoProgramCouldStartWithIsRefused) {
  EXPECT_THAT(environment_misfit({"A=1", "B=" + std::string(100000, 'x')}), IsEmpty());
  EXPECT_THAT(environment_misfit({"BIG=" + std::string(140000, 'x')}), HasSubstr("variable BIG"));
  std::vector<std::string> many;
  for (int i = 0; i < 20; ++i)
    many.push_back("V" + std::to_string(i) + "=" + std::string(100000, 'x'));
  EXPECT_THAT(environment_misfit(many), HasSubstr("the environment has 2000"));
}

}  // namespace
}  // namespace thalweg::daemon
