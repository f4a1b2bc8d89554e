// For builds without libmunge.
#include "daemon/auth/munge.h"

namespace thalweg::auth {
namespace {

constexpr const char* missing =
    "this build has no MUNGE: install libmunge-dev (munge-devel) and build again";

}  // namespace

bool munge_available() {
  return false;
}

std::string munge_encode(std::string_view, const MungeEncode&) {
  throw MungeError(missing);
}

Credential munge_decode(const std::string&, const std::string&) {
  return refused_credential(-1, missing);
}

}  // namespace thalweg::auth
