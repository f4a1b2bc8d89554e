// What launches attempts: Slurm, or processes on this machine. Three questions (submit, status of
// many, cancel) and the held submission that makes each attempt run exactly once.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobspec/slurm_block.h"
#include "jobspec/trial.h"

namespace thalweg::daemon {

template <class T>
using Awaitable = boost::asio::awaitable<T>;

/// On whose behalf, where one controller serves many users: who, and what the agent gave for his
/// word that jobs may run under his name.
struct Identity {
  std::uint32_t uid = 0;
  std::string grant;
};

/// Of a job that several trials share: its script starts no ranks but a worker (daemon/pack), which
/// starts each trial as a step.
struct Shared {
  int trials = 1;      ///< at once; each with the cores, memory and GPUs of the request's resources
  std::string worker;  ///< the program thalweg-pack, as compute nodes see it
};

struct LaunchRequest {
  jobspec::Id id;
  std::string token;  ///< unique per attempt; a job or process is ours only if it carries it
  std::filesystem::path folder;  ///< attempt folder, holds trial.yaml
  jobspec::Resources resources;  ///< elastic: as many nodes as there are, where backends can choose
  jobspec::SlurmOptions slurm;   ///< `local` takes signal_before_end_s only
  std::vector<std::string> environment{};  ///< NAME=value; empty = the controller's own
  /// How many processes of the engine are started: one for each rank, or as few as a program of the
  /// user's own asks for, which each of them then starts and watches over.
  jobspec::LaunchMode launch = jobspec::LaunchMode::per_rank;
  std::optional<Identity> identity{};       ///< empty: the controller's own user
  std::vector<std::string> without_gpus{};  ///< of one machine, that it had better not get
  bool own_program = false;                 ///< the user's: thalweg-attempt runs it
  std::optional<Shared> shared{};           ///< not an attempt but a job for several
};

/// What became of a user's word that a sweep may run under his name.
struct Authorization {
  std::optional<Identity> identity;  ///< empty: refused, and `message` says why
  bool retry = false;                ///< where it was not refused for good
  std::uint32_t gid = 0;
  std::string user;          ///< name
  std::int64_t expires = 0;  ///< Unix seconds
  std::string message;
};

/// Of an attempt's folder that was to be made as its user.
struct Preparation {
  bool done = false, retry = false;
  std::string message;  ///< why not
};

/// Of attempts' folders that were to be emptied as their user.
struct Emptying {
  std::size_t done =
      0;  ///< with so many, from the first on, it is through: they are empty or gone,
  std::map<std::string, std::string> problems;  ///< or not, and why, by folder
  std::string message;                          ///< why nothing was done; empty = something was
};

enum class SubmitOutcome {
  accepted,     ///< handle is set
  refused,      ///< will never work as asked (message says why): the attempt fails, no retry
  retry_later,  ///< limit, busy, or down: try the same attempt again later
  unknown       ///< timed out: it may or may not exist; the next poll() tells
};

struct Submission {
  SubmitOutcome outcome = SubmitOutcome::unknown;
  std::string handle;
  std::string message;
};

/// What a backend expects of a request that is not submitted.
struct Forecast {
  bool refused = false;  ///< it could never run; `message` says why
  double start = 0;      ///< Unix seconds; 0 = it cannot say now, and `message` says why
  std::string node_list, partition;
  std::string message;
};

enum class JobPhase { held, queued, running, ended, missing };

struct JobStatus {
  std::string handle;
  std::string token;  ///< as the job itself carries it; empty where it cannot be read
  JobPhase phase = JobPhase::missing;
  std::string reason;  ///< pending reason, or why it ended, in the backend's words
  std::string node_list;
  double started = 0, ended = 0;  ///< Unix seconds; 0 = not yet
  double eligible = 0;            ///< of one that has started: when it might have; 0 = not known
  int nodes = 0;  ///< of one that has started: how many it got; 0 = as many as were asked for
  std::optional<int> exit_code;  ///< of the engine, when ended by exit
  int signal = 0;                ///< when ended by a signal
  bool cancelled = false, timed_out = false, node_failed = false;
  bool warned = false;  ///< it ran until its ranks were told that the time limit is near
  /// Ended or missing, as far as the backend knows, but its ranks may go on somewhere.
  bool may_go_on = false;
  std::string folder;      ///< in which it works, as the job itself says; empty = not known
  std::uint32_t user = 0;  ///< its owner's uid; 0 = not known. Anybody can write a token into his
                           ///< own job's comment: only the owner's jobs carry it rightly
  bool held_by_hand = false;        ///< held, after it had been released
  bool changed = false;             ///< somebody changed what names it; it is known by its folder
  std::vector<std::string> gpus{};  ///< of this machine, that it has to itself
  std::string job_step{};           ///< "4711.3", of an attempt that shares a job
};

enum class Ending {
  gently,   ///< SIGTERM to the ranks of what runs: they write a checkpoint
  by_force  ///< SIGKILL
};

/// Who takes users' own words.
struct CredentialReader {
  std::uint32_t user = 0;  ///< who alone must be able to decode a credential
  bool tokens = false;     ///< takes proofs by Slurm's tokens (daemon/auth/jwt.h), too
};

/// All calls run on the controller's single-threaded executor and never block it. They throw only
/// when the controller is shutting down; a backend that is down answers retry_later / an empty
/// optional.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// Ranks are processes of the controller's own machine: the nodes asked for are only a number of
  /// ranks, and the controller's Unix socket is in reach.
  virtual bool on_this_machine() const { return false; }
  /// Seconds of its work that a crash may take back: what was cancelled, or had ended, in them can
  /// be there again.
  virtual double forgets_s() const { return 0; }
  /// How old, in seconds, what the last poll() answered was when it was asked.
  virtual double age_s() const { return 0; }
  /// `call` is called, on that executor, soon after something may have ended: a look need not wait
  /// for its turn then. An empty one ends that. Backends that cannot tell never call it.
  virtual void tell_ends(boost::asio::any_io_executor, std::function<void()> /*call*/) {}
  /// From asking gently to force, in seconds: long enough for a checkpoint.
  virtual double grace_s() const = 0;
  /// May this request start now, given what is running? (local: enough cores; slurm: always)
  virtual bool has_room(const jobspec::Resources& wanted,
                        const std::vector<jobspec::Resources>& running) const = 0;
  /// Submits held where the backend can hold; it must not run before release(). local: prepares
  /// only.
  virtual Awaitable<Submission> submit(const LaunchRequest& request) = 0;
  /// The batch script that submit() hands over, for the attempt's folder and dry runs; empty where
  /// there is none.
  virtual std::string script(const LaunchRequest&) const { return {}; }
  /// Whether and when it would run. Nothing where the backend has nothing to say about it.
  virtual Awaitable<std::optional<Forecast>> forecast(const LaunchRequest&) {
    co_return std::nullopt;
  }
  /// Lets it run. False = not possible now (will be asked again). Idempotent.
  virtual Awaitable<bool> release(const LaunchRequest& request, const std::string& handle) = 0;
  /// What the last release() that was not possible waits for; empty = it cannot say.
  virtual std::string awaited() const { return {}; }
  struct TrackedJob {
    std::string handle, token;
    std::filesystem::path folder;
    jobspec::Resources resources{};
    std::int64_t signal_before_end_s = 0;
    std::optional<Identity> identity{};
  };
  /// One batched look at everything of ours: the watched ones (in any order) and also jobs that
  /// carry a Thalweg token but are not watched (orphans). Nothing = could not look (never taken as
  /// "ended").
  virtual Awaitable<std::optional<std::vector<JobStatus>>> poll(
      const std::vector<TrackedJob>& watched) = 0;
  /// Asks to end; what does not run yet ends at once. True where it was asked, or is gone. That it
  /// was asked is the controller's to remember.
  virtual Awaitable<bool> cancel(const TrackedJob& job, Ending how) = 0;
  /// What a controller for many users needs: a user's credential for an identity (`digest` as
  /// daemon/auth/munge.h has it), its end, and the attempt's folder, with files in it, as the user.
  virtual Awaitable<Authorization> authorize(const std::string& /*credential*/,
                                             const std::string& /*digest*/) {
    co_return Authorization{{}, false, 0, "", 0, "backend '" + name() + "' serves one user alone"};
  }
  /// Whom such a credential must be for; nothing where that is not known (yet).
  virtual std::optional<CredentialReader> credential_reader() const { return {}; }
  virtual Awaitable<bool> revoke(const std::string& /*grant*/) { co_return true; }
  virtual Awaitable<Preparation> prepare(const LaunchRequest&,
                                         const std::map<std::string, std::string>& /*files*/) {
    co_return Preparation{false, false, "backend '" + name() + "' serves one user alone"};
  }
  /// Removes what is in these folders as that user, for some seconds at a time.
  virtual Awaitable<Emptying> empty(const Identity&, const std::vector<std::filesystem::path>&) {
    Emptying nothing;
    nothing.message = "backend '" + name() + "' serves one user alone";
    co_return nothing;
  }
  /// A sentence for `thalweg daemon status` ("slurm 22.05.8, cluster vc, 8 nodes" / "2 cores").
  /// Empty = it is not there (no Slurm on this machine): backend `auto` then passes it over.
  virtual Awaitable<std::string> describe() = 0;
};

}  // namespace thalweg::daemon
