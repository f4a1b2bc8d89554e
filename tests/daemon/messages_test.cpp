#include "daemon/api/messages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace thalweg::daemon::api {
namespace {

using nlohmann::json;

TEST(Messages, NumbersThatJsonLacks) {
  EXPECT_EQ(number_json(0.5), 0.5);
  EXPECT_EQ(number_json(HUGE_VAL), "inf");
  EXPECT_EQ(number_from(json("-inf")), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(number_from(number_json(std::nan("")))));
  EXPECT_THROW(number_from(json("x")), std::invalid_argument);
  EXPECT_THROW(number_from(json()), std::invalid_argument);
}

TEST(Messages, TimesInBothForms) {
  EXPECT_EQ(time_from(json(12.5), 0), 12.5);
  EXPECT_EQ(time_from(json("1970-01-02T00:00:01.250Z"), 0), 86401.25);
  EXPECT_EQ(time_from(json("1970-01-01T00:01:00Z"), 0), 60);
  EXPECT_EQ(time_from(json("yesterday"), 7), 7);
  EXPECT_EQ(time_from(json(), 7), 7);
}

TEST(Messages, DiagnosticsSurviveTheWay) {
  const std::vector<jobspec::Diagnostic> sent = {{"f.yaml", {3, 4}, "a.b", "no", "yes"}};
  const auto got = diagnostics_from(json::parse(error_json("m", sent).dump()));
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].to_string(), sent[0].to_string());
  EXPECT_EQ(message_from(error_json("m")), "m");
  EXPECT_EQ(message_from(json("plain")), "plain");
  EXPECT_TRUE(diagnostics_from(json(1)).empty());
}

TEST(Messages, Addresses) {
  for (const std::string text : {"val/error", "a b&c=d", "ü%", ""})
    EXPECT_EQ(url_decode(url_encode(text)), text);
  EXPECT_EQ(url_decode("a+b", true), "a b");
  EXPECT_EQ(url_decode("a+b"), "a+b");
  for (const char* broken : {"%", "%4", "%zz", "x%4"})
    EXPECT_THROW(url_decode(broken), std::invalid_argument) << broken;
}

}  // namespace
}  // namespace thalweg::daemon::api
