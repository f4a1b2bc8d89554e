// Proofs by the JSON Web Tokens of Slurm (auth/jwt, what `scontrol token` prints), for sites that
// would rather not have MUNGE where their users are. The token itself is never sent: whoever has it
// proves so by its signature, which the holder of the site's key can compute and nobody else. A
// proof is over one payload, for one reader, good for a minute and once, as a MUNGE credential is.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "daemon/auth/munge.h"
#include "daemon/auth/used_once.h"

namespace thalweg::auth {

/// What is no token, or of a kind that cannot be used; what() says why.
struct JwtError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What such proofs begin with.
inline constexpr std::string_view jwt_prefix = "JWT:";

/// A proof over `payload` by the token's holder. `now`: Unix seconds; `nonce`: text that is used
/// once, without a dot. Throws JwtError.
std::string jwt_proof(const std::string& token, std::string_view payload, uid_t reader,
                      std::int64_t now, const std::string& nonce);

/// With the site's key. Thread-safe.
class JwtProofs {
 public:
  /// `key`: the bytes of Slurm's jwt_hs256.key. `now`: of this start; what was made before is not
  /// believed, as it may have been used already. Throws JwtError where the key is shorter than 32
  /// bytes.
  JwtProofs(std::string key, std::int64_t now);

  /// As munge_decode(): the user is the one whom the token names (`sun`, or `username`), with an
  /// account here.
  Credential check(const std::string& proof, std::int64_t now);

 private:
  std::string key_;
  std::int64_t started_;
  UsedOnce used_;  ///< HMACs of proofs
};

/// HMAC with SHA-256 (RFC 2104): 32 bytes.
std::string hmac_sha256(std::string_view key, std::string_view text);
/// RFC 4648, section 5, without padding. The second throws JwtError.
std::string base64url(std::string_view bytes);
std::string from_base64url(std::string_view text);

}  // namespace thalweg::auth
