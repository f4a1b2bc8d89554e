#include "engine/launch/launch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/disk_room.h"
#include "base/machine.h"
#include "base/signal_queue.h"
#include "engine/launch/pmix_server.h"
#include "engine/launch/ranks.h"
#include "engine/launch/records.h"
#include "engine/launch/rendezvous.h"

namespace thalweg::engine::launch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kReplacedFor{10};  ///< longer than a linker or a package needs
constexpr std::chrono::milliseconds kReplacedLook{50};
constexpr int kRoomLookMs = 500;

void say(const std::string& text) {
  std::fprintf(stderr, "thalweg-launch: %s\n", text.c_str());
}

/// A single rank has nobody to find, and the server takes longer than all else here. Within a Slurm
/// step of several tasks it would be taken for one of them.
bool needs_server(const Options& options) {
  return options.ranks > 1 || std::getenv("SLURM_STEP_NUM_TASKS") != nullptr;
}

class Launch {
 public:
  explicit Launch(const Options& options)
      : options_(options), records_(options.folder, options.token), host_(host_name()) {}

  int run();

 private:
  int start_rank(int rank);
  bool start_ranks();
  RankPlan plan_for(int rank) const;
  void watch();
  int next_signal() const;
  void took_end(const RankEnd& end);
  void took_signal(int signal);
  void took_deadline();
  void warn();
  void end_all(const char* why);
  void fail(int code, const std::string& message);
  void write_end();

  const Options& options_;
  Records records_;
  std::string host_;
  const SignalQueue signals_{SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
  std::unique_ptr<Rendezvous> rendezvous_;
  std::unique_ptr<PmixServer> server_;
  Ranks ranks_;
  Ending ending_;
  bool failed_ = false;
  bool stopped_ = false;  ///< some rank returned 75
  bool warned_ = false;   ///< the time limit is near, and the ranks know it
  bool out_of_time_ = false;
  bool cut_off_ = false;  ///< some rank did not stop in good order when time was over
  bool ending_all_ = false;
  bool killed_ = false;
  int interrupts_ = 0;
  std::optional<Clock::time_point> deadline_;
};

int Launch::run() {
  try {
    if (!records_.claim(options_.ranks, options_.command)) {
      say((options_.folder / "launch.json").string() +
          " exists: this attempt was started or declared void before; nothing is run");
      return kClaimed;
    }
  } catch (const std::system_error& e) {
    say(e.what());
    return kStartFailed;
  }
  try {
    rendezvous_ = std::make_unique<Rendezvous>();  // cleans up after killed ones in any case
    if (needs_server(options_))
      server_ = std::make_unique<PmixServer>(options_.ranks, rendezvous_->path(), host_);
    if (start_ranks()) watch();
  } catch (const std::exception& e) {
    fail(kStartFailed, e.what());
  }
  ranks_.sweep();
  if (!failed_ && cut_off_) fail(kTimeLimit, "the time limit ended it");
  if (!failed_ && stopped_) ending_.code = kStopped;
  ending_.timed_out = cut_off_ || ((warned_ || out_of_time_) && ending_.code == kStopped);
  write_end();
  server_.reset();
  rendezvous_.reset();
  return ending_.code;
}

RankPlan Launch::plan_for(int rank) const {
  RankPlan plan;
  plan.command = options_.command;
  plan.environment = server_ ? server_->environment(rank) : environment_without_pmix();
  const auto cores = allowed_cores();
  if (options_.bind) plan.cores = share_of(cores, rank, options_.ranks);
  int threads = options_.threads;
  if (threads == 0 && !std::getenv("OMP_NUM_THREADS")) {
    threads = std::max(1, static_cast<int>(cores.size()) / options_.ranks);
  }
  if (threads > 0) {
    std::erase_if(plan.environment,
                  [](const std::string& entry) { return entry.starts_with("OMP_NUM_THREADS="); });
    plan.environment.push_back("OMP_NUM_THREADS=" + std::to_string(threads));
  }
  // Like mpirun: input goes to rank 0. A terminal would stop a process group in the background.
  plan.keep_input = rank == 0 && !::isatty(0);
  return plan;
}

/// A program that a controller starts may be away, or half written, while it is replaced by another
/// version; what somebody types is told at once.
int Launch::start_rank(int rank) {
  const auto until = Clock::now() + kReplacedFor;
  for (;;) {
    const int error = ranks_.start(plan_for(rank), signals_.before());
    const bool away = error == ENOENT || error == EACCES || error == ETXTBSY || error == ENOEXEC;
    const bool by_path = options_.command[0].find('/') != std::string::npos;
    if (!away || !by_path || options_.token.empty() || Clock::now() >= until) return error;
    std::this_thread::sleep_for(kReplacedLook);
  }
}

bool Launch::start_ranks() {
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const int error = start_rank(rank);
    if (error == 0) continue;
    fail(error == ENOENT ? kNotFound : kCannotRun,
         "cannot run '" + options_.command[0] + "': " + std::strerror(error));
    return false;
  }
  if (options_.timeout.count() > 0)
    deadline_ = Clock::now() + options_.timeout - std::min(options_.warning, options_.timeout);
  return true;
}

/// 0 when the deadline has come first.
int Launch::next_signal() const {
  constexpr long max_wait_ms = 3'600'000;
  for (;;) {
    long wait_ms = -1;
    if (deadline_) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now());
      wait_ms = std::clamp<long>(left.count(), 0, max_wait_ms);
    }
    if (const int signal = signals_.next(static_cast<int>(wait_ms)); signal != 0) return signal;
    if (wait_ms == 0) return 0;
  }
}

void Launch::watch() {
  while (ranks_.running() > 0) {
    const int signal = next_signal();
    if (signal == 0) {
      took_deadline();
    } else if (signal == SIGCHLD) {
      for (const auto& end : ranks_.reap()) {
        took_end(end);
      }
    } else {
      took_signal(signal);
    }
  }
}

void Launch::took_end(const RankEnd& end) {
  const bool by_signal = WIFSIGNALED(end.status);
  const int code = by_signal ? 128 + WTERMSIG(end.status) : WEXITSTATUS(end.status);
  if (code == 0) return;
  if (code == kStopped) {
    stopped_ = true;
    return;
  }
  cut_off_ = cut_off_ || out_of_time_;
  if (failed_ || out_of_time_) return;  // the consequences of what is known already
  std::string message = "rank " + std::to_string(end.rank) + " (pid " + std::to_string(end.pid) +
                        ") on host " + host_;
  if (by_signal) {
    const int signal = WTERMSIG(end.status);
    message += " was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  } else {
    message += " exited with code " + std::to_string(code);
  }
  ending_.signal = by_signal ? WTERMSIG(end.status) : 0;
  ending_.rank = end.rank;
  ending_.pid = end.pid;
  fail(code, message);
  if (ranks_.running() > 0) end_all("ending the other ranks");
}

void Launch::took_signal(int signal) {
  if (signal == SIGHUP || signal == SIGQUIT) signal = SIGTERM;
  if (signal == SIGINT && ++interrupts_ > 1) {
    end_all("interrupted again: ending all ranks");
    return;
  }
  ranks_.signal_all(signal);
}

void Launch::took_deadline() {
  if (!ending_all_ && !warned_ && options_.warning.count() > 0) {
    warn();
  } else if (!ending_all_) {
    out_of_time_ = true;
    end_all("the time limit has come: ending all ranks");
  } else {
    if (!killed_) say("killing what did not end in time");
    killed_ = true;
    ranks_.signal_all(SIGKILL);
    deadline_.reset();
  }
}

void Launch::warn() {
  warned_ = true;
  say("the time limit is near: asking all ranks to stop");
  ranks_.signal_all(SIGUSR1);
  deadline_ = Clock::now() + std::min(options_.warning, options_.timeout);
}

void Launch::end_all(const char* why) {
  if (ending_all_) return;
  ending_all_ = true;
  say(why);
  ranks_.signal_all(SIGTERM);
  ranks_.signal_all(SIGCONT);  // a stopped rank cannot see the other
  deadline_ = Clock::now() + options_.grace;
}

void Launch::fail(int code, const std::string& message) {
  failed_ = true;
  ending_.code = code;
  ending_.message = message;
  say(message);
  try {
    records_.failure(ending_);
  } catch (const std::system_error& e) {
    say(e.what());
  }
}

/// Without exit.json a run that was paid for counts as lost: where the disk is full, room for it is
/// waited for, until somebody ends the launcher.
void Launch::write_end() {
  for (bool told = false;;) {
    try {
      records_.end(ending_);
      return;
    } catch (const std::system_error& e) {
      const bool waits = is_lack_of_room(e.code());
      if (!std::exchange(told, true))
        say(std::string(e.what()) + (waits ? ": waiting for room to say how it ended" : ""));
      const int signal = waits ? signals_.next(kRoomLookMs) : SIGTERM;
      if (signal == 0 || signal == SIGCHLD || signal == SIGUSR1 || signal == SIGUSR2) continue;
      if (ending_.code == 0) ending_.code = kStartFailed;
      return;
    }
  }
}

}  // namespace

int launch(const Options& options) {
  try {
    return Launch(options).run();
  } catch (const std::exception& e) {
    say(e.what());
    return kStartFailed;
  }
}

}  // namespace thalweg::engine::launch
