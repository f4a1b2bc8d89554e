#include "daemon/slurm_agent/person.h"

#include <grp.h>
#include <pwd.h>

#include <cerrno>
#include <functional>

namespace thalweg::slurm_agent {
namespace {

std::vector<gid_t> groups_of(const passwd& entry) {
  std::vector<gid_t> groups(64);
  for (;;) {
    int count = static_cast<int>(groups.size());
    const bool all = ::getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) >= 0;
    groups.resize(all ? static_cast<std::size_t>(count) : groups.size() * 2);
    if (all) return groups;
  }
}

using Ask = std::function<int(passwd*, char*, std::size_t, passwd**)>;

std::optional<Person> find(const Ask& ask) {
  std::vector<char> memory(4096);
  passwd entry{};
  passwd* found = nullptr;
  while (ask(&entry, memory.data(), memory.size(), &found) == ERANGE && memory.size() < 1u << 20)
    memory.resize(memory.size() * 2);
  if (found == nullptr) return {};
  return Person{entry.pw_uid, entry.pw_gid, entry.pw_name, entry.pw_dir, groups_of(entry)};
}

}  // namespace

std::optional<Person> find_person(uid_t uid) {
  return find([uid](passwd* entry, char* memory, std::size_t size, passwd** found) {
    return ::getpwuid_r(uid, entry, memory, size, found);
  });
}

std::optional<Person> find_person(const std::string& name) {
  return find([&name](passwd* entry, char* memory, std::size_t size, passwd** found) {
    return ::getpwnam_r(name.c_str(), entry, memory, size, found);
  });
}

std::string why_barred(uid_t uid, const Barred& barred) {
  if (uid == 0) return "nothing runs as root";
  if (uid == static_cast<uid_t>(-1)) return "4294967295 is no user";
  if (uid < barred.min_uid)
    return "uid " + std::to_string(uid) + " is below " + std::to_string(barred.min_uid) +
           " (--min-uid): an account of the system";
  if (uid == barred.slurm_user) return "nothing runs as SlurmUser, who may do as root does";
  if (uid == barred.service) return "nothing runs as the controller's own user";
  if (uid == barred.own) return "nothing runs as the agent's own user";
  return {};
}

}  // namespace thalweg::slurm_agent
