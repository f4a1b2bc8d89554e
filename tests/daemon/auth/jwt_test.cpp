// Tokens as Slurm makes them, and proofs by them.
#include "daemon/auth/jwt.h"

#include <gmock/gmock.h>
#include <pwd.h>

#include <nlohmann/json.hpp>

namespace thalweg::auth {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string key(32, 'k');
constexpr std::int64_t now = 1'800'000'000;

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

// RFC 4231, cases 1, 2 and 6.
TEST(Hmac, ExamplesOfTheStandard) {
  EXPECT_EQ(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'),
                            "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// RFC 4648, section 10, in the alphabet for addresses and without padding.
TEST(Base64, ExamplesOfTheStandard) {
  for (const auto& [bytes, text] : std::map<std::string, std::string>{{"", ""},
                                                                      {"f", "Zg"},
                                                                      {"fo", "Zm8"},
                                                                      {"foo", "Zm9v"},
                                                                      {"foobar", "Zm9vYmFy"},
                                                                      {"\xfb\xff", "-_8"}}) {
    EXPECT_EQ(base64url(bytes), text);
    EXPECT_EQ(from_base64url(text), bytes);
  }
  EXPECT_THROW(from_base64url("a+b="), JwtError);
}

// RFC 7515, appendix A.1: the token of that example has this signature.
TEST(Jwt, TheExampleOfTheStandardIsSignedAlike) {
  const std::string said =
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
      "fQ";
  const std::string secret = from_base64url(
      "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow");
  EXPECT_EQ(base64url(hmac_sha256(secret, said)), "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
}

std::string token(const json& claims, const std::string& signed_by = key,
                  const json& header = {{"alg", "HS256"}, {"typ", "JWT"}}) {
  const std::string said = base64url(header.dump()) + "." + base64url(claims.dump());
  return said + "." + base64url(hmac_sha256(signed_by, said));
}

/// As `scontrol token` makes it, of a user whom every machine has.
std::string good_token() {
  return token({{"exp", now + 1800}, {"iat", now - 10}, {"sun", "daemon"}});
}

class Proofs : public testing::Test {
 protected:
  Proofs() : proofs(key, now - 100) {}
  std::string proof(const std::string& of = good_token(), std::int64_t made = now) {
    return jwt_proof(of, "the payload", 990, made, std::to_string(++nonces));
  }
  std::string problem(const std::string& text, std::int64_t at = now) {
    const Credential said = proofs.check(text, at);
    if (said.error == 0) return "";
    EXPECT_EQ(said.uid, static_cast<uid_t>(-1));
    EXPECT_EQ(said.payload, "");
    return said.problem;
  }
  JwtProofs proofs;
  int nonces = 0;
};

TEST_F(Proofs, SayWhoAndWhat) {
  const Credential said = proofs.check(proof(), now + 5);
  EXPECT_EQ(said.error, 0) << said.problem;
  EXPECT_EQ(said.uid, getpwnam("daemon")->pw_uid);
  EXPECT_EQ(said.gid, getpwnam("daemon")->pw_gid);
  EXPECT_EQ(said.payload, "the payload");
  EXPECT_EQ(said.reader, 990u);
  EXPECT_EQ(said.ttl_s, 60);
  EXPECT_EQ(said.made, now);
}

TEST_F(Proofs, OtherMakersOfTokensSayUsername) {
  EXPECT_EQ(problem(proof(token({{"exp", now + 9}, {"username", "daemon"}}))), "");
}

TEST_F(Proofs, HoldNoTokenThatSomebodyElseCouldUse) {
  const std::string mine = good_token(), sent = proof(mine);
  EXPECT_EQ(sent.find(mine.substr(mine.rfind('.'))), std::string::npos);
}

TEST_F(Proofs, AreGoodOnceAndForAMinute) {
  const std::string once = proof();
  EXPECT_EQ(problem(once), "");
  EXPECT_THAT(problem(once), HasSubstr("replayed"));
  // Other letters for the same bytes: the last one holds 4 bits of its 6.
  std::string again = once;
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  again.back() = letters[letters.find(again.back()) ^ 1];
  EXPECT_THAT(problem(again), HasSubstr("replayed"));
  EXPECT_THAT(problem(proof(), now + 61), HasSubstr("has expired"));
  EXPECT_THAT(problem(proof(good_token(), now + 61)), HasSubstr("has expired"));
  EXPECT_THAT(problem(proof(good_token(), now - 30), now + 40), HasSubstr("has expired"));
  JwtProofs restarted(key, now + 1);
  EXPECT_THAT(restarted.check(proof(), now + 2).problem, HasSubstr("before this service started"));
}

TEST_F(Proofs, WhatIsForgedIsRefused) {
  const json claims{{"exp", now + 1800}, {"sun", "daemon"}};
  EXPECT_THAT(problem(proof(token(claims, std::string(32, 'x')))), HasSubstr("of this site"));
  // Another's name in one's own token.
  const std::string mine = good_token();
  const auto first = mine.find('.'), second = mine.rfind('.');
  const std::string renamed = mine.substr(0, first + 1) +
                              base64url(json{{"exp", now + 1800}, {"sun", "root"}}.dump()) +
                              mine.substr(second);
  EXPECT_THAT(problem(proof(renamed)), HasSubstr("of this site"));
  // Another payload under a proof that was seen.
  std::string seen = proof();
  const auto statement = seen.find('.', seen.find('.') + 1) + 1;
  seen.replace(
      statement, seen.rfind('.') - statement,
      base64url(json{{"payload", "x"}, {"reader", 990}, {"made", now}, {"nonce", "1"}}.dump()));
  EXPECT_THAT(problem(seen), HasSubstr("of this site"));
  EXPECT_THAT(problem(proof(token(claims, "", {{"alg", "none"}}))), HasSubstr("HS256"));
  EXPECT_THAT(problem(proof(token(claims, key, {{"alg", 7}}))), HasSubstr("HS256"));
}

TEST_F(Proofs, TokensThatDoNotCount) {
  EXPECT_THAT(problem(proof(token({{"exp", now}, {"sun", "daemon"}}))), HasSubstr("expired"));
  EXPECT_THAT(problem(proof(token({{"sun", "daemon"}}))), HasSubstr("no exp"));
  for (const double odd : {1e300, -1e300, 1e19, 9.3e18, -1.0})
    EXPECT_THAT(problem(proof(token({{"exp", odd}, {"sun", "daemon"}}))),
                HasSubstr("exp is no time"))
        << odd;
  EXPECT_THAT(problem(proof(token({{"exp", now + 9}, {"sun", "no-such-user"}}))),
              HasSubstr("'no-such-user' has no account here"));
  EXPECT_NE(problem(proof(token({{"exp", now + 9}, {"sun", 7}}))), "");
  EXPECT_NE(problem(proof(token({{"exp", now + 9}}))), "");
}

TEST_F(Proofs, AnythingElseIsNone) {
  for (const char* text : {"JWT:", "JWT:a.b.c", "JWT:a.b.c.d", "JWT:....", "JWT:e30.e30.e30.e30",
                           "MUNGE:x:", "", "JWT:[.].[.]", "JWT:W10.W10.W10.W10"})
    EXPECT_NE(problem(text), "") << text;
  for (const char* text : {"", "a.b", "a.b.+", "a.b.c.d"})
    EXPECT_THROW(jwt_proof(text, "p", 1, now, "n"), JwtError) << text;
  EXPECT_THROW(JwtProofs("short", now), JwtError);
}

}  // namespace
}  // namespace thalweg::auth
