// The jobs that packs have: written down, submitted, found again after a restart, counted, and let
// go. Single-threaded, as every backend. Throws std::system_error and DiskHangs where the packs'
// folders cannot be looked at.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/backend/disk.h"
#include "daemon/backend/packed.h"
#include "daemon/backend/packed_files.h"

namespace thalweg::daemon {

/// Seconds that only grow.
double pack_clock();
bool is_packed(const LaunchRequest& request);

struct JobOfPack {
  PackedJob files;
  std::optional<JobStatus> status;  ///< by the last look; nothing = not seen
  double unneeded = 0;              ///< since when
  double heard = 0;                 ///< when its worker's last sign was new
  bool counted = false;             ///< its end, for the pauses between jobs
  double released = 0;              ///< when it was last released again

  bool over() const;
};

struct PackOfTrials {
  std::filesystem::path folder;
  std::map<std::string, JobOfPack> jobs{};  ///< by token; those that are not settled
  int failures = 0;                         ///< jobs in a row of which no trial had anything
  double not_before = 0;
  std::string trouble{};  ///< why there is no job

  int live() const;
  /// Why a trial in the queue waits.
  std::string why_queued() const;
};

class PackJobs {
 public:
  using Packs = std::map<std::string, PackOfTrials>;  ///< by folder

  /// The others must outlive it.
  PackJobs(Backend& backend, Disk& disk, const PackedConfig& config)
      : backend_(backend), disk_(disk), config_(config) {}

  Packs& packs() { return packs_; }
  PackOfTrials& pack_of(const std::filesystem::path& folder);
  /// A job for trials like this one.
  LaunchRequest request(const LaunchRequest& of, const std::string& token,
                        const std::filesystem::path& folder) const;
  Awaitable<Submission> add(PackOfTrials& pack, const LaunchRequest& of);
  /// Adds them to those that the other backend is asked for.
  void track(std::vector<Backend::TrackedJob>& asked) const;
  /// Takes them out of what the other backend says of everything that is Thalweg's.
  void take(std::vector<JobStatus>& statuses, const std::vector<Backend::TrackedJob>& plain);
  /// Those that have ended and are not `needed` (by token) are not asked for any more.
  void settle_ended(const std::set<std::string>& needed,
                    const std::set<const PackOfTrials*>& watched);
  Awaitable<void> look_after();
  struct Trials {
    int waiting = 0, in_jobs = 0;
  };
  Awaitable<void> ask_for_more(const std::map<PackOfTrials*, Trials>& trials);
  Awaitable<void> drop_unneeded();

 private:
  void read_jobs(PackOfTrials& pack);
  void take_job(PackOfTrials& pack, JobOfPack& job, const JobStatus& status);
  Awaitable<void> withdraw(const PackOfTrials& pack, const std::string& token, JobOfPack& job);

  Backend& backend_;
  Disk& disk_;
  const PackedConfig& config_;
  Packs packs_;
  std::vector<Backend::TrackedJob> doubles_;  ///< they carry a job's token and are not it
};

}  // namespace thalweg::daemon
