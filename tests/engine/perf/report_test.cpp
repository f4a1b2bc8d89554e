// thalweg-perf: what it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/perf/axis.h"
#include "engine/perf/report.h"
#include "tests/engine/perf/xml.h"

namespace thalweg::engine::perf {
namespace {

using nlohmann::json;
using test::xml_error;
using testing::HasSubstr;
using testing::Not;

std::vector<Result> some_results() {
  std::vector<Result> results;
  for (const char* choice : {"ring", "a<b&\"c\""}) {
    for (std::size_t bytes = 4; bytes <= 4U << 20U; bytes *= 4) {
      Result result;
      result.collective = "allreduce";
      result.choice = result.algorithm = choice;
      result.bytes = bytes;
      result.count = bytes / 4;
      result.calls = 10;
      const double us = 0.3 + static_cast<double>(bytes) / 5000;
      result.us = {us * 0.9, us, us * 1.2, us * 1.5, us * 7, us * 1.1};
      result.algorithm_bandwidth = static_cast<double>(bytes) / us / 1e3;
      result.bus_bandwidth = result.algorithm_bandwidth * 1.5;
      result.wrong = 0;
      results.push_back(result);
    }
  }
  Result barrier;
  barrier.collective = "barrier";
  barrier.choice = "auto";
  barrier.us = {1, 1, 1, 1, 1, 1};
  results.push_back(barrier);
  return results;
}

Setting some_setting() {
  Setting setting{4, {"n1", "n2"}, {3, 1}, {}};
  setting.options.collectives = {"allreduce", "barrier"};
  return setting;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++n;
  }
  return n;
}

TEST(PerfJson, HoldsEveryNumber) {
  const auto results = some_results();
  const json whole = json::parse(to_json(some_setting(), results, false));
  EXPECT_EQ(1, whole.at("format"));
  EXPECT_EQ(4, whole.at("ranks"));
  EXPECT_EQ(3, whole.at("nodes").at(0).at("ranks"));
  EXPECT_EQ(false, whole.at("complete"));
  ASSERT_EQ(results.size(), whole.at("results").size());
  const json& second = whole.at("results").at(1);
  EXPECT_EQ(16, second.at("bytes"));
  EXPECT_EQ(results[1].us.p95, second.at("us").at("p95"));
  EXPECT_EQ(results[1].bus_bandwidth, second.at("busbw_gb_s"));
  EXPECT_TRUE(whole.at("results").back().at("wrong").is_null());
}

TEST(PerfSvg, IsWellFormedAndDrawsEverySeriesTwice) {
  const std::string svg = to_svg(some_setting(), some_results());
  EXPECT_EQ("", xml_error(svg));
  EXPECT_EQ(4U, occurrences(svg, "<polyline"));
  EXPECT_EQ(4U * 11, occurrences(svg, "<circle"));
  EXPECT_THAT(svg, HasSubstr("allreduce a&lt;b&amp;&quot;c&quot;"));
  EXPECT_THAT(svg, HasSubstr(">1 KiB<"));
  EXPECT_THAT(svg, HasSubstr(">10 µs<"));
  EXPECT_THAT(svg, HasSubstr(">1 GB/s<"));
  for (const char* bad : {"nan", "inf", "\"-"}) {
    EXPECT_THAT(svg, Not(HasSubstr(bad)));
  }
}

TEST(PerfSvg, NothingToDrawIsStillAPicture) {
  EXPECT_EQ("", xml_error(to_svg(some_setting(), {})));
  std::vector<Result> one = {some_results().front()};
  EXPECT_EQ("", xml_error(to_svg(some_setting(), one)));
  one[0].bus_bandwidth = one[0].algorithm_bandwidth = 0;  // one rank moves nothing
  EXPECT_EQ(1U, occurrences(to_svg(some_setting(), one), "<polyline"));
}

TEST(PerfXml, TheCheckFindsMistakes) {
  EXPECT_NE("", xml_error("<svg><g></svg></g>"));
  EXPECT_NE("", xml_error("<svg a=\"1></svg>"));
  EXPECT_NE("", xml_error("<svg>a & b</svg>"));
  EXPECT_NE("", xml_error("<svg></svg><svg></svg>"));
  EXPECT_EQ("", xml_error("<svg a=\"1\"><g/>&lt;µ</svg>\n"));
}

TEST(PerfTextPlot, LettersStandForSeries) {
  const std::string plot = to_text_plot(some_results());
  EXPECT_THAT(plot, HasSubstr("a allreduce ring"));
  EXPECT_THAT(plot, HasSubstr("latency (p50) over size"));
  EXPECT_THAT(plot, HasSubstr("10 µs |"));
  EXPECT_GE(occurrences(plot, "*"), 22U);  // the two series lie on each other
  EXPECT_EQ("", to_text_plot({}));
}

TEST(PerfTable, ColumnsStandBelowTheirNames) {
  const std::string head = table_head(some_setting());
  const std::string names = head.substr(head.rfind("collective"));
  const auto results = some_results();
  const std::string line = table_line(results[5]);
  EXPECT_THAT(head, HasSubstr("4 ranks on 2 nodes; f32 sum, group memory"));
  EXPECT_EQ(names.find("busbw") + 5, line.find("  right"));
  EXPECT_THAT(table_line(results.back()), HasSubstr(" -  -"));
  Result wrong = results[5];
  wrong.wrong = 3;
  EXPECT_THAT(table_line(wrong), HasSubstr("3 WRONG"));
}

TEST(PerfAxis, TicksAreRoundAndFew) {
  const auto all = series_of(some_results(), Measure::latency);
  ASSERT_EQ(2U, all.size());
  const Axis x = size_axis(all, 7), y = value_axis(all, Measure::latency);
  EXPECT_LE(x.ticks.size(), 7U);
  EXPECT_EQ(0, x.at(4));
  EXPECT_EQ(1, x.at(4 << 20));
  EXPECT_EQ(0.1, y.low);
  EXPECT_EQ(1000, y.high);
  EXPECT_EQ("1 ms", y.ticks.back().text);
  EXPECT_EQ("1023 B", size_text(1023));
  EXPECT_EQ("64 KiB", size_text(65535));  // what three ranks make of 64 KiB
}

}  // namespace
}  // namespace thalweg::engine::perf
