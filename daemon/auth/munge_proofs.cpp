// As JwtProofs does for tokens: what has counted is remembered for as long as it could count again.
#include "daemon/auth/munge_proofs.h"

#include <utility>

#include "daemon/auth/sha256.h"

namespace thalweg::auth {
namespace {

constexpr int replayed = 17;

}  // namespace

MungeProofs::MungeProofs(std::string socket, std::int64_t now)
    : socket_(std::move(socket)), started_(now) {}

Credential MungeProofs::check(const std::string& credential, std::int64_t now) {
  Credential said = munge_decode(credential, socket_);
  if (said.error != 0) return said;
  if (said.made < started_)
    return refused_credential(-1, "it was made before this service started: try again");
  if (!used_.first_use(sha256(credential), said.made + said.ttl_s, now))
    return refused_credential(replayed, "Replayed credential");
  return said;
}

}  // namespace thalweg::auth
