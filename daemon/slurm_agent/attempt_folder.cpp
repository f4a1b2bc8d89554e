// Every component is opened by itself, relative to the one before and without following links, and
// what was opened is looked at: nothing that a user puts in the way leads anywhere else.
#include "daemon/slurm_agent/attempt_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/file.h"
#include "base/tree.h"

namespace thalweg::slurm_agent {
namespace {

constexpr const char* digits = "0123456789";
constexpr std::size_t max_name = 64, max_files = 16, max_bytes = 16u << 20;
// A call that empties folders: longer ones would keep a worker from others' calls.
constexpr std::chrono::seconds emptying{4};

bool is_number(const std::string& text) {
  return !text.empty() && text.size() <= 18 && text.find_first_not_of(digits) == std::string::npos;
}

/// A number, or a number, "-" and what tells it from the folder of that number that was there.
bool is_attempt(const std::string& text) {
  const std::size_t dash = text.find('-');
  if (!is_number(text.substr(0, dash))) return false;
  if (dash == std::string::npos) return true;
  const std::string rest = text.substr(dash + 1);
  return !rest.empty() && rest.size() <= 16 && std::all_of(rest.begin(), rest.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

bool is_file_name(const std::string& name) {
  return !name.empty() && name.size() <= max_name && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '.' || c == '_' || c == '-';
         });
}

/// Closes itself; unlike Descriptor it may live in a child of a process with threads.
struct Opened {
  int fd;
  ~Opened() {
    if (fd >= 0) ::close(fd);
  }
};

AttemptProblem problem(const char* what, const char* name, int error = errno) noexcept {
  AttemptProblem problem;
  problem.error = error;
  std::snprintf(problem.what, sizeof problem.what, what, name);
  return problem;
}

constexpr int folder_flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// A folder of the controller's, in which nobody else may make anything.
AttemptProblem check_service_folder(int fd, const AttemptPlan& plan, const char* name) noexcept {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return problem("cannot look at folder %s", name);
  const bool group_writes = (info.st_mode & S_IWGRP) != 0 && info.st_gid != plan.service_group;
  if (info.st_uid != plan.service || (info.st_mode & S_IWOTH) != 0 || group_writes)
    return problem("folder %s is not the controller's alone", name, 0);
  return {};
}

AttemptProblem write_file(int folder, const AttemptPlan::File& file) noexcept {
  ::unlinkat(folder, file.aside.c_str(), 0);
  const Opened out{::openat(folder, file.aside.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640)};
  if (out.fd < 0) return problem("cannot make file %s", file.aside.c_str());
  for (std::size_t done = 0; done < file.text.size();) {
    const ssize_t n = ::write(out.fd, file.text.data() + done, file.text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return problem("cannot write file %s", file.aside.c_str());
    done += static_cast<std::size_t>(n);
  }
  if (::fsync(out.fd) != 0) return problem("cannot write file %s", file.aside.c_str());
  if (::renameat(folder, file.aside.c_str(), folder, file.name.c_str()) != 0)
    return problem("cannot rename file %s", file.name.c_str());
  return {};
}

AttemptProblem fill_attempt(int trial, const AttemptPlan& plan) noexcept {
  const char* name = plan.path.attempt.c_str();
  ::umask(0007);
  if (::mkdirat(trial, name, 0770) != 0 && errno != EEXIST)
    return problem("cannot make folder %s", name);
  const Opened attempt{::openat(trial, name, O_RDONLY | folder_flags)};
  if (attempt.fd < 0) return problem("%s exists already and is not a folder", name);
  struct stat info {};
  if (::fstat(attempt.fd, &info) != 0) return problem("cannot look at folder %s", name);
  if (info.st_uid != plan.user)
    return problem("folder %s exists already and is another user's", name, 0);
  if (info.st_gid != plan.service_group)
    return problem("folder %s did not get the controller's group", name, 0);
  for (const AttemptPlan::File& file : plan.files) {
    const AttemptProblem wrong = write_file(attempt.fd, file);
    if (wrong.what[0] != '\0') return wrong;
  }
  if (::fsync(attempt.fd) != 0) return problem("cannot write folder %s", name);
  return {};
}

}  // namespace

std::optional<AttemptPath> attempt_path(const std::vector<std::string>& runs,
                                        const std::string& folder) {
  for (const std::string& one : runs) {
    if (folder.size() <= one.size() + 1 || folder.compare(0, one.size(), one) != 0 ||
        folder[one.size()] != '/')
      continue;
    const std::string rest = folder.substr(one.size() + 1);
    const std::size_t first = rest.find('/');
    const std::size_t second = first == std::string::npos ? first : rest.find('/', first + 1);
    if (second == std::string::npos) continue;
    AttemptPath path{one, rest.substr(0, first), rest.substr(first + 1, second - first - 1),
                     rest.substr(second + 1)};
    if (is_number(path.sweep) && is_number(path.trial) && is_attempt(path.attempt)) return path;
  }
  return {};
}

std::string wrong_files(const std::map<std::string, std::string>& files) {
  if (files.size() > max_files) return "more than " + std::to_string(max_files) + " files";
  std::size_t bytes = 0;
  for (const auto& [name, text] : files) {
    if (!is_file_name(name)) return "'" + name + "' is no plain file name";
    bytes += text.size();
  }
  if (bytes > max_bytes) return "files of more than " + std::to_string(max_bytes) + " bytes";
  return {};
}

AttemptProblem make_attempt(const AttemptPlan& plan) noexcept {
  const AttemptPath& path = plan.path;
  const Opened runs{::open(path.runs.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (runs.fd < 0) return problem("cannot open %s", path.runs.c_str());
  const Opened sweep{::openat(runs.fd, path.sweep.c_str(), O_PATH | folder_flags)};
  if (sweep.fd < 0) return problem("cannot open folder %s", path.sweep.c_str());
  AttemptProblem wrong = check_service_folder(sweep.fd, plan, path.sweep.c_str());
  if (wrong.what[0] != '\0') return wrong;
  const Opened trial{::openat(sweep.fd, path.trial.c_str(), O_PATH | folder_flags)};
  if (trial.fd < 0) return problem("cannot open folder %s", path.trial.c_str());
  wrong = check_service_folder(trial.fd, plan, path.trial.c_str());
  if (wrong.what[0] != '\0') return wrong;
  return fill_attempt(trial.fd, plan);
}

namespace {

/// Why it is not empty; empty: it is, or is gone. `more`: the time was over.
std::string empty_attempt(const AttemptPath& path, RemovalClock::time_point until, bool& more) {
  const std::string name = path.runs + "/" + path.sweep + "/" + path.trial + "/" + path.attempt;
  Descriptor at(::open(path.runs.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const std::string& next : {path.sweep, path.trial})
    if (at) at = Descriptor(::openat(at.get(), next.c_str(), O_PATH | folder_flags));
  struct stat info {};
  if (!at || ::fstatat(at.get(), path.attempt.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? "" : "cannot open " + name + ": " + std::strerror(errno);
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid())
    return name + " is no folder of this user's";
  const Removal removal = empty_tree(at.get(), path.attempt, name, until);
  more = removal.more;
  return removal.problem;
}

}  // namespace

Result<Remove::Answer> empty_attempts(const Remove& asked) {
  const auto until = RemovalClock::now() + emptying;
  Remove::Answer answer;
  for (const std::string& folder : asked.folders) {
    const auto path = attempt_path({asked.runs}, folder);
    if (!path) return Failure{0, Outcome::refused, "'" + folder + "' is no attempt's folder"};
    bool more = false;
    const std::string problem = empty_attempt(*path, until, more);
    if (more) break;
    if (!problem.empty()) answer.problems[folder] = problem;
    ++answer.done;
    if (RemovalClock::now() >= until) break;
  }
  return answer;
}

}  // namespace thalweg::slurm_agent
