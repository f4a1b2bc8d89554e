// What becomes of the numbers, failures and resources of people's own programs, as they are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>

#include <filesystem>
#include <set>
#include <system_error>

#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class OwnNumbers : public testing::Test {
 protected:
  /// A sweep of train.py, `code`, over t = 1 ... `trials`.
  std::string sweep(const std::string& code, int trials, const std::string& more = "",
                    const std::string& limits = "max_retries: 0") {
    write_file(home.folder() / "train.py", code);
    std::string values;
    for (int t = 1; t <= trials; ++t)
      values += (t == 1 ? "" : ", ") + std::to_string(t);
    return "program: train.py\nmethod: grid\nmetric: {name: loss, goal: minimize}\n"
           "limits: {" +
           limits + "}\nparameters: {t: {values: [" + values + "]}}\n" + more;
  }
  Outcome run(const std::string& text) {
    write_file(home.folder() / "sweep.yaml", text);
    return home.thalweg({"run", "sweep.yaml", "--backend", "local"}, milliseconds(120000));
  }
  std::string shown(std::vector<std::string> arguments) { return home.thalweg(arguments).out; }
  nlohmann::json values(const std::string& metric) {
    return home.query("SELECT trial, step, value FROM metrics WHERE metric = '" + metric +
                      "' ORDER BY trial, step")["rows"];
  }

  SweepHome home;
};

const std::string kImport = "import sys, thalweg\nt = thalweg.init().config.t\n";

TEST_F(OwnNumbers, ASweepWithoutItsMetricFailsAndSaysWhatWasReported) {
  const Outcome none = run(sweep(kImport + "thalweg.log({'loss ': 1.0})\n", 2));
  EXPECT_EQ(none.code, 1) << none.out << none.err;
  EXPECT_THAT(none.out, HasSubstr("2/2 trials finished"));
  const std::string sentence = "2 trials finished without any value of 'loss'";
  for (const std::string& text :
       {none.out, shown({"show", "1"}), shown({"ls"}), shown({"compare", "1"})})
    EXPECT_THAT(text, AllOf(HasSubstr(sentence), HasSubstr("did you mean 'loss '"))) << text;
  EXPECT_THAT(shown({"show", "1"}), HasSubstr("never reported loss"));
  EXPECT_THAT(shown({"show", "1.2"}), HasSubstr("never reported loss"));
  EXPECT_EQ(home.thalweg({"watch", "1"}).code, 1);
  const Outcome one =
      run(sweep(kImport + "thalweg.log({'loss' if t == 2 else 'other': 1.0})\n", 2));
  EXPECT_EQ(one.code, 0) << one.out << one.err;
  EXPECT_THAT(one.out,
              HasSubstr("1 trial finished without any value of 'loss': reported were 'other'"));
}

TEST_F(OwnNumbers, PatternsReadBothStreamsEachLineOnce) {
  const Outcome outcome =
      run(sweep("import sys\n"
                "for i in range(5):\n"
                "    line = 'loss \\x1b[32m%g\\x1b[0m' % (1 / (i + 1))\n"
                "    if '--t=3' not in sys.argv: print(line, file=sys.stderr, flush=True)\n"
                "    if '--t=1' not in sys.argv: print(line, flush=True)\n"
                "if '--t=3' in sys.argv: print('loss 1,5')\n",
                3, "metric_pattern: 'loss (?<loss>\\S+)'\n"));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const auto rows = values("loss");
  ASSERT_EQ(rows.size(), 15u) << rows.dump();
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(rows[i][1], i % 5 + 1);
    EXPECT_NEAR(rows[i][2].get<double>(), 1.0 / static_cast<double>(i % 5 + 1), 1e-5);
  }
  EXPECT_THAT(outcome.out, HasSubstr("1 trial lost 1 value without a number; 1.3:"));
  EXPECT_THAT(outcome.out, HasSubstr("'1,5'"));
}

TEST_F(OwnNumbers, LostReportsAndThinnedPointsAreTold) {
  const Outcome outcome = run(sweep(
      kImport + "import os\n"
                "thalweg.log({'loss': 1.0}, step=1)\n"
                "if t == 1:\n"
                "    for i in range(20000): thalweg.log({'loss': 1 + abs(i - 2500)}, step=i)\n"
                "else:\n"
                "    with open(os.environ['THALWEG_REPORTS'], 'a') as f:\n"
                "        f.write('{\"metrics\": {\"loss\": 1}, \"step\": %d}\\n' % 2**60)\n"
                "        f.write('{\"metrics\": {\"loss\": 1}, \"step\": -1}\\nhalf')\n",
      2));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  for (const std::string& text : {outcome.out, shown({"show", "1"}), shown({"ls"})})
    EXPECT_THAT(text, AllOf(HasSubstr("1 trial lost 3 reports, which could not be read; 1.2:"),
                            HasSubstr("points that came too fast")))
        << text;
  EXPECT_THAT(shown({"show", "1.2"}), HasSubstr("3 reports not read"));
  const auto best = home.query("SELECT min, step FROM latest_metrics WHERE trial = 1")["rows"];
  EXPECT_EQ(best[0][0], 1) << "at step 2500";
  EXPECT_EQ(best[0][1], 19999);
}

TEST_F(OwnNumbers, ConfigurationsAndLogsAreTyped) {
  const Outcome outcome = run(sweep(
      kImport +
          "import math\n"
          "c = thalweg.init().config\n"
          "assert c.clip == math.inf and math.isnan(c.deep.x[1]) and c.deep.x[0] == -math.inf\n"
          "assert c.text == 'inf' and c.nothing is None, c\n"
          "for i in range(3):\n"
          "    thalweg.log({'loss': 1.0, 'a': None, 'b': {'c': 1}, 'd': 'red', 'e': [1]})\n",
      1, "config: {clip: .inf, text: 'inf', nothing: null, deep: {x: [-.inf, .nan, 1]}}\n"));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(values("loss").size(), 3u);
  const auto notes = home.query(
      "SELECT count(*) FROM events WHERE kind = 'note' AND data LIKE "
      "'%no number: it is left out%'")["rows"];
  EXPECT_EQ(notes[0][0], 4) << "once for each name";
}

TEST_F(OwnNumbers, AnEditedProgramIsNoticed) {
  const std::string code = kImport +
                           "import os, time\n"
                           "thalweg.log({'loss': 1.0})\n"
                           "while t == 2 and not os.path.exists('go'): time.sleep(0.05)\n";
  const std::string id = home.submit(sweep(code, 4, "", "max_nodes_in_flight: 1"), "local");
  ASSERT_TRUE(eventually([&] { return values("loss").size() == 2; }, milliseconds(60000)));
  write_file(home.folder() / "train.py", code + "# changed\n");
  write_file(home.folder() / "go", "");
  ASSERT_TRUE(home.wait_for_end(id));
  const std::string sentence =
      "train.py was edited while the sweep ran: 1.1 to 1.2 ran one version, 1.3 to 1.4 ran another";
  for (const std::string& text :
       {shown({"show", id, "--all"}), shown({"compare", id}), shown({"ls"})})
    EXPECT_THAT(text, HasSubstr(sentence));
  EXPECT_THAT(shown({"show", id}), HasSubstr("ran an edited train.py"));
  EXPECT_THAT(shown({"show", id + ".1.1"}), HasSubstr("train.py (hash "));
}

TEST_F(OwnNumbers, AFailureHasItsErrorAndItsOwnCode) {
  const Outcome outcome = run(sweep(kImport + "import os, signal\nthalweg.log({'loss': 1.0})\n"
                                              "if t == 1:\n"
                                              "    sys.stderr.write('ValueError: ' + 'ä→' * 200)\n"
                                              "    sys.stderr.write('\\n' + '=' * 60 + '\\n')\n"
                                              "    sys.exit(3)\n"
                                              "os.kill(os.getpid(), signal.SIGKILL)\n",
                                    2));
  EXPECT_EQ(outcome.code, 1);
  const auto first = home.json({"show", "1.1.1"}), second = home.json({"show", "1.2.1"});
  EXPECT_THAT(first["reason"].get<std::string>(),
              AllOf(HasSubstr("exited with code 3: ValueError: ä→"), Not(HasSubstr("==="))));
  EXPECT_EQ(first["exit_code"], 3);
  EXPECT_THAT(second["reason"].get<std::string>(), HasSubstr("killed by signal 9"));
  EXPECT_EQ(second["exit_code"], 137);
  EXPECT_THAT(shown({"show", "1.1"}), Not(HasSubstr("exit code 1")));
  home.expect_record_is_the_journals("1");
}

TEST_F(OwnNumbers, AnAttemptProgramThatIsAwayForAMomentIsWaitedFor) {
  const fs::path program = home.folder() / "attempt", away = home.folder() / "away";
  write_file(program, "#!/bin/sh\nexec \"" +
                          (fs::path(THALWEG_BIN_DIR) / "thalweg-attempt").string() + "\" \"$@\"\n");
  fs::permissions(program, fs::perms::owner_all);
  fs::create_directories(home.home());
  write_file(home.home() / "config.yaml", "local: {attempt_program: " + program.string() + "}\n");
  const std::string id = home.submit(
      sweep(kImport + "import time\ntime.sleep(0.3)\nthalweg.log({'loss': 1.0})\n", 12), "local");
  ASSERT_TRUE(eventually([&] { return values("loss").size() >= 2; }, milliseconds(60000)));
  fs::rename(program, away);
  EXPECT_TRUE(eventually(
      [&] {
        return shown({"show", id}).find("waiting for it") != std::string::npos;
      },
      milliseconds(30000)))
      << shown({"show", id});
  fs::rename(away, program);
  ASSERT_TRUE(home.wait_for_end(id));
  home.expect_nothing_lost_or_doubled(id);
  const auto attempts = home.query("SELECT count(*), max(attempt) FROM attempts")["rows"];
  EXPECT_EQ(attempts[0][0], 12);
  EXPECT_EQ(attempts[0][1], 1) << "none failed";
}

/// The folder of the runs is on a disk of its own, which this process and its children see.
TEST_F(OwnNumbers, AFullDiskDoesNotHideHowATrialEnded) {
  const fs::path runs = home.folder() / "runs";
  fs::create_directories(runs);
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", runs.c_str(), "tmpfs", 0, "size=1m,mode=700") != 0)
    GTEST_SKIP() << "mounting needs root";
  fs::create_directories(home.home());
  write_file(home.home() / "config.yaml", "runs: " + runs.string() + "\nlocal: {cores: 4}\n");
  const std::string code = kImport +
                           "import os\n"
                           "try:\n"
                           "    with open('runs/fill', 'ab', 0) as f:\n"
                           "        while True: f.write(bytes(4096))\n"
                           "except OSError: pass\n"
                           "for i in range(1, 401): print('step', i, 'loss', 1 / i)\n"
                           "sys.stdout.flush()\n"
                           "open('done.%d' % t, 'w').write(str(os.getppid()))\n"
                           "sys.exit(0 if t == 1 else 'ValueError: no room')\n";
  const std::string id = home.submit(
      sweep(code, 2, "metric_pattern: 'step (?<step>\\d+) loss (?<loss>\\S+)'\n"), "local");
  const auto supervisor = [&](int trial) {
    const std::string pid = read_file(home.folder() / ("done." + std::to_string(trial)));
    return pid.empty() ? 0 : std::stoi(pid);
  };
  ASSERT_TRUE(
      eventually([&] { return supervisor(1) > 0 && supervisor(2) > 0; }, milliseconds(60000)));
  const auto any_ended = [&] {
    return ::kill(supervisor(1), 0) != 0 || ::kill(supervisor(2), 0) != 0;
  };
  EXPECT_FALSE(eventually(any_ended, milliseconds(2000))) << "it does not wait for room";
  fs::remove(runs / "fill");
  EXPECT_TRUE(home.wait_for_end(id));
  const auto attempts = home.query("SELECT state, exit_code FROM attempts ORDER BY trial");
  EXPECT_EQ(attempts["rows"].dump(), R"([["finished",0],["failed",1]])");
  EXPECT_THAT(home.json({"show", "1.2.1"})["reason"].get<std::string>(),
              HasSubstr("exited with code 1: ValueError: no room"));
  EXPECT_EQ(values("loss").size(), 800u);
  home.thalweg({"daemon", "stop"});
  ::umount2(runs.c_str(), MNT_DETACH);
}

TEST_F(OwnNumbers, GpusAndMemoryAreThereOrRefused) {
  fs::create_directories(home.home());
  write_file(home.home() / "config.yaml", "local: {cores: 8, gpus: 3, memory: 8G}\n");
  const std::string code = kImport +
                           "import os, time\n"
                           "open('gpus.%d' % t, 'w').write(os.environ['CUDA_VISIBLE_DEVICES'])\n"
                           "thalweg.log({'loss': 1.0})\n"
                           "while not os.path.exists('go'): time.sleep(0.05)\n";
  const auto refused = [&](const std::string& resources) {
    const Outcome outcome = run(sweep(code, 1, "resources: " + resources + "\n"));
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    const Outcome checked = home.thalweg({"validate", "sweep.yaml", "--backend", "local"});
    EXPECT_EQ(checked.code, 2) << checked.out;
    EXPECT_THAT(checked.err, HasSubstr("could never run trial 1"));
    return outcome.err;
  };
  EXPECT_THAT(refused("{gpus_per_node: 4}"), HasSubstr("asks for 4 GPUs, this machine has 3"));
  EXPECT_THAT(refused("{nodes: 2, gpus_per_node: 2}"), HasSubstr("asks for 4 GPUs"));
  EXPECT_THAT(refused("{memory: 900G}"), HasSubstr("900.0 GiB of memory, this machine has 8.0"));
  const std::string id = home.submit(sweep(code, 4, "resources: {gpus_per_node: 1}\n"), "local");
  ASSERT_TRUE(eventually([&] { return values("loss").size() == 3; }, milliseconds(60000)));
  std::set<std::string> own;
  for (int t = 1; t <= 3; ++t)
    own.insert(read_file(home.folder() / ("gpus." + std::to_string(t))));
  EXPECT_EQ(own, (std::set<std::string>{"0", "1", "2"}));
  EXPECT_FALSE(fs::exists(home.folder() / "gpus.4")) << "there is none for it";
  write_file(home.folder() / "go", "");
  ASSERT_TRUE(home.wait_for_end(id));
  home.expect_nothing_lost_or_doubled(id);
}

}  // namespace
}  // namespace thalweg::test
