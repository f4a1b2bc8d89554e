#include "daemon/api/credentials.h"

#include <cstdlib>
#include <ctime>
#include <random>
#include <system_error>
#include <vector>

#include "base/process.h"
#include "daemon/auth/jwt.h"

namespace thalweg::daemon::api {

namespace {

constexpr double munge_patience_s = 20;

}  // namespace

std::string munge_credential(const std::string& payload, uid_t reader) {
  std::vector<std::string> command{"munge", "--string", payload, "--restrict-uid",
                                   std::to_string(reader)};
  if (const char* socket = std::getenv("THALWEG_MUNGE_SOCKET"))
    command.insert(command.end(), {"--socket", socket});
  ProgramOutput output;
  try {
    output = run_program(command, munge_patience_s);
  } catch (const std::system_error& error) {
    throw NoCredential(std::string("no MUNGE credential: ") + error.what());
  }
  if (output.code == 0) return output.out.substr(0, output.out.find('\n'));
  throw NoCredential("no MUNGE credential: " + (output.timed_out
                                                    ? "munge does not answer"
                                                    : output.err.substr(0, output.err.find('\n'))));
}

std::string token_credential(const std::string& token, const std::string& payload, uid_t reader) {
  std::random_device random;
  std::string nonce;
  for (int word = 0; word < 4; ++word)
    nonce += std::to_string(random());
  try {
    return auth::jwt_proof(token, payload, reader, std::time(nullptr), nonce);
  } catch (const auth::JwtError& error) {
    throw NoCredential(std::string("SLURM_JWT: ") + error.what());
  }
}

}  // namespace thalweg::daemon::api
