// libmunge behind two functions with owners for what it allocates.
#include "daemon/auth/munge.h"

#include <munge.h>

#include <cstdlib>
#include <memory>

namespace thalweg::auth {
namespace {

struct Destroy {
  void operator()(munge_ctx* context) const { ::munge_ctx_destroy(context); }
};
using Context = std::unique_ptr<munge_ctx, Destroy>;

struct Release {
  void operator()(void* memory) const { std::free(memory); }
};

Context make_context(const std::string& socket) {
  Context context(::munge_ctx_create());
  if (!context) throw std::bad_alloc();
  if (!socket.empty()) ::munge_ctx_set(context.get(), MUNGE_OPT_SOCKET, socket.c_str());
  return context;
}

/// The context's own text names the socket where munged is out of reach.
std::string problem_of(const Context& context, munge_err_t error) {
  const char* own = ::munge_ctx_strerror(context.get());
  return own != nullptr ? own : ::munge_strerror(error);
}

}  // namespace

bool munge_available() {
  return true;
}

std::string munge_encode(std::string_view payload, const MungeEncode& options) {
  const Context context = make_context(options.socket);
  ::munge_ctx_set(context.get(), MUNGE_OPT_TTL, options.ttl_s);
  if (options.reader) ::munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, *options.reader);
  char* raw = nullptr;
  const munge_err_t error =
      ::munge_encode(&raw, context.get(), payload.data(), static_cast<int>(payload.size()));
  const std::unique_ptr<char, Release> credential(raw);
  if (error != EMUNGE_SUCCESS || !credential)
    throw MungeError("MUNGE makes no credential: " + problem_of(context, error));
  return credential.get();
}

Credential munge_decode(const std::string& credential, const std::string& socket) {
  const Context context = make_context(socket);
  void* raw = nullptr;
  int length = 0;
  Credential found;
  const munge_err_t error =
      ::munge_decode(credential.c_str(), context.get(), &raw, &length, &found.uid, &found.gid);
  const std::unique_ptr<void, Release> payload(raw);
  if (error != EMUNGE_SUCCESS) return refused_credential(error, problem_of(context, error));
  if (payload && length > 0)
    found.payload.assign(static_cast<const char*>(payload.get()), static_cast<std::size_t>(length));
  ::munge_ctx_get(context.get(), MUNGE_OPT_TTL, &found.ttl_s);
  time_t made = 0;
  ::munge_ctx_get(context.get(), MUNGE_OPT_ENCODE_TIME, &made);
  found.made = made;
  uid_t reader = static_cast<uid_t>(MUNGE_UID_ANY);
  ::munge_ctx_get(context.get(), MUNGE_OPT_UID_RESTRICTION, &reader);
  if (reader != static_cast<uid_t>(MUNGE_UID_ANY)) found.reader = reader;
  return found;
}

}  // namespace thalweg::auth
