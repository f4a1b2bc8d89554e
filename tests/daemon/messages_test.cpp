#include "daemon/api/messages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "daemon/api/comparison_messages.h"
#include "daemon/api/trial_messages.h"

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

std::string complaint(const json& body) {
  try {
    from_json<SweepRequest>(body, Reading::strict);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

TEST(Messages, ARequestIsReadStrictly) {
  const auto asked = from_json<SweepRequest>({{"text", "name: x"}}, Reading::strict);
  EXPECT_EQ(asked.file_name, "sweep.yaml");
  EXPECT_EQ(asked.backend, "auto");
  EXPECT_FALSE(asked.environment);
  EXPECT_FALSE(asked.dry_run);
  EXPECT_EQ(complaint(json::object()), "\"text\" is missing");
  EXPECT_EQ(complaint({{"text", 3}}), "\"text\" is of another type");
  EXPECT_EQ(complaint({{"text", ""}, {"environment", "A=1"}}), "\"environment\": expected a list");
  EXPECT_EQ(complaint({{"text", ""}, {"environment", {1}}}), "\"environment\" is of another type");
}

TEST(Messages, AnAnswerIsReadAsFarAsItGoes) {
  SweepSnapshot sent;
  sent.id = "12";
  sent.target = std::nan("");
  sent.counts.failed = 3;
  sent.trials.resize(2);
  sent.trials[1].progress.loss = HUGE_VAL;
  sent.trials[1].seed = 18446744073709551615u;
  json body = json::parse(to_json(sent).dump());
  const auto got = from_json<SweepSnapshot>(body, Reading::tolerant);
  EXPECT_EQ(to_json(got), body);
  EXPECT_EQ(got.trials[1].seed, 18446744073709551615u);
  EXPECT_FALSE(got.trials[0].progress.loss);
  EXPECT_FALSE(body["trials"][0]["progress"].contains("loss"));
  EXPECT_TRUE(to_json(SweepMessage())["target"].is_null());
  body["name"] = 5;  // of another version
  body.erase("state");
  body["counts"]["running"] = "many";
  body["new"] = "field";
  const auto other = from_json<SweepSnapshot>(body, Reading::tolerant);
  EXPECT_EQ(other.id, "12");
  EXPECT_EQ(other.name, "");
  EXPECT_EQ(other.counts.failed, 3);
  EXPECT_EQ(other.trials.size(), 2u);
  EXPECT_EQ(from_json<SweepSnapshot>(json(), Reading::tolerant).id, "");
}

TEST(Messages, AnswersAboutTrialsSurvive) {
  TrialAnswer sent;
  sent.id = "12.3";
  sent.parameters = sent.resources = sent.train = json::object();
  sent.config = json{{"epochs", 3}};
  sent.attempts.resize(1);
  sent.attempts[0].exit_code = 75;
  sent.metrics["val/loss"] = {std::nan(""), -HUGE_VAL, HUGE_VAL, 7};
  const json body = json::parse(to_json(sent).dump());
  EXPECT_EQ(body["metrics"]["val/loss"],
            json({{"last", "nan"}, {"min", "-inf"}, {"max", "inf"}, {"step", 7}}));
  EXPECT_EQ(body["attempts"][0]["exit_code"], 75);
  EXPECT_TRUE(body["attempts"][0]["failed_rank"].is_null());
  EXPECT_EQ(to_json(from_json<TrialAnswer>(body, Reading::strict)), body);

  sent.config.reset();  // not started yet
  EXPECT_EQ(from_json<TrialAnswer>(json::parse(to_json(sent).dump()), Reading::strict).config,
            std::nullopt);

  CurvesAnswer curves{"val/loss", {{{{{5, std::nan(""), 1.5, 2}}}, "12.3"}}};
  const json points = json::parse(to_json(curves).dump());
  EXPECT_EQ(points["curves"][0]["points"], json::parse(R"([[5, "nan", 1.5, 2]])"));
  EXPECT_EQ(to_json(from_json<CurvesAnswer>(points, Reading::strict)), points);
}

TEST(Messages, AComparisonSurvives) {
  ComparisonMessage sent;
  sent.rows.resize(1);
  sent.rows[0].group["optimizer.name"] = "adamw";
  sent.rows[0].best = {0.5, std::nan(""), HUGE_VAL};
  sent.rows[0].steps_to_target.reached = 2;
  const json body = json::parse(to_json(sent).dump());
  EXPECT_EQ(body["rows"][0]["best"], json({{"median", 0.5}, {"low", "nan"}, {"high", "inf"}}));
  EXPECT_TRUE(body["target"].is_null());
  EXPECT_FALSE(body["rows"][0].contains("p"));
  EXPECT_EQ(to_json(from_json<ComparisonMessage>(body, Reading::strict)), body);
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
