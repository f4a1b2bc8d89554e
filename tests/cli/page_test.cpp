// Pages and their charts, without any controller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/output/chart.h"
#include "cli/output/html.h"
#include "cli/output/table.h"

namespace thalweg::cli {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

TEST(CliHtml, DataCannotLeaveItsScriptElement) {
  const std::string text = json_for_script({{"a", "</script><!--&\xff"}, {"b", 0.5}});
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  EXPECT_EQ(Json::parse(text)["a"], "</script><!--&\xef\xbf\xbd");
  EXPECT_EQ(Json::parse(text)["b"], 0.5);
}

TEST(CliHtml, FootnotesAreSharedAndLinkBack) {
  HtmlPage page("a & b");
  const std::string first = page.note("counted \"so\""), other = page.note("measured");
  const std::string again = page.note("counted \"so\"");
  EXPECT_THAT(first, HasSubstr("id=\"r1-1\""));
  EXPECT_THAT(first, HasSubstr("title=\"counted &quot;so&quot;\""));
  EXPECT_THAT(other, HasSubstr("href=\"#n2\""));
  EXPECT_THAT(again, HasSubstr("id=\"r1-2\""));
  const std::string text = page.text();
  EXPECT_THAT(text, HasSubstr("<title>a &amp; b</title>"));
  EXPECT_THAT(text, HasSubstr("<li id=\"n1\">counted \"so\" <a href=\"#r1-1\""));
  EXPECT_NE(page.text(), text) << "each page has a nonce of its own";
}

TEST(CliHtml, ColumnsWithDigitsHaveTheirNote) {
  Table table({{"name", "name"}, {"n", "n", Align::right}, {"value", "value", Align::right}});
  table.add({"a<b", {"1", "1"}, {"1.2k", "1234\""}});
  std::ostringstream out;
  table.print_html(
      out, [](const std::string& key) { return "[" + key + "]"; }, true);
  EXPECT_THAT(out.str(), HasSubstr("<span>name</span></th>"));
  EXPECT_THAT(out.str(), HasSubstr("<span>value</span>[value]</th>"));
  EXPECT_THAT(out.str(), HasSubstr("<td>a&lt;b</td>"));
  EXPECT_THAT(out.str(), HasSubstr("data-v=\"1234&quot;\">1.2k</td>"));
}

TEST(CliChart, KeepsGapsBandsAndNames) {
  const PlotSeries series{{{0, 1}, {1, NAN}}, Tint::none, 0, "a", {{0, 0.5, 2}}, true};
  const Json chart = line_chart("c", {"t", "x", "y", true}, {series});
  EXPECT_EQ(chart["series"][0]["points"], Json::parse("[[0.0, 1.0], [1.0, null]]"));
  EXPECT_EQ(chart["series"][0]["band"], Json::parse("[[0.0, 0.5, 2.0]]"));
  EXPECT_EQ(chart["series"][0]["dots"], true);
  EXPECT_EQ(chart["y"], Json::parse(R"({"name": "y", "log": true})"));
  const Json bars = bar_chart("b", "t", "s", {{"one", {{"x", 1}, {"x", 2}}}, {"two", {{"y", 3}}}});
  EXPECT_EQ(bars["series"], Json::parse(R"([{"label": "x", "values": [3.0, 0.0]},
                                            {"label": "y", "values": [0.0, 3.0]}])"));
}

TEST(CliSvg, DotsAreNotJoinedAndLogsLeaveOutWhatIsNotPositive) {
  PlotSeries dots{{{0, 1}, {1, 2}, {10, 3}}};
  dots.scattered = true;
  const std::string svg = svg_plot({"", "", "", false, true}, {dots});
  EXPECT_EQ(svg.find("<polyline"), std::string::npos);
  std::size_t circles = 0;
  for (auto at = svg.find("<circle"); at != svg.npos; at = svg.find("<circle", at + 1))
    ++circles;
  EXPECT_EQ(circles, 2u) << "0 has no logarithm";
}

}  // namespace
}  // namespace thalweg::cli
