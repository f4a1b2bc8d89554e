// Credentials against a real munged.
#include "daemon/auth/munge.h"

#include <gmock/gmock.h>

#include "daemon/auth/munge_proofs.h"
#include "tests/daemon/auth/munged.h"

namespace thalweg::auth {
namespace {

using test::alice_uid, test::as_user, test::bob_uid, test::reader_uid;
using testing::HasSubstr;
using testing::StartsWith;

constexpr uid_t nobody_known = static_cast<uid_t>(-1);

class Munge : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = test::Munged::missing(); !why.empty()) GTEST_SKIP() << why;
    munged_.emplace();
  }
  Credential decode(const std::string& credential) {
    return munge_decode(credential, munged_->socket());
  }
  static void expect_refused(const Credential& read, int error, const char* words) {
    EXPECT_EQ(read.error, error);
    EXPECT_THAT(read.problem, HasSubstr(words));
    EXPECT_EQ(read.uid, nobody_known);
    EXPECT_EQ(read.gid, static_cast<gid_t>(-1));
    EXPECT_EQ(read.payload, "");
  }

  std::optional<test::Munged> munged_;
};

TEST_F(Munge, TellsWhoMadeIt) {
  const std::string payload = std::string("text with\0zero", 14);
  const auto read = decode(munged_->credential(alice_uid, payload, {}, 20));
  EXPECT_EQ(read.error, 0) << read.problem;
  EXPECT_EQ(read.uid, alice_uid);
  EXPECT_EQ(read.gid, alice_uid);
  EXPECT_EQ(read.payload, payload);
  EXPECT_EQ(read.ttl_s, 20);
  EXPECT_FALSE(read.reader);
  EXPECT_NEAR(static_cast<double>(read.made), static_cast<double>(::time(nullptr)), 60);
  const auto other = decode(munged_->credential(bob_uid, ""));
  EXPECT_EQ(other.uid, bob_uid);
  EXPECT_EQ(other.payload, "");
}

// munged still says whose it was; that must not get further.
TEST_F(Munge, ASecondDecodingIsRefusedAndTellsNoUser) {
  const std::string credential = munged_->credential(alice_uid, "once");
  EXPECT_EQ(decode(credential).uid, alice_uid);
  expect_refused(decode(credential), 17, "Replayed");
}

TEST_F(Munge, WhatHasCountedDoesNotCountAgainWhenMungedHasForgottenIt) {
  const std::int64_t now = ::time(nullptr);
  MungeProofs proofs(munged_->socket(), now - 10);
  const std::string credential = munged_->credential(alice_uid, "once");
  EXPECT_EQ(proofs.check(credential, now).uid, alice_uid);
  munged_->restart();
  expect_refused(proofs.check(credential, now + 1), 17, "Replayed");
  munged_->restart();
  EXPECT_EQ(decode(credential).uid, alice_uid) << "munged alone would take it";
  // Another start of the service has forgotten as well, so what is older does not count.
  munged_->restart();
  MungeProofs later(munged_->socket(), now + 60);
  expect_refused(later.check(credential, now + 60), -1, "before this service started");
  EXPECT_EQ(proofs.check(munged_->credential(bob_uid, "another"), now).uid, bob_uid);
  EXPECT_NE(proofs.check("MUNGE:AAAA:", now).error, 0);
}

TEST_F(Munge, ExpiresAndThenTellsNoUser) {
  const std::string credential = munged_->credential(alice_uid, "short", {}, 1);
  test::sleep_for(test::milliseconds(2500));
  expect_refused(decode(credential), 15, "Expired");
}

TEST_F(Munge, OnlyItsReaderReadsIt) {
  const std::string credential = munged_->credential(alice_uid, "for one", reader_uid);
  expect_refused(decode(credential), 18, "Unauthorized");  // not even root
  const std::string by_another =
      as_user(bob_uid, [&] { return std::to_string(decode(credential).error); });
  EXPECT_EQ(by_another, "18");
  const std::string by_reader = as_user(reader_uid, [&] {
    const auto read = decode(credential);
    return std::to_string(read.error) + " " + std::to_string(read.uid) + " " + read.payload + " " +
           std::to_string(read.reader.value_or(0));
  });
  EXPECT_EQ(by_reader, "0 61001 for one 61003");
}

TEST_F(Munge, ForgedAndChangedOnesAreRefused) {
  for (const char* text : {"", "x", "MUNGE:", "MUNGE:AAAA:", "61001"})
    EXPECT_NE(decode(text).error, 0) << text;
  std::string credential = munged_->credential(alice_uid, "mine");
  ASSERT_THAT(credential, StartsWith("MUNGE:"));
  char& digit = credential[credential.size() / 2];
  digit = digit == 'A' ? 'B' : 'A';
  const auto read = decode(credential);
  EXPECT_NE(read.error, 0);
  EXPECT_EQ(read.uid, nobody_known);
  // With another key, as on a machine that is not of the cluster.
  const test::Munged stranger;
  EXPECT_EQ(decode(stranger.credential(alice_uid, "mine")).error, 14);
}

TEST_F(Munge, SaysWhereNoMungedAnswers) {
  try {
    munge_encode("x", {"/nonexistent/munge", 60, {}});
    FAIL();
  } catch (const MungeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/munge"));
  }
  expect_refused(munge_decode("MUNGE:AAAA:", "/nonexistent/munge"), 6, "/nonexistent/munge");
}

TEST(MungePayload, SaysWhatItIsFor) {
  EXPECT_EQ(sweep_payload("ab12"), "thalweg sweep ab12");
}

}  // namespace
}  // namespace thalweg::auth
