#include "tests/support/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;

using Environment = std::map<std::string, std::string>;

/// Where the build's programs lie; the last one goes first.
std::vector<std::string> folders_for(const Environment& added) {
  std::vector<std::string> folders{THALWEG_BIN_DIR};
  const auto gpu = added.find("THALWEG_GPU");
  if (gpu != added.end() && gpu->second == "emulated")
    folders.emplace_back(THALWEG_EMULATED_BIN_DIR);
  return folders;
}

Environment merged_environment(const Environment& added) {
  Environment merged;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    merged[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const std::string& folder : folders_for(added))
    merged["PATH"] = folder + ":" + merged["PATH"];
  for (const auto& [key, value] : added)
    merged[key] = value;
  return merged;
}

std::string program(const std::string& name, const Environment& added) {
  if (name.find('/') != std::string::npos) return name;
  std::string found = name;
  for (const std::string& folder : folders_for(added))
    if (fs::exists(fs::path(folder) / name)) found = fs::path(folder) / name;
  return found;
}

/// Everything that allocates happens before fork.
struct Prepared {
  std::vector<std::string> words, environment;
  std::vector<char*> argv, envp;
  std::string directory;

  Prepared(const std::vector<std::string>& command, const RunOptions& options)
      : words(command), directory(options.directory.string()) {
    const Environment merged = merged_environment(options.env);
    words[0] = program(words[0], options.env);
    for (std::string& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    for (const auto& [key, value] : merged)
      environment.push_back(key + "=" + value);
    for (std::string& entry : environment)
      envp.push_back(entry.data());
    envp.push_back(nullptr);
  }

  [[noreturn]] void exec(int out, int err) {
    setpgid(0, 0);
    // Ignored where the tests run in the background of a shell, which programs would inherit.
    for (const int interrupt : {SIGINT, SIGQUIT, SIGHUP})
      signal(interrupt, SIG_DFL);
    const int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(out < 0 ? null : out, 1);
    dup2(err < 0 ? null : err, 2);
    if (!directory.empty() && chdir(directory.c_str()) != 0) _exit(126);
    environ = envp.data();
    execvp(argv[0], argv.data());
    _exit(127);
  }
};

}  // namespace

Outcome run(const std::vector<std::string>& command, const RunOptions& options) {
  Prepared prepared(command, options);
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
    throw std::runtime_error("pipe failed");
  const pid_t pid = fork();
  if (pid == 0) prepared.exec(out[1], err[1]);
  close(out[1]);
  close(err[1]);

  Outcome outcome;
  const Deadline end(options.deadline);
  // Without one (before Linux 5.3) the child's end is seen up to 20 ms later.
  const int ended = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd fds[3] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}, {ended, POLLIN, 0}};
  std::string* const texts[2] = {&outcome.out, &outcome.err};
  int status = 0;
  bool reaped = false;
  // Daemons may inherit the pipes: the end is the child's exit, not the end of the pipes.
  while (true) {
    poll(fds, 3, reaped ? 0 : 20);
    for (int i = 0; i < 2; ++i) {
      char buffer[65536];
      if (!(fds[i].revents & (POLLIN | POLLHUP))) continue;
      const ssize_t n = read(fds[i].fd, buffer, sizeof buffer);
      if (n > 0)
        texts[i]->append(buffer, static_cast<std::size_t>(n));
      else
        fds[i].fd = -1;
    }
    const bool quiet = !(fds[0].revents & POLLIN) && !(fds[1].revents & POLLIN);
    if (reaped && quiet) break;
    if (!reaped && waitpid(pid, &status, WNOHANG) == pid) reaped = true;
    if (reaped) fds[2].fd = -1;
    if (!reaped && end.passed()) {
      outcome.timed_out = true;
      kill(-pid, SIGKILL);
      waitpid(pid, &status, 0);
      reaped = true;
    }
  }
  close(out[0]);
  close(err[0]);
  if (ended >= 0) close(ended);
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

pid_t start(const std::vector<std::string>& command, const RunOptions& options) {
  Prepared prepared(command, options);
  const pid_t pid = fork();
  if (pid == 0) prepared.exec(-1, -1);
  return pid;
}

TempDir::TempDir() {
  std::string pattern = (fs::temp_directory_path() / "thalweg-test-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed: " + pattern);
  path_ = pattern;
}

TempDir::~TempDir() {
  if (testing::Test::HasFailure()) {
    std::cout << "kept for a look: " << path_ << std::endl;
    return;
  }
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

namespace {

template <class F>
std::vector<pid_t> live_processes(F wanted) {
  std::vector<pid_t> found;
  for (const auto& folder : fs::directory_iterator("/proc")) {
    const std::string name = folder.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos || !wanted(folder.path()))
      continue;
    const std::string stat = read_file(folder.path() / "stat");
    const auto state = stat.rfind(") ");
    if (state != std::string::npos && stat[state + 2] != 'Z')
      found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

}  // namespace

std::vector<pid_t> processes_with_environment(const std::string& entry) {
  const std::string zero(1, '\0');
  return live_processes([&](const fs::path& folder) {
    return (zero + read_file(folder / "environ")).find(zero + entry + zero) != std::string::npos;
  });
}

std::vector<pid_t> processes_named(const std::string& program) {
  return live_processes([&](const fs::path& folder) {
    const std::string line = read_file(folder / "cmdline");
    return fs::path(line.substr(0, line.find('\0'))).filename() == program;
  });
}

std::string command_line(pid_t pid) {
  std::string text = read_file("/proc/" + std::to_string(pid) + "/cmdline");
  for (char& c : text)
    if (c == '\0') c = ' ';
  return text;
}

void sleep_for(milliseconds time) {
  std::this_thread::sleep_for(time);
}

}  // namespace thalweg::test
