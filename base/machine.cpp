// What the kernel says, read from uname and /proc.
#include "base/machine.h"

#include <sys/utsname.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>

namespace thalweg {

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  utsname name{};
  return ::uname(&name) == 0 ? name.nodename : "localhost";
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::optional<ProcessStat> process_stat(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
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
