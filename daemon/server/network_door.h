// Who asks over the network: users of the cluster on other machines prove each request by a MUNGE
// credential of their own, over its method, its target and its body. It is for the controller alone
// to decode, once.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <string>

#include "daemon/server/app.h"

namespace thalweg::daemon {

/// As the header has it.
struct NetworkRequest {
  std::string method, target, authorization;
  std::string from;  ///< the other machine's address, for the log
};

/// What its credential says.
struct Proven {
  uid_t user = static_cast<uid_t>(-1);
  std::string body_sha256;  ///< 64 lower-case hexadecimal digits
};

/// Throws HttpError 401 where it proves nothing; but for a request without any credential that is
/// in the log, too.
boost::asio::awaitable<Proven> prove(App& app, NetworkRequest request);

/// What a 401 says in WWW-Authenticate: the user to make credentials for.
std::string challenge();

}  // namespace thalweg::daemon
