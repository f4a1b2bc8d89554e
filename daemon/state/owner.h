// Whose sweep it is, where one controller serves many users.
#pragma once

#include <cstdint>
#include <string>

namespace thalweg::daemon {

struct Owner {
  std::uint32_t uid = 0, gid = 0;
  std::string user;   ///< name
  std::string grant;  ///< of the Slurm agent, for the user's own word; not for showing

  static void each_field(auto& self, auto&& field) {
    field("uid", self.uid);
    field("gid", self.gid);
    field("user", self.user);
    field("grant", self.grant);
  }
};

}  // namespace thalweg::daemon
