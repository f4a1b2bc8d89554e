// A thousand random journals, with kills, resumes, repeats, NaN and gaps: compare, report, curve,
// export, frame and query give the best value, the newest one and the steps to the target of a
// plain model. points_test.cpp has programs that really are killed.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include "db/store.h"
#include "tests/db/fixture.h"
#include "tests/end_to_end/sweep_home.h"
#include "tests/support/fuzz.h"
#include "tests/support/journals.h"

namespace thalweg::test {
namespace {

using nlohmann::json;

constexpr int trials = 500;  // of each sweep: as many as a report lists
constexpr double target = 0;
constexpr double infinity = std::numeric_limits<double>::infinity();

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

double number_of(const json& value) {
  if (value.is_null()) return std::nan("");
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

/// What is told of a trial's metric.
struct Told {
  double best = std::nan(""), newest = std::nan(""), steps = std::nan("");

  bool operator==(const Told& other) const {
    return same(best, other.best) && same(newest, other.newest) && same(steps, other.steps);
  }
};

void PrintTo(const Told& told, std::ostream* out) {
  *out << "best " << told.best << ", newest " << told.newest << ", steps " << told.steps;
}

/// From the points of a curve, as a reader of these would.
Told told_by(const std::vector<std::pair<std::int64_t, double>>& curve, bool maximize) {
  Told told;
  for (const auto& [step, value] : curve) {
    told.newest = value;
    if (!std::isfinite(value)) continue;
    const double sign = maximize ? -1 : 1;
    if (!(sign * value >= sign * told.best)) told.best = value;
    if (std::isnan(told.steps) && sign * value <= sign * target)
      told.steps = static_cast<double>(step);
  }
  return told;
}

using Curve = std::vector<std::pair<std::int64_t, double>>;

class ManyJournals : public testing::TestWithParam<bool> {
 protected:
  bool maximize() const { return GetParam(); }

  void SetUp() override {
    std::filesystem::create_directories(home.home());
    std::filesystem::permissions(home.home(), std::filesystem::perms::owner_all);
    db::Store store(home.home() / "thalweg.db");
    db::SweepRow row = db::sample_sweep();
    row.metric = "loss";
    row.goal = maximize() ? jobspec::Goal::maximize : jobspec::Goal::minimize;
    row.target = target;
    row.targets = {target};
    row.state = db::SweepPhase::finished;
    const auto seed = static_cast<std::uint64_t>(fuzz_range(1).first) * 2 + (maximize() ? 1 : 0);
    Journals drawn(seed, true);
    store.transaction([&] {
      sweep = store.insert_sweep(row);
      for (int trial = 1; trial <= trials; ++trial)
        add(store, trial, drawn.next());
      // So that the controller knows it.
      db::Event imported;
      imported.time = row.submitted;
      imported.id = {sweep, 0, 0};
      imported.kind = "imported";
      imported.data = json{
          {"metric",
           {{"name", row.metric},
            {"goal", maximize() ? "maximize" : "minimize"},
            {"target", target}}},
          {"trials",
           trials}}.dump();
      store.append_event(imported);
    });
  }

  void add(db::Store& store, std::int64_t trial, const TrialJournal& journal) {
    db::TrialRow row = db::sample_trial(sweep, trial);
    row.parameters = R"({"x":)" + std::to_string(trial) + "}";
    row.state = db::TrialPhase::finished;
    store.insert_trials({row});
    std::vector<std::size_t> taken(journal.attempts.size());
    std::vector<std::int64_t> lines(journal.attempts.size());
    for (std::size_t i = 0; i < journal.attempts.size(); ++i) {
      db::AttemptRow attempt = db::sample_attempt(sweep, trial, static_cast<std::int64_t>(i + 1));
      attempt.state = db::AttemptState::finished;
      store.insert_attempt(attempt);
    }
    for (const auto& [i, count] : journal.parts) {
      const AttemptJournal& attempt = journal.attempts[i];
      const db::Id id{sweep, trial, static_cast<std::int64_t>(i + 1)};
      std::vector<db::Point> points;
      for (std::size_t k = taken[i]; k < taken[i] + count; ++k)
        points.push_back({attempt.reports[k].metric, attempt.reports[k].step,
                          attempt.reports[k].value, 1700000003 + static_cast<double>(k) / 4});
      ++lines[i];
      ASSERT_TRUE(store.add_points(id, lines[i], lines[i], points));
      if (lines[i] == 1 && attempt.starts)
        store.put_start(id, std::string(R"({"device":")") + (attempt.program ? "program" : "cpu") +
                                R"(","resumed_step":)" + std::to_string(attempt.resumed) + "}");
      taken[i] += count;
    }
    Curve curve;
    for (const PlainPoint& point : counting(journal, "loss"))
      curve.emplace_back(point.step, point.value);
    plain[static_cast<int>(trial)] = told_by(curve, maximize());
    curves[static_cast<int>(trial)] = curve;
  }

  std::string id() const { return std::to_string(sweep); }
  bool diverged(int trial) const {
    return !curves.at(trial).empty() && !std::isfinite(plain.at(trial).newest);
  }

  void expect_curves(const char* reader, std::map<int, Curve> found) {
    for (int trial = 1; trial <= trials; ++trial)
      ASSERT_EQ(told_by(found[trial], maximize()), plain[trial])
          << reader << ": trial " << trial << " of THALWEG_FUZZ_FIRST=" << fuzz_range(1).first;
  }

  SweepHome home;
  std::int64_t sweep = 0;
  std::map<int, Told> plain;
  std::map<int, Curve> curves;
};

TEST_P(ManyJournals, CompareTellsWhatTheModelDoes) {
  const json rows = home.json({"compare", id(), "--by", "x"})["rows"];
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(trials));
  for (const json& row : rows) {
    const int trial = row["group"]["x"];
    const double best = number_of(row["best"]["median"]);
    const double steps = number_of(row["steps_to_target"]["median"]);
    if (diverged(trial)) {
      EXPECT_EQ(best, maximize() ? -infinity : infinity) << trial;
      EXPECT_FALSE(std::isfinite(steps)) << trial;
    } else {
      EXPECT_TRUE(same(best, plain[trial].best)) << trial << ": " << best;
      EXPECT_TRUE(std::isfinite(steps) ? steps == plain[trial].steps
                                       : std::isnan(plain[trial].steps))
          << trial << ": " << steps;
    }
  }
  const json by_last = home.json({"compare", id(), "--by", "x", "--rank-by", "last"});
  ASSERT_EQ(by_last["rows"].size(), rows.size());
  for (const json& row : by_last["rows"]) {
    const int trial = row["group"]["x"];
    const double last = number_of(row["best"]["median"]);
    if (diverged(trial))
      EXPECT_FALSE(std::isfinite(last)) << trial;
    else
      EXPECT_TRUE(same(last, plain[trial].newest)) << trial << ": " << last;
  }
}

TEST_P(ManyJournals, QueryTellsWhatTheModelDoes) {
  const std::string finite = "CASE WHEN abs(m.value) < 9e999 THEN m.value END";
  const std::string best = maximize() ? "max" : "min";
  const json rows = home.query(
      "SELECT l.trial, l." + best + ", l.value, min(CASE WHEN abs(m.value) < 9e999 AND m.value " +
      (maximize() ? ">=" : "<=") + " 0 THEN m.step END), " + best + "(" + finite +
      ") FROM latest_metrics AS l JOIN metrics AS m ON m.sweep = l.sweep AND m.trial = l.trial"
      " AND m.metric = l.metric WHERE l.metric = 'loss' GROUP BY l.trial")["rows"];
  std::map<int, Told> found;
  for (const json& row : rows) {
    found[row[0]] = {number_of(row[1]), number_of(row[2]), number_of(row[3])};
    EXPECT_TRUE(same(number_of(row[1]), number_of(row[4]))) << row;
  }
  for (int trial = 1; trial <= trials; ++trial)
    ASSERT_EQ(found[trial], plain[trial]) << trial;
}

TEST_P(ManyJournals, CurveAndExportTellWhatTheModelDoes) {
  std::map<int, Curve> found;
  std::istringstream exported(home.thalweg({"export", id(), "--format", "jsonl"}).out);
  for (std::string line; std::getline(exported, line);) {
    const json point = json::parse(line);
    if (point["kind"] == "point" && point["metric"] == "loss")
      found[point["trial"]].emplace_back(point["step"], number_of(point["value"]));
  }
  expect_curves("export", std::move(found));

  std::map<int, Curve> drawn;
  constexpr int at_once = 50;
  for (int first = 1; first <= trials; first += at_once) {
    std::vector<std::string> words{"curve"};
    for (int trial = first; trial < first + at_once; ++trial)
      if (!curves[trial].empty()) words.push_back(id() + "." + std::to_string(trial));
    words.insert(words.end(), {"loss", "--points", "0"});
    const json answer = home.json(words);
    for (const json& curve : answer["curves"]) {
      const int trial = std::stoi(curve["id"].get<std::string>().substr(id().size() + 1));
      for (const json& point : curve["points"])
        drawn[trial].emplace_back(point[0], number_of(point[1]));
    }
  }
  expect_curves("curve", std::move(drawn));
}

TEST_P(ManyJournals, FrameTellsWhatTheModelDoes) {
  // All that frame() takes of pandas.
  write_file(home.folder() / "pandas.py",
             "class DataFrame:\n    def from_records(rows, index=None): return rows\n");
  home.json({"ls"});  // the record is a controller's
  RunOptions options;
  options.env = {{"THALWEG_HOME", home.home().string()},
                 {"PYTHONPATH", THALWEG_SOURCE_DIR "/packaging/python:" + home.folder().string()}};
  const Outcome outcome = run({"python3", "-c",
                               "import json, thalweg\n"
                               "print(json.dumps([[p['x'], p['step'], p['loss']]"
                               " for p in thalweg.frame(" +
                                   id() +
                                   ", metric='loss')]).replace('NaN', 'null')"
                                   ".replace('-Infinity', '\"-inf\"').replace('Infinity', "
                                   "'\"inf\"'))\n"
                                   "print(json.dumps([[t['x'], t.get('loss')] for t in "
                                   "thalweg.frame(" +
                                   id() +
                                   ")]).replace('NaN', 'null').replace('-Infinity', '\"-inf\"')"
                                   ".replace('Infinity', '\"inf\"'))\n"},
                              options);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string line;
  std::getline(lines, line);
  std::map<int, Curve> found;
  for (const json& point : json::parse(line))
    found[point[0]].emplace_back(point[1], number_of(point[2]));
  expect_curves("frame", std::move(found));
  std::getline(lines, line);
  for (const json& row : json::parse(line))
    EXPECT_TRUE(same(number_of(row[1]), plain[row[0]].newest)) << row;
}

/// Numbers of a page's cells, as its tables are sorted by; nothing where there is none.
std::vector<double> numbers_of(const std::string& row) {
  std::vector<double> numbers;
  for (std::size_t at = 0; (at = row.find("<td", at)) != row.npos; ++at) {
    const std::size_t close = row.find('>', at), key = row.find("data-v=\"", at);
    const std::string text = row.substr(key < close ? key + 8 : close + 1, 32);
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (end != text.c_str()) numbers.push_back(number);
  }
  return numbers;
}

TEST_P(ManyJournals, ReportTellsWhatTheModelDoes) {
  ASSERT_EQ(home.thalweg({"report", id(), "-o", "report.html"}).code, 0);
  const std::string page = read_file(home.folder() / "report.html");
  const std::string all = page.substr(page.find(">Configurations</h2>"));
  for (int trial = 1; trial <= trials; ++trial) {
    const std::size_t at = all.find("<td>" + std::to_string(trial) + "</td>");
    ASSERT_NE(at, all.npos) << trial;
    if (diverged(trial) || std::isnan(plain[trial].best)) continue;
    const std::vector<double> told = numbers_of(all.substr(at, all.find("</tr>", at) - at));
    const auto tells = [&](double number) {
      return std::find(told.begin(), told.end(), number) != told.end();
    };
    EXPECT_TRUE(tells(plain[trial].best)) << trial << ": " << plain[trial].best;
    if (!std::isnan(plain[trial].steps)) {
      EXPECT_TRUE(tells(plain[trial].steps)) << trial << ": " << plain[trial].steps;
    }
  }
  // The newest value is in the curves of the first rows.
  const std::size_t data = page.find('>', page.find("id=\"data\"")) + 1;
  const json charts = json::parse(page.substr(data, page.find("</script>", data) - data))["charts"];
  int drawn = 0;
  for (const json& chart : charts) {
    if (chart["id"] != "curves") continue;
    for (const json& series : chart["series"]) {
      // "#3 x=17 (1 trial)"
      const std::string label = series["label"];
      const int trial = std::stoi(label.substr(label.find('=') + 1));
      ++drawn;
      EXPECT_EQ(series["points"].back()[0], static_cast<double>(curves[trial].back().first))
          << label;
      EXPECT_TRUE(same(number_of(series["points"].back()[1]), plain[trial].newest)) << label;
    }
  }
  EXPECT_GT(drawn, 5);
}

INSTANTIATE_TEST_SUITE_P(Goals, ManyJournals, testing::Bool(),
                         [](const auto& test) { return test.param ? "Maximize" : "Minimize"; });

}  // namespace
}  // namespace thalweg::test
