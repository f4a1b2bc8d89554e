// The users in whose name the agent acts: who they are, and who never is one of them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace thalweg::slurm_agent {

struct Person {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name, home;
  std::vector<gid_t> groups;  ///< all of them, as a login would set them
};

/// As the machine's user database has them now; nothing where it has none.
std::optional<Person> find_person(uid_t uid);
std::optional<Person> find_person(const std::string& name);

/// Nobody's jobs run under these.
struct Barred {
  uid_t min_uid = 1000;
  uid_t slurm_user = 0;  ///< may do as root does
  uid_t service = 0;     ///< the controller's
  uid_t own = 0;         ///< the agent's
};

/// Why the agent does not act for this user; empty: it may.
std::string why_barred(uid_t uid, const Barred& barred);

}  // namespace thalweg::slurm_agent
