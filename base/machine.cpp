// What the kernel says, read from uname and /proc, and the accounts.
#include "base/machine.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "base/clock.h"
#include "base/file.h"

namespace thalweg {

namespace {

constexpr std::chrono::minutes names_last{1};
constexpr std::size_t max_names = 10'000;

}  // namespace

double unix_now() {
  if (Clock::Source* const source = Clock::source()) return source->unix_s();
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  utsname name{};
  return ::uname(&name) == 0 ? name.nodename : "localhost";
}

std::string user_name(uid_t user) {
  struct Known {
    std::string name;
    Clock::time_point until;
  };
  // A directory service may take its time, and a controller asks at each request.
  static std::mutex mutex;
  static std::map<uid_t, Known> names;
  const std::lock_guard lock(mutex);
  const auto now = Clock::now();
  if (const auto known = names.find(user); known != names.end() && now < known->second.until)
    return known->second.name;
  const passwd* const entry = ::getpwuid(user);
  const std::string name = entry != nullptr ? entry->pw_name : std::to_string(user);
  if (names.size() >= max_names) names.clear();
  names[user] = {name, now + names_last};
  return name;
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "";
}

std::int64_t machine_memory() {
  return std::max<std::int64_t>(0,
                                std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE));
}

std::string process_file(pid_t pid, const char* name) {
  // Not by a stream: where the process ends between open and read, its buffer throws.
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char block[4096];
  ssize_t count = 0;
  while (file && (count = ::read(file.get(), block, sizeof block)) > 0)
    text.append(block, static_cast<std::size_t>(count));
  return count < 0 ? std::string() : text;
}

std::optional<ProcessStat> process_stat(pid_t pid) {
  const std::string text = process_file(pid, "stat");
  // The second field, the name, may hold spaces and parentheses: fields count from behind it.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(text.substr(name_end + 1));
  std::string state, skipped;
  ProcessStat stat;
  rest >> state >> skipped >> skipped >> stat.session;  // fields 3 to 6
  for (int field = 7; field < 22; ++field)
    rest >> skipped;
  if (!(rest >> stat.start_time) || state == "Z" || state == "X") return {};
  return stat;
}

std::optional<std::int64_t> process_start_time(pid_t pid) {
  const auto stat = process_stat(pid);
  if (!stat) return {};
  return stat->start_time;
}

}  // namespace thalweg
