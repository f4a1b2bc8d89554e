// MUNGE credentials: a text that munged seals for the process that asks, and that tells every other
// machine of the cluster (same key) which user that was. Calls block for milliseconds, at most some
// seconds where munged hangs. Thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace thalweg::auth {

/// False in a build without libmunge: then nothing below works.
bool munge_available();

/// munged does not answer, or refuses the request; what() says why.
struct MungeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct MungeEncode {
  std::string socket;           ///< of munged; empty = the one of the machine
  int ttl_s = 60;               ///< seconds for which it may be decoded
  std::optional<uid_t> reader;  ///< who alone may decode it; empty = anybody
};

/// A credential of this process's user. Throws MungeError.
std::string munge_encode(std::string_view payload, const MungeEncode& options = {});

/// What a credential says. Where `error` is not 0 nothing else is set: munged fills in the user of
/// replayed and expired credentials too, and nobody shall come to believe that.
struct Credential {
  int error = 0;  ///< of munge.h: 15 = expired, 17 = decoded before (replayed), 18 = not for us
  std::string problem;  ///< in words
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  std::string payload;
  int ttl_s = 0;
  std::int64_t made = 0;        ///< Unix seconds
  std::optional<uid_t> reader;  ///< who alone may decode it
};

inline Credential refused_credential(int error, std::string problem) {
  Credential refused;
  refused.error = error;
  refused.problem = std::move(problem);
  return refused;
}

/// Each credential can be decoded once per machine. `socket` as above. Throws nothing but
/// std::bad_alloc.
Credential munge_decode(const std::string& credential, const std::string& socket = {});

/// What a user's credential must hold for his sweep to be run under his name: `digest` is the
/// SHA-256 of the sweep's text in lower-case hexadecimal digits. The words keep it apart from
/// credentials for other purposes.
inline std::string sweep_payload(std::string_view digest) {
  return "thalweg sweep " + std::string(digest);
}

/// The same for a request over the network: `target` is its path with the query, as it is sent.
inline std::string request_payload(std::string_view method, std::string_view target,
                                   std::string_view body_sha256) {
  return "thalweg request\n" + std::string(method) + "\n" + std::string(target) + "\n" +
         std::string(body_sha256);
}

/// The longest that a credential for Thalweg may be good for, in seconds.
constexpr int max_ttl_s = 300;

}  // namespace thalweg::auth
