// What this process's user proves himself by. MUNGE credentials are the program munge's, so that
// machines without MUNGE need no library of it.
#pragma once

#include <sys/types.h>

#include <stdexcept>
#include <string>

namespace thalweg::daemon::api {

/// There is no credential; what() says why.
struct NoCredential : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Of this process's user over `payload`, which `reader` alone can decode. Waits for munge at most
/// 20 s. THALWEG_MUNGE_SOCKET, where set, is munged's socket. Throws NoCredential.
std::string munge_credential(const std::string& payload, uid_t reader);

/// A proof by Slurm's token (daemon/auth/jwt.h). Throws NoCredential.
std::string token_credential(const std::string& token, const std::string& payload, uid_t reader);

}  // namespace thalweg::daemon::api
