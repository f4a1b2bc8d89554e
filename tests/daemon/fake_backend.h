// A cluster that exists only in memory, with the rules of a real one: jobs are submitted held, run
// when released, write journals, can be asked for, and can go wrong in scripted ways. It outlives
// the controllers that use it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/backend/backend.h"

namespace thalweg::test {

struct FakeJob {
  std::string handle, token;
  std::filesystem::path folder;
  jobspec::Id id;
  daemon::JobPhase phase = daemon::JobPhase::held;
  int runs = 0;  ///< times it was started: never more than once
  int step = 0;  ///< of its steps, written so far
  bool cancelled = false;
  std::optional<int> exit_code;
  double started = 0, ended = 0;  ///< as the backend tells it
  bool warned = false;
  bool deaf = false;       ///< goes on when it is cancelled
  bool lingers = false;    ///< written its end record, it does not come to its end
  bool mute = false;       ///< it runs, and nothing is written
  bool forgotten = false;  ///< it runs, and the backend does not know it
  bool held_by_hand = false;
  int resumed = 0;           ///< the step that its start record names
  int unfenced = 1'000'000;  ///< steps that it still makes when it is fenced
  int cancels = 0;
  bool killed = false;  ///< the last one was by force
  int nodes = 0;        ///< that it got; 0 = the backend does not say
  bool node_failed = false;
  std::string node = "n1";
  std::vector<std::string> gpus{};  ///< that it has to itself
  std::uint32_t user = 0;           ///< whose it is
  std::string job_step{};           ///< of an attempt that shares a job
};

struct FakeCluster {
  std::map<std::string, FakeJob> jobs;
  int next_handle = 100;
  int steps = 4;           ///< of each job
  int steps_per_poll = 1;  ///< how far jobs get between two looks
  bool reachable = true;
  bool here = false;  ///< on the controller's machine
  int looks = 0;
  int room = 1000;     ///< jobs at once
  int room_asked = 0;  ///< times
  int nodes = 0;       ///< of all jobs together; 0 = any number
  /// What becomes of a submission; by default it is accepted.
  std::function<daemon::SubmitOutcome(const daemon::LaunchRequest&)> on_submit;
  std::function<void()> tell_end;  ///< of the controller: the next look is now
  std::string script;              ///< of each job; empty = it has none
  /// What it expects of a request; by default it has nothing to say.
  std::function<std::optional<daemon::Forecast>(const daemon::LaunchRequest&)> on_forecast;
  /// Called when a job has written a step; may change the job (kill it, exit code ...).
  std::function<void(FakeJob&)> on_step;
  bool may_go_on = true;          ///< what the backend says of jobs that it does not know
  bool comments_changed = false;  ///< by somebody: jobs that are held show no token
  /// Called when a job was let run; may change the job.
  std::function<void(FakeJob&)> on_release;
  std::vector<std::string> submissions;  ///< ids, in order
  /// On whose behalf something was asked, "submit 1001 grant"; in order.
  std::vector<std::string> on_behalf;
  /// Credentials that it takes, each once, and for whom.
  std::map<std::string, daemon::Identity> words;
  /// How long calls on behalf of this user take, in seconds; by default no time.
  std::function<double(std::uint32_t uid)> call_s;
  std::map<std::uint32_t, int> calling;  ///< calls under way, by uid
  int max_calling = 0;                   ///< at once for one user
  /// What becomes of folders that are to be emptied as a user; by default nothing is done.
  std::function<daemon::Emptying(const std::vector<std::filesystem::path>&)> on_empty;
  /// What becomes of a folder that is to be made as a user; by default it is made.
  std::function<daemon::Preparation(const daemon::LaunchRequest&)> on_prepare;

  /// Every running job gets a bit further.
  void work();
  FakeJob* job_of(const std::string& attempt_id);
  std::unique_ptr<daemon::Backend> backend();
};

/// Appends a line to the job's journal.
void write_line(FakeJob& job, const std::string& keys);

}  // namespace thalweg::test
