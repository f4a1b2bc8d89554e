// Every command gives the same best value, newest value and steps to the target, of programs that
// are killed, go on from older checkpoints, repeat steps and report NaN: against a plain model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "tests/end_to_end/sweep_home.h"
#include "tests/support/fuzz.h"
#include "tests/support/journals.h"

namespace thalweg::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr int trials = 12;
constexpr double target = 0;
const char* const metric = "loss";

std::string text_of(double value) {
  std::ostringstream text;
  text << value;  // an eighth has few digits
  return text.str();
}

/// Numbers as answers have them; nothing is NaN too.
double number_of(const json& value) {
  if (value.is_null()) return std::nan("");
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

/// As the controller will have it: an attempt goes on from the newest checkpoint that there is.
void make_runnable(TrialJournal& trial) {
  std::int64_t newest = 0;
  for (AttemptJournal& attempt : trial.attempts) {
    attempt.program = attempt.starts = true;
    if (attempt.resumed > 0)
      newest = attempt.resumed;
    else
      attempt.resumed = newest;
  }
}

json plan_of(const TrialJournal& trial) {
  json plan = json::array();
  for (std::size_t i = 0; i < trial.attempts.size(); ++i) {
    json reports = json::array();
    for (const Report& report : trial.attempts[i].reports)
      reports.push_back({report.metric, report.step, text_of(report.value)});
    json one{{"reports", reports}, {"resumed", trial.attempts[i].resumed}, {"checkpoint", nullptr}};
    if (i + 1 < trial.attempts.size() && trial.attempts[i + 1].resumed > 0)
      one["checkpoint"] = trial.attempts[i + 1].resumed;
    plan.push_back(one);
  }
  return plan;
}

class Points : public testing::Test {
 protected:
  Points() {
    Journals drawn(static_cast<std::uint64_t>(fuzz_range(1).first), false);
    json plan;
    for (int trial = 1; trial <= trials; ++trial) {
      TrialJournal journal = drawn.next();
      make_runnable(journal);
      plan[std::to_string(trial)] = plan_of(journal);
      plain.push_back(counting(journal, metric));
    }
    write_file(home.folder() / "plan.json", plan.dump());
  }

  const std::vector<PlainPoint>& points(int trial) const {
    return plain.at(static_cast<std::size_t>(trial - 1));
  }
  double best(int trial) const { return plain_best(points(trial), false); }
  double newest(int trial) const {
    return points(trial).empty() ? std::nan("") : points(trial).back().value;
  }
  bool diverged(int trial) const { return !points(trial).empty() && !std::isfinite(newest(trial)); }

  void expect_comparison(const std::string& id) {
    const json comparison = home.json({"compare", id, "--by", "t"});
    ASSERT_EQ(comparison["rows"].size(), static_cast<std::size_t>(trials));
    bool last = false;
    for (const json& row : comparison["rows"]) {
      const int trial = row["group"]["t"];
      SCOPED_TRACE("compare: trial " + std::to_string(trial));
      const auto steps = plain_steps_to(points(trial), target, false);
      const double found = number_of(row["best"]["median"]);
      const double reached = number_of(row["steps_to_target"]["median"]);
      if (diverged(trial)) {
        EXPECT_EQ(found, std::numeric_limits<double>::infinity());
        last = true;
      } else {
        EXPECT_TRUE(same(found, best(trial))) << found << " for " << best(trial);
        EXPECT_FALSE(last && !points(trial).empty()) << "behind one that diverged";
      }
      if (steps && !diverged(trial))
        EXPECT_EQ(reached, static_cast<double>(*steps));
      else
        EXPECT_FALSE(std::isfinite(reached));
    }
  }

  void expect_curves(const std::string& id) {
    for (int trial = 1; trial <= trials; ++trial) {
      SCOPED_TRACE("curve of trial " + std::to_string(trial));
      json curve = json::array();
      if (!points(trial).empty())
        curve = home.json({"curve", id + "." + std::to_string(trial), metric, "--points", "0"});
      ASSERT_EQ(points(trial).empty() ? 0 : curve["points"].size(), points(trial).size());
      for (std::size_t i = 0; i < points(trial).size(); ++i) {
        EXPECT_EQ(curve["points"][i][0], points(trial)[i].step);
        EXPECT_TRUE(same(number_of(curve["points"][i][1]), points(trial)[i].value));
      }
    }
  }

  /// Lines of a point each.
  void expect_exported(const std::string& id) {
    std::map<int, std::vector<std::pair<std::int64_t, double>>> found;
    std::istringstream lines(home.thalweg({"export", id, "--format", "jsonl"}).out);
    for (std::string line; std::getline(lines, line);) {
      const json point = json::parse(line);
      if (point["kind"] == "point" && point["metric"] == metric)
        found[point["trial"]].emplace_back(point["step"], number_of(point["value"]));
    }
    for (int trial = 1; trial <= trials; ++trial) {
      SCOPED_TRACE("export of trial " + std::to_string(trial));
      ASSERT_EQ(found[trial].size(), points(trial).size());
      for (std::size_t i = 0; i < points(trial).size(); ++i) {
        EXPECT_EQ(found[trial][i].first, points(trial)[i].step);
        EXPECT_TRUE(same(found[trial][i].second, points(trial)[i].value));
      }
    }
  }

  void expect_shown(const std::string& id) {
    const json sweep = home.json({"show", id});
    for (const json& row : sweep["trials"]) {
      const int trial = std::stoi(row["id"].get<std::string>().substr(id.size() + 1));
      SCOPED_TRACE("show: trial " + std::to_string(trial));
      const json metrics = home.json({"show", row["id"]})["metrics"];
      ASSERT_EQ(metrics.contains(metric), !points(trial).empty()) << metrics;
      if (points(trial).empty()) continue;
      EXPECT_TRUE(same(number_of(row["progress"]["metric"]), newest(trial))) << row;
      EXPECT_TRUE(same(number_of(row["progress"]["best"]), best(trial))) << row;
      EXPECT_EQ(row["progress"].value("diverged", false), diverged(trial));
      EXPECT_TRUE(same(number_of(metrics[metric]["last"]), newest(trial)));
      EXPECT_TRUE(same(number_of(metrics[metric]["min"]), best(trial)));
    }
  }

  void expect_sql(const std::string& id) {
    const json rows = home.query(
        "SELECT l.trial, l.value, l.min, min(CASE WHEN abs(m.value) < 9e999 THEN m.value END),"
        " min(CASE WHEN abs(m.value) < 9e999 AND m.value <= 0 THEN m.step END), count(*)"
        " FROM latest_metrics AS l JOIN metrics AS m ON m.sweep = l.sweep AND m.trial = l.trial"
        " AND m.metric = l.metric WHERE l.metric = 'loss' AND l.sweep = " +
        id + " GROUP BY l.trial")["rows"];
    for (const json& row : rows) {
      const int trial = row[0];
      SCOPED_TRACE("query: trial " + std::to_string(trial));
      EXPECT_TRUE(same(number_of(row[1]), newest(trial)));
      EXPECT_TRUE(same(number_of(row[2]), best(trial)));
      EXPECT_TRUE(same(number_of(row[3]), best(trial)));
      const auto steps = plain_steps_to(points(trial), target, false);
      EXPECT_EQ(row[4].is_null(), !steps);
      if (steps) {
        EXPECT_EQ(row[4], *steps);
      }
      EXPECT_EQ(row[5], points(trial).size());
    }
  }

  void expect_report(const std::string& id) {
    ASSERT_EQ(home.thalweg({"report", id, "-o", "report.html"}).code, 0);
    const std::string page = read_file(home.folder() / "report.html");
    for (int trial = 1; trial <= trials; ++trial)
      if (!diverged(trial) && !std::isnan(best(trial))) {
        EXPECT_THAT(page, HasSubstr(">" + text_of(best(trial)) + "<")) << trial;
      }
  }

  SweepHome home;
  std::vector<std::vector<PlainPoint>> plain;
};

TEST_F(Points, AreTheSameForEveryCommand) {
  const std::string id =
      home.submit(std::string("program: ") + THALWEG_SOURCE_DIR +
                      "/tests/end_to_end/data/own/scripted.py\nmethod: grid\n"
                      "metric: {name: loss, goal: minimize, target: 0}\n"
                      "config: {plan: " +
                      (home.folder() / "plan.json").string() +
                      "}\nstop: {at: end}\nlimits: {max_retries: 9}\n"
                      "parameters: {t: {values: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}}\n",
                  "local");
  ASSERT_TRUE(home.wait_for_end(id));
  expect_comparison(id);
  expect_curves(id);
  expect_exported(id);
  expect_shown(id);
  expect_sql(id);
  expect_report(id);
}

}  // namespace
}  // namespace thalweg::test
