// One loop: children that ended, orders, time limits, new trials. Nothing in it waits for Slurm: a
// step is a child process (srun), and what srun cannot do is asked of scancel.
#include "daemon/pack/worker.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/disk_room.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/process.h"
#include "base/signal_queue.h"

namespace thalweg::daemon::pack {
namespace {

constexpr int exit_broken = 70;       // EX_SOFTWARE
constexpr int exit_no_room = 74;      // EX_IOERR
constexpr int exit_cannot_run = 126;  // as shells say
constexpr int exit_not_found = 127;
constexpr int signal_exit = 128;  // srun turns a rank's death by signal n into 128 + n
constexpr int last_signal = 31;

double steady_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void say(const std::string& text) {
  std::fprintf(stderr, "thalweg-pack: %s\n", text.c_str());
}

/// What the batch script's own environment says of the whole job is wrong for a step of it.
bool about_the_job(const std::string& entry) {
  for (const char* name : {"SLURM_CPUS_PER_TASK=", "SLURM_CPU_BIND",
                           "SLURM_DISTRIBUTION=", "SLURM_EXACT=", "SLURM_GPUS", "SLURM_MEM_PER_",
                           "SLURM_NPROCS=", "SLURM_NTASKS", "SLURM_OVERCOMMIT=", "SLURM_OVERLAP=",
                           "SLURM_TRES_PER_TASK=", "SLURM_NNODES=", "SLURM_JOB_NUM_NODES="})
    if (entry.starts_with(name)) return true;
  return false;
}

std::vector<std::string> step_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!about_the_job(*entry)) entries.emplace_back(*entry);
  return entries;
}

// srun's own words, among its last ones: slurmctld took a node away from the step; it does not know
// the job, as where it was killed and came back with an older state.
constexpr std::string_view node_failed_words = "srun: error: Node failure on ",
                           job_unknown_words = "Expired or invalid job ";

off_t size_of(const fs::path& log) {
  struct stat found {};
  return ::stat(log.c_str(), &found) == 0 ? found.st_size : 0;
}

/// `begin`: where what was written before ends.
bool ends_with_words(const fs::path& log, off_t begin, std::string_view words) {
  const Descriptor file(::open(log.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  std::array<char, 8192> tail{};
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  const off_t from = std::max(begin, size - static_cast<off_t>(tail.size()));
  const ssize_t count = ::pread(file.get(), tail.data(), tail.size(), from);
  const std::string_view text(tail.data(), static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  return text.find(words) != text.npos;
}

/// In place where there is no room for a new file: each has the length of the one before.
void write_heartbeat(const fs::path& file, const std::string& text) {
  try {
    write_text(file, text);
  } catch (const std::system_error& error) {
    const Descriptor old(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!is_lack_of_room(error.code()) || !old) throw;
    write_all(old.get(), text, file);
  }
}

class Worker {
 public:
  Worker(const WorkerOptions& options, Job job)
      : options_(options),
        job_(std::move(job)),
        pack_(options.job.parent_path().parent_path()),
        room_(job_.trials),
        environment_(step_environment()),
        end_(begin_of_job() + static_cast<double>(job_.limit_s)) {}

  int run();

 private:
  struct Running {
    Task task;
    pid_t pid = 0;
    std::optional<Start> start;
    double started = 0;  ///< steady, as the times below; 0 = not that we know
    bool warned = false, timed_out = false, killed = false;
    double asked = 0;  ///< last time that it was asked to end, by TERM or KILL
    double begun = 0;  ///< when srun was started
    int kills = 0;     ///< times that its step was killed
    off_t log = 0;     ///< where what srun says begins in its stderr.log
    bool given_up = false;
  };

  /// exec kept the batch script's pid: what `slurm.setup` took counts.
  static double begin_of_job() {
    const auto ticks = process_start_time(getpid());
    timespec since_boot{};
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    const double up = static_cast<double>(since_boot.tv_sec);
    const double began =
        ticks ? static_cast<double>(*ticks) / static_cast<double>(sysconf(_SC_CLK_TCK)) : up;
    return steady_s() - std::max(0.0, up - began);
  }

  void take_signal(int signal);
  void reap();
  bool put_back(const std::string& name, const Running& running, int status);
  End end_of(const std::string& name, Running& running, int status);
  void write_ends();
  void give_sign();
  void look();
  void note_starts();
  void follow_orders();
  void keep_limits();
  void leave_lost_places();
  void lose_place(const std::string& why);
  void take_tasks();
  bool fits(const Task& task) const;
  void start(const std::string& name, const Task& task);
  void signal_steps(const std::vector<Running*>& trials, const char* signal);
  bool idle_for_long();

  const WorkerOptions& options_;
  const Job job_;
  const fs::path pack_;
  int room_;  ///< trials at once; less where nodes were lost
  const std::vector<std::string> environment_;
  const double end_;  ///< steady
  const SignalQueue signals_{SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD};
  std::map<std::string, Running> running_;
  std::deque<std::pair<std::string, End>> ends_;  ///< to be written
  bool mute_ = false;                             ///< it was said that they cannot be
  bool closing_ = false;                          ///< takes no more
  bool took_any_ = false;
  bool queue_waits_ = false;  ///< there are tasks, and the time that is left is too short for each
  double idle_since_ = 0;
  double heartbeat_ = 0;
};

int Worker::run() {
  double looked = 0;
  for (;;) {
    const double now = steady_s();
    give_sign();
    if (now - looked >= options_.look_s) {
      looked = now;
      look();
    }
    take_tasks();  // before the ends are on the disk: a place that waits is lost
    write_ends();
    keep_limits();
    leave_lost_places();
    if (idle_for_long()) return 0;
    const int wait_ms = static_cast<int>(options_.look_s * 1000);
    for (int signal = signals_.next(wait_ms); signal != 0; signal = signals_.next(0))
      take_signal(signal);
    reap();
  }
}

void Worker::take_signal(int signal) {
  if (signal == SIGCHLD) return;
  if (signal == SIGUSR1 || signal == SIGUSR2) {
    for (auto& [name, running] : running_)
      if (running.start && !std::exchange(running.warned, true)) ::kill(running.pid, SIGUSR1);
    return;
  }
  say("told to end: asking the trials to end");
  closing_ = true;
  std::vector<Running*> all;
  for (auto& [name, running] : running_)
    all.push_back(&running);
  signal_steps(all, "TERM");
}

void Worker::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto it = std::find_if(running_.begin(), running_.end(),
                                 [&](const auto& entry) { return entry.second.pid == pid; });
    if (it == running_.end()) continue;  // a scancel
    if (!put_back(it->first, it->second, status))
      ends_.emplace_back(it->first, end_of(it->first, it->second, status));
    running_.erase(it);
  }
}

/// Where slurmctld knows the job no more, nothing begins in it: a later job takes the trial. Where
/// the disk was full, the next place does. One that is to end has its end here.
bool Worker::put_back(const std::string& name, const Running& running, int status) {
  const bool full = WIFEXITED(status) && WEXITSTATUS(status) == exit_no_room;
  if (running.start || running.asked > 0 || read_start(started(options_.job, name)) ||
      !(full ||
        ends_with_words(running.task.folder / "stderr.log", running.log, job_unknown_words)) ||
      is_there(order(options_.job, name, false)) || is_there(order(options_.job, name, true)) ||
      !move_task(claimed(options_.job, name), queued(pack_, name)))
    return false;
  if (!full && !std::exchange(closing_, true))
    say("srun cannot confirm this job: it takes no more trials");
  return true;
}

/// A filesystem that is full or away for a while ends nobody's trial: tried again.
void Worker::write_ends() {
  try {
    for (; !ends_.empty(); ends_.pop_front())
      write_end(ended(options_.job, ends_.front().first), ends_.front().second);
    mute_ = false;
  } catch (const std::system_error& error) {
    if (!std::exchange(mute_, true)) say(error.what());
  }
}

void Worker::give_sign() {
  const double now = steady_s();
  if (now - heartbeat_ < options_.heartbeat_s) return;
  heartbeat_ = now;
  try {
    write_heartbeat(options_.job / "heartbeat", std::to_string(unix_now()) + "\n");
  } catch (const std::system_error& error) {
    say(error.what());
  }
}

End Worker::end_of(const std::string& name, Running& running, int status) {
  if (!running.start) running.start = read_start(started(options_.job, name));
  End end;
  end.time = unix_now();
  end.timed_out = running.timed_out;
  end.warned = running.warned;
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
    end.may_go_on = true;
    if (running.given_up) end.reason = "its step does not end";
    if (running.start) signal_steps({&running}, "KILL");
  } else {
    end.code = WEXITSTATUS(status);
    if (end.code > signal_exit && end.code <= signal_exit + last_signal)
      end.signal = end.code - signal_exit;
  }
  if (!running.start && end.code != 0) {
    const bool full = end.code == exit_no_room;
    end.reason = full ? "its folder's disk is full" : "its step did not start";
    end.node_failed = closing_ || full;
  }
  // srun ends with 0 then.
  if (ends_with_words(running.task.folder / "stderr.log", running.log, node_failed_words)) {
    end.node_failed = true;
    lose_place("a node failed");
  }
  return end;
}

void Worker::look() {
  if (!closing_ && is_there(options_.job / "withdrawn")) closing_ = true;
  note_starts();
  follow_orders();
}

void Worker::note_starts() {
  for (auto& [name, running] : running_) {
    if (running.start) continue;
    running.start = read_start(started(options_.job, name));
    if (running.start) running.started = steady_s();
  }
}

void Worker::follow_orders() {
  for (auto& [name, running] : running_) {
    if (!running.killed && is_there(order(options_.job, name, true))) {
      running.killed = true;
      signal_steps({&running}, "KILL");
    } else if (running.asked == 0 && is_there(order(options_.job, name, false))) {
      signal_steps({&running}, "TERM");
    }
  }
}

/// A trial's own limit counts from its step's start; the job's end holds for all.
void Worker::keep_limits() {
  const double now = steady_s();
  const auto grace_s = static_cast<double>(job_.grace_s);
  for (auto& [name, running] : running_) {
    double deadline = end_;
    if (running.task.limit_s > 0 && running.started > 0)
      deadline = std::min(end_, running.started + static_cast<double>(running.task.limit_s));
    const auto warning_s = static_cast<double>(running.task.warning_s);
    if (!running.warned && running.start && warning_s > 0 && now >= deadline - warning_s) {
      running.warned = true;
      ::kill(running.pid, SIGUSR1);
    }
    if (!running.timed_out && now >= deadline) {
      running.timed_out = true;
      signal_steps({&running}, "TERM");
    }
    const bool again = running.killed || running.timed_out;
    if (again && running.asked > 0 && now - running.asked >= grace_s)
      signal_steps({&running}, "KILL");
  }
}

/// srun that is told to end kills its ranks at once, and killed it leaves them: so steps that have
/// begun get their signal from scancel. Others never will.
void Worker::signal_steps(const std::vector<Running*>& trials, const char* signal) {
  std::vector<std::string> command{options_.scancel, std::string("--signal=") + signal};
  const std::size_t words = command.size();
  for (Running* running : trials) {
    running->asked = steady_s();
    if (std::string_view(signal) == "KILL") ++running->kills;
    if (running->start)
      command.push_back(running->start->step);
    else
      ::kill(running->pid, running->killed ? SIGKILL : SIGTERM);
  }
  if (command.size() == words) return;
  try {
    Spawn spawn;
    spawn.close_private_files();
    spawn.start(command, 0);
  } catch (const std::system_error& error) {
    say(error.what());
  }
}

void Worker::lose_place(const std::string& why) {
  if (--room_ <= 0) closing_ = true;
  say(why + ": " + std::to_string(room_) + " places are left");
}

/// slurmctld that was killed may take steps that have ended for running ones for ever: they keep
/// their cores, their srun waits, and no other step gets the place. A trial that waits for such a
/// place goes back into the queue; a later job has all its places again.
void Worker::leave_lost_places() {
  constexpr int patience = 4;  // kills, a grace time apart
  const double now = steady_s();
  for (auto it = running_.begin(); it != running_.end();) {
    auto& [name, running] = *it;
    if (running.kills >= patience && !std::exchange(running.given_up, true)) {
      ::kill(running.pid, SIGKILL);
      lose_place("a step does not end");
    }
    const bool waits =
        !running.start && running.asked == 0 && now - running.begun >= options_.start_s;
    if (!waits || read_start(started(options_.job, name))) {
      ++it;
      continue;
    }
    ::kill(running.pid, SIGKILL);
    ::waitpid(running.pid, nullptr, 0);
    lose_place("a step does not begin");
    if (read_start(started(options_.job, name)) ||
        !move_task(claimed(options_.job, name), queued(pack_, name))) {
      End end;
      end.time = unix_now();
      end.may_go_on = true;
      end.reason = "its srun was killed when its step began";
      ends_.emplace_back(name, end);
    }
    it = running_.erase(it);
  }
}

bool Worker::fits(const Task& task) const {
  if (!took_any_) return true;  // a job in which none fitted would be of no use to anybody
  const double needed =
      task.limit_s > 0 ? static_cast<double>(task.limit_s) : options_.least_left_s;
  return needed <= end_ - steady_s();
}

void Worker::take_tasks() {
  queue_waits_ = false;
  if (closing_ || static_cast<int>(running_.size()) >= room_) return;
  for (const std::string& name : tasks_in(pack_ / "queue")) {
    if (static_cast<int>(running_.size()) >= room_) return;
    const auto task = read_task(queued(pack_, name));
    if (!task) continue;  // somebody else has it now
    if (!fits(*task)) {
      queue_waits_ = true;
      continue;
    }
    if (!move_task(queued(pack_, name), claimed(options_.job, name))) continue;
    took_any_ = true;
    start(name, *task);
  }
}

void Worker::start(const std::string& name, const Task& task) {
  try {
    Spawn spawn;
    const int append = O_WRONLY | O_CREAT | O_APPEND;
    const std::string out = task.folder / "stdout.log", err = task.folder / "stderr.log";
    posix_spawn_file_actions_addopen(&spawn.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&spawn.files, STDOUT_FILENO, out.c_str(), append, 0644);
    posix_spawn_file_actions_addopen(&spawn.files, STDERR_FILENO, err.c_str(), append, 0644);
    spawn.close_private_files();
    posix_spawnattr_setpgroup(&spawn.attributes, 0);
    const off_t log = size_of(err);  // before srun writes
    Running running;
    std::vector<std::string> command = task.command;
    std::replace(command.begin(), command.end(), std::string(start_word),
                 started(options_.job, name).string());
    running.pid = spawn.start(command, POSIX_SPAWN_SETPGROUP, environment_);
    running.task = task;
    running.log = log;
    running.begun = steady_s();
    running_.emplace(name, std::move(running));
  } catch (const std::system_error& error) {
    End end;
    end.time = unix_now();
    end.code = exit_broken;
    end.reason = std::string("its step cannot be started: ") + error.what();
    ends_.emplace_back(name, std::move(end));
  }
}

bool Worker::idle_for_long() {
  const double now = steady_s();
  if (!running_.empty() || !ends_.empty()) {
    idle_since_ = 0;
    return false;
  }
  if (closing_ || queue_waits_ || now >= end_) return true;
  if (idle_since_ == 0) idle_since_ = now;
  return now - idle_since_ >= options_.idle_s;
}

/// False where the disk stays full: a trial that cannot write its journal would fail.
bool note_start(const fs::path& file, const Start& start) {
  try {
    with_room([&] { write_start(file, start); }, say);
  } catch (const std::system_error& error) {
    if (is_lack_of_room(error.code())) return false;
    say(error.what());  // its journal tells that it runs
  }
  return true;
}

}  // namespace

int work(const WorkerOptions& options) {
  try {
    const auto job = read_job(options.job);
    if (!job) {
      say("cannot read " + (options.job / "job.json").string());
      return exit_broken;
    }
    const char* node = std::getenv("SLURMD_NODENAME");  // Slurm's name for it
    const std::string who = host_name() + " " + std::to_string(getpid()) + " " + (node ? node : "");
    if (!write_first(options.job / "worker.json", who + "\n")) {
      say("this job was started before; nothing is run");
      return exit_superseded;
    }
    return Worker(options, *job).run();
  } catch (const std::exception& error) {
    say(error.what());
    return exit_broken;
  }
}

int start_step(const fs::path& file, const std::vector<std::string>& command) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (const std::string rank = variable("SLURM_PROCID"); rank.empty() || rank == "0") {
    const std::string node = variable("SLURMD_NODENAME");
    if (!note_start(file, {unix_now(), node.empty() ? host_name() : node,
                           variable("SLURM_JOB_ID") + "." + variable("SLURM_STEP_ID")}))
      return exit_no_room;
  }
  std::vector<char*> words;
  for (const std::string& word : command)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  const int error = errno;
  // As slurmstepd says it, which the controller knows.
  say("error: execve(): " + command[0] + ": " + std::strerror(error));
  return error == ENOENT ? exit_not_found : exit_cannot_run;
}

}  // namespace thalweg::daemon::pack
