// The worker of a packed job as a process, with shell lines in place of srun and its ranks.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <sstream>

#include "daemon/pack/worker.h"
#include "tests/support/process.h"
#include "tests/support/small_disk.h"

namespace thalweg::daemon::pack {
namespace {

using test::eventually;
using test::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

const std::string program = std::string(THALWEG_BIN_DIR) + "/../libexec/thalweg/thalweg-pack";

std::vector<std::string> lines_of(const fs::path& file) {
  std::istringstream text(read_text(file).value_or(""));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);)
    lines.push_back(line);
  return lines;
}

class PackWorker : public testing::Test {
 protected:
  PackWorker() {
    fs::create_directories(trials());
    make_pack(pack());
    // Signals go to steps by their numbers, of which each trial has its own.
    test::write_file(scancel(),
                     "#!/bin/sh\ncd " + dir_.path().string() +
                         "\necho \"$@\" >> scancelled\nsignal=${1#--signal=}\nshift\n"
                         "for step in \"$@\"; do kill -$signal $(cat pid.${step#4711.}); done\n");
    fs::permissions(scancel(), fs::perms(0755));
  }
  ~PackWorker() override {
    for (const pid_t pid : workers_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }

  fs::path pack() const { return dir_.path() / "pack"; }
  fs::path trials() const { return dir_.path() / "trials"; }
  fs::path scancel() const { return dir_.path() / "scancel"; }
  fs::path job(const std::string& token = "job") const { return job_folder(pack(), token); }
  fs::path log() const { return dir_.path() / "log"; }

  void make(int at_once, std::int64_t limit_s = 3600, const std::string& token = "job") {
    make_job(job(token));
    write_job(job(token), {token, at_once, limit_s, 1});
  }
  /// As srun would start it.
  std::vector<std::string> step(const std::vector<std::string>& command) const {
    std::vector<std::string> words{
        "env", "SLURM_STEP_ID=" + std::to_string(count_), program, "--start", start_word, "--"};
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  /// A trial that is this line of sh. The worker that has it is named by $JOB.
  std::string add(const std::string& line, std::int64_t limit_s = 0, std::int64_t warning_s = 0) {
    const std::string token = "0123456" + std::to_string(count_ % 10) + "rest";
    const std::string name = task_name(++count_, 1, token);
    Task task;
    task.token = token;
    task.folder = trials() / name;
    fs::create_directories(task.folder);
    task.command = step({"sh", "-c",
                         "cd " + dir_.path().string() + "; echo $$ > pid." +
                             std::to_string(count_) + "; name=" + name + "; " + line});
    task.limit_s = limit_s;
    task.warning_s = warning_s;
    write_task(queued(pack(), name), task);
    return name;
  }
  pid_t begin(const std::string& token = "job", const std::string& start_wait = "60") {
    test::RunOptions options;
    options.env = {{"SLURM_JOB_ID", "4711"}, {"SLURMD_NODENAME", "n2"}};
    workers_.push_back(test::start({program, "--start-wait", start_wait, "--look", "0.05", "--idle",
                                    "0.3", "--scancel", scancel().string(), job(token).string()},
                                   options));
    return workers_.back();
  }
  /// Its exit code, once it has ended by itself.
  int finish(pid_t worker) {
    int status = 0;
    EXPECT_TRUE(eventually([&] { return ::waitpid(worker, &status, WNOHANG) == worker; },
                           milliseconds(60000)))
        << "the worker does not end";
    std::erase(workers_, worker);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  int run_to_end() { return finish(begin()); }
  bool await(const fs::path& file) {
    return eventually([&] { return is_there(file); }, milliseconds(60000));
  }
  End end_of(const std::string& name, const std::string& token = "job") {
    const auto end = read_end(ended(job(token), name));
    EXPECT_TRUE(end) << name;
    return end.value_or(End{});
  }

  test::TempDir dir_;
  int count_ = 0;
  std::vector<pid_t> workers_;
};

TEST_F(PackWorker, RunsEveryTrialOnceAndNoMoreThanFitAtOnce) {
  make(2);
  std::vector<std::string> names;
  for (int i = 0; i < 11; ++i)
    names.push_back(add("echo + >> log; sleep 0.1; echo - >> log"));
  EXPECT_EQ(run_to_end(), 0);
  int running = 0, most = 0, begun = 0;
  for (const std::string& line : lines_of(log())) {
    running += line == "+" ? 1 : -1;
    begun += line == "+" ? 1 : 0;
    most = std::max(most, running);
  }
  EXPECT_EQ(begun, 11);
  EXPECT_EQ(most, 2);
  EXPECT_THAT(tasks_in(pack() / "queue"), IsEmpty());
  EXPECT_EQ(tasks_in(job() / "claimed"), names) << "in the order of the trials";
  for (const std::string& name : names) {
    EXPECT_EQ(end_of(name).code, 0);
    const auto start = read_start(started(job(), name));
    ASSERT_TRUE(start);
    EXPECT_EQ(start->node, "n2");
    EXPECT_EQ(start->step, "4711." + std::to_string(&name - names.data() + 1));
  }
}

TEST_F(PackWorker, ATrialThatIsKilledLeavesItsNeighboursAlone) {
  make(3);
  const std::string fails = add("exit 3"), by_srun = add("exit 137"), itself = add("kill -KILL $$"),
                    good = add("sleep 0.5; exit 0");
  EXPECT_EQ(run_to_end(), 0);
  EXPECT_EQ(end_of(fails).code, 3);
  EXPECT_FALSE(end_of(fails).may_go_on);
  EXPECT_EQ(end_of(by_srun).signal, SIGKILL);
  EXPECT_FALSE(end_of(by_srun).may_go_on);
  EXPECT_EQ(end_of(itself).signal, SIGKILL);
  EXPECT_TRUE(end_of(itself).may_go_on) << "its srun died, its ranks may live";
  EXPECT_THAT(lines_of(dir_.path() / "scancelled"), ElementsAre("--signal=KILL 4711.3"));
  EXPECT_EQ(end_of(good).code, 0);
  EXPECT_EQ(end_of(good).signal, 0);
}

TEST_F(PackWorker, OutputGoesToTheTrialsOwnLogs) {
  make(1);
  const std::string name = add("echo out; echo err >&2");
  EXPECT_EQ(run_to_end(), 0);
  EXPECT_THAT(lines_of(trials() / name / "stdout.log"), ElementsAre("out"));
  EXPECT_THAT(lines_of(trials() / name / "stderr.log"), ElementsAre("err"));
}

TEST_F(PackWorker, AnOrderEndsOneTrial) {
  make(2);
  const std::string one = add("trap 'exit 75' TERM; while :; do sleep 0.05; done");
  const std::string other = add("while [ ! -e go ]; do sleep 0.05; done");
  const pid_t worker = begin();
  ASSERT_TRUE(await(started(job(), one)));
  ASSERT_TRUE(await(started(job(), other)));
  write_text(order(job(), one, false), "");
  ASSERT_TRUE(await(ended(job(), one)));
  EXPECT_EQ(end_of(one).code, 75);
  EXPECT_FALSE(is_there(ended(job(), other)));
  test::write_file(dir_.path() / "go", "");
  EXPECT_EQ(finish(worker), 0);
  EXPECT_EQ(end_of(other).code, 0);
}

TEST_F(PackWorker, AnOrderByForceGoesToTheStep) {
  make(1);
  const std::string name = add("trap '' TERM; while :; do sleep 0.05; done");
  const pid_t worker = begin();
  ASSERT_TRUE(await(started(job(), name)));
  write_text(order(job(), name, true), "");
  EXPECT_EQ(finish(worker), 0);
  EXPECT_EQ(end_of(name).signal, SIGKILL);
  EXPECT_THAT(lines_of(dir_.path() / "scancelled"), testing::Contains("--signal=KILL 4711.1"));
}

TEST_F(PackWorker, ATrialIsWarnedBeforeItsLimitAndEndedAtIt) {
  make(1);
  const std::string name =
      add("trap 'echo usr1 >> log' USR1; trap 'echo term >> log; exit 75' TERM; "
          "while :; do sleep 0.05; done",
          2, 1);
  EXPECT_EQ(run_to_end(), 0);
  EXPECT_THAT(lines_of(log()), ElementsAre("usr1", "term"));
  EXPECT_TRUE(end_of(name).warned);
  EXPECT_TRUE(end_of(name).timed_out);
}

TEST_F(PackWorker, TheJobsEndHoldsForTrialsWithMoreTime) {
  make(1, 2);
  const std::string first =
      add("trap 'echo usr1 >> log; exit 75' USR1; while :; do sleep 0.05; done", 1000, 1);
  const std::string second = add("echo never >> log", 1000, 1);
  EXPECT_EQ(run_to_end(), 0);
  EXPECT_THAT(lines_of(log()), ElementsAre("usr1"));
  EXPECT_TRUE(end_of(first).warned);
  EXPECT_FALSE(end_of(first).timed_out) << "it ended when it was warned";
  EXPECT_THAT(tasks_in(pack() / "queue"), ElementsAre(second)) << "for a later job";
}

TEST_F(PackWorker, TwoJobsShareTheQueue) {
  make(3, 3600, "a");
  make(3, 3600, "b");
  constexpr int trials = 40;
  for (int i = 0; i < trials; ++i)
    add("echo $name >> log; sleep 0.02");
  const pid_t a = begin("a"), b = begin("b");
  EXPECT_EQ(finish(a), 0);
  EXPECT_EQ(finish(b), 0);
  auto ran = lines_of(log());
  EXPECT_EQ(ran.size(), std::size_t{trials});
  std::sort(ran.begin(), ran.end());
  EXPECT_EQ(std::unique(ran.begin(), ran.end()), ran.end()) << "none twice";
  const auto of_a = tasks_in(job("a") / "claimed"), of_b = tasks_in(job("b") / "claimed");
  EXPECT_EQ(of_a.size() + of_b.size(), std::size_t{trials});
  for (const auto& [token, names] : {std::pair{"a", of_a}, std::pair{"b", of_b}})
    for (const std::string& name : names)
      EXPECT_TRUE(is_there(started(job(token), name)) && end_of(name, token).code == 0) << name;
}

TEST_F(PackWorker, ASecondStartOfTheJobRunsNothing) {
  make(1);
  add("while [ ! -e go ]; do sleep 0.05; done");
  const pid_t first = begin();
  ASSERT_TRUE(await(job() / "worker.json"));
  EXPECT_THAT(read_text(job() / "worker.json").value_or(""), testing::EndsWith(" n2"))
      << "by which the controller finds out that the node was lost";
  EXPECT_EQ(finish(begin()), exit_superseded);
  test::write_file(dir_.path() / "go", "");
  EXPECT_EQ(finish(first), 0);
}

TEST_F(PackWorker, AJobThatIsWithdrawnTakesNoMore) {
  make(1);
  const std::string runs = add("touch runs; while [ ! -e go ]; do sleep 0.05; done");
  const std::string waits = add("echo never >> log");
  const pid_t worker = begin();
  ASSERT_TRUE(await(dir_.path() / "runs"));
  write_text(job() / "withdrawn", "");
  test::sleep_for(milliseconds(300));  // a few looks
  test::write_file(dir_.path() / "go", "");
  EXPECT_EQ(finish(worker), 0);
  EXPECT_EQ(end_of(runs).code, 0);
  EXPECT_THAT(tasks_in(pack() / "queue"), ElementsAre(waits));
  EXPECT_FALSE(is_there(log()));
}

TEST_F(PackWorker, ToldToEndItAsksItsTrials) {
  make(1);
  const std::string runs = add("trap 'exit 75' TERM; touch runs; while :; do sleep 0.05; done");
  const std::string waits = add("echo never >> log");
  const pid_t worker = begin();
  ASSERT_TRUE(await(dir_.path() / "runs"));
  ::kill(worker, SIGTERM);
  EXPECT_EQ(finish(worker), 0);
  EXPECT_EQ(end_of(runs).code, 75);
  EXPECT_THAT(tasks_in(pack() / "queue"), ElementsAre(waits));
}

TEST_F(PackWorker, WhatCannotBeStartedEndsWithTheReason) {
  make(1);
  const std::string name = add("true");
  Task task = *read_task(queued(pack(), name));
  task.command = {"/no/such/srun"};
  write_task(queued(pack(), name), task);
  EXPECT_EQ(run_to_end(), 0);
  EXPECT_NE(end_of(name).code, 0);
  EXPECT_THAT(end_of(name).reason, testing::HasSubstr("/no/such/srun"));
}

TEST_F(PackWorker, AStepThatDoesNotBeginGoesBackIntoTheQueue) {
  make(2);
  const std::string runs = add("while [ ! -e go ]; do sleep 0.05; done"), waits = add("true"),
                    next = add("true");
  Task task = *read_task(queued(pack(), waits));
  task.command = {"sleep", "600"};  // srun, where Slurm gives the step no cores
  write_task(queued(pack(), waits), task);
  const pid_t worker = begin("job", "0.5");
  ASSERT_TRUE(eventually(
      [&] {
        return is_there(claimed(job(), runs)) && !is_there(queued(pack(), runs)) &&
               is_there(started(job(), runs));
      },
      milliseconds(60000)));
  ASSERT_TRUE(eventually(
      [&] { return is_there(queued(pack(), waits)) && !is_there(claimed(job(), waits)); },
      milliseconds(60000)));
  test::write_file(dir_.path() / "go", "");
  ASSERT_TRUE(await(ended(job(), runs)));
  EXPECT_EQ(end_of(runs).code, 0);
  EXPECT_EQ(finish(worker), 0) << "it has no place left";
  EXPECT_FALSE(is_there(ended(job(), waits)));
  EXPECT_THAT(tasks_in(pack() / "queue"), ElementsAre(waits, next));
}

TEST_F(PackWorker, ATrialBeginsOnceTheDiskHasRoom) {
  if (!test::can_have_small_disks()) GTEST_SKIP() << "mounting needs root";
  make(1);
  const fs::path starts = job() / "started";
  const std::string name = add("touch ran; [ -s " + (starts / "$name").string() + " ]");
  const fs::path said = trials() / name / "stderr.log";
  test::RunOptions options;
  options.env = {{"SLURM_JOB_ID", "4711"}, {"SLURMD_NODENAME", "n2"}};
  workers_.push_back(
      test::start(test::with_small_disk(starts, test::fill(starts) + "; exec " + program +
                                                    " --look 0.05 --idle 0.3 " + job().string()),
                  options));
  ASSERT_TRUE(eventually(
      [&] { return read_text(said).value_or("").find("No space left") != std::string::npos; }));
  EXPECT_FALSE(is_there(dir_.path() / "ran"));
  fs::remove(test::seen_by(workers_.back(), starts / "fill"));
  EXPECT_EQ(finish(workers_.back()), 0);
  EXPECT_EQ(end_of(name).code, 0) << end_of(name).reason;
  EXPECT_TRUE(is_there(dir_.path() / "ran"));
}

TEST_F(PackWorker, WhatSlurmKnowsNoJobForGoesBackIntoTheQueue) {
  make(1);
  const std::string first = add("true"), next = add("true"), fails = add("true");
  Task task = *read_task(queued(pack(), first));
  task.command = {"sh", "-c",
                  "echo srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 4711 "
                  ">&2; exit 1"};  // the words of srun 22.05
  write_task(queued(pack(), first), task);
  EXPECT_EQ(run_to_end(), 0);
  EXPECT_THAT(tasks_in(pack() / "queue"), ElementsAre(first, next, fails))
      << "nothing began, and nothing more is taken";
  EXPECT_THAT(tasks_in(job() / "claimed"), IsEmpty());
  EXPECT_FALSE(is_there(ended(job(), first)));

  // What srun said in the job before does not count in the next.
  make(1, 3600, "later");
  task.command = {"sh", "-c", "echo srun: unrecognized option >&2; exit 1"};
  write_task(queued(pack(), first), task);
  EXPECT_EQ(finish(begin("later")), 0);
  EXPECT_EQ(end_of(first, "later").code, 1);
  EXPECT_EQ(end_of(fails, "later").code, 0);
}

TEST_F(PackWorker, AStepThatDoesNotEndIsGivenUp) {
  test::write_file(scancel(), "#!/bin/sh\nexit 1\n");
  make(1);
  const std::string name = add("trap '' TERM; while :; do sleep 0.05; done", 1);
  EXPECT_EQ(run_to_end(), 0);
  EXPECT_TRUE(end_of(name).may_go_on);
  EXPECT_TRUE(end_of(name).timed_out);
  EXPECT_EQ(end_of(name).reason, "its step does not end");
}

TEST_F(PackWorker, AnEngineThatIsMissingIsNamed) {
  make(1);
  const std::string name = add("true");
  Task task = *read_task(queued(pack(), name));
  task.command = step({"/no/such/engine"});
  write_task(queued(pack(), name), task);
  EXPECT_EQ(run_to_end(), 0);
  EXPECT_EQ(end_of(name).code, 127);
  EXPECT_THAT(*read_text(trials() / name / "stderr.log"),
              testing::HasSubstr("execve(): /no/such/engine"));
}

TEST(PackFolder, TasksStandInTheOrderOfTheirTrials) {
  test::TempDir dir;
  make_pack(dir.path());
  for (const char* name : {"10.1-aa", "2.2-bb", "2.1-cc"})
    write_task(queued(dir.path(), name), {});
  test::write_file(dir.path() / "queue/3.1-dd.task.new", "half");
  EXPECT_THAT(tasks_in(dir.path() / "queue"), ElementsAre("2.1-cc", "2.2-bb", "10.1-aa"));
}

TEST(PackFolder, OneOfTwoMovesATask) {
  test::TempDir dir;
  make_pack(dir.path());
  make_job(job_folder(dir.path(), "a"));
  const fs::path from = queued(dir.path(), "1.1-aa");
  write_task(from, {});
  EXPECT_TRUE(move_task(from, claimed(job_folder(dir.path(), "a"), "1.1-aa")));
  EXPECT_FALSE(move_task(from, withdrawn(dir.path(), "1.1-aa")));
  // As NFS may answer a rename that was done: the destination counts.
  EXPECT_TRUE(move_task(from, claimed(job_folder(dir.path(), "a"), "1.1-aa")));
}

TEST(PackFolder, WhatIsNotWholeIsNotRead) {
  test::TempDir dir;
  EXPECT_FALSE(read_task(dir.path() / "none"));
  for (const char* text : {"", "{", "[]", "{\"token\": 3}", "{\"token\": \"t\"}"}) {
    test::write_file(dir.path() / "odd", text);
    EXPECT_FALSE(read_task(dir.path() / "odd")) << text;
    EXPECT_FALSE(read_end(dir.path() / "odd")) << text;
    EXPECT_FALSE(read_start(dir.path() / "odd")) << text;
  }
}

}  // namespace
}  // namespace thalweg::daemon::pack
