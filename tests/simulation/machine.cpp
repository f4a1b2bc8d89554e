// A launcher claims its folder (launch.json), starts the engine, waits for it, and writes exit.json
// (engine/launch/README.md). Few process numbers, so that they come round again soon.
#include "tests/simulation/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>

namespace thalweg::simulation {

namespace fs = std::filesystem;

namespace {

constexpr pid_t first_pid = 300, pids = 40;
constexpr double stop_grace_s = 10;  ///< of the launcher, from a time limit's SIGTERM to SIGKILL

std::string argument(const std::vector<std::string>& words, const std::string& option) {
  const auto at = std::find(words.begin(), words.end(), option);
  return at == words.end() || at + 1 == words.end() ? "" : *(at + 1);
}

void set_time(const fs::path& file, double unix_s) {
  const auto seconds = std::floor(unix_s);
  const timespec at{static_cast<time_t>(seconds), static_cast<long>((unix_s - seconds) * 1e9)};
  const timespec both[] = {at, at};
  ::utimensat(AT_FDCWD, file.c_str(), both, 0);
}

/// False where it is there, or there is no folder.
bool create(const fs::path& file, const std::string& text, double unix_s) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  ::close(fd);
  std::ofstream(file) << text;
  set_time(file, unix_s);
  return true;
}

}  // namespace

Process* Machine::find(pid_t pid) {
  for (Process& process : all_)
    if (process.pid == pid && process.alive) return &process;
  return nullptr;
}

std::vector<Process*> Machine::that(const std::function<bool(const Process&)>& wanted) {
  std::vector<Process*> found;
  for (Process& process : all_)
    if (process.alive && wanted(process)) found.push_back(&process);
  return found;
}

pid_t Machine::new_pid() {
  const auto taken = [&](pid_t pid) {
    return std::any_of(all_.begin(), all_.end(), [pid](const Process& p) {
      return ((p.alive || p.zombie) && p.pid == pid) || (p.alive && p.leader == pid);
    });
  };
  do
    next_ = (next_ + 1) % pids;
  while (taken(first_pid + next_));
  return first_pid + next_;
}

pid_t Machine::start(const daemon::DetachedProcess& plan) {
  Process launcher;
  launcher.pid = launcher.leader = new_pid();
  launcher.start = ++starts_;
  launcher.token = argument(plan.arguments, "--token");
  launcher.folder = plan.directory.string();
  launcher.launcher = launcher.zombie = true;
  launcher.claims_at = clock_.now() + dice_.between(0, 1.5);
  launcher.limit_s = std::stod(argument(plan.arguments, "--timeout"));
  all_.push_back(launcher);
  return launcher.pid;
}

void Machine::end(Process& process, int status) {
  process.alive = false;
  process.status = status;
}

void Machine::controller_ended() {
  for (Process& process : all_)
    process.zombie = false;
}

bool Machine::reap(pid_t child, int& status) {
  for (Process& process : all_)
    if (process.pid == child && process.zombie && !process.alive) {
      process.zombie = false;
      status = process.status;
      return true;
    }
  return false;
}

void Machine::reap_later(pid_t child) {
  for (Process& process : all_)
    if (process.pid == child) process.zombie = false;
}

void Machine::send(pid_t pid, int signal) {
  Process* const process = find(pid);
  if (process == nullptr) return;
  if (process->token.empty()) {
    harmed = fmt::format("a stranger's process {} was sent signal {}", pid, signal);
  } else if (signal == SIGKILL) {
    if (!process->launcher) engines_.kill(engine_of(*process), SIGKILL);
    end(*process, SIGKILL);
  } else if (process->launcher && process->claimed) {
    if (!process->stopped) engine_of(*process).told_to_stop = true;
  } else if (!process->launcher) {
    engine_of(*process).told_to_stop = true;
  } else if (!process->stopped) {
    end(*process, signal);
  }
}

std::optional<std::int64_t> Machine::start_time(pid_t pid) {
  const Process* const process = find(pid);
  return process == nullptr ? std::nullopt : std::optional(process->start);
}

std::vector<pid_t> Machine::members(pid_t leader) {
  std::vector<pid_t> found;
  for (const Process& process : all_)
    if (process.alive && process.leader == leader) found.push_back(process.pid);
  return found;
}

bool Machine::carry(pid_t pid, const std::string& token, const fs::path& folder) {
  const Process* const process = find(pid);
  return process != nullptr && !process->token.empty() &&
         (process->token == token || process->folder == folder.string());
}

void Machine::claim(Process& launcher) {
  if (clock_.now() < launcher.claims_at) return;
  const std::string text = fmt::format(
      R"({{"format":1,"token":"{}","pid":{},"start":{},"boot_id":"{}","visible_gpus":""}})",
      launcher.token, launcher.pid, launcher.start, boots_);
  if (!create(fs::path(launcher.folder) / "launch.json", text, clock_.unix_s()))
    return end(launcher, 1 << 8);
  launcher.claimed = true;
  launcher.ends_at = clock_.now() + launcher.limit_s;
  Engine& engine = engines_.start(static_cast<std::uint32_t>(launcher.start), launcher.token,
                                  launcher.folder, engines_.nodes().front(), clock_.now());
  launcher.engine = engine.start;
  Process rank;
  rank.leader = launcher.pid;
  rank.token = launcher.token;
  rank.folder = launcher.folder;
  rank.engine = engine.start;
  rank.pid = new_pid();
  rank.start = ++starts_;
  all_.push_back(rank);
}

void Machine::watch(Process& launcher) {
  Engine& engine = engine_of(launcher);
  if (engine.alive) {
    if (clock_.now() >= launcher.ends_at && !launcher.timed_out) {
      launcher.timed_out = engine.told_to_stop = true;
      launcher.killed_at = clock_.now() + stop_grace_s;
    } else if (launcher.timed_out && clock_.now() >= launcher.killed_at) {
      engines_.kill(engine, SIGKILL);
    }
    return;
  }
  if (clock_.now() >= full) {
    const fs::path file = fs::path(launcher.folder) / "exit.json", aside = file.string() + ".new";
    std::error_code error;
    fs::remove(aside, error);
    if (create(
            aside,
            fmt::format(
                R"({{"format":1,"token":"{}","code":{},"signal":{},"timed_out":{},"time":{:.3f}}})",
                launcher.token, engine.exit, engine.signal, launcher.timed_out, clock_.unix_s()),
            clock_.unix_s()))
      fs::rename(aside, file, error);
  }
  end(launcher, engine.signal != 0 ? engine.signal : engine.exit << 8);
}

void Machine::run() {
  for (std::size_t i = 0; i < all_.size(); ++i) {  // more may come
    Process& process = all_[i];
    if (!process.alive || process.token.empty()) continue;
    if (!process.launcher) {
      if (!engine_of(process).alive) end(process, 0);
    } else if (!process.stopped) {
      process.claimed ? watch(process) : claim(process);
    }
  }
}

bool Machine::reuse() {
  for (const Process& gone : all_) {
    const pid_t pid = gone.pid;
    const auto uses = [pid](const Process& p) {
      return ((p.alive || p.zombie) && p.pid == pid) || (p.alive && p.leader == pid);
    };
    if (!gone.launcher || gone.alive || std::any_of(all_.begin(), all_.end(), uses)) continue;
    Process stranger;
    stranger.pid = stranger.leader = pid;
    stranger.start = ++starts_;
    all_.push_back(stranger);
    return true;
  }
  return false;
}

void Machine::reboot() {
  boots_ += 1;
  for (Process& process : all_) {
    if (process.engine != 0) engines_.kill(engine_of(process), SIGKILL);
    end(process, SIGKILL);
    process.zombie = false;
  }
}

void Machine::lose_power() {
  constexpr double written_back_s = 30;
  for (const Process& process : all_) {
    if (!process.launcher) continue;
    for (const char* name : {"launch.json", "exit.json"}) {
      const fs::path file = fs::path(process.folder) / name;
      struct stat info {};
      if (stat(file.c_str(), &info) != 0) continue;
      const double written = static_cast<double>(info.st_mtim.tv_sec) +
                             1e-9 * static_cast<double>(info.st_mtim.tv_nsec);
      if (std::abs(clock_.unix_s() - written) > written_back_s || dice_.chance(0.5)) continue;
      if (::truncate(file.c_str(), 0) == 0) set_time(file, written);
    }
  }
}

void Machine::heal() {
  full = 0;
  for (Process& process : all_) {
    process.stopped = false;
    if (process.token.empty()) process.alive = false;  // their numbers are free again
  }
}

}  // namespace thalweg::simulation
