// Attempts that share jobs: real files, a cluster in memory, and a new backend over both wherever a
// controller might have been killed.
#include "daemon/backend/packed.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include "daemon/backend/packed_files.h"
#include "daemon/backend/slurm_script.h"
#include "tests/daemon/slurm/waiting.h"
#include "tests/support/process.h"

namespace thalweg::daemon {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct ClusterOfJobs {
  struct Job {
    JobStatus status;
    LaunchRequest request;
    int releases = 0;
  };
  std::map<std::string, Job> jobs;  ///< by handle
  int next = 4711;
  bool reachable = true;
  std::function<Submission(const LaunchRequest&)> on_submit;  ///< instead of accepting it

  std::string add(const LaunchRequest& request) {
    Job job;
    job.request = request;
    job.status.handle = std::to_string(next++);
    job.status.token = request.token;
    job.status.folder = request.folder.string();
    job.status.phase = JobPhase::held;
    return jobs.emplace(job.status.handle, job).first->first;
  }
};

class JobsOnly final : public Backend {
 public:
  explicit JobsOnly(ClusterOfJobs& cluster) : cluster_(cluster) {}
  std::string name() const override { return "slurm"; }
  double grace_s() const override { return 30; }
  bool has_room(const jobspec::Resources&, const std::vector<jobspec::Resources>&) const override {
    return true;
  }
  std::string script(const LaunchRequest& request) const override {
    return batch_script({request, "srun", "thalweg-train"});
  }
  Awaitable<Submission> submit(const LaunchRequest& request) override {
    if (cluster_.on_submit) co_return cluster_.on_submit(request);
    co_return Submission{SubmitOutcome::accepted, cluster_.add(request), ""};
  }
  Awaitable<bool> release(const LaunchRequest&, const std::string& handle) override {
    auto& job = cluster_.jobs.at(handle);
    ++job.releases;
    if (job.status.phase == JobPhase::held) job.status.phase = JobPhase::queued;
    co_return true;
  }
  Awaitable<std::optional<std::vector<JobStatus>>> poll(
      const std::vector<TrackedJob>& watched) override {
    if (!cluster_.reachable) co_return std::nullopt;
    std::vector<JobStatus> statuses;
    for (const auto& [handle, job] : cluster_.jobs)
      statuses.push_back(job.status);
    for (const TrackedJob& job : watched) {
      if (cluster_.jobs.count(job.handle) > 0) continue;
      JobStatus missing;
      missing.handle = job.handle;
      missing.token = job.token;
      missing.folder = job.folder.string();
      missing.may_go_on = true;
      statuses.push_back(missing);
    }
    co_return statuses;
  }
  Awaitable<bool> cancel(const TrackedJob& job, Ending) override {
    JobStatus& status = cluster_.jobs.at(job.handle).status;
    status.phase = JobPhase::ended;
    status.cancelled = true;
    co_return true;
  }
  Awaitable<std::string> describe() override { co_return "a cluster"; }

 private:
  ClusterOfJobs& cluster_;
};

class PackedBackendTest : public testing::Test {
 protected:
  PackedBackendTest() {
    config_.token = [this] { return "job" + std::to_string(++tokens_); };
    config_.srun = (dir_.path() / "srun").string();
    config_.programs.train = "/bin/cat";
    restart();
  }

  /// As where the controller was killed: nothing but files and the cluster is left.
  void restart() { backend_ = make_packed_backend(std::make_unique<JobsOnly>(cluster_), config_); }

  /// Submissions are answered as usual from then on.
  void look_again_after_a_restart() {
    cluster_.on_submit = nullptr;
    restart();
    poll();
    poll();
  }

  LaunchRequest request(int trial, jobspec::Pack pack = {2, 1, 600}) {
    LaunchRequest request;
    request.id = {12, trial, 1};
    request.token = "0123456789abcdef" + std::to_string(trial);
    request.folder = dir_.path() / "12" / std::to_string(trial) / "1";
    request.resources.time_limit_s = 120;
    request.slurm.pack = pack;
    fs::create_directories(request.folder);
    test::write_file(request.folder / "trial.yaml", "trial\n");
    return request;
  }
  template <class T>
  T wait(boost::asio::awaitable<T> work) {
    return test::wait(context_, std::move(work));
  }
  /// Submitted and released; watched from then on.
  Backend::TrackedJob begin(const LaunchRequest& request) {
    const Submission submission = wait(backend_->submit(request));
    EXPECT_EQ(submission.outcome, SubmitOutcome::accepted) << submission.message;
    const Backend::TrackedJob attempt{submission.handle, request.token, request.folder};
    watched_.push_back(attempt);
    EXPECT_TRUE(wait(backend_->release(request, submission.handle)));
    return attempt;
  }
  std::vector<JobStatus> poll() {
    const auto statuses = wait(backend_->poll(watched_));
    EXPECT_TRUE(statuses);
    return statuses.value_or(std::vector<JobStatus>());
  }
  JobStatus look(const Backend::TrackedJob& attempt) {
    for (const JobStatus& status : poll())
      if (status.handle == attempt.handle && status.token == attempt.token) return status;
    ADD_FAILURE() << "nothing is said of " << attempt.handle;
    return {};
  }
  static std::string name_of(const Backend::TrackedJob& attempt) {
    return PackHandle::parse(attempt.handle)->name;
  }
  static fs::path pack_of(const Backend::TrackedJob& attempt) {
    return pack_folder(attempt.folder, PackHandle::parse(attempt.handle)->hash);
  }
  // What a worker does.
  static fs::path job_of(const Backend::TrackedJob& attempt, const std::string& token) {
    return pack::job_folder(pack_of(attempt), token);
  }
  bool claim(const Backend::TrackedJob& attempt, const std::string& job = "job1") {
    pack::write_text(job_of(attempt, job) / "worker.json", "");
    return pack::move_task(pack::queued(pack_of(attempt), name_of(attempt)),
                           pack::claimed(job_of(attempt, job), name_of(attempt)));
  }
  void start(const Backend::TrackedJob& attempt, const std::string& job = "job1") {
    pack::write_start(pack::started(job_of(attempt, job), name_of(attempt)),
                      {1000, "n2", "4711.0"});
  }
  void end(const Backend::TrackedJob& attempt, int code) {
    pack::End end;
    end.time = 1005;
    end.code = code;
    pack::write_end(pack::ended(job_of(attempt, "job1"), name_of(attempt)), end);
  }
  JobStatus& job(const std::string& handle = "4711") { return cluster_.jobs.at(handle).status; }
  void end_job(const std::string& handle = "4711") {
    job(handle).phase = JobPhase::ended;
    job(handle).reason = "failed";
    job(handle).ended = 2000;
  }

  test::TempDir dir_;
  boost::asio::io_context context_;
  ClusterOfJobs cluster_;
  PackedConfig config_;
  int tokens_ = 0;
  std::unique_ptr<Backend> backend_;
  std::vector<Backend::TrackedJob> watched_;
};

TEST_F(PackedBackendTest, OthersPassThrough) {
  const LaunchRequest plain = request(1, {});
  const Submission submission = wait(backend_->submit(plain));
  EXPECT_EQ(submission.handle, "4711");
  EXPECT_TRUE(wait(backend_->release(plain, "4711")));
  EXPECT_EQ(job().phase, JobPhase::queued);
  watched_ = {{"4711", plain.token, plain.folder}};
  EXPECT_EQ(look(watched_[0]).phase, JobPhase::queued);
  EXPECT_TRUE(wait(backend_->cancel(watched_[0], Ending::gently)));
  EXPECT_TRUE(job().cancelled);
  EXPECT_FALSE(fs::exists(dir_.path() / "12" / "pack"));
}

TEST_F(PackedBackendTest, AnAttemptsLifeSurvivesAKillAfterEachStep) {
  const LaunchRequest asked = request(1);
  const Submission first = wait(backend_->submit(asked));
  restart();
  const Submission submission = wait(backend_->submit(asked));
  EXPECT_EQ(submission.handle, first.handle) << "its handle was not noted";
  restart();
  const Backend::TrackedJob attempt{submission.handle, asked.token, asked.folder};
  watched_ = {attempt};
  EXPECT_EQ(look(attempt).phase, JobPhase::held);
  EXPECT_EQ(look(attempt).phase, JobPhase::held) << "until it is released";
  restart();
  EXPECT_TRUE(wait(backend_->release(asked, attempt.handle)));
  restart();
  EXPECT_TRUE(wait(backend_->release(asked, attempt.handle)));
  JobStatus status = look(attempt);
  EXPECT_EQ(status.phase, JobPhase::queued);
  EXPECT_THAT(status.reason, HasSubstr("job 4711"));
  job().phase = JobPhase::running;
  restart();
  EXPECT_EQ(look(attempt).reason, "a place in job 4711");
  ASSERT_TRUE(claim(attempt));
  restart();
  EXPECT_EQ(look(attempt).phase, JobPhase::queued);
  start(attempt);
  restart();
  EXPECT_TRUE(wait(backend_->release(asked, attempt.handle))) << "asked again";
  status = look(attempt);
  EXPECT_EQ(status.phase, JobPhase::running);
  EXPECT_EQ(status.node_list, "n2");
  EXPECT_EQ(status.started, 1000);
  EXPECT_EQ(status.job_step, "4711.0");
  EXPECT_EQ(status.reason, "") << "it waits for nothing";
  end(attempt, 3);
  restart();
  status = look(attempt);
  EXPECT_EQ(status.phase, JobPhase::ended);
  EXPECT_EQ(status.exit_code, 3);
  EXPECT_EQ(status.ended, 1005);
  EXPECT_FALSE(status.may_go_on);
  EXPECT_EQ(cluster_.jobs.size(), 1u);
  EXPECT_TRUE(pack::tasks_in(pack_of(attempt) / "queue").empty());
}

TEST_F(PackedBackendTest, JobsAreNotShownToTheController) {
  const auto attempt = begin(request(1));
  const auto statuses = poll();
  ASSERT_EQ(statuses.size(), 1u);
  EXPECT_EQ(statuses[0].handle, attempt.handle);
  EXPECT_EQ(job().phase, JobPhase::queued) << "and it was released";
}

TEST_F(PackedBackendTest, AJobThatIsFoundHeldIsReleased) {
  const auto attempt = begin(request(1));
  job().phase = JobPhase::held;  // slurmctld came back with an older state
  poll();
  EXPECT_EQ(job().phase, JobPhase::queued);
  job().phase = JobPhase::held;
  job().held_by_hand = true;
  poll();
  EXPECT_EQ(job().phase, JobPhase::held);
  job().reason = "held by hand: BadConstraints";  // by Slurm, while a node was away
  restart();
  poll();
  EXPECT_EQ(job().phase, JobPhase::queued);
}

TEST_F(PackedBackendTest, AJobWhoseSubmissionIsNotKnownIsFoundByItsToken) {
  cluster_.on_submit = [&](const LaunchRequest& asked) {
    cluster_.add(asked);
    return Submission{SubmitOutcome::unknown, "", "timed out"};
  };
  begin(request(1));
  look_again_after_a_restart();
  EXPECT_EQ(cluster_.jobs.size(), 1u);
  EXPECT_EQ(job().phase, JobPhase::queued);
}

TEST_F(PackedBackendTest, AJobThatNeverCameToBeIsReplaced) {
  cluster_.on_submit = [](const LaunchRequest&) {
    return Submission{SubmitOutcome::unknown, "", "timed out"};
  };
  begin(request(1));
  look_again_after_a_restart();
  EXPECT_EQ(cluster_.jobs.size(), 1u);
}

TEST_F(PackedBackendTest, WhatIsSaidOfTheFirstJobIsSaidOfItsAttempt) {
  for (const SubmitOutcome outcome : {SubmitOutcome::refused, SubmitOutcome::retry_later}) {
    restart();
    cluster_.on_submit = [&](const LaunchRequest&) { return Submission{outcome, "", "no"}; };
    const Submission submission = wait(backend_->submit(request(1)));
    EXPECT_EQ(submission.outcome, outcome);
    EXPECT_EQ(submission.message, "no");
  }
  EXPECT_TRUE(cluster_.jobs.empty());
}

TEST_F(PackedBackendTest, CancelledInTheQueueItIsOut) {
  const auto attempt = begin(request(1));
  EXPECT_TRUE(wait(backend_->cancel(attempt, Ending::gently)));
  EXPECT_FALSE(claim(attempt)) << "no worker gets it";
  restart();
  const JobStatus status = look(attempt);
  EXPECT_EQ(status.phase, JobPhase::ended);
  EXPECT_TRUE(status.cancelled);
  EXPECT_EQ(status.started, 0);
}

TEST_F(PackedBackendTest, CancelledBeforeItWasReleasedItIsNeverQueued) {
  const LaunchRequest asked = request(1);
  const Submission submission = wait(backend_->submit(asked));
  const Backend::TrackedJob attempt{submission.handle, asked.token, asked.folder};
  EXPECT_TRUE(wait(backend_->cancel(attempt, Ending::gently)));
  restart();
  EXPECT_TRUE(wait(backend_->release(asked, submission.handle)));
  EXPECT_TRUE(pack::tasks_in(pack_of(attempt) / "queue").empty());
}

TEST_F(PackedBackendTest, CancelledInAJobItsWorkerIsTold) {
  const auto attempt = begin(request(1)), other = begin(request(2));
  job().phase = JobPhase::running;
  ASSERT_TRUE(claim(attempt));
  start(attempt);
  ASSERT_TRUE(claim(other));
  const auto ordered = [&](const Backend::TrackedJob& of, bool by_force) {
    return pack::is_there(pack::order(job_of(of, "job1"), name_of(of), by_force));
  };
  EXPECT_TRUE(wait(backend_->cancel(attempt, Ending::gently)));
  EXPECT_TRUE(ordered(attempt, false));
  EXPECT_FALSE(ordered(attempt, true));
  EXPECT_EQ(look(attempt).phase, JobPhase::running) << "it was only asked";
  EXPECT_TRUE(wait(backend_->cancel(attempt, Ending::by_force)));
  EXPECT_TRUE(ordered(attempt, true));
  EXPECT_FALSE(ordered(other, false));
  EXPECT_EQ(job().phase, JobPhase::running);
}

TEST_F(PackedBackendTest, TheEndOfTheJobIsThatOfWhatHadNoEnd) {
  const auto runs = begin(request(1)), over = begin(request(2));
  job().phase = JobPhase::running;
  for (const auto& attempt : {runs, over}) {
    ASSERT_TRUE(claim(attempt));
    start(attempt);
  }
  end(over, 0);
  end_job();
  struct Case {
    std::function<void(JobStatus&)> how;
    bool cancelled, timed_out, node_failed, may_go_on;
  };
  const std::vector<Case> cases = {
      {[](JobStatus& s) { s.signal = 9; }, false, false, false, true},
      {[](JobStatus& s) { s.exit_code = 76; }, false, false, false, true},
      {[](JobStatus& s) { s.cancelled = true; }, true, false, false, false},
      {[](JobStatus& s) { s.timed_out = true; }, false, true, false, false},
      {[](JobStatus& s) { s.node_failed = true; }, false, false, true, false},
      {[](JobStatus& s) { s.node_failed = s.may_go_on = true; }, false, false, true, true},
  };
  const JobStatus before = job();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    job() = before;
    cases[i].how(job());
    restart();
    const JobStatus status = look(runs);
    EXPECT_EQ(status.phase, JobPhase::ended) << i;
    EXPECT_EQ(status.cancelled, cases[i].cancelled) << i;
    EXPECT_EQ(status.timed_out, cases[i].timed_out) << i;
    EXPECT_EQ(status.node_failed, cases[i].node_failed) << i;
    EXPECT_EQ(status.may_go_on, cases[i].may_go_on) << i;
    EXPECT_FALSE(status.exit_code) << i << ": the worker's is not the trial's";
    EXPECT_EQ(status.signal, 0) << i;
    EXPECT_EQ(look(over).exit_code, 0) << i;
    EXPECT_FALSE(look(over).node_failed) << i;
  }
}

/// As slurmctld 22.05 that was killed seconds after the job had begun: it takes the job for one
/// that waits, starts it again, and its nodes refuse.
TEST_F(PackedBackendTest, TheEndOfAStartThatNeverWasCancelsNoTrial) {
  const auto attempt = begin(request(1));
  job().phase = JobPhase::running;
  ASSERT_TRUE(claim(attempt));
  start(attempt);  // at 1000
  end_job();
  job().cancelled = true;
  job().started = 999;
  EXPECT_TRUE(look(attempt).cancelled) << "by hand";
  restart();
  job().started = job().ended = 1008;
  const JobStatus status = look(attempt);
  EXPECT_EQ(status.phase, JobPhase::ended);
  EXPECT_FALSE(status.cancelled);
  EXPECT_TRUE(status.may_go_on);
}

TEST_F(PackedBackendTest, AForgottenJobsTrialsAreMissingAndMayGoOn) {
  const auto attempt = begin(request(1));
  job().phase = JobPhase::running;
  ASSERT_TRUE(claim(attempt));
  start(attempt);
  cluster_.jobs.clear();
  const JobStatus status = look(attempt);
  EXPECT_EQ(status.phase, JobPhase::missing);
  EXPECT_TRUE(status.may_go_on);
}

TEST_F(PackedBackendTest, NothingIsSaidWhereTheJobsCannotBeLookedAt) {
  begin(request(1));
  cluster_.reachable = false;
  EXPECT_FALSE(wait(backend_->poll(watched_)));
}

TEST_F(PackedBackendTest, AJobThatFailsBeforeItsWorkerEndsAsManyAsItHasPlacesFor) {
  const auto one = begin(request(1)), two = begin(request(2)), three = begin(request(3));
  test::write_file(job_of(one, "job1") / "stderr.log", "slurm.setup failed: module load x\n");
  end_job();
  job().exit_code = 2;
  for (const auto& attempt : {one, two}) {
    const JobStatus status = look(attempt);
    EXPECT_EQ(status.phase, JobPhase::ended);
    EXPECT_EQ(status.exit_code, 2);
    EXPECT_FALSE(status.may_go_on);
    EXPECT_THAT(test::read_file(attempt.folder / "stderr.log"), HasSubstr("module load x"));
  }
  EXPECT_EQ(look(three).phase, JobPhase::queued) << "a later job decides";
  restart();
  EXPECT_EQ(look(three).phase, JobPhase::queued);
  EXPECT_EQ(look(one).exit_code, 2);
}

TEST_F(PackedBackendTest, AJobThatLosesItsNodesBeforeItsWorkerIsReplaced) {
  const auto attempt = begin(request(1));
  end_job();
  job().node_failed = true;
  EXPECT_EQ(look(attempt).phase, JobPhase::queued);
  EXPECT_TRUE(test::eventually([&] { return poll(), cluster_.jobs.size() == 2; }));
}

TEST_F(PackedBackendTest, AsManyJobsAsTheTrialsFill) {
  const jobspec::Pack pack{2, 3, 600};
  begin(request(1, pack));
  poll();
  EXPECT_EQ(cluster_.jobs.size(), 1u);
  begin(request(2, pack));
  poll();
  EXPECT_EQ(cluster_.jobs.size(), 1u) << "two fit into one";
  for (int trial = 3; trial <= 9; ++trial)
    begin(request(trial, pack));
  poll();
  EXPECT_EQ(cluster_.jobs.size(), 3u) << "pack.jobs";
  restart();
  poll();
  EXPECT_EQ(cluster_.jobs.size(), 3u);
  ASSERT_TRUE(claim(watched_[0]));
  start(watched_[0]);
  end(watched_[0], 0);
  end_job();
  poll();
  poll();
  EXPECT_EQ(cluster_.jobs.size(), 4u) << "one has ended, and there is more to do";
}

TEST_F(PackedBackendTest, TrialsOfOtherShapesHaveJobsOfTheirOwn) {
  LaunchRequest wide = request(2);
  wide.resources.threads_per_rank = 4;
  LaunchRequest elsewhere = request(3);
  elsewhere.slurm.options["exclude"] = "n7";
  const auto one = begin(request(1)), other = begin(wide), same = begin(elsewhere);
  EXPECT_NE(pack_of(one), pack_of(other));
  EXPECT_EQ(pack_of(one), pack_of(same));
  EXPECT_EQ(cluster_.jobs.size(), 2u);
}

TEST_F(PackedBackendTest, AJobThatNobodyNeedsIsCancelledWhileItWaits) {
  config_.unneeded_s = 0;
  restart();
  const auto attempt = begin(request(1));
  poll();
  EXPECT_FALSE(job().cancelled) << "its trial waits";
  EXPECT_TRUE(wait(backend_->cancel(attempt, Ending::gently)));
  watched_.clear();
  poll();
  EXPECT_TRUE(job().cancelled);
  EXPECT_TRUE(pack::is_there(job_of(attempt, "job1") / "withdrawn"));
  poll();
  EXPECT_EQ(cluster_.jobs.size(), 1u);
}

TEST_F(PackedBackendTest, AJobOfAPackThatNobodyWatchesIsFoundAndCancelled) {
  const LaunchRequest asked = request(1);
  wait(backend_->submit(asked));  // and the controller is killed
  config_.unneeded_s = 0;
  restart();
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(poll().empty());
  EXPECT_TRUE(job().cancelled);
}

TEST_F(PackedBackendTest, AWaitingJobCancelledByHandCancelsItsTrials) {
  const auto attempt = begin(request(1));
  end_job();
  job().cancelled = true;
  const JobStatus status = look(attempt);
  EXPECT_EQ(status.phase, JobPhase::ended);
  EXPECT_TRUE(status.cancelled);
}

TEST_F(PackedBackendTest, ATaskThatVanishedIsMissingInTheEnd) {
  const auto attempt = begin(request(1));
  poll();
  fs::remove(pack::queued(pack_of(attempt), name_of(attempt)));
  EXPECT_EQ(look(attempt).phase, JobPhase::queued) << "a shared filesystem may hide it";
  config_.hidden_s = 0;
  restart();
  EXPECT_EQ(look(attempt).phase, JobPhase::held) << "as far as a new controller knows";
}

TEST_F(PackedBackendTest, AJobWhoseWorkerGivesNoSignIsEnded) {
  const auto attempt = begin(request(1));
  job().phase = JobPhase::running;
  ASSERT_TRUE(claim(attempt));
  poll();
  poll();
  EXPECT_FALSE(job().cancelled);
  config_.silent_s = 0;
  restart();
  poll();
  EXPECT_TRUE(job().cancelled);
  const JobStatus status = look(attempt);
  EXPECT_EQ(status.phase, JobPhase::ended);
  EXPECT_FALSE(status.cancelled) << "nobody wanted its trials to end";
  EXPECT_TRUE(status.may_go_on);
}

TEST_F(PackedBackendTest, AJobThatLostTheNodeOfItsWorkerIsEnded) {
  const auto attempt = begin(request(1));
  job().phase = JobPhase::running;
  job().node_list = "n[2-4]";
  ASSERT_TRUE(claim(attempt));
  start(attempt);
  pack::write_text(job_of(attempt, "job1") / "worker.json", "n3.cluster 4242 n3\n");
  poll();
  EXPECT_FALSE(job().cancelled);
  job().node_list = "None assigned";
  poll();
  EXPECT_FALSE(job().cancelled);
  job().node_list = "n[2,4]";
  poll();
  EXPECT_TRUE(job().cancelled);
  restart();
  const JobStatus status = look(attempt);
  EXPECT_EQ(status.phase, JobPhase::ended);
  EXPECT_FALSE(status.cancelled);
  EXPECT_TRUE(status.may_go_on);
  EXPECT_EQ(status.reason, "its job 4711 lost its worker");
}

TEST_F(PackedBackendTest, ATaskTakenByAJobThatWasForgottenIsFound) {
  const jobspec::Pack pack{1, 1, 600};
  const auto runs = begin(request(1, pack)), waits = begin(request(2, pack));
  job().phase = JobPhase::running;
  ASSERT_TRUE(claim(runs));
  start(runs);
  end(runs, 0);
  poll();
  const auto forgotten = std::exchange(cluster_.jobs, {});
  watched_ = {waits};
  poll();
  poll();  // by now nobody asks for it
  EXPECT_TRUE(pack::is_there(job_of(waits, "job1") / "withdrawn")) << "it shall take no more";
  cluster_.jobs.insert(forgotten.begin(), forgotten.end());
  job().phase = JobPhase::running;
  ASSERT_TRUE(claim(waits));  // it had begun to
  start(waits);
  poll();
  EXPECT_EQ(look(waits).phase, JobPhase::running);
  end(waits, 0);
  EXPECT_EQ(look(waits).exit_code, 0);
}

TEST_F(PackedBackendTest, WhatCannotShareAJobIsRefused) {
  LaunchRequest owned = request(1), wide = request(2), elastic = request(3);
  owned.identity = Identity{1001, "grant"};
  wide.resources.nodes = 2;
  elastic.resources.min_nodes = 1;
  for (const LaunchRequest& asked : {owned, wide, elastic}) {
    EXPECT_EQ(wait(backend_->submit(asked)).outcome, SubmitOutcome::refused);
    EXPECT_THAT(wait(backend_->submit(asked)).message, HasSubstr("slurm.pack"));
    const auto forecast = wait(backend_->forecast(asked));
    ASSERT_TRUE(forecast);
    EXPECT_TRUE(forecast->refused);
  }
  EXPECT_TRUE(cluster_.jobs.empty());
}

/// A trial is taken where its whole limit is left: with the shortest time limit that a job may
/// have, all its places must be filled, a moment after it began.
TEST_F(PackedBackendTest, EvenTheShortestJobHasTimeForAllItsPlaces) {
  const LaunchRequest asked = request(1, {4, 1, 120});
  const auto attempt = begin(asked);
  const auto tokens = pack::jobs_in(pack_of(attempt));
  ASSERT_EQ(tokens.size(), 1u);
  const auto job = pack::read_job(pack::job_folder(pack_of(attempt), tokens.front()));
  ASSERT_TRUE(job);
  const std::int64_t of_slurm = cluster_.jobs.at("4711").request.resources.time_limit_s;
  EXPECT_GE(job->limit_s, asked.resources.time_limit_s + 30);
  EXPECT_GE(of_slurm, job->limit_s + 30) << "its trials are ended before Slurm ends all";
}

TEST_F(PackedBackendTest, ADryRunShowsTheScriptOfTheJob) {
  LaunchRequest asked = request(1, {16, 1, 600});
  asked.resources.memory_mib = 1000;
  asked.resources.ranks_per_node = 3;
  EXPECT_EQ(backend_->script(asked), "") << "an attempt is no job of its own";
  asked.id.sweep = 0;
  const std::string script = backend_->script(asked);
  for (const char* line :
       {"#SBATCH --nodes=1-16\n", "#SBATCH --ntasks=16\n", "#SBATCH --cpus-per-task=3\n",
        "#SBATCH --mem-per-cpu=334M\n", "#SBATCH --time=11\n", "#SBATCH --no-kill\n",
        "#SBATCH --job-name=thalweg-<sweep>-pack\n", "exec 'thalweg-pack'"})
    EXPECT_THAT(script, HasSubstr(line));
}

/// The whole way but Slurm: the task as the backend wrote it, the real worker, and an srun that
/// runs what it is given.
TEST_F(PackedBackendTest, TheWorkerRunsWhatTheBackendQueued) {
  config_.worker = std::string(THALWEG_BIN_DIR) + "/../libexec/thalweg/thalweg-pack";
  test::write_file(config_.srun,
                   "#!/bin/sh\necho \"$@\" >&2\nwhile :; do case $1 in --*) shift;; *) break;; "
                   "esac; done\nSLURM_JOB_ID=4711 SLURM_STEP_ID=0 exec \"$@\"\n");
  fs::permissions(config_.srun, fs::perms(0755));
  restart();
  const auto one = begin(request(1)), two = begin(request(2)), three = begin(request(3));
  job().phase = JobPhase::running;
  const auto ran =
      test::run({config_.worker, "--look", "0.05", "--idle", "0.1", job_of(one, "job1").string()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const auto& attempt : {one, two, three}) {
    const JobStatus status = look(attempt);
    EXPECT_EQ(status.phase, JobPhase::ended);
    EXPECT_EQ(status.exit_code, 0);
    EXPECT_GT(status.started, 0);
    EXPECT_EQ(test::read_file(attempt.folder / "stdout.log"), "trial\n");
    EXPECT_THAT(test::read_file(attempt.folder / "stderr.log"),
                HasSubstr("--exact --kill-on-bad-exit=1 --input=none --job-name=thalweg-12."));
  }
}

}  // namespace
}  // namespace thalweg::daemon
