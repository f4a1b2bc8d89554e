// As JwtProofs does for tokens: what has counted is remembered for as long as it could count again.
#include "daemon/auth/munge_proofs.h"

#include <utility>

#include "daemon/auth/sha256.h"

namespace thalweg::auth {
namespace {

constexpr int replayed = 17;

Credential refused(int error, std::string why) {
  Credential said;
  said.error = error;
  said.problem = std::move(why);
  return said;
}

}  // namespace

MungeProofs::MungeProofs(std::string socket, std::int64_t now)
    : socket_(std::move(socket)), started_(now) {}

Credential MungeProofs::check(const std::string& credential, std::int64_t now) {
  Credential said = munge_decode(credential, socket_);
  if (said.error != 0) return said;
  if (said.made < started_)
    return refused(-1, "it was made before this service started: try again");
  const std::lock_guard lock(mutex_);
  std::erase_if(used_, [now](const auto& one) { return one.second < now; });
  if (!used_.try_emplace(sha256(credential), said.made + said.ttl_s).second)
    return refused(replayed, "Replayed credential");
  return said;
}

}  // namespace thalweg::auth
