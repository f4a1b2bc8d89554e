// This machine, its users, its processes and its clock.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace thalweg {

/// Seconds since 1970, UTC.
double unix_now();

/// As uname has it; "localhost" where there is none.
std::string host_name();

/// The account's name, or its number where it has none, as they were a minute ago at most.
/// Thread-safe.
std::string user_name(uid_t user);

/// Of the running kernel: another one after each boot. Empty where there is none.
std::string boot_id();

/// The processor as the kernel calls it; empty where it does not say.
std::string processor_name();

/// Bytes of main memory, whatever of them this process may use.
std::int64_t machine_memory();

/// All of /proc/PID/`name`. Empty where there is no such process, or it ends meanwhile.
std::string process_file(pid_t pid, const char* name);

/// Of /proc/PID/stat.
struct ProcessStat {
  pid_t session = 0;
  std::int64_t start_time = 0;  ///< clock ticks since boot
};

/// Nothing where there is no such process, or it has ended and only its parent has not looked.
std::optional<ProcessStat> process_stat(pid_t pid);

/// With the boot id it tells a process from a later one with the same pid.
std::optional<std::int64_t> process_start_time(pid_t pid);

}  // namespace thalweg
