// A token is HEADER.CLAIMS.SIGNATURE (RFC 7519), the signature an HMAC by the site's key. A proof
// is JWT:HEADER.CLAIMS.STATEMENT.HMAC, where the HMAC's key is that signature: it is in nobody's
// hands but the user's and those of who can compute it anew from the site's key.
#include "daemon/auth/jwt.h"

#include <pwd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "daemon/auth/sha256.h"

namespace thalweg::auth {

namespace {

using nlohmann::json;

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr int proof_ttl_s = 60;
/// Clocks of a cluster's machines may differ by so much.
constexpr std::int64_t clock_skew_s = 60;

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const auto dot = text.find('.');
    parts.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    text.remove_prefix(dot + 1);
  }
}

/// In a time that does not depend on where they differ.
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i] ^ b[i]));
  return difference == 0;
}

json object_in(const std::string& part) {
  json object = json::parse(from_base64url(part), nullptr, false);
  if (!object.is_object()) throw JwtError("it is no JSON Web Token");
  return object;
}

std::int64_t number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number())
    throw JwtError(std::string("the token has no ") + key);
  constexpr double latest = 253402300800;  // Unix seconds, the year 10000
  const double value = found->get<double>();
  if (!(value >= 0 && value < latest))
    throw JwtError(std::string("the token's ") + key + " is no time");
  return found->get<std::int64_t>();
}

struct Account {
  uid_t uid;
  gid_t gid;
};

std::optional<Account> account_of(const std::string& name) {
  std::array<char, 16384> memory{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwnam_r(name.c_str(), &entry, memory.data(), memory.size(), &found) != 0 || !found)
    return {};
  return Account{entry.pw_uid, entry.pw_gid};
}

}  // namespace

std::string hmac_sha256(std::string_view key, std::string_view text) {
  constexpr std::size_t block = 64;
  std::string padded = key.size() > block ? sha256_bytes(key) : std::string(key);
  padded.resize(block, '\0');
  std::string inner, outer;
  for (const char c : padded) {
    inner += static_cast<char>(c ^ 0x36);
    outer += static_cast<char>(c ^ 0x5c);
  }
  return sha256_bytes(outer + sha256_bytes(inner + std::string(text)));
}

std::string base64url(std::string_view bytes) {
  std::string text;
  unsigned bits = 0;
  int held = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6)
      text += alphabet[bits >> (held - 6) & 63];
  }
  if (held > 0) text += alphabet[bits << (6 - held) & 63];
  return text;
}

std::string from_base64url(std::string_view text) {
  std::string bytes;
  unsigned bits = 0;
  int held = 0;
  for (const char c : text) {
    const auto value = alphabet.find(c);
    if (value == std::string_view::npos) throw JwtError("it is no JSON Web Token");
    bits = bits << 6 | static_cast<unsigned>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 255);
  }
  return bytes;
}

std::string jwt_proof(const std::string& token, std::string_view payload, uid_t reader,
                      std::int64_t now, const std::string& nonce) {
  const auto parts = split(token);
  if (parts.size() != 3) throw JwtError("it is no JSON Web Token");
  const json statement = {
      {"payload", payload}, {"reader", reader}, {"made", now}, {"nonce", nonce}};
  const std::string said = parts[0] + "." + parts[1] + "." + base64url(statement.dump());
  return std::string(jwt_prefix) + said + "." +
         base64url(hmac_sha256(from_base64url(parts[2]), said));
}

JwtProofs::JwtProofs(std::string key, std::int64_t now) : key_(std::move(key)), started_(now) {
  constexpr std::size_t shortest = 32;
  if (key_.size() < shortest) throw JwtError("the key is shorter than 32 bytes");
}

Credential JwtProofs::check(const std::string& proof, std::int64_t now) {
  Credential said;
  try {
    const auto parts = split(std::string_view(proof).substr(jwt_prefix.size()));
    if (!proof.starts_with(jwt_prefix) || parts.size() != 4) throw JwtError("it is no proof");
    // The algorithm is ours to say, not the token's.
    if (object_in(parts[0]).value("alg", json()) != "HS256")
      throw JwtError("the token is not signed by HS256");
    const std::string signature = hmac_sha256(key_, parts[0] + "." + parts[1]);
    const std::string expected = hmac_sha256(signature, parts[0] + "." + parts[1] + "." + parts[2]);
    if (!same(expected, from_base64url(parts[3])))
      throw JwtError("it was not made with a token of this site");
    const json claims = object_in(parts[1]), statement = object_in(parts[2]);
    if (number_in(claims, "exp") <= now) throw JwtError("the token has expired");
    const std::int64_t made = number_in(statement, "made");
    if (made > now + clock_skew_s || made + proof_ttl_s < now) throw JwtError("it has expired");
    if (made < started_) throw JwtError("it was made before this service started: try again");
    const std::string user = claims.value("sun", claims.value("username", ""));
    const auto account = account_of(user);
    if (!account) throw JwtError("user '" + user.substr(0, 64) + "' has no account here");
    if (!used_.first_use(expected, made + proof_ttl_s, now))
      throw JwtError("it was used before (replayed)");
    said.payload = statement.value("payload", "");
    said.reader = static_cast<uid_t>(number_in(statement, "reader"));
    said.ttl_s = proof_ttl_s;
    said.made = made;
    said.uid = account->uid;
    said.gid = account->gid;
  } catch (const std::exception& error) {  // JwtError, or JSON of other types
    return refused_credential(-1, error.what());
  }
  return said;
}

}  // namespace thalweg::auth
