// What users have allowed: one file a grant, in a folder that nobody but the agent may enter, so
// that the controller can ask for grants but make none.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/file.h"

namespace thalweg::slurm_agent {

constexpr std::int64_t day_s = 86400;

struct Grant {
  std::string digest;  ///< of the sweep that the user submitted
  std::uint32_t uid = 0, gid = 0;
  std::string user;  ///< the name of that time: numbers are given to others later
  std::int64_t made = 0, expires = 0;

  static void each_field(auto& self, auto&& field) {
    field("digest", self.digest);
    field("uid", self.uid);
    field("gid", self.gid);
    field("user", self.user);
    field("made", self.made);
    field("expires", self.expires);
  }
};

/// Thread-safe.
class Grants {
 public:
  /// Of one user at a time; more is a mistake, or somebody fills the disk.
  static constexpr std::size_t max_of_user = 1000;

  /// Makes the folder, or takes over what is in it; forgets what expired. Throws std::runtime_error
  /// where others may enter it, it is another user's, or another agent has it.
  Grants(std::filesystem::path folder, std::int64_t now);

  /// Its name: 64 hexadecimal digits that nobody can guess. Nothing where the user has too many.
  /// Throws std::system_error where it cannot be written.
  std::optional<std::string> add(const Grant& grant);
  /// Expired ones too.
  std::optional<Grant> find(const std::string& name) const;
  /// False where there is none.
  bool remove(const std::string& name);
  void forget_expired(std::int64_t now);

 private:
  void load(std::int64_t now);

  std::filesystem::path folder_;
  Descriptor lock_;
  mutable std::mutex mutex_;
  std::map<std::string, Grant> all_;
};

/// "1f3a9c20...": enough to find it in a log, too little to use it.
std::string short_name(const std::string& grant);

}  // namespace thalweg::slurm_agent
