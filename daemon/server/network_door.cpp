// The credential is looked at before the body is read, so that strangers cannot make the controller
// keep 16 MiB for them; whether the body is the one that it names is seen afterwards (server.cpp).
// Answers are not signed, and nothing is encrypted: as with Slurm, the network is trusted so far.
#include "daemon/server/network_door.h"

#include <fmt/format.h>
#include <unistd.h>

#include "daemon/auth/munge.h"
#include "daemon/controller/log.h"
#include "daemon/server/http.h"

namespace thalweg::daemon {

namespace {

constexpr int unauthorized = 401;
constexpr std::string_view scheme = "MUNGE ";

}  // namespace

std::string challenge() {
  return fmt::format("MUNGE uid={}", geteuid());
}

boost::asio::awaitable<Proven> prove(App& app, NetworkRequest request) {
  if (!request.authorization.starts_with(scheme))
    throw HttpError(unauthorized,
                    "over the network each request needs a MUNGE credential; `thalweg` sends one "
                    "where THALWEG_CONTROLLER is set");
  const auto decode = [credential = request.authorization.substr(scheme.size()),
                       with = app.decode_credential] { return with(credential); };
  const auth::Credential said = co_await app.proofs.run(decode);
  std::string problem = said.problem;
  Proven proven{said.uid, {}};
  if (said.error == 0) {
    const std::string expected = auth::request_payload(request.method, request.target, "");
    if (!said.reader || *said.reader != geteuid())
      problem = "it is not for the controller alone to decode";
    else if (said.ttl_s <= 0 || said.ttl_s > auth::max_ttl_s)
      problem = fmt::format("it is good for {} s, and {} is the most", said.ttl_s, auth::max_ttl_s);
    else if (!said.payload.starts_with(expected))
      problem = "it is for another request";
    else
      proven.body_sha256 = said.payload.substr(expected.size());
  }
  if (problem.empty()) co_return proven;
  log::refused("credential from " + request.from,
               fmt::format("a credential from {}{}: {}", request.from,
                           said.error == 0 ? fmt::format(" of uid {}", said.uid) : "", problem));
  throw HttpError(unauthorized, "the MUNGE credential is refused: " + problem);
}

}  // namespace thalweg::daemon
