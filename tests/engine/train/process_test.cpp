// thalweg-train as people start it: real processes under thalweg-launch, signals, and lost ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>

#include "engine/gpu/gpu.h"
#include "jobspec/schema.h"
#include "tests/engine/train/support.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// A few seconds on the fast device, so that there is a middle to be disturbed in.
Trial long_trial() {
  Trial trial = tiny_trial();
  trial.train.set("device", "cpu");
  trial.train.set("model", Map{{"name", "mlp"}, {"hidden", List{256, 256}}, {"batch_norm", true}});
  trial.train.set("epochs", Value());
  trial.train.set("steps", 4000);
  trial.train.set("log", Map{{"every", 50}});
  trial.train.set("eval", Map{{"every", 40}});
  trial.train.set("checkpoint", Map{{"every", 130}});
  return trial;
}

std::filesystem::path put_trial(const std::filesystem::path& folder, const Trial& trial) {
  std::filesystem::create_directories(folder);
  jobspec::write_trial(trial, folder / "trial.yaml");
  return folder / "trial.yaml";
}

std::vector<std::string> launch_command(const std::filesystem::path& trial, int ranks) {
  return {"thalweg-launch", "-n", std::to_string(ranks), "--", "thalweg-train", trial.string()};
}

test::Outcome launch(const std::filesystem::path& folder, const Trial& trial, int ranks) {
  return test::run(launch_command(put_trial(folder, trial), ranks));
}

/// A launch in the background whose ranks can be found. Ended with the test, however that goes.
class Running {
 public:
  Running(const std::filesystem::path& folder, const Trial& trial, int ranks) {
    static std::atomic<int> count{0};
    mark_ = "THALWEG_TEST_RUN=" + std::to_string(getpid()) + "." + std::to_string(++count);
    test::RunOptions options;
    options.env["THALWEG_TEST_RUN"] = mark_.substr(mark_.find('=') + 1);
    pid_ = test::start(launch_command(put_trial(folder, trial), ranks), options);
  }
  ~Running() {
    for (const pid_t pid : test::processes_with_environment(mark_))
      kill(pid, SIGKILL);
    if (!ended_) waitpid(pid_, nullptr, 0);
  }
  void signal_all(int signal) const { kill(pid_, signal); }
  pid_t rank(int number) const {
    const auto mine = test::processes_with_environment(mark_);
    for (const pid_t pid : test::processes_with_environment("PMIX_RANK=" + std::to_string(number)))
      if (std::find(mine.begin(), mine.end(), pid) != mine.end() &&
          test::command_line(pid).find("thalweg-train ") != std::string::npos)
        return pid;
    return -1;
  }
  bool any_left() const { return !test::processes_with_environment(mark_).empty(); }
  /// Exit code of the launcher; -1 where it did not end in time.
  int wait(test::milliseconds deadline = test::milliseconds(30000)) {
    int status = 0;
    ended_ = test::eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, deadline);
    return ended_ && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  std::string mark_;
  pid_t pid_ = -1;
  bool ended_ = false;
};

bool has_checkpoint(const std::filesystem::path& folder) {
  return test::read_file(folder / "journal.jsonl").find("\"type\":\"checkpoint\"") !=
         std::string::npos;
}

TEST(TrainProcess, SaysWhatReadsHdf5WhereThatIsMissing) {
  const test::TempDir folder;
  std::filesystem::create_directories(folder.path() / "bin");
  const auto alone = folder.path() / "bin/thalweg-train";
  std::filesystem::copy(std::filesystem::path(THALWEG_BIN_DIR) / "thalweg-train", alone);
  test::write_file(folder.path() / "x.h5", "anything");
  Trial trial = tiny_trial();
  const std::string inputs = (folder.path() / "x.h5").string() + ":x";
  trial.train.set("data", Map{{"name", "arrays"}, {"inputs", inputs}, {"labels", inputs}});
  const auto file = put_trial(folder.path(), trial).string();
  const test::Outcome check = test::run({alone.string(), "--check", file});
  EXPECT_NE(check.code, 0);
  EXPECT_THAT(check.err, HasSubstr("x.h5: an HDF5 file, and there is no "
                                   "libexec/thalweg/thalweg-hdf5-reader"));
  EXPECT_THAT(test::run({"thalweg-train", "--check", file}).err, HasSubstr("not an HDF5 file"));
}

TEST(TrainProcess, TellsAboutItself) {
  const test::Outcome schema = test::run({"thalweg-train", "--schema"});
  EXPECT_EQ(schema.code, 0);
  EXPECT_GE(jobspec::Schema::from_json(schema.out).sections.size(), 10u);
  EXPECT_THAT(test::run({"thalweg-train", "--layers"}).out, HasSubstr("conv2d: convolution"));
  const std::string arrays =
      std::string(THALWEG_SOURCE_DIR) + "/tests/engine/data/valid/deflated.npz";
  EXPECT_THAT(test::run({"thalweg-train", "--arrays", arrays}).out, HasSubstr("y  int64  3\n"));
  EXPECT_THAT(test::run({"thalweg-train", "--arrays", "--json", arrays}).out,
              HasSubstr(R"({"name":"y","type":"int64","integer":true,"shape":[3]})"));
  EXPECT_EQ(test::run({"thalweg-train", "--arrays"}).code, 2);
  const test::Outcome help = test::run({"thalweg-train", "--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("exit codes:"));
  EXPECT_THAT(test::run({"thalweg-train", "--version"}).out, HasSubstr("thalweg-train "));
  const test::TempDir folder;
  const auto file = put_trial(folder.path(), tiny_trial());
  const test::Outcome check = test::run({"thalweg-train", "--check", file.string()});
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(
      check.out,
      AllOf(HasSubstr("480 to train on, 48 to validate"), HasSubstr("60, 20 an epoch"),
            HasSubstr("schedule    cosine: lr 0.01 at step 0"), HasSubstr("parameters  346")));
  const test::Outcome noise = test::run({"thalweg-train", "--noise", file.string()});
  EXPECT_EQ(noise.code, 0) << noise.err;
  EXPECT_THAT(noise.out, AllOf(HasSubstr("B_simple"), HasSubstr("of 480 samples, 6 at a time, at "
                                                                "step 0")));
  const test::Outcome json = test::run({"thalweg-train", "--noise", "--json", file.string()});
  EXPECT_GT(jobspec::read_yaml(json.out, "noise").find("b_simple")->as_double(), 0);
  const test::Outcome answer = test::run({"thalweg-train", "--check", "--json", file.string()});
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(jobspec::read_yaml(answer.out, "check").find("results")->as_list().size(), 1u);
  EXPECT_THAT(test::run({"thalweg-train", "--metrics"}).out,
              AllOf(HasSubstr("val/perplexity"), HasSubstr("val/accuracy")));
  EXPECT_THAT(test::run({"thalweg-train", "--metrics", file.string()}).out,
              AllOf(HasSubstr("val/error"), Not(HasSubstr("val/perplexity"))));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "journal.jsonl"));
}

TEST(TrainProcess, ChecksASweepFile) {
  const test::TempDir folder;
  const auto file = folder.path() / "sweep.yaml";
  test::write_file(file,
                   "seeds: 3\ntrain:\n  model: {name: lenet}\n  data: {name: synthetic}\n  "
                   "optimizer: {name: sgd}\n");
  const test::Outcome check = test::run({"thalweg-train", "--check", file.string()});
  EXPECT_EQ(check.code, 2);
  EXPECT_THAT(check.out, HasSubstr("sweep.yaml: 3 trials of 1 shape"));
  EXPECT_THAT(check.err, HasSubstr("sweep.yaml:3: train.model: model lenet expects images"));
  const test::Outcome training = test::run({"thalweg-train", file.string()});
  EXPECT_EQ(training.code, 2);
  EXPECT_THAT(training.err, HasSubstr("this is a sweep file: thalweg run starts it"));
}

TEST(TrainProcess, BadInputIsExitCode2) {
  EXPECT_EQ(test::run({"thalweg-train"}).code, 2);
  EXPECT_EQ(test::run({"thalweg-train", "--shema"}).code, 2);
  EXPECT_THAT(test::run({"thalweg-train", "--shema"}).err, HasSubstr("did you mean --schema?"));
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"--check", "--trial"}, "--trial needs a value: N"},
      {{"--check", "--trial", "one", "a.yaml"},
       "--trial takes a number from 0 to 1000000000, not 'one'"},
      {{"--check=1", "a.yaml"}, "--check takes no value"},
      {{"--trial", "1", "a.yaml"},
       "--trial, --elsewhere, --seconds, --as, --directory, --max-nodes and --gpu-memory go with "
       "--check"},
      {{"--json", "a.yaml"}, "--json goes with --check, --describe, --evaluate"},
      {{"--out", "a.npy", "a.yaml"}, "--volume, --truth and --out go with --flood-fill"},
      {{"--check", "--checkpoint", "a.ckpt", "a.yaml"}, "--checkpoint goes with --evaluate"},
      {{"--export"}, "--export needs a value: FILE"},
      {{"--check", "--noise", "a.yaml"}, "one action at a time"},
      {{"--check", "a.yaml", "b.yaml"}, "one file at a time: b.yaml"},
  };
  for (const auto& [words, message] : wrong) {
    std::vector<std::string> all{"thalweg-train"};
    all.insert(all.end(), words.begin(), words.end());
    const test::Outcome refused = test::run(all);
    EXPECT_EQ(refused.code, 2) << message;
    EXPECT_THAT(refused.err, HasSubstr(message));
  }
  const test::TempDir folder;
  Trial trial = tiny_trial();
  trial.train.set("data.name", "synthetik");
  const auto file = put_trial(folder.path(), trial);
  const test::Outcome unknown = test::run({"thalweg-train", file.string()});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'synthetic'?"));
  EXPECT_EQ(test::run({"thalweg-train", "--check", file.string()}).code, 2);
  trial = tiny_trial();
  trial.train.set("model", Map{{"name", "graph"}, {"layers", List{Map{{"kind", "max_pool2d"}}}}});
  const auto graph = put_trial(folder.path(), trial);
  EXPECT_THAT(test::run({"thalweg-train", "--check", graph.string()}).err,
              HasSubstr("layer 1 (max_pool2d 'max_pool2d1'): kernel: missing, expected"));
  trial = tiny_trial();
  trial.train.set("batch.shards", 2);
  const test::Outcome crowded = launch(folder.path(), trial, 3);
  EXPECT_EQ(crowded.code, 2) << crowded.err;
  EXPECT_THAT(crowded.err, HasSubstr("3 ranks cannot share 2 shards"));
}

TEST(TrainProcess, DivergingIsExitCode3) {
  const test::TempDir folder;
  Trial trial = tiny_trial();
  trial.train.set("optimizer", Map{{"name", "sgd"}, {"lr", 1e30}});
  const test::Outcome outcome = launch(folder.path(), trial, 2);
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("diverged"));
}

TEST(TrainProcess, RanksDoNotWaitForEverForOneThatDoesNotStart) {
  const test::TempDir folder;
  Trial trial = tiny_trial();
  trial.train.set("sync.start_timeout_s", 0.7);
  const std::string file = put_trial(folder.path(), trial).string();
  const test::Outcome outcome =
      test::run({"thalweg-launch", "-n", "2", "--grace", "0.2", "--", "sh", "-c",
                 "[ $PMIX_RANK = 1 ] && exec sleep 60; exec thalweg-train " + file});
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("not all of 2 ranks have started within 0.7 s"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "journal.jsonl"));
}

// A convolution, batch norm and dropout on the fast device, over UCX.
TEST(TrainProcess, CurveDoesNotDependOnRanks) {
  Trial trial = tiny_trial();
  trial.train.set("device", "cpu");
  trial.train.set("model", Map{{"name", "lenet"}, {"dropout", 0.25}, {"batch_norm", true}});
  trial.train.set("data.shape", List{1, 12, 12});
  trial.train.set("epochs", 1);
  const test::TempDir whole;
  ASSERT_EQ(launch(whole.path(), trial, 1).code, 0);
  const auto expected = curve({whole.path()});
  EXPECT_THAT(expected, Contains(HasSubstr("val/error 20 ")));
  for (const int ranks : {2, 3, 4}) {
    const test::TempDir folder;
    trial.resources.threads_per_rank = ranks == 2 ? 2 : 1;
    const test::Outcome outcome = launch(folder.path(), trial, ranks);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(read_journal(folder.path())[0].find("ranks")->as_int(), ranks);
    EXPECT_EQ(curve({folder.path()}), expected) << ranks;
  }
}

TEST(TrainProcess, ProgramsThatAreInstalledHaveNoEmulatedGpu) {
  Trial trial = tiny_trial();
  trial.train.set("device", "cuda");
  const test::TempDir folder;
  const auto file = put_trial(folder.path(), trial);
  test::RunOptions emulated;
  emulated.env["THALWEG_GPU"] = "emulated";
  const test::Outcome outcome =
      test::run({THALWEG_BIN_DIR "/thalweg-train", file.string()}, emulated);
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("which only programs of the tests can have; unset it"));
}

// Gradients as messages of UCX, out of the memory of GPUs that are emulated.
TEST(TrainProcess, GpusExchangeByUcx) {
  Trial trial = tiny_trial();
  trial.train.set("device", "cuda");
  trial.train.set("sync", Map{{"first_bucket_mib", 0.001}, {"bucket_mib", 0.004}});
  trial.train.set("model.hidden", List{48, 48});
  trial.train.set("batch.shards", 4);
  trial.train.set("kernels.measure", "never");  // runs are compared that share no file
  test::RunOptions emulated;
  emulated.env["THALWEG_GPU"] = "emulated";
  const test::TempDir folder;
  const auto run = [&](const char* way, int ranks) {
    trial.train.set("sync.gpu_exchange", way);
    const auto file = put_trial(folder.path() / (way + std::to_string(ranks)), trial);
    return test::run(launch_command(file, ranks), emulated);
  };
  EXPECT_EQ(run("auto", 1).code, 0);
  for (const int ranks : {2, 3}) {
    const test::Outcome outcome = run("ucx", ranks);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto mine = folder.path() / ("ucx" + std::to_string(ranks));
    EXPECT_THAT(test::read_file(mine / "journal.jsonl"), HasSubstr("between GPUs by UCX"));
    EXPECT_EQ(curve({mine}), curve({folder.path() / "auto1"})) << ranks;
  }
  const test::Outcome refused = run("nccl", 2);
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("sync.gpu_exchange: nccl is not available"));
}

TEST(TrainProcess, GpusExchangeByNccl) {
  if (gpu::gpu_count() < 2) GTEST_SKIP() << "NCCL wants a GPU for each rank";
  Trial trial = tiny_trial();
  trial.train.set("device", "cuda");
  trial.train.set("batch.shards", 4);
  trial.train.set("kernels.measure", "never");  // runs are compared that share no file
  const test::TempDir folder;
  for (const char* way : {"nccl", "host"}) {
    trial.train.set("sync.gpu_exchange", way);
    const test::Outcome outcome = launch(folder.path() / way, trial, 2);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  EXPECT_THAT(test::read_file(folder.path() / "nccl/journal.jsonl"), HasSubstr("by NCCL"));
  EXPECT_EQ(curve({folder.path() / "nccl"}), curve({folder.path() / "host"}));
}

class Disturbed : public testing::Test {
 protected:
  /// The curve of the long trial when nobody disturbs it.
  static const std::vector<std::string>& quiet_curve() {
    static const std::vector<std::string> points = [] {
      const test::TempDir folder;
      EXPECT_EQ(launch(folder.path(), long_trial(), 1).code, 0);
      return curve({folder.path()});
    }();
    return points;
  }
};

TEST_F(Disturbed, SigtermStopsAfterACheckpointAndTheNextAttemptGoesOn) {
  const test::TempDir folder;
  const auto first = folder.path() / "1", second = folder.path() / "2";
  Trial trial = long_trial();
  {
    Running run(first, trial, 2);
    ASSERT_TRUE(test::eventually([&] { return has_checkpoint(first); }));
    run.signal_all(SIGTERM);
    EXPECT_EQ(run.wait(), 75);
  }
  const auto journal = read_journal(first);
  EXPECT_EQ(journal.back().find("status")->as_string(), "stopped");
  const std::int64_t stopped = journal.back().find("step")->as_int();
  EXPECT_EQ(lines_of(journal, "checkpoint").back().find("step")->as_int(), stopped);
  trial.resume = {first / "checkpoints"};
  const test::Outcome outcome = launch(second, trial, 1);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(read_journal(second)[0].find("resumed_step")->as_int(), stopped);
  EXPECT_EQ(curve({first, second}), quiet_curve());
}

TEST_F(Disturbed, ALostRankEndsTheOthersAndTheNextAttemptGoesOn) {
  const test::TempDir folder;
  const auto first = folder.path() / "1", second = folder.path() / "2";
  Trial trial = long_trial();
  {
    Running run(first, trial, 3);
    ASSERT_TRUE(test::eventually([&] { return has_checkpoint(first); }));
    const pid_t victim = run.rank(1);
    ASSERT_GT(victim, 0);
    kill(victim, SIGKILL);
    const int code = run.wait(test::milliseconds(10000));
    EXPECT_NE(code, -1) << "the others did not end within 10 s";
    EXPECT_THAT(code, testing::AllOf(testing::Ne(0), testing::Ne(2), testing::Ne(75)));
    EXPECT_TRUE(test::eventually([&] { return !run.any_left(); }));
  }
  const auto file = first / "failure.rank0.json";
  ASSERT_TRUE(std::filesystem::exists(file));
  EXPECT_EQ(jobspec::read_yaml(test::read_file(file), "failure").find("rank")->as_int(), 1);
  const Value end = read_journal(first).back();
  EXPECT_EQ(end.find("status")->as_string(), "failed");
  EXPECT_EQ(end.find("rank")->as_int(), 1);
  trial.resume = {first / "checkpoints"};
  const test::Outcome outcome = launch(second, trial, 2);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_GT(read_journal(second)[0].find("resumed_step")->as_int(), 0);
  EXPECT_EQ(curve({first, second}), quiet_curve());
}

// Every two steps a set of files: a kill finds ranks before, in and after theirs.
TEST_F(Disturbed, AllKilledAmongTheirPartsOfACheckpointGoOnFromAWholeOne) {
  const test::TempDir folder;
  Trial trial = long_trial();
  trial.train.set("sync", Map{{"shard_optimizer", true}});
  trial.train.set("checkpoint", Map{{"every", 2}});
  std::vector<std::filesystem::path> folders;
  for (const int ranks : {3, 2, 3}) {
    folders.push_back(folder.path() / std::to_string(folders.size()));
    Running run(folders.back(), trial, ranks);
    ASSERT_TRUE(test::eventually([&] { return has_checkpoint(folders.back()); }));
    test::sleep_for(test::milliseconds(137));
    for (int rank = 0; rank < ranks; ++rank)
      if (const pid_t pid = run.rank(rank); pid > 0) kill(pid, SIGKILL);
    EXPECT_NE(run.wait(), 0);
    ASSERT_TRUE(test::eventually([&] { return !run.any_left(); }));
    trial.resume.insert(trial.resume.begin(), folders.back() / "checkpoints");
  }
  trial.train.set("checkpoint", Map{{"every", 1000}});
  folders.push_back(folder.path() / "last");
  const test::Outcome outcome = launch(folders.back(), trial, 1);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (std::size_t i = 1; i < folders.size(); ++i) {
    // Perhaps one more than the journal knows.
    EXPECT_GE(read_journal(folders[i])[0].find("resumed_step")->as_int(),
              lines_of(read_journal(folders[i - 1]), "checkpoint").back().find("step")->as_int());
    EXPECT_THAT(test::read_file(folders[i] / "journal.jsonl"),
                testing::Not(HasSubstr("passed over")));
  }
  EXPECT_EQ(curve(folders), quiet_curve());
}

// Two workers and a server on a rank of its own, the last one.
TEST_F(Disturbed, ALostWorkerOrServerEndsTheOthersAndTheNextAttemptGoesOn) {
  for (const int lost : {1, 2}) {
    const test::TempDir folder;
    const auto first = folder.path() / "1", second = folder.path() / "2";
    Trial trial = long_trial();
    trial.train.set("sync", Map{{"mode", "async"}, {"servers", 1}});
    {
      Running run(first, trial, 3);
      ASSERT_TRUE(test::eventually([&] { return has_checkpoint(first); }));
      const pid_t victim = run.rank(lost);
      ASSERT_GT(victim, 0);
      kill(victim, SIGKILL);
      const int code = run.wait(test::milliseconds(10000));
      EXPECT_NE(code, -1) << "the others did not end within 10 s";
      EXPECT_THAT(code, testing::AllOf(testing::Ne(0), testing::Ne(2), testing::Ne(75)));
      EXPECT_TRUE(test::eventually([&] { return !run.any_left(); }));
    }
    const Value end = read_journal(first).back();
    EXPECT_EQ(end.find("status")->as_string(), "failed");
    EXPECT_EQ(end.find("rank")->as_int(), lost);
    trial.resume = {first / "checkpoints"};
    const test::Outcome outcome = launch(second, trial, 4);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_GT(read_journal(second)[0].find("resumed_step")->as_int(), 0);
    EXPECT_EQ(read_journal(second).back().find("status")->as_string(), "finished");
  }
}

// A wish to stop of all ranks, of a worker alone and of the server alone.
TEST_F(Disturbed, WorkersAndServersStopTogetherWhoeverIsAsked) {
  for (const int asked : {-1, 1, 2}) {
    const test::TempDir folder;
    Trial trial = long_trial();
    trial.train.set("sync", Map{{"mode", "async"}, {"servers", 1}});
    Running run(folder.path(), trial, 3);
    ASSERT_TRUE(test::eventually([&] { return has_checkpoint(folder.path()); }));
    if (asked < 0)
      run.signal_all(SIGTERM);
    else
      kill(run.rank(asked), SIGTERM);
    EXPECT_EQ(run.wait(), 75) << asked;
    const auto journal = read_journal(folder.path());
    EXPECT_EQ(journal.back().find("status")->as_string(), "stopped");
    EXPECT_EQ(lines_of(journal, "checkpoint").back().find("step")->as_int(),
              journal.back().find("step")->as_int());
  }
}

// In rounds of two global batches; what was dealt and lost with the rank is computed again.
TEST_F(Disturbed, RoundsGoOnBitwiseAfterALostRank) {
  const test::TempDir folder;
  const auto quiet = folder.path() / "0", first = folder.path() / "1", second = folder.path() / "2";
  Trial trial = long_trial();
  trial.train.set("sync", Map{{"mode", "abs"}, {"passes", 2}});
  ASSERT_EQ(launch(quiet, trial, 1).code, 0);
  EXPECT_EQ(read_journal(quiet).back().find("step")->as_int(), 2000);
  {
    Running run(first, trial, 2);
    ASSERT_TRUE(test::eventually([&] { return has_checkpoint(first); }));
    const pid_t victim = run.rank(1);
    ASSERT_GT(victim, 0);
    kill(victim, SIGKILL);
    EXPECT_NE(run.wait(test::milliseconds(10000)), -1);
  }
  trial.resume = {first / "checkpoints"};
  const test::Outcome outcome = launch(second, trial, 3);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_GT(read_journal(second)[0].find("resumed_step")->as_int(), 0);
  const auto of = [](const std::vector<std::filesystem::path>& folders) {
    std::vector<std::string> points = curve(folders);
    // Means since the last validation of the same attempt.
    std::erase_if(points, [](const std::string& point) { return point.starts_with("sync/"); });
    return points;
  };
  EXPECT_EQ(of({first, second}), of({quiet}));
}

TEST_F(Disturbed, ASecondSignalEndsARankThatCannotStop) {
  const test::TempDir folder;
  Running run(folder.path(), long_trial(), 2);
  ASSERT_TRUE(test::eventually([&] { return has_checkpoint(folder.path()); }));
  const pid_t waiting = run.rank(0), stuck = run.rank(1);
  ASSERT_GT(waiting, 0);
  ASSERT_GT(stuck, 0);
  kill(stuck, SIGSTOP);
  kill(waiting, SIGTERM);
  kill(waiting, SIGTERM);  // the same wish twice, as schedulers send it
  test::sleep_for(test::milliseconds(1100));
  EXPECT_EQ(run.rank(0), waiting);
  // Until one is heard a second after the first, which a busy machine may have heard late.
  EXPECT_TRUE(test::eventually(
      [&] {
        kill(waiting, SIGTERM);
        test::sleep_for(test::milliseconds(100));
        return run.rank(0) == -1;
      },
      test::milliseconds(3000)));
  EXPECT_NE(run.wait(), 75);
}

void give_up(const std::filesystem::path& folder) {
  test::write_file(folder / "fenced", "{}\n");
}

TEST_F(Disturbed, AnAttemptThatIsGivenUpStopsAndTheNextOneGoesOnFromThere) {
  const test::TempDir folder;
  const auto first = folder.path() / "1", second = folder.path() / "2";
  Trial trial = long_trial();
  trial.train.set("steps", 400000);
  {
    Running run(first, trial, 2);
    ASSERT_TRUE(test::eventually([&] { return has_checkpoint(first); }));
    // A second start meanwhile writes nothing and disturbs nobody.
    const test::Outcome twice = test::run(launch_command(first / "trial.yaml", 2));
    EXPECT_EQ(twice.code, 76) << twice.err;
    EXPECT_THAT(twice.err, HasSubstr("has not ended"));
    EXPECT_TRUE(run.any_left());
    give_up(first);
    EXPECT_EQ(run.wait(), 76);
  }
  const auto journal = read_journal(first);
  EXPECT_EQ(lines_of(journal, "start").size(), 1u);
  EXPECT_EQ(lines_of(journal, "end").size(), 1u);
  EXPECT_EQ(journal.back().find("status")->as_string(), "fenced");
  const std::int64_t stopped = journal.back().find("step")->as_int();
  trial.resume = {first / "checkpoints"};
  Running run(second, trial, 2);
  ASSERT_TRUE(test::eventually([&] { return has_checkpoint(second); }));
  EXPECT_EQ(read_journal(second)[0].find("resumed_step")->as_int(), stopped);
}

TEST_F(Disturbed, AnAttemptThatIsGivenUpEndsAlsoWhereARankHangs) {
  const test::TempDir folder;
  Trial trial = long_trial();
  trial.train.set("steps", 400000);
  Running run(folder.path(), trial, 2);
  ASSERT_TRUE(test::eventually([&] { return has_checkpoint(folder.path()); }));
  const pid_t stuck = run.rank(1);
  ASSERT_GT(stuck, 0);
  kill(stuck, SIGSTOP);
  give_up(folder.path());
  EXPECT_EQ(run.wait(), 76);
  const auto journal = read_journal(folder.path());
  EXPECT_EQ(journal.back().find("status")->as_string(), "fenced");
  EXPECT_EQ(journal.back().find("step")->as_int(),
            lines_of(journal, "checkpoint").back().find("step")->as_int());
}

/// Slurm does not end a rank that was only starting when another failed.
TEST(TrainProcess, ARankThatStartsAfterAnotherFailedDoesNotWaitForIt) {
  const test::TempDir folder;
  const auto file = put_trial(folder.path(), tiny_trial());
  test::RunOptions options;
  options.env = {{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}};
  const std::string
      failed = R"({"rank": 1, "node": "n2", "reason": "no device", "step": "7.0"})",
      before = R"({"rank": 2, "node": "n2", "reason": "of the step before", "step": "6.0"})";
  test::write_file(folder.path() / "failure.rank2.json", before);
  const test::Outcome outcome =
      test::run({"thalweg-launch", "-n", "2", "--", "sh", "-c",
                 "[ $PMIX_RANK = 0 ] && exec thalweg-train " + file.string() + "; echo '" + failed +
                     "' > " + (folder.path() / "failure.rank1.json").string() + "; exec sleep 600"},
                options);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("rank 1 on n2 has failed: no device"));
  EXPECT_THAT(test::read_file(folder.path() / "failure.rank0.json"), HasSubstr("\"rank\":1"));
}

// RLIMIT_FSIZE makes writes beyond it fail, as a full disk does.
TEST(TrainProcess, AFullDiskIsAnErrorAndItsCheckpointIsNotTaken) {
  const test::TempDir folder;
  Trial trial = tiny_trial();
  trial.train.set("model", Map{{"name", "mlp"}, {"hidden", List{64}}});
  const auto file = put_trial(folder.path(), trial);
  // In blocks of 512 bytes: enough for the journal, not for a checkpoint of 21 kB.
  const test::Outcome full =
      test::run({"sh", "-c", "ulimit -f 30; exec thalweg-train " + file.string()});
  EXPECT_EQ(full.code, 1);
  EXPECT_THAT(full.err, AllOf(HasSubstr("step-000000000020.ckpt"), HasSubstr("File too large")));
  EXPECT_THAT(test::read_file(folder.path() / "failure.rank0.json"), HasSubstr("File too large"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "checkpoints"));
  const Value end = read_journal(folder.path()).back();
  EXPECT_EQ(end.find("status")->as_string(), "failed");

  const test::TempDir quiet;
  EXPECT_EQ(test::run({"thalweg-train", file.string()}).code, 0);
  run_to_end(trial, quiet.path(), 1);
  EXPECT_EQ(curve({folder.path()}), curve({quiet.path()}));
}

}  // namespace
}  // namespace thalweg::engine
