// What the page says of results: summary, comparison, configurations, curves. Only the best rows
// and some of their trials are asked for, so that a page of thousands of trials is neither slow nor
// large; where something is left out, the page says so.
#include "cli/commands/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <sstream>

#include "cli/commands/conclusion.h"
#include "cli/commands/curves.h"
#include "cli/output/chart.h"
#include "cli/output/format.h"
#include "cli/output/svg.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "daemon/api/sweep_messages.h"
#include "jobspec/metric_names.h"

namespace thalweg::cli {

void add_grouping(Arguments& arguments, std::vector<std::string>& by,
                  std::vector<std::string>& best_over) {
  arguments
      .option("--by", "A,B", by,
              "rows and curves for each value of these (default: every configuration)")
      .completes = Completes::group;
  arguments.option("--best-over", "A,B", best_over, "each row at its best values of these")
      .completes = Completes::group;
}

namespace {

constexpr int max_configurations = 500;  ///< in the table and in parallel coordinates
constexpr int max_compared = 50;         ///< rows with verdicts
constexpr std::size_t max_axes = 20;     ///< parameters in parallel coordinates
constexpr std::size_t max_group = 25;    ///< trials of a group of curves
constexpr std::int64_t curve_points = 400;

/// Medians as numbers, so that they can be sorted.
Cell median_cell(const daemon::api::EstimateMessage& estimate,
                 const std::function<std::string(std::optional<double>)>& show) {
  const std::string raw = number_cell(estimate.median).raw;
  return {estimate.median ? show(estimate.median) : "", raw};
}

}  // namespace

namespace {

std::string title_of(const jobspec::Id& id, const std::string& name,
                     const std::vector<std::string>& others) {
  if (others.empty()) return fmt::format("Sweep {} {}", id.to_string(), name);
  std::string title = "Sweeps " + id.to_string();
  for (std::size_t i = 0; i < others.size(); ++i)
    title += (i + 1 < others.size() ? ", " : " and ") + others[i];
  return title;
}

}  // namespace

ReportPage::ReportPage(Context& context, const ReportOptions& options, const jobspec::Id& id)
    : context_(context),
      options_(options),
      id_(id),
      sweep_(ask(path_of(id) + "?trials=0")),
      page_(title_of(id, text_at(sweep_, "name"), options.others)) {
  page_.links(options.links);
}

std::string ReportPage::text() {
  configurations_ = read_answer<ComparisonMessage>(ask(compare_path({}, {}, max_configurations)));
  const bool grouped = !options_.by.empty() || !options_.best_over.empty();
  const std::vector<std::string> by =
      several() && !grouped ? std::vector<std::string>{"sweep"} : options_.by;
  comparison_ =
      grouped || several()
          ? read_answer<ComparisonMessage>(ask(compare_path(by, options_.best_over, max_compared)))
          : configurations_;
  if (comparison_.rows.size() > max_compared) comparison_.rows.resize(max_compared);
  page_.lead(conclusion(comparison_));
  add_comparison();
  if (several()) {
    add_sweeps();
    add_curves();
    add_parallel();
    add_study(*db::find_study("profile"));
    add_configurations();
    return page_.text();
  }
  add_summary();
  add_curves();
  add_parallel();
  add_study(*db::find_study("profile"));
  add_study(*db::find_study("pareto"));
  add_study(*db::find_study("scaling"));
  add_study(*db::find_study("batch"));
  add_study(*db::find_study("importance"));
  add_studies();
  add_timeline();
  add_configurations();
  add_provenance();
  return page_.text();
}

Json ReportPage::ask(const std::string& path) {
  return context_.controller().get(path);
}

Json ReportPage::ask_if_any(const std::string& path) {
  try {
    return ask(path);
  } catch (const daemon::api::ApiError& error) {
    if (error.status() != 400 && error.status() != 404) throw;
    return nullptr;
  }
}

Json ReportPage::query(const std::string& sql, std::int64_t max_rows) {
  return context_.controller().post(
      "/v1/query", {{"sql", sql}, {"parameters", {id_.sweep}}, {"max_rows", max_rows}});
}

std::string ReportPage::compare_path(const std::vector<std::string>& by,
                                     const std::vector<std::string>& best_over, int top) const {
  std::string path = fmt::format("{}/compare?top={}", path_of(id_), top);
  if (several()) path += "&also=" + join(options_.others, ",");
  if (!by.empty()) path += "&by=" + daemon::api::url_encode(join(by, ","));
  if (!best_over.empty()) path += "&best_over=" + daemon::api::url_encode(join(best_over, ","));
  return path;
}

std::string ReportPage::html_of(const Table& table, const ColumnNotes& notes, bool sortable,
                                const std::string& kind) {
  const auto note = [&](const std::string& key) {
    const std::pair<std::string, std::string>* found = nullptr;
    for (const auto& row : notes)
      if (key.starts_with(row.first) && (!found || row.first.size() > found->first.size()))
        found = &row;
    return page_.note(found ? found->second : parameter_note);
  };
  std::ostringstream out;
  out << "<div class=\"wide" << (sortable ? " tall" : "") << (kind.empty() ? "" : " " + kind)
      << "\" tabindex=\"0\">";
  table.print_html(out, note, sortable);
  out << "</div>\n";
  return out.str();
}

std::string ReportPage::figure(const Json& chart, const std::string& still,
                               const std::string& caption, const std::string& note) {
  if (still.empty()) return {};
  page_.add_chart(chart);
  return html_figure(text_at(chart, "id"), still, svg::escaped(caption) + page_.note(note));
}

void ReportPage::add_summary() {
  const auto message = read_answer<daemon::api::SweepMessage>(sweep_);
  std::vector<std::string> targets;
  for (const double target : message.targets)
    targets.push_back(format_number(target));
  const bool over = message.ended > 0;
  if (options_.live && !over) page_.refresh_every(5);
  const auto when = [&](double seconds, const char* what) {
    return seconds > 0 ? page_.note(fmt::format("The controller's clock when the sweep {}, in this "
                                                "machine's time zone.",
                                                what))
                       : std::string();
  };
  std::string best;
  if (!configurations_.rows.empty() && configurations_.rows[0].best.median &&
      std::isfinite(*configurations_.rows[0].best.median))
    best = format_interval(configurations_.rows[0].best.median, configurations_.rows[0].best.low,
                           configurations_.rows[0].best.high);
  const auto& counts = message.counts;
  const std::vector<HtmlPair> pairs{
      {"state", message.state},
      {"owner", message.owner},
      {"backend", message.backend},
      {"ranked by", fmt::format("{} ({})", message.metric, message.goal)},
      {"target", join(targets, ", "),
       targets.empty() ? ""
                       : page_.note("The values of the metric that the sweep file's metric.target "
                                    "names.")},
      {configurations_.metric + ", #1", best,
       best.empty() ? ""
                    : page_.note("Of the configuration ranked first: " +
                                 std::string(comparison_notes()[0].second))},
      {"trials",
       fmt::format("{} finished, {} failed, {} cancelled, {} to come", counts.finished,
                   counts.failed, counts.cancelled, counts.pending + counts.running),
       page_.note(state_count_note)},
      {"submitted", format_time(message.submitted), when(message.submitted, "was submitted")},
      {"ended", over ? format_time(message.ended) : "", when(message.ended, "ended")},
      {"page made", format_time(static_cast<double>(std::time(nullptr))),
       page_.note("This machine's clock when the page was made; what came later is not in it.")},
      {"tags", join(message.tags, ", ")},
      {"comment", message.comment},
      {"description", text_at(sweep_, "description")}};
  page_.section("Summary", html_pairs(pairs));
}

void ReportPage::add_sweeps() {
  Table table({{"id", "sweep", Align::right},
               {"name", "name"},
               {"owner", "owner"},
               {"state", "state"},
               {"finished", "trials finished", Align::right},
               {"metric", "metric"},
               {"submitted", "submitted"}});
  bool over = true;
  const auto add = [&](const Json& answer) {
    const auto sweep = read_answer<daemon::api::SweepMessage>(answer);
    over = over && sweep.ended > 0;
    table.add({sweep.id, sweep.name, sweep.owner, sweep.state,
               fmt::format("{}/{}", sweep.counts.finished, sweep.counts.all()), sweep.metric,
               format_time(sweep.submitted)});
  };
  add(sweep_);
  for (const std::string& other : options_.others)
    add(ask(path_of(parse_id(other)) + "?trials=0"));
  if (options_.live && !over) page_.refresh_every(10);
  page_.section("Sweeps", html_of(table, sweep_notes()));
}

void ReportPage::add_comparison() {
  const ComparisonMessage& comparison = comparison_;
  std::string html = html_of(comparison_table(comparison), comparison_notes(), false, "verdicts");
  if (comparison.rows_in_all > static_cast<std::int64_t>(comparison.rows.size()))
    html += html_paragraph(
        fmt::format("The best {} of {} rows.", comparison.rows.size(), comparison.rows_in_all),
        "how");
  html += html_paragraph(
      "A unit is a seed where every row is one configuration, else a configuration (the median "
      "over its seeds).",
      "how");
  for (const std::string& note : comparison.notes)
    html += html_paragraph("Note: " + note + ".", "how");
  page_.section("Comparison", html);
}

void ReportPage::add_configurations() {
  const auto& rows = configurations_.rows;
  if (rows.empty()) return;
  std::vector<Column> columns{{"rank", "#", Align::right}};
  for (const std::string& name : configurations_.by)
    columns.push_back({"parameter " + name, name});
  columns.insert(columns.end(), {{"finished", "finished", Align::right},
                                 {"failed", "failed", Align::right},
                                 {"best", configurations_.metric, Align::right},
                                 {"steps", "steps to target", Align::right},
                                 {"seconds", "time to target", Align::right},
                                 {"cost", "node time in all", Align::right},
                                 {"samples_per_s", "samples/s", Align::right}});
  Table table(columns);
  for (const ComparisonRowMessage& row : rows) {
    std::vector<Cell> cells{std::to_string(row.rank)};
    for (const std::string& name : configurations_.by) {
      const auto value = row.group.find(name);
      cells.emplace_back(value == row.group.end() ? "" : printable(shown_parameter(value->second)));
    }
    cells.emplace_back(std::to_string(row.finished));
    cells.emplace_back(std::to_string(row.failed));
    cells.push_back(median_cell(row.best, [](std::optional<double> best) {
      return std::isinf(*best) ? "diverged" : format_number(best);
    }));
    cells.push_back(median_cell(row.steps_to_target, format_number));
    cells.push_back(median_cell(row.seconds_to_target, format_duration));
    cells.push_back(median_cell(row.cost_node_seconds, format_duration));
    cells.push_back(median_cell(row.samples_per_s, format_rate));
    table.add(std::move(cells));
  }
  static const ColumnNotes notes = [] {
    ColumnNotes all = comparison_notes();
    all.emplace_back("finished", state_count_note);
    all.emplace_back("failed", state_count_note);
    all.emplace_back("parameter ", parameter_note);
    return all;
  }();
  std::string html = html_of(table, notes, true);
  const auto all = static_cast<std::size_t>(std::max<std::int64_t>(configurations_.rows_in_all, 0));
  html += html_paragraph(
      all > rows.size()
          ? fmt::format("The best {} of {} configurations; a click on a heading sorts them. "
                        "`thalweg compare {} --csv` has all.",
                        rows.size(), all, join(configurations_.sweeps, " "))
          : "A click on a heading sorts the rows.",
      "how");
  page_.section("Configurations", html);
}

void ReportPage::add_parallel() {
  const auto& rows = configurations_.rows;
  std::vector<ParallelAxis> axes;
  const std::size_t parameters = std::min(configurations_.by.size(), max_axes);
  for (std::size_t i = 0; i < parameters; ++i)
    axes.push_back({last_part(configurations_.by[i]), {}});
  if (axes.empty() || rows.size() < 3) return;
  axes.push_back({configurations_.metric, {}});
  for (const ComparisonRowMessage& row : rows) {
    const auto& median = row.best.median;
    if (!median || !std::isfinite(*median)) continue;
    for (std::size_t i = 0; i < parameters; ++i) {
      const auto value = row.group.find(configurations_.by[i]);
      axes[i].texts.push_back(value == row.group.end() ? "" : parameter_text(value->second));
    }
    axes.back().texts.push_back(fmt::format("{}", *median));
  }
  const std::size_t lines = axes.back().texts.size();
  if (lines < 3) return;
  const std::string caption = fmt::format(
      "A line is a configuration{}; its last axis is {}, which gives its colour{}. Marked are the "
      "first of the comparison.",
      configurations_.rows_in_all > static_cast<std::int64_t>(lines)
          ? fmt::format(", the first {} of {}", lines, configurations_.rows_in_all)
          : "",
      configurations_.metric,
      parameters < configurations_.by.size()
          ? fmt::format("; the first {} of {} parameters", parameters, configurations_.by.size())
          : "");
  page_.section(
      "Parallel coordinates",
      figure(parallel_chart("parallel", axes),
             html_paragraph("Drawn by the page's script; the table of configurations has its "
                            "numbers.",
                            "how"),
             caption,
             "Values of parameters are spread between the smallest and the largest (by their "
             "logarithm from a factor of 100 on), texts in their order. " +
                 std::string(comparison_notes()[0].second)));
}

bool ReportPage::add_curve(const std::string& metric, const std::string& id, std::string& html) {
  const ComparisonMessage& comparison = comparison_;
  CurveChoice choice;
  choice.metric = metric;
  choice.title = metric;
  for (std::size_t i = 0; i < std::min(comparison.rows.size(), max_curves); ++i) {
    const ComparisonRowMessage& row = comparison.rows[i];
    const std::string label =
        fmt::format("#{} {}", row.rank, truncate(parameter_label(Json(row.group)), kLabelColumns));
    for (std::size_t t = 0; t < std::min(row.trials.size(), max_group); ++t)
      choice.curves.push_back({parse_id(row.trials[t]), label, {}});
  }
  if (choice.curves.empty()) return false;
  try {
    fetch_points(context_, curve_points, choice);
  } catch (const CommandError&) {
    return false;  // no trial that is drawn has reported the metric
  } catch (const daemon::api::ApiError& error) {
    if (error.status() != 404) throw;
    return false;  // nor any other one of the sweep
  }
  const auto series = series_of(choice, groups_of(choice));
  const SvgOptions options{choice.title, "step", metric, false};
  html += figure(line_chart(id, options, series), svg_plot(options, series),
                 fmt::format("{} of the first {} of the comparison.", metric,
                             count_of(static_cast<long long>(series.size()), "row")),
                 curve_note);
  return true;
}

void ReportPage::add_curves() {
  std::string html;
  const std::string metric = text_at(sweep_, "metric");
  add_curve(metric, "curves", html);
  if (metric != jobspec::metric::train_loss)
    add_curve(jobspec::metric::train_loss, "loss-curves", html);
  if (!html.empty()) page_.section("Curves", html);
}

}  // namespace thalweg::cli
