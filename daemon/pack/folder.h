// The folder by which the controller and the jobs of a pack speak: trials that share jobs of Slurm
// wait in it, and each job's worker (worker.h) takes them out of it. It lies on the filesystem that
// all nodes share:
//
//   pack.json              what a job of the pack asks for; the controller's own (daemon/backend)
//   queue/NAME.task        waits for a place
//   withdrawn/NAME.task    was taken out before any job had it, and never runs
//   jobs/TOKEN/            one for each job, made before it is submitted
//     batch.sh               its script, for people
//     job.json             Job
//     handle               what the backend calls the job, once it has said so
//     worker.json          its worker began: "HOST PID NODE", NODE as Slurm calls it; made whole or
//                          not at all, so that it begins once
//     heartbeat            written again and again while the worker lives
//     claimed/NAME.task    the worker took it: from now on only this job's end or its own ends it
//     started/NAME         Start, written by the step itself
//     ended/NAME           End
//     orders/NAME.term     asks the trial to end, NAME.kill ends it
//     withdrawn            the controller cancels the job: nobody needs it
//
// Every file appears under its name complete; a task moves by rename, so who wins has it, and goes
// back only where its step never began. NAME is TRIAL.ATTEMPT-DIGITS, with the first digits of the
// attempt's token.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace thalweg::daemon::pack {

namespace fs = std::filesystem;

/// In a task's command it stands for the file that `thalweg-pack --start` writes: which job will
/// have the task is not known when it is queued.
inline constexpr const char* start_word = "{started}";

/// What a worker needs to run one trial.
struct Task {
  std::string token;                 ///< the attempt's
  fs::path folder;                   ///< the attempt's; its logs go there
  std::vector<std::string> command;  ///< srun and all; the step runs `thalweg-pack --start`
  std::int64_t limit_s = 0;          ///< of the trial; 0 = none of its own
  std::int64_t warning_s = 0;        ///< SIGUSR1 so long before the end
};

struct Job {
  std::string token;
  int trials = 1;            ///< at once
  std::int64_t limit_s = 0;  ///< from the start of the batch script to the end Slurm sets
  std::int64_t grace_s = 0;  ///< from asking a trial to end to ending it
};

struct Start {
  double time = 0;   ///< Unix seconds
  std::string node;  ///< of its first rank
  std::string step;  ///< "4711.3"
};

struct End {
  double time = 0;  ///< Unix seconds
  int code = 0;     ///< of the step, as srun gives it
  int signal = 0;   ///< that ended it; 0 = none
  bool timed_out = false;
  bool warned = false;       ///< it was told that its time is nearly over
  bool node_failed = false;  ///< srun said so, or the job ended before the step began
  bool may_go_on = false;    ///< its srun was killed; the ranks were told to end
  std::string reason;        ///< why it could not be started; empty = it was
};

/// "3.1-0123abcd" of trial 3, attempt 1.
std::string task_name(std::int64_t trial, std::int64_t attempt, const std::string& token);

fs::path queued(const fs::path& pack, const std::string& name);
fs::path withdrawn(const fs::path& pack, const std::string& name);
fs::path job_folder(const fs::path& pack, const std::string& token);
fs::path claimed(const fs::path& job, const std::string& name);
fs::path started(const fs::path& job, const std::string& name);
fs::path ended(const fs::path& job, const std::string& name);
fs::path order(const fs::path& job, const std::string& name, bool by_force);

/// Makes the folders of the pack, or of a job of it. Throws std::filesystem::filesystem_error.
void make_pack(const fs::path& pack);
void make_job(const fs::path& job);

/// Readers give nothing where the file is not there or not whole; writers throw std::system_error.
std::optional<Task> read_task(const fs::path& file);
void write_task(const fs::path& file, const Task& task);
std::optional<Job> read_job(const fs::path& job);
void write_job(const fs::path& job, const Job& content);
std::optional<Start> read_start(const fs::path& file);
void write_start(const fs::path& file, const Start& start);
std::optional<End> read_end(const fs::path& file);
void write_end(const fs::path& file, const End& end);
/// A file with this text, in place of an older one.
void write_text(const fs::path& file, const std::string& text);
/// The same, for one of several writers: false where it is there.
bool write_first(const fs::path& file, const std::string& text);
/// Its text without the line end; nothing where it is not there.
std::optional<std::string> read_text(const fs::path& file);

/// Moves a task; false where somebody else has moved it. A rename over NFS may be done and still be
/// answered with ENOENT, so the destination counts.
bool move_task(const fs::path& from, const fs::path& to);

/// Names of the tasks in a folder (queue, claimed), in the order of their trials.
std::vector<std::string> tasks_in(const fs::path& folder);
/// Tokens of the pack's jobs.
std::vector<std::string> jobs_in(const fs::path& pack);

bool is_there(const fs::path& file);

}  // namespace thalweg::daemon::pack
