// thalweg report: what is known of a sweep as one page that can be sent and printed. A section that
// the sweep has nothing for says why, or is left out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "cli/commands/comparison.h"
#include "cli/commands/curves.h"
#include "cli/commands/studies.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/html.h"
#include "cli/output/svg_plot.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "daemon/api/sweep_messages.h"

namespace thalweg::cli {
namespace {

struct Options {
  std::string id, out = "report.html";
  std::vector<std::string> by, best_over;
};

std::string html_of(const Table& table) {
  std::ostringstream out;
  out << "<div class=\"wide\">";
  table.print_html(out);
  out << "</div>\n";
  return out.str();
}

std::string how(const std::string& text) {
  return html_paragraph(text, "how");
}

std::string notes_of(const Json& answer) {
  std::string html;
  for (const std::string& note : texts_at(answer, "notes"))
    html += how("Note: " + note + ".");
  return html;
}

/// A sweep's page is put together from what the controller answers.
class Report {
 public:
  Report(Context& context, const Options& options, const jobspec::Id& id)
      : context_(context),
        options_(options),
        id_(id),
        sweep_(ask(path_of(id) + "?trials=0")),
        page_(fmt::format("Sweep {} {}", id.to_string(), text_at(sweep_, "name"))) {}

  std::string text() {
    add_summary();
    add_comparison();
    add_curves();
    add_importance();
    add_batch();
    add_scaling();
    add_pareto();
    add_provenance();
    return page_.text();
  }

 private:
  Json ask(const std::string& path) { return context_.controller().get(path); }

  /// Null where the sweep has nothing for it (no target, say).
  Json ask_if_any(const std::string& path) {
    try {
      return ask(path);
    } catch (const daemon::api::ApiError& error) {
      if (error.status() != 400) throw;
      return nullptr;
    }
  }

  /// Columns, then rows, of a query.
  Json query(const std::string& sql) {
    return context_.controller().post(
        "/v1/query", {{"sql", sql}, {"parameters", {id_.sweep}}, {"max_rows", 1000}});
  }

  std::string study(const char* name) const {
    return fmt::format("/v1/{}?sweeps={}", name, id_.sweep);
  }

  void add_summary() {
    const auto message = read_answer<daemon::api::SweepMessage>(sweep_);
    std::vector<std::string> targets;
    for (const double target : message.targets)
      targets.push_back(format_number(target));
    page_.section(
        "Summary",
        html_pairs({{"state", message.state},
                    {"owner", message.owner},
                    {"backend", message.backend},
                    {"ranked by", fmt::format("{} ({})", message.metric, message.goal)},
                    {"target", join(targets, ", ")},
                    {"trials", fmt::format("{} finished, {} failed, {} cancelled, {} to come",
                                           message.counts.finished, message.counts.failed,
                                           message.counts.cancelled,
                                           message.counts.pending + message.counts.running)},
                    {"submitted", format_time(message.submitted)},
                    {"ended", message.ended > 0 ? format_time(message.ended) : ""},
                    {"tags", join(message.tags, ", ")},
                    {"comment", message.comment},
                    {"description", text_at(sweep_, "description")}}));
  }

  void add_comparison() {
    std::string path = path_of(id_) + "/compare";
    if (!options_.by.empty()) path += "?by=" + daemon::api::url_encode(join(options_.by, ","));
    if (!options_.best_over.empty())
      path += (options_.by.empty() ? "?best_over=" : "&best_over=") +
              daemon::api::url_encode(join(options_.best_over, ","));
    const Json answer = ask(path);
    page_.section(
        "Comparison",
        html_of(comparison_table(read_answer<ComparisonMessage>(answer))) +
            how("Medians over units with 95 % intervals in brackets: the percentile bootstrap of "
                "the median, in closed form; a unit is a seed where every row is one "
                "configuration, "
                "else a configuration (the median over its seeds). Values are each trial's best of "
                "the metric; steps, time and node time are counted to the first value as good as "
                "the target, a trial that missed it counts as infinite. Verdicts are exact "
                "two-sided rank tests against the first row, corrected for all pairs.") +
            notes_of(answer));
  }

  void add_curves() {
    CurveChoice choice = choose_curves(context_, {id_.to_string()}, options_.by);
    try {
      fetch_points(context_, curve_points, choice);
    } catch (const CommandError&) {
      return;  // no trial has reported the metric
    }
    std::vector<CurveGroup> groups;
    if (!options_.by.empty()) groups = groups_of(choice);
    if (groups.size() > max_curves) groups.resize(max_curves);
    const std::string picture =
        svg_plot({choice.title, "step", choice.metric, false}, series_of(choice, groups));
    if (picture.empty()) return;
    page_.section(
        "Curves",
        picture + how(groups.empty() ? "Each line is one trial" +
                                           (choice.note.empty() ? "." : ": " + choice.note + ".")
                                     : "Each line is the median of the trials of a group, from the "
                                       "smallest to the largest of them, where at least half of "
                                       "them reach that step."));
  }

  void add_importance() {
    const Json answer = ask_if_any(path_of(id_) + "/importance");
    constexpr double trusted = 0.5;
    const double explained = number_at(answer, "explained").value_or(0);
    if (explained < trusted) return;
    page_.section(
        "Which parameters matter",
        html_of(importance_table(answer)) +
            how(fmt::format(
                "Shares of the variance of ranks by the best {} over {} configurations, each the "
                "median over its seeds: Sobol indices over a Gaussian process, with parameters "
                "independent of each other. Alone: by this parameter only; with others: also what "
                "it does together with others. The process explains {:.0f} % of results that it "
                "has not seen (5 folds); below 50 % this section is left out.",
                text_at(answer, "metric"), count_at(answer, "configurations"), 100 * explained)) +
            notes_of(answer));
  }

  void add_batch() {
    const Json answer = ask_if_any(study("batch"));
    const Json& points = list_at(answer, "points");
    if (points.size() < 2) return;
    std::string html;
    PlotSeries measured, fitted;
    measured.label = "measured";
    fitted.label = "fitted";
    for (const Json& point : points) {
      const double place = std::log2(number_at(point, "batch").value_or(NAN));
      measured.points.push_back({place, number_of(study_member(point, "steps")).value_or(NAN)});
      fitted.points.push_back({place, number_at(point, "fitted").value_or(NAN)});
    }
    std::vector<PlotSeries> series{measured};
    if (flag_at(answer, "fitted")) series.push_back(fitted);
    html += svg_plot({"Steps to the target", "log2 of the global batch", "steps", true}, series);
    html += html_of(batch_table(answer));
    if (flag_at(answer, "fitted"))
      html += html_pairs({{"critical batch", critical_batch_text(answer)},
                          {"fewest steps", format_number(number_at(answer, "s_min"))},
                          {"fewest samples", format_number(number_at(answer, "e_min"))},
                          {"noise scale", noise_scale(answer)}});
    html += how(
        "Each batch at its configuration of the fewest steps to the target (the median over its "
        "seeds). Fitted: steps = fewest steps (1 + critical batch / batch), least squares of logs "
        "(McCandlish et al., arXiv:1812.06162); the interval of the critical batch is approximate "
        "(profile likelihood, 95 %). The noise scale is the median of what the trials measured "
        "last.");
    page_.section("Batch size", html + notes_of(answer));
  }

  static std::string noise_scale(const Json& answer) {
    const auto scale = number_at(answer, "noise_scale");
    return scale && std::isfinite(*scale) ? format_number(scale) : "";
  }

  void add_scaling() {
    const Json answer = ask_if_any(study("scaling"));
    const Json& rows = list_at(answer, "rows");
    const bool compared = std::any_of(
        rows.begin(), rows.end(), [](const Json& row) { return !text_at(row, "kind").empty(); });
    if (!compared) return;
    std::string html = html_of(scaling_table(answer));
    for (const std::string& sentence : scaling_limits(answer))
      html += html_paragraph(sentence + ".");
    page_.section("Scaling",
                  html +
                      how("Samples per second are medians over trials. Speed-up and efficiency are "
                          "next to the row with the fewest ranks that differs by nothing else; "
                          "efficiency is the speed-up over how many times the ranks. Strong: the "
                          "same global batch; weak: the same batch a rank. TFLOP/s count forward "
                          "and backward.") +
                      notes_of(answer));
  }

  void add_pareto() {
    const Json answer = ask_if_any(study("pareto"));
    if (list_at(answer, "rows").size() < 2) return;
    page_.section("Time against cost",
                  html_of(pareto_table(answer, false)) +
                      how("Configurations that no other one beats both in time and in node time to "
                          "the target, by medians over seeds; one frontier for each target.") +
                      notes_of(answer));
  }

  void add_provenance() {
    const Json ran = query(
        "SELECT DISTINCT version, commit_id, device, device_name FROM starts WHERE sweep = ?");
    Table table({{"version", "Thalweg"},
                 {"commit", "commit"},
                 {"device", "device"},
                 {"device_name", "hardware"}});
    for (const Json& row : list_at(ran, "rows"))
      table.add({plain_text(row[0]), plain_text(row[1]), plain_text(row[2]), plain_text(row[3])});
    const Json texts = query("SELECT text FROM sweeps WHERE sweep = ?");
    std::string html = table.empty() ? "" : html_of(table);
    for (const Json& row : list_at(texts, "rows"))
      html += html_verbatim(plain_text(row[0]));
    page_.section("Provenance", html + how("What the trials ran with, and the sweep file."));
  }

  static constexpr std::int64_t curve_points = 400;

  Context& context_;
  const Options& options_;
  jobspec::Id id_;
  Json sweep_;
  HtmlPage page_;
};

int report(Context& context, const Options& options) {
  const jobspec::Id id = id_or_newest(context, options.id);
  if (!is_sweep(id))
    throw CommandError(exit_bad_input, "report takes a sweep, not " + id.to_string(),
                       "thalweg report " + std::to_string(id.sweep));
  write_out(context, options.out, Report(context, options, id).text());
  return exit_ok;
}

}  // namespace

Action make_report(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  Argument& id = arguments.positional("ID", options->id, "the sweep (default: the newest)");
  id.required = false;
  id.completes = Completes::id;
  arguments
      .option("-o,--out", "FILE", options->out,
              "where to write the page (default: report.html; - prints it)")
      .completes = Completes::file;
  arguments
      .option("--by", "A,B", options->by,
              "rows and curves for each value of these (default: every configuration)")
      .completes = Completes::group;
  arguments.option("--best-over", "A,B", options->best_over, "each row at its best values of these")
      .completes = Completes::group;
  return [options](Context& context) { return report(context, *options); };
}

}  // namespace thalweg::cli
