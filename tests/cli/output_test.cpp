// The output helpers, without any controller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/output/csv.h"
#include "cli/output/format.h"
#include "cli/output/json.h"
#include "cli/output/plot.h"
#include "cli/output/svg.h"
#include "cli/output/svg_bars.h"
#include "cli/output/svg_plot.h"
#include "cli/output/table.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

TEST(CliText, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("größe"), 5);
  EXPECT_EQ(display_width("学習"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);  // a combining accent
  EXPECT_EQ(display_width("\xff"), 1);
}

TEST(CliText, TruncateKeepsCharactersWhole) {
  EXPECT_EQ(truncate("momentum", 8), "momentum");
  EXPECT_EQ(truncate("momentum", 5), "mome…");
  EXPECT_EQ(truncate("größer", 4), "grö…");
  EXPECT_EQ(truncate("学習率", 4), "学…");  // the next would take two columns
  EXPECT_EQ(truncate("ab  cd", 4), "ab…");
  EXPECT_EQ(truncate("abc", 1), "…");
  EXPECT_EQ(truncate("abc", 0), "");
}

TEST(CliText, PaddingCountsColumns) {
  EXPECT_EQ(pad_right("ö", 3), "ö  ");
  EXPECT_EQ(pad_left("学", 3), " 学");
  EXPECT_EQ(pad_left("long", 2), "long");
}

TEST(CliText, WrapKeepsWordsWhole) {
  EXPECT_THAT(wrap("one two  three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap("größer als", 6), ElementsAre("größer", "als"));
  EXPECT_THAT(wrap("a verylongword b", 5), ElementsAre("a", "verylongword", "b"));
  EXPECT_THAT(wrap("all in one", 0), ElementsAre("all in one"));
  EXPECT_THAT(wrap("", 10), ElementsAre(""));
}

TEST(CliText, PrintableDefusesEscapes) {
  EXPECT_EQ(printable("a\x1b[2Jb\nc\td"), "a [2Jb c d");
  EXPECT_EQ(printable("ok\xc3"), "ok\uFFFD");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate is no character
  EXPECT_EQ(printable("\u0085x"), " x");
  EXPECT_EQ(printable("best\u202egpj.exe\u200f"), "best\\u202egpj.exe\\u200f");
}

/// Each character there is, between others: nothing that a terminal obeys gets to it, and nothing
/// that turns writing round to a terminal or a page.
TEST(CliText, NoCharacterMovesTheCursorOrTurnsWritingRound) {
  const auto utf8 = [](char32_t code) {
    std::string bytes;
    if (code < 0x80) return std::string(1, static_cast<char>(code));
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr unsigned char leads[] = {0, 0xC0, 0xE0, 0xF0};
    bytes += static_cast<char>(leads[more] | code >> (6 * more));
    for (int i = more - 1; i >= 0; --i)
      bytes += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
    return bytes;
  };
  for (char32_t code = 0; code < 0x30000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    const bool turns = code == 0x061C || code == 0x200E || code == 0x200F ||
                       (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    const std::string character = utf8(code), text = "a" + character + "b";
    const auto has = [&](const std::string& where) {
      return where.find(character) != std::string::npos;
    };
    ASSERT_EQ(has(printable(text)), !(control && code != ' ') && !turns) << std::uint32_t{code};
    ASSERT_EQ(has(csv_field(text)), (!control && !turns) || code == '\n' || code == '\t')
        << std::uint32_t{code};
    if (!turns) continue;
    ASSERT_FALSE(has(svg::escaped(text))) << std::uint32_t{code};
    ASSERT_FALSE(has(svg::escaped_attribute(text))) << std::uint32_t{code};
  }
}

TEST(CliFormat, Numbers) {
  EXPECT_EQ(format_number(0.112345), "0.1123");
  EXPECT_EQ(format_number(12.3456), "12.35");
  EXPECT_EQ(format_number(1.2345e-5), "1.234e-05");
  EXPECT_EQ(format_number(860), "860");
  EXPECT_EQ(format_number(16451.7), "16452");
  EXPECT_EQ(format_number(123456), "123456");
  EXPECT_EQ(format_number(0), "0");
  EXPECT_EQ(format_number(nan), "nan");
  EXPECT_EQ(format_number(-inf), "-inf");
  EXPECT_EQ(format_number(std::nullopt), "–");
}

TEST(CliFormat, Intervals) {
  EXPECT_EQ(format_interval(0.5, 0.4, 0.6), "0.5 [0.4, 0.6]");
  EXPECT_EQ(format_interval(0.5, 0.5, 0.5), "0.5");
  EXPECT_EQ(format_interval(0.5, std::nullopt, 0.6), "0.5");
  EXPECT_EQ(format_interval(std::nullopt, 0.4, 0.6), "–");
  EXPECT_EQ(format_interval(0.5, nan, 0.6), "0.5");
}

TEST(CliFormat, Rates) {
  EXPECT_EQ(format_rate(3.25), "3.2/s");
  EXPECT_EQ(format_rate(850.4), "850/s");
  EXPECT_EQ(format_rate(999.7), "1.0k/s");
  EXPECT_EQ(format_rate(10250.5), "10.3k/s");
  EXPECT_EQ(format_rate(123456), "123k/s");
  EXPECT_EQ(format_rate(1.34e6), "1.3M/s");
  EXPECT_EQ(format_rate(nan), "–");
}

TEST(CliFormat, Durations) {
  EXPECT_EQ(format_duration(0.44), "0.4 s");
  EXPECT_EQ(format_duration(9.97), "10 s");
  EXPECT_EQ(format_duration(59.6), "1:00");
  EXPECT_EQ(format_duration(192), "3:12");
  EXPECT_EQ(format_duration(3900), "1:05:00");
  EXPECT_EQ(format_duration(2 * 86400 + 3 * 3600), "2 d 03 h");
  EXPECT_EQ(format_duration(7), "7 s");
  EXPECT_EQ(format_duration(-5), "0 s");
  EXPECT_EQ(format_duration(inf), "–");
}

TEST(CliFormat, AgesAndCounts) {
  EXPECT_EQ(format_age(100, 112), "12 s ago");
  EXPECT_EQ(format_age(100, 100 + 3600 * 5), "5 h ago");
  EXPECT_EQ(format_age(100, 100 + 86400 * 3), "3 days ago");
  EXPECT_EQ(format_age(0, 100), "never");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(-1234), "-1,234");
  EXPECT_EQ(format_count(999), "999");
}

TEST(CliFormat, PercentIsNotDoneBeforeItIs) {
  EXPECT_EQ(format_percent(0.999), "99 %");
  EXPECT_EQ(format_percent(1), "100 %");
  EXPECT_EQ(format_percent(0.005), "1 %");
  EXPECT_EQ(format_percent(nan), "0 %");
}

TEST(CliCsv, QuotesWhereNeeded) {
  std::ostringstream out;
  write_csv_line(out, {"plain", "a,b", "say \"hi\"", "two\nlines", " spaced", ""});
  EXPECT_EQ(out.str(), "plain,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\" spaced\",\n");
  EXPECT_EQ(csv_field("a\x1b[2J\x07"), "a\\u001b[2J\\u0007");
  EXPECT_EQ(csv_field("over\rwritten\r\nnext"), "\"over\\u000dwritten\r\nnext\"");
}

Table sample_table() {
  Table table({{"id", "id", Align::right},
               {"name", "name", Align::left, true},
               {"extra", "extra", Align::left, false, 1},
               {"hidden", "", Align::left, false, 0, true},
               {"empty", "empty"}});
  table.add({"1", "a rather long name", Cell("shown", "0.123456789"), "raw", ""});
  table.add({"12", "größe", "x", "raw2", ""});
  return table;
}

std::vector<std::string> printed(const Table& table, int width) {
  std::ostringstream out;
  table.print(out, Palette(false), width);
  std::vector<std::string> lines;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

TEST(CliTable, AlignsAndLeavesOutEmptyColumns) {
  EXPECT_THAT(printed(sample_table(), 0),
              ElementsAre("id  name                extra", " 1  a rather long name  shown",
                          "12  größe               x"));
}

TEST(CliTable, LeavesOutThenCutsInANarrowWindow) {
  EXPECT_THAT(
      printed(sample_table(), 24),
      ElementsAre("id  name           extra", " 1  a rather lon…  shown", "12  größe          x"));
  const auto lines = printed(sample_table(), 16);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1], " 1  a rather lo…");
  for (const std::string& line : lines)
    EXPECT_LE(display_width(line), 16) << line;
}

TEST(CliTable, NoLineIsWiderThanTheWindow) {
  for (int width = 1; width <= 80; ++width) {
    for (const std::string& line : printed(sample_table(), width))
      EXPECT_LE(display_width(line), width) << line;
  }
  Table numbers({{"a", "first"}, {"b", "second"}, {"c", "third"}});  // none may be cut or left out
  numbers.add({std::string(30, '1'), std::string(40, '2'), std::string(20, '3')});
  for (const std::string& line : printed(numbers, 80))
    EXPECT_LE(display_width(line), 80) << line;
  EXPECT_THAT(printed(numbers, 10).back(), HasSubstr("not shown"));
}

TEST(CliTable, TakesShortFormsBeforeItCuts) {
  Table table({{"a", "a", Align::left, true}, {"b", "b"}});
  table.add({"a long name", Cell("0.12 [0.11, 0.13]", "0.12", Tint::none, "0.12")});
  EXPECT_THAT(printed(table, 30), ElementsAre("a            b", "a long name  0.12 [0.11, 0.13]"));
  EXPECT_THAT(printed(table, 20), ElementsAre("a            b", "a long name  0.12"));
}

TEST(CliTable, NoticeNamesWhatIsLeftOut) {
  Table table({{"a", "first"}, {"b", "second", Align::left, false, 1}});
  table.add({std::string(60, 'x'), std::string(60, 'y')});
  const auto lines = printed(table, 80);
  EXPECT_THAT(lines.back(), HasSubstr("not shown for lack of width: second"));
}

TEST(CliTable, CsvHasAllColumnsRaw) {
  std::ostringstream out;
  sample_table().print_csv(out);
  EXPECT_EQ(
      out.str(),
      "id,name,extra,hidden,empty\n1,a rather long name,0.123456789,raw,\n12,größe,x,raw2,\n");
}

TEST(CliTable, ColourWrapsTextNotPadding) {
  Table table({{"state", "state"}, {"n", "n", Align::right}});
  table.add({Cell("ok", "ok", Tint::green), "7"});
  std::ostringstream out;
  table.print(out, Palette(true), 0);
  EXPECT_THAT(out.str(), HasSubstr("\x1b[32mok\x1b[0m     7\n"));
}

TEST(CliJson, ReadsWithoutSurprises) {
  const Json object =
      Json::parse(R"({"a":1.5,"b":"nan","c":null,"d":"text","e":[1,"x"],"f":true})");
  EXPECT_EQ(number_at(object, "a"), 1.5);
  EXPECT_TRUE(std::isnan(number_at(object, "b").value()));
  EXPECT_EQ(number_at(object, "c"), std::nullopt);
  EXPECT_EQ(number_at(object, "d"), std::nullopt);
  EXPECT_EQ(number_at(object, "missing"), std::nullopt);
  EXPECT_EQ(count_at(object, "d"), 0);
  EXPECT_EQ(text_at(object, "a"), "1.5");
  EXPECT_EQ(text_at(object, "c"), "");
  EXPECT_THAT(texts_at(object, "e"), ElementsAre("1", "x"));
  EXPECT_TRUE(list_at(object, "a").empty());
  EXPECT_TRUE(flag_at(object, "f"));
  EXPECT_TRUE(member(Json::array(), "a").is_null());
}

TEST(CliJson, LabelsParameters) {
  EXPECT_EQ(parameter_label(Json::parse(R"({"optimizer.name":"adamw","optimizer.lr":0.1})")),
            "lr=0.1, adamw");
  EXPECT_EQ(parameter_label(Json()), "");
  EXPECT_EQ(parameter_label(Json::parse(R"({"a":null,"b":"null","c":"1","d":1,"e":"None"})")),
            R"(a=null, "null", "1", d=1, None)");
}

TEST(CliJson, PrintsBrokenTextAsValidJson) {
  std::ostringstream out;
  print_json_line(out, Json{{"log", "a\xff"}});
  EXPECT_EQ(Json::parse(out.str()), (Json{{"log", "a\uFFFD"}}));
}

TEST(CliPlot, FallingLineGoesFromTopLeftToBottomRight) {
  std::vector<PlotPoint> points;
  for (int i = 0; i <= 100; ++i)
    points.push_back({i * 1.0, 100.0 - i});
  const auto lines = plot({{points}}, {40, 12}, {"step", false, false}, Palette());
  ASSERT_EQ(lines.size(), 12u);
  for (const std::string& line : lines)
    EXPECT_LE(display_width(line), 40) << line;
  EXPECT_THAT(lines.front(), HasSubstr("100 ┤⠙"));
  EXPECT_THAT(lines[9], testing::StartsWith("  0 ┤"));
  EXPECT_EQ(display_width(lines[9]), 39);
  EXPECT_THAT(lines.back(), testing::EndsWith("100"));
}

TEST(CliPlot, SurvivesOnePointAndNothing) {
  const auto draw = [](const std::vector<PlotPoint>& points, bool logarithmic) {
    return plot({{points}}, {40, 12}, {"step", false, logarithmic}, Palette());
  };
  EXPECT_EQ(draw({{5, 1}}, false).size(), 12u);
  EXPECT_TRUE(draw({}, false).empty());
  EXPECT_TRUE(plot({}, {40, 12}, {"step", false, false}, Palette()).empty());
  EXPECT_TRUE(draw({{1, nan}, {2, inf}}, false).empty());
  EXPECT_TRUE(draw({{1, -1}}, true).empty());
}

TEST(CliPlot, SeveralCurvesShareAxesAndAreToldApart) {
  const PlotSeries low{{{0, 0}, {10, 0}}, Tint::red, 'a'},
      high{{{0, 4}, {10, 4}}, Tint::green, 'b'};
  const auto lines = plot({low, high}, {40, 12}, {"step", false, false}, Palette());
  ASSERT_EQ(lines.size(), 12u);
  EXPECT_THAT(lines[0], HasSubstr("4 ┤bbbb"));
  EXPECT_THAT(lines[9], HasSubstr("0 ┤aaaa"));
  EXPECT_THAT(lines[11], HasSubstr("step"));
  const auto coloured = plot({low, high}, {40, 12}, {"step", false, false}, Palette(true));
  EXPECT_THAT(coloured[0], HasSubstr(Palette(true)(Tint::green, "b")));
}

TEST(CliPlot, LogarithmicAxisIsNamedInValues) {
  const auto lines = plot({{{{0, 100}, {1, 1}}}}, {40, 12}, {"step", false, true}, Palette());
  EXPECT_THAT(lines.front(), HasSubstr("100 ┤"));
  EXPECT_THAT(lines[5], HasSubstr("10 ┤"));
}

TEST(CliPlot, LogarithmicStepsAreEvenlySpaced) {
  const PlotSeries decades{{{0, 9}, {1, 1}, {10, 2}, {100, 3}}, Tint::none, 'a'};
  const auto lines = plot({decades}, {44, 13}, {"step", true, false}, Palette());
  EXPECT_THAT(lines.front(), HasSubstr("3 ┤")) << "what is at 0 has no place";
  EXPECT_THAT(lines.back(), HasSubstr("1 "));
  EXPECT_THAT(lines.back(), testing::EndsWith("100"));
  const std::string& middle = lines[5];  // y = 2, at 10
  const auto from = middle.find('a') - middle.find("┤");
  EXPECT_NEAR(static_cast<double>(from), 3 + 40 / 2.0, 4) << middle;
}

TEST(CliPlot, BandsAreShadedBehindTheLines) {
  PlotSeries median{{{0, 5}, {10, 5}}, Tint::none, 'a'};
  median.band = {{0, 0, 10}, {10, 4, 6}};
  const auto lines = plot({median}, {40, 12}, {"step"}, Palette());
  EXPECT_THAT(lines[0], HasSubstr("10 ┤·"));
  EXPECT_THAT(lines[9], HasSubstr("0 ┤·"));
  EXPECT_EQ(lines[9].find('a'), std::string::npos);
  EXPECT_THAT(lines[4] + lines[5], HasSubstr("aaaaaaaaaaaaaaaa"));
  EXPECT_EQ(lines[0].find("··········"), std::string::npos) << "it narrows";
  median.letter = 0;
  EXPECT_NE(plot({median}, {40, 12}, {"step"}, Palette())[0].find("⠅"), std::string::npos);
}

TEST(CliPlot, ScatteredPointsAreNotJoined) {
  PlotSeries points{{{0, 0}, {10, 10}}, Tint::none, 'a'};
  points.scattered = true;
  std::string all;
  for (const std::string& line : plot({points}, {40, 12}, {"step"}, Palette()))
    all += line;
  EXPECT_EQ(std::count(all.begin(), all.end(), 'a'), 2);
}

TEST(CliPlot, MedianOfCurvesTakesThoseThatReachAStep) {
  // The second reports elsewhere, the third ends early.
  const PlotSeries median =
      median_of({{{0, 4}, {10, 2}, {20, 0}}, {{0, 8}, {20, 4}}, {{0, 1}}, {}});
  ASSERT_EQ(median.points.size(), 3u);
  EXPECT_EQ(median.points[0].y, 4);
  EXPECT_EQ(median.points[1].x, 10);
  EXPECT_EQ(median.points[1].y, (2 + 6) / 2.0);
  EXPECT_EQ(median.points[2].y, 2);
  EXPECT_EQ(median.band[0].low, 1);
  EXPECT_EQ(median.band[0].high, 8);
  EXPECT_EQ(median.band[1].high, 6);
  // numpy.percentile([1, 2, 4, 8], [25, 75])
  const auto ends = [](double y) { return std::vector<PlotPoint>{{0, y}}; };
  const PlotSeries middle = median_of({ends(8), ends(1), ends(4), ends(2)}, Band::quartiles);
  EXPECT_EQ(middle.points[0].y, 3);
  EXPECT_EQ(middle.band[0].low, 1.75);
  EXPECT_EQ(middle.band[0].high, 5);
  // One of three reaches step 9: no point there.
  EXPECT_EQ(median_of({{{0, 1}, {9, 1}}, {{0, 1}}, {{0, 1}}}).points.size(), 1u);
  EXPECT_TRUE(median_of({{{0, 1}, {9, 1}}}).band.empty());
}

std::size_t count_in(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(CliPlot, AMedianOfTooFewFiniteValuesIsAGap) {
  const auto median = median_of({{{0, 1}, {1, nan}, {2, inf}, {3, 1}},
                                 {{0, 2}, {1, 2}, {2, nan}, {3, 2}},
                                 {{0, 3}, {1, 3}, {2, 3}, {3, 3}}});
  ASSERT_EQ(median.points.size(), 4u);
  EXPECT_EQ(median.points[0].y, 2);
  EXPECT_EQ(median.points[1].y, 2.5) << "of the two that are finite there";
  EXPECT_TRUE(std::isnan(median.points[2].y));
  EXPECT_TRUE(std::isnan(median.band[2].low) && std::isnan(median.band[2].high));
  EXPECT_EQ(median.points[3].y, 2);
  ASSERT_EQ(median.counted.size(), 4u);
  EXPECT_EQ(median.counted[1].finite, 2u);
  EXPECT_EQ(median.counted[2].finite, 1u);
  EXPECT_EQ(median.counted[2].reached, 3u);
  // Between a point that is finite and one that is not there is no line to take a value from.
  const auto between = median_of({{{0, 1}, {10, nan}, {20, 3}}, {{0, 1}, {5, 2}, {20, 3}}});
  EXPECT_EQ(between.counted[1].finite, 1u) << "step 5";
}

TEST(CliPlot, ACurveHasAGapWhereItIsNotFinite) {
  PlotSeries whole{{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}}, Tint::none, 'a'}, cut = whole;
  cut.points[2].y = nan;
  const auto dots = [](const PlotSeries& series) {
    const PlotSeries frame{{{0, 0}, {4, 1}}, Tint::none, 'f'};
    std::string all;
    for (const std::string& line : plot({frame, series}, {60, 12}, {"step"}, Palette()))
      all += line;
    return std::count(all.begin(), all.end(), 'a');
  };
  EXPECT_LT(dots(cut), dots(whole) * 3 / 4);
  const std::string svg = svg_plot({"title", "step", "loss", false}, {cut});
  EXPECT_EQ(count_in(svg, "<polyline "), 2u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  PlotSeries nothing = cut;
  for (PlotPoint& point : nothing.points)
    point.y = nan;
  EXPECT_EQ(svg_plot({"title", "step", "loss", false}, {nothing}), "");
}

TEST(CliSvg, DrawsCurvesBandsTicksAndALegend) {
  PlotSeries a = median_of({{{0, 1}, {100, 3}}, {{0, 2}, {100, 5}}}), b;
  a.label = "a <b> & c", b.label = "other", b.points = {{0, 2}, {100, nan}, {200, 2}};
  const std::string svg = svg_plot({"title", "step", "val/error", false}, {a, b});
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_EQ(count_in(svg, "<polygon "), 1u);
  EXPECT_EQ(count_in(svg, "<polyline "), 1u);
  EXPECT_EQ(count_in(svg, "<circle "), 2u);  // b's points, with a gap between them
  EXPECT_THAT(svg, HasSubstr("a &lt;b&gt; &amp; c"));
  EXPECT_THAT(svg, HasSubstr(">val/error<"));
  EXPECT_THAT(svg, HasSubstr(">150<"));  // x: every 50 up to 200
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  // y from 1 to 5: the band's first low is at the bottom of the frame, its last high at the top.
  EXPECT_THAT(svg, HasSubstr("<polygon points=\"84.0,384.0 384.0,214.0 384.0,44.0 84.0,299.0 \""));
}

TEST(CliSvg, BarsHaveTheirPartsInProportion) {
  const std::string svg = svg_bars(
      "a & b", "s",
      {{"12.1.1", {{"data", 25}, {"compute", 75}, {"nothing", 0}}}, {"12.1.2", {{"compute", 50}}}});
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_THAT(svg, HasSubstr(">a &amp; b<"));
  EXPECT_THAT(svg, HasSubstr("x=\"100.0\" y=\"44.0\" width=\"150.0\""));
  EXPECT_THAT(svg, HasSubstr("x=\"250.0\" y=\"44.0\" width=\"450.0\""));
  EXPECT_THAT(svg, HasSubstr("x=\"100.0\" y=\"78.0\" width=\"300.0\""));
  EXPECT_THAT(svg, HasSubstr("<title>compute 75 s</title>"));
  EXPECT_EQ(svg.find("nothing"), std::string::npos);
  EXPECT_EQ(svg_bars("", "s", {{"1", {{"data", 0}}}}), "");
  // A long label has room before the bars: it ends 8 before them and takes at most 8 a character.
  EXPECT_THAT(svg_bars("", "s", {{"1234.10000.12", {{"data", 1}}}}),
              testing::AllOf(HasSubstr("x=\"112.0\" y=\"60.0\" class=\"end\""),
                             HasSubstr("x=\"120.0\" y=\"44.0\" width=\"600.0\"")));
}

TEST(CliSvg, LogarithmicAxesHaveTicksAtRoundNumbers) {
  const auto draw = [](double low, double high) {
    return svg_plot({"", "step", "loss", true}, {{{{0, low}, {1, high}, {2, -1}}}});
  };
  EXPECT_THAT(draw(1e-4, 10), HasSubstr(">0.001<"));
  EXPECT_THAT(draw(0.2, 3), HasSubstr(">0.5<"));
  EXPECT_THAT(draw(0.2, 0.3), HasSubstr(">0.26<"));
}

TEST(CliSvg, SurvivesOnePointAndNothing) {
  EXPECT_TRUE(svg_plot({}, {}).empty());
  PlotSeries points{{{1, 2}, {10, 20}, {0, 3}}};
  points.scattered = true;
  const std::string scattered = svg_plot({"", "x", "y", true, true}, {points});
  EXPECT_EQ(scattered.find("<polyline"), std::string::npos);
  std::size_t circles = 0;
  for (auto at = scattered.find("<circle"); at != std::string::npos;
       at = scattered.find("<circle", at + 1))
    ++circles;
  EXPECT_EQ(circles, 2u) << "what is at 0 has no place on a logarithmic axis";
  EXPECT_TRUE(svg_plot({}, {{{{1, nan}}}}).empty());
  EXPECT_THAT(svg_plot({}, {{{{1, 5}}}}), HasSubstr("<circle "));
  EXPECT_EQ(svg_plot({}, {{{{1, 5}}}}).find("nan"), std::string::npos);
}

}  // namespace
}  // namespace thalweg::cli
