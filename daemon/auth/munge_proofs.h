// Credentials that count once, also after munged was started again.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/auth/munge.h"
#include "daemon/auth/used_once.h"

namespace thalweg::auth {

/// munged remembers what it decoded until it ends, and then decodes it once more. Thread-safe.
class MungeProofs {
 public:
  /// `socket` as in munge_decode(). `now`: Unix seconds of this start; what was made before is not
  /// believed, as it may have been used already.
  MungeProofs(std::string socket, std::int64_t now);

  /// As munge_decode(); error 17 (replayed) also where it counted here before.
  Credential check(const std::string& credential, std::int64_t now);

 private:
  std::string socket_;
  std::int64_t started_;
  UsedOnce used_;  ///< SHA-256 of credentials
};

}  // namespace thalweg::auth
