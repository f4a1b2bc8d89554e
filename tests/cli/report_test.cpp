// The page of a sweep: sections, footnotes, what texts of a sweep could do to it, and how it looks
// in a browser.
#include <regex>
#include <set>

#include "tests/cli/command_fixture.h"

namespace thalweg::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* evil = "</script><img src=x onerror=alert(1)>\"'";

json estimate(double median) {
  return {{"median", median}, {"low", 0.9 * median}, {"high", 1.1 * median}};
}

json comparison() {
  json rows = json::array();
  for (int i = 1; i <= 4; ++i)
    rows.push_back(
        {{"rank", i},
         {"group", {{"optimizer.lr", 0.1 * i}, {"optimizer.name", i % 2 ? "sgd" : evil}}},
         {"n", 2},
         {"configurations", 1},
         {"trials_used", 2},
         {"finished", 2},
         {"failed", i == 4 ? 1 : 0},
         {"best", estimate(0.1 * i)},
         {"steps_to_target", {{"median", 100 * i}, {"reached", 2}}},
         {"seconds_to_target", estimate(10 * i)},
         {"node_seconds_to_target", estimate(20 * i)},
         {"cost_node_seconds", estimate(40 * i)},
         {"samples_per_s", estimate(1000)},
         {"improvement", {{"median", 0.5}}},
         {"trials", {"12." + std::to_string(2 * i - 1), "12." + std::to_string(2 * i)}},
         {"verdict", "2 seeds, 5 needed"}});
  return {
      {"sweep", "12"},    {"metric", "val/error"}, {"goal", "minimize"},
      {"target", 0.5},    {"unit", "seed"},        {"by", {"optimizer.lr", "optimizer.name"}},
      {"rows_in_all", 4}, {"rows", rows},          {"notes", {"ranked by " + std::string(evil)}}};
}

json curves(const std::string& metric) {
  json list = json::array();
  for (int trial = 1; trial <= 8; ++trial) {
    json points = json::array();
    for (int step = 0; step < 30; ++step)
      points.push_back({step, 1.0 / (1 + step) + 0.02 * trial, 0, 1});
    list.push_back({{"id", "12." + std::to_string(trial)}, {"points", points}});
  }
  return {{"metric", metric}, {"curves", list}};
}

const std::string trials = "&points=400&trials=1,2,3,4,5,6,7,8";

class CliReport : public CommandTest {
 protected:
  void answer_all() {
    FakeController& fake = controller();
    fake.answer("GET /v1/sweeps/12?trials=0", {{"id", "12"},
                                               {"name", evil},
                                               {"owner", "ada"},
                                               {"backend", "local"},
                                               {"state", "finished"},
                                               {"metric", "val/error"},
                                               {"goal", "minimize"},
                                               {"targets", {0.5}},
                                               {"submitted", 1760000000},
                                               {"ended", 1760000100},
                                               {"description", evil},
                                               {"counts", {{"finished", 8}, {"failed", 1}}}});
    fake.answer("GET /v1/sweeps/12/compare?top=500", comparison());
    fake.answer("GET /v1/sweeps/12/curves?metric=val%2Ferror" + trials, curves("val/error"));
    fake.answer("GET /v1/sweeps/12/curves?metric=train%2Floss" + trials, curves("train/loss"));
    answer_studies(fake);
    fake.answer("GET /v1/studies/timeline?trials=12.1", json::parse(R"({
      "columns": [{"key": "attempt", "title": "attempt", "shows": "text", "note": "ids"},
                  {"key": "part", "title": "part", "shows": "text", "note": "in order"},
                  {"key": "seconds", "title": "time", "shows": "duration", "note": "seconds"},
                  {"key": "share", "title": "share", "shows": "portion", "note": "of all"}],
      "rows": [{"attempt": "12.1.1", "part": "compute", "seconds": 8, "share": 0.8}]})"));
    // One answer to all queries: rows that serve as attempts, starts and text.
    fake.answer(
        "POST /v1/query",
        {{"columns", {"a", "b", "c", "d", "e", "f"}},
         {"rows",
          {{"12.1", 100, 110, 150, "finished", 200}, {"12.2", 100, 120, 0, "running", 200}}}});
  }

  static void answer_studies(FakeController& fake) {
    const json group{{"optimizer.lr", 0.1}};
    fake.answer("GET /v1/studies/profile?sweeps=12&by=optimizer.lr%2Coptimizer.name&chart=1",
                json::parse(R"({
      "columns": [{"key": "group", "title": "optimizer.lr", "shows": "text", "note": "groups"},
                  {"key": "score", "title": "score", "shows": "number", "note": "the area"}],
      "rows": [{"group": "0.1", "score": 1}, {"group": "0.2", "score": 0.5}],
      "charts": [{"title": "Performance profiles", "x_name": "times the best", "y_name": "share",
        "caption": "Over 1 workload", "note": "times", "series": [
          {"label": "0.1", "x": [1, 1, 4], "y": [0, 1, 1]},
          {"label": "0.2", "x": [1, 2.5, 2.5, 4], "y": [0, 0, 1, 1]}]}]
      })"));
    fake.answer("GET /v1/studies/pareto?sweeps=12&chart=1", json::parse(R"({"study": "pareto",
      "columns": [{"key": "target", "title": "val/error", "shows": "number", "note": "targets"},
                  {"key": "optimizer.lr", "title": "lr", "shows": "text", "note": ""},
                  {"key": "seconds", "title": "time", "shows": "duration", "note": "medians"}],
      "rows": [{"target": 0.5, "optimizer.lr": "0.1", "seconds": 10}], "notes": [],
      "charts": [{"title": "Time against cost", "x_name": "node time", "y_name": "time",
        "log_x": true, "log_y": true, "bars": [], "caption": "A dot is a configuration.",
        "note": "medians", "series": [
          {"label": "val/error 0.5: frontier", "scattered": false, "x": [20], "y": [10]},
          {"label": "val/error 0.5: beaten", "scattered": true, "x": [40], "y": [30]}]
}]
})"));
    fake.answer("GET /v1/studies/scaling?sweeps=12&chart=1", json::parse(R"({
      "columns": [{"key": "optimizer.lr", "title": "lr", "shows": "text", "note": ""},
                  {"key": "ranks", "title": "ranks", "shows": "integer", "note": "processes"},
                  {"key": "speedup", "title": "speed-up", "shows": "times", "note": "times"}],
      "rows": [{"optimizer.lr": "0.1", "ranks": 1, "speedup": "nan"},
               {"optimizer.lr": "0.1", "ranks": 2, "speedup": 1.2}],
      "charts": [{"title": "Samples per second by ranks", "x_name": "ranks", "y_name": "samples/s",
        "log_x": true, "log_y": true, "caption": "A dot is a batch", "note": "medians",
        "series": [{"label": "0.1", "scattered": true, "x": [1, 2], "y": [100, 120]}]}]
      })"));
    fake.answer("GET /v1/studies/batch?sweeps=12&chart=1", json::parse(R"({"study": "batch",
      "columns": [{"key": "batch", "title": "batch", "shows": "number", "note": "samples"},
                  {"key": "optimizer.lr", "title": "lr", "shows": "text", "note": ""},
                  {"key": "steps", "title": "steps to 0.5", "shows": "number", "note": "median"}],
      "rows": [{"batch": 8, "optimizer.lr": "0.1", "steps": 40},
               {"batch": 16, "optimizer.lr": "0.1", "steps": 20}],
      "facts": [{"key": "b_crit", "title": "critical batch", "shows": "interval", "note": "a fit"}],
      "b_crit": 20, "b_crit_low": 10, "b_crit_high": 30, "charts": [{
        "title": "Steps to the target", "x_name": "global batch", "y_name": "steps",
        "log_x": true, "log_y": true, "caption": "Steps to the target by global batch.",
        "note": "median", "series": [
          {"label": "measured", "scattered": true, "x": [8, 16], "y": [40, 20]},
          {"label": "fitted", "x": [8, 16], "y": [35, 22]}]}]
      })"));
    fake.answer("GET /v1/studies/regret?sweeps=12&chart=1", json::parse(R"({"study": "regret",
      "columns": [{"key": "budget", "title": "budget", "shows": "count", "note": "how many"},
                  {"key": "best", "title": "val/error", "shows": "number", "note": "the median"}],
      "rows": [{"budget": 1, "best": 0.3}, {"budget": 2, "best": 0.2}, {"budget": 3, "best": 0.15},
               {"budget": 5, "best": 0.1}], "notes": []})"));
    fake.answer("GET /v1/studies/slices?sweeps=12&chart=1", json::parse(R"({
      "columns": [{"key": "parameter", "title": "parameter", "shows": "text", "note": "varies"}],
      "rows": [{"parameter": "optimizer.lr"}], "notes": [],
      "charts": [{"title": "lr", "x_name": "lr", "y_name": "val/error", "caption": "Dots",
                  "note": "each", "series": [{"label": "a", "scattered": true, "x": [1, 2, 3],
                                              "y": [3, 2, 1]}]},
                 {"title": "name", "y_name": "val/error", "bars": ["sgd", "adam"], "caption": "Bars",
                  "note": "each", "series": [{"label": "median", "y": [1, 2]}]}]
      })"));
    fake.answer("GET /v1/studies/history?sweeps=12&chart=1", json::parse(R"({
      "columns": [{"key": "ended", "title": "ended", "shows": "count", "note": "trials"}],
      "rows": [{"ended": 1}], "notes": []})"));
    fake.answer("GET /v1/studies/importance?sweeps=12&chart=1", json::parse(R"({
      "columns": [{"key": "parameter", "title": "parameter", "shows": "text", "note": "names"},
                  {"key": "alone", "title": "alone", "shows": "share", "note": "Sobol indices"}],
      "rows": [{"parameter": "optimizer.lr", "alone": 0.6}], "notes": [],
      "charts": [{"title": "Which parameters matter", "y_name": "%", "bars": ["lr"], "caption": "Of 4",
        "note": "Sobol indices", "series": [{"label": "alone", "y": [60]},
                                            {"label": "together with others", "y": [20]}]}]
      })"));
  }

  std::string report() {
    answer_all();
    const Outcome outcome = thalweg({"report", "12", "-o", "-"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
};

/// What stands between the tags, for each match of the first group.
std::vector<std::string> all_of(const std::string& text, const std::string& pattern) {
  std::vector<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
    found.push_back((*match)[1].str());
  return found;
}

/// Without scripts, whose length regular expressions cannot take.
std::string body_of(const std::string& page) {
  const auto from = page.find("<main>"), to = page.find("</main>");
  EXPECT_NE(to, std::string::npos);
  return page.substr(from, to - from);
}

/// Each footnote is linked to, and links back to each place that does.
void expect_notes_used(const std::string& body) {
  const auto uses = all_of(body, "class=\"note\" href=\"#n([0-9]+)\"");
  const auto notes = all_of(body, "<li id=\"n([0-9]+)\">");
  EXPECT_EQ(std::set<std::string>(uses.begin(), uses.end()),
            std::set<std::string>(notes.begin(), notes.end()));
  const auto marks = all_of(body, "<sup id=\"(r[0-9]+-[0-9]+)\">");
  const auto backs = all_of(body, "<a href=\"#(r[0-9]+-[0-9]+)\"");
  EXPECT_EQ(std::set<std::string>(marks.begin(), marks.end()),
            std::set<std::string>(backs.begin(), backs.end()));
  EXPECT_EQ(uses.size(), backs.size());
}

TEST_F(CliReport, OpensWithItsConclusion) {
  const std::string body = body_of(report());
  const auto lead = body.find("<p class=\"lead\">");
  ASSERT_NE(lead, std::string::npos);
  EXPECT_LT(lead, body.find("<nav>"));
  EXPECT_LT(body.find("verdicts"), body.find("<dl>")) << "the verdicts come before the facts";
}

TEST_F(CliReport, HasASectionForEachThingThatIsKnown) {
  EXPECT_EQ(
      all_of(body_of(report()), "<h2 id=\"s[0-9]+\">([^<]*)</h2>"),
      (std::vector<std::string>{
          "Comparison", "Summary", "Curves", "Parallel coordinates", "Performance profiles",
          "Time against cost", "Scaling", "Batch size", "Which parameters matter",
          "Each parameter against the metric", "Best value so far", "Best of k configurations",
          "Timeline", "Configurations", "Provenance", "How each number was computed"}));
}

TEST_F(CliReport, OfSeveralSweepsHasWhatCompares) {
  answer_all();
  FakeController& fake = controller();
  fake.answer("GET /v1/sweeps/13?trials=0",
              {{"id", "13"}, {"name", "other"}, {"metric", "val/error"}, {"state", "finished"}});
  json both = comparison();
  both["sweeps"] = {"12", "13"};
  fake.answer("GET /v1/sweeps/12/compare?top=500&also=13", both);
  fake.answer("GET /v1/sweeps/12/compare?top=50&also=13&by=sweep", both);
  fake.answer("GET /v1/studies/profile?sweeps=12,13&by=optimizer.lr%2Coptimizer.name&chart=1",
              {{"error", {{"message", "nothing yet"}}}}, 400);
  const Outcome outcome = thalweg({"report", "12", "13", "-o", "-"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(all_of(body_of(outcome.out), "<h2 id=\"s[0-9]+\">([^<]*)</h2>"),
            (std::vector<std::string>{"Comparison", "Sweeps", "Curves", "Parallel coordinates",
                                      "Configurations", "How each number was computed"}));
  EXPECT_THAT(outcome.out, HasSubstr("form-action 'none'")) << "a file has no form";
  expect_notes_used(body_of(outcome.out));
  const Outcome trial = thalweg({"report", "12", "13.2", "-o", "-"});
  EXPECT_EQ(trial.code, 2);
  EXPECT_THAT(trial.err, HasSubstr("report takes sweeps, not 13.2"));
}

TEST_F(CliReport, LeavesOutWhatIsNotKnown) {
  FakeController& fake = controller();
  fake.answer("GET /v1/sweeps/12?trials=0",
              {{"id", "12"}, {"name", "new"}, {"metric", "val/error"}, {"state", "running"}});
  fake.answer("GET /v1/sweeps/12/compare?top=500", {{"rows", json::array()}, {"by", {"lr"}}});
  refuse_studies(fake, "&by=lr");
  fake.answer("POST /v1/query", {{"columns", {"a"}}, {"rows", json::array()}});
  const Outcome outcome = thalweg({"report", "12", "-o", "-"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(all_of(body_of(outcome.out), "<h2 id=\"s[0-9]+\">([^<]*)</h2>"),
            (std::vector<std::string>{"Comparison", "Summary", "Provenance",
                                      "How each number was computed"}));
  expect_notes_used(body_of(outcome.out));
}

TEST_F(CliReport, ProgramsThatReportNoLossHaveTheCurvesOfTheirMetric) {
  answer_all();
  controller().answer("GET /v1/sweeps/12/curves?metric=train%2Floss" + trials,
                      {{"error", {{"message", "no metric 'train/loss' in sweep 12"}}}}, 404);
  const Outcome outcome = thalweg({"report", "12", "-o", "-"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("<figure id=\"curves\">"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("<figure id=\"loss-curves\">")));
}

TEST_F(CliReport, TextsOfASweepStayText) {
  const std::string page = report();
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;img src=x"));
  EXPECT_THAT(page, HasSubstr("\\u003c/script\\u003e\\u003cimg"));  // in the charts' data
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'nonce-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-eval")));
}

TEST_F(CliReport, EveryNumberHasAFootnoteAndEveryFootnoteAUse) {
  const std::string body = body_of(report());
  int columns = 0;
  for (const std::string& table : all_of(body, "<table[^>]*>([^]*?)</table>")) {
    const auto heads = all_of(table, "<th [^>]*>([^]*?)</th>");
    for (const std::string& row : all_of(table, "<tr>([^]*?)</tr>")) {
      const auto cells = all_of(row, "<td[^>]*>([^<]*)</td>");
      for (std::size_t c = 0; c < cells.size(); ++c) {
        if (cells[c].find_first_of("0123456789") == std::string::npos) continue;
        ++columns;
        EXPECT_THAT(heads.at(c), HasSubstr("class=\"note\"")) << cells[c];
      }
    }
  }
  EXPECT_GT(columns, 80);
  const std::set<std::string> texts{"description"};  // what people wrote, and names
  const std::regex pair("<dt>([^<]*)</dt><dd>([^]*?)</dd>");
  int values = 0;
  for (std::sregex_iterator match(body.begin(), body.end(), pair), end; match != end; ++match) {
    const std::string value = (*match)[2].str();
    if (texts.count((*match)[1]) || value.find_first_of("0123456789") == std::string::npos)
      continue;
    ++values;
    EXPECT_THAT(value, HasSubstr("class=\"note\"")) << (*match)[1];
  }
  EXPECT_GT(values, 7);
  for (const std::string& caption : all_of(body, "<figcaption>([^]*?)</figcaption>"))
    EXPECT_THAT(caption, HasSubstr("class=\"note\""));
  expect_notes_used(body);
}

TEST_F(CliReport, AsksForNoSweepWithAllItsTrials) {
  report();
  for (const auto& request : controller().requests())
    EXPECT_NE(request.target, "/v1/sweeps/12") << "thousands of trials for eight curves";
}

TEST_F(CliReport, LooksRightInABrowser) {
  if (report().find("Chart.js v3") == std::string::npos)
    GTEST_SKIP() << "built without Chart.js (Debian: libjs-chart.js)";
  const std::string file = folder("page.html").string();
  ASSERT_EQ(thalweg({"report", "12", "-o", file}).code, 0);
  const Outcome outcome = run({"python3", source_file("page_in_browser.py"), file});
  if (outcome.code == 77) GTEST_SKIP() << outcome.out;
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("11 charts are as they should be"));
  EXPECT_THAT(read_file(file), HasSubstr("\"band\":[[0.0,")) << "medians have their bands";
}

}  // namespace
}  // namespace thalweg::test
