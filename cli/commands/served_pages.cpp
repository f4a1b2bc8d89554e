// Made anew for each request from what the controller answers, as reports are. A table here is HTML
// of its own, since its cells are links.
#include "cli/commands/served_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/trial_table.h"
#include "cli/output/chart.h"
#include "cli/output/format.h"
#include "cli/output/html.h"
#include "cli/output/svg.h"
#include "cli/output/text.h"
#include "cli/output/trial_labels.h"
#include "cli/output/watcher.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "daemon/api/sweep_messages.h"
#include "daemon/api/trial_messages.h"
#include "jobspec/metric_names.h"
#include "jobspec/record_text.h"
#include "jobspec/value.h"

namespace thalweg::cli {

namespace api = daemon::api;

namespace {

constexpr int max_sweeps = 200;
constexpr std::size_t max_trials = 1000;
constexpr int log_bytes = 32 * 1024;

struct HtmlColumn {
  std::string title;
  bool number = false;
  std::string note = {};
};

/// A table that can be sorted and searched by the page's script.
class HtmlTable {
 public:
  HtmlTable(HtmlPage& page, std::vector<HtmlColumn> columns) : columns_(std::move(columns)) {
    for (const HtmlColumn& column : columns_)
      head_ += fmt::format("<th{}><span>{}</span>{}</th>", column.number ? " class=\"number\"" : "",
                           svg::escaped(column.title),
                           column.note.empty() ? "" : page.note(column.note));
  }

  HtmlTable& row() {
    if (any_) rows_ += "</tr>\n";
    rows_ += "<tr>";
    any_ = true;
    at_ = 0;
    return *this;
  }
  /// `value`: what sorting goes by.
  HtmlTable& cell(const std::string& text, const std::string& value = {}) {
    return html(svg::escaped(text), value);
  }
  HtmlTable& link(const std::string& address, const std::string& text,
                  const std::string& value = {}) {
    return html("<a href=\"" + svg::escaped(address) + "\">" + svg::escaped(text) + "</a>", value);
  }
  HtmlTable& state(const std::string& state) {
    return html("<span class=\"state " + svg::escaped(state) + "\">" + svg::escaped(state) +
                "</span>");
  }
  HtmlTable& number(std::optional<double> value) {
    return cell(value ? format_number(value) : "", value ? fmt::format("{}", *value) : "");
  }
  HtmlTable& duration(double seconds) {
    return cell(seconds > 0 ? format_duration(seconds) : "", fmt::format("{}", seconds));
  }
  HtmlTable& time(double seconds) {
    return cell(seconds > 0 ? format_time(seconds) : "", fmt::format("{}", seconds));
  }

  std::string text() const {
    return fmt::format(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"sortable searched\"><thead><tr>{}</tr>"
        "</thead><tbody>\n{}{}</tbody></table></div>\n",
        head_, rows_, any_ ? "</tr>\n" : "");
  }

 private:
  HtmlTable& html(const std::string& text, const std::string& value = {}) {
    std::string attributes;
    if (columns_[at_++].number) attributes = " class=\"number\"";
    if (!value.empty()) attributes += " data-v=\"" + svg::escaped(value) + "\"";
    rows_ += "<td" + attributes + ">" + text + "</td>";
    return *this;
  }

  std::vector<HtmlColumn> columns_;
  std::string head_, rows_;
  std::size_t at_ = 0;
  bool any_ = false;
};

std::string link_to(const std::string& address, const std::string& text) {
  return "<a href=\"" + svg::escaped(address) + "\">" + svg::escaped(text) + "</a>";
}

std::string address_of(const std::string& root, const jobspec::Id& id) {
  return root + id.to_string();
}

/// Of each sweep the best value of its metric over trials that have not diverged.
std::map<std::int64_t, double> best_values(Context& context) {
  constexpr const char* sql =
      "SELECT s.sweep, CASE s.goal WHEN 'maximize' THEN max(l.max) ELSE min(l.min) END "
      "FROM (SELECT sweep, metric, goal FROM sweeps ORDER BY sweep DESC LIMIT ?) AS s "
      "JOIN latest_metrics AS l ON l.sweep = s.sweep AND l.metric = s.metric "
      "WHERE NOT l.diverged GROUP BY s.sweep";
  std::map<std::int64_t, double> best;
  try {
    const Json answer = context.controller().post(
        "/v1/query", {{"sql", sql}, {"parameters", {max_sweeps}}, {"max_rows", max_sweeps}});
    for (const Json& row : list_at(answer, "rows"))
      if (row.is_array() && row.size() == 2 && row[0].is_number_integer())
        if (const auto value = number_of(row[1])) best[row[0].get<std::int64_t>()] = *value;
  } catch (const api::ApiError&) {
    // Records so large that this takes too long: the list is the same without.
  }
  return best;
}

template <class T>
std::optional<double> as_number(const std::optional<T>& value) {
  if (!value) return {};
  return static_cast<double>(*value);
}

}  // namespace

std::string links_of_sweep(const std::string& root, const jobspec::Id& id) {
  const std::string sweep = address_of(root, {id.sweep, 0, 0});
  return "<p>" + link_to(root, "all sweeps") + " · " +
         link_to(sweep, fmt::format("sweep {}", id.sweep)) + " · " +
         link_to(sweep + "/trials", "trials") + "</p>\n";
}

std::string sweeps_page(Context& context, const std::string& root) {
  const auto answer = read_answer<api::SweepList>(
      context.controller().get(fmt::format("/v1/sweeps?limit={}", max_sweeps)));
  const auto best = best_values(context);
  HtmlPage page("Sweeps");
  page.refresh_every(10);
  HtmlTable table(
      page, {{"id", true, "The sweep's number, counted up by the controller."},
             {"name"},
             {"owner"},
             {"state"},
             {"finished", true, "Trials that have finished, of all, counted in the record."},
             {"metric"},
             {"best", true,
              "The best value of the metric that any trial has reported; trials that have diverged "
              "do not count."},
             {"time", true, "From the submission to the sweep's end, or until now."},
             {"submitted", false,
              "The controller's clock at the submission, in this machine's time zone."}});
  for (const api::SweepMessage& sweep : answer.sweeps) {
    const jobspec::Id id = parse_id(sweep.id);
    const auto found = best.find(id.sweep);
    table.row()
        .cell(std::to_string(id.sweep))
        .link(address_of(root, id), sweep.name)
        .cell(sweep.owner)
        .state(sweep.state)
        .cell(fmt::format("{}/{}", sweep.counts.finished, sweep.counts.all()),
              std::to_string(sweep.counts.finished))
        .cell(sweep.metric)
        .number(found == best.end() ? std::nullopt : std::optional(found->second))
        .duration((sweep.ended > 0 ? sweep.ended : now()) - sweep.submitted)
        .time(sweep.submitted);
  }
  page.section(fmt::format("The newest, at most {}", max_sweeps), table.text());
  return page.text();
}

std::string trials_page(Context& context, const std::string& root, const jobspec::Id& id) {
  const auto sweep = read_answer<api::SweepSnapshot>(context.controller().get(path_of(id)));
  HtmlPage page(fmt::format("Trials of sweep {} {}", id.sweep, sweep.name));
  page.links(links_of_sweep(root, id));
  if (sweep.ended == 0) page.refresh_every(10);
  const TrialLabels labels(sweep.trials);
  HtmlTable table(page, {{"trial", true},
                         {"state"},
                         {"parameters", false, "What tells the trials of the sweep apart."},
                         {"seed", true},
                         {"step", true, "Steps that the newest report is of."},
                         {"last " + sweep.metric, true},
                         {"best", true},
                         {"attempts", true, "Launches of the trial so far, counted."},
                         {"why"}});
  const std::size_t shown = std::min(sweep.trials.size(), max_trials);
  for (std::size_t i = 0; i < shown; ++i) {
    const api::TrialMessage& trial = sweep.trials[i];
    const jobspec::Id of = parse_id(trial.id);
    table.row()
        .link(address_of(root, of), trial.id, std::to_string(of.trial))
        .state(trial.state)
        .cell(labels.of(trial))
        .cell(std::to_string(trial.seed))
        .number(as_number(trial.progress.step))
        .number(trial.progress.metric)
        .number(trial.progress.best)
        .cell(std::to_string(trial.attempts))
        .cell(reason_of(trial));
  }
  std::string html = table.text();
  if (!labels.common().empty()) html = html_paragraph("All: " + labels.common(), "how") + html;
  if (shown < sweep.trials.size())
    html += html_paragraph(fmt::format("The first {} of {}.", shown, sweep.trials.size()), "how");
  page.section("Trials", html);
  return page.text();
}

namespace {

class TrialPage {
 public:
  TrialPage(Context& context, const std::string& root, const jobspec::Id& id)
      : context_(context),
        id_(id),
        sweep_(read_answer<api::SweepSnapshot>(
            context.controller().get(path_of({id.sweep, 0, 0}) + "?trials=0"))),
        trial_(read_answer<api::TrialAnswer>(context.controller().get(path_of(id)))),
        page_(fmt::format("Trial {} of {}", id.to_string(), sweep_.name)) {
    page_.links(links_of_sweep(root, id));
    if (trial_.ended == 0) page_.refresh_every(5);
  }

  std::string text() {
    add_summary();
    add_curves();
    add_attempts();
    add_times();
    add_log();
    add_configuration();
    return page_.text();
  }

 private:
  void add_summary() {
    const api::Progress& progress = trial_.progress;
    const auto steps = [](const std::optional<std::int64_t>& n) {
      return n ? format_count(*n) : std::string();
    };
    std::vector<HtmlPair> pairs{
        {"state", trial_.state},
        {"why", reason_of(trial_)},
        {"chosen", trial_.chosen.value_or("")},
        {"seed", std::to_string(trial_.seed)},
        {"steps", progress.steps ? fmt::format("{} of {}", steps(progress.step.value_or(0)),
                                               steps(progress.steps))
                                 : steps(progress.step)},
        {"best " + sweep_.metric, progress.best ? format_number(progress.best) : ""},
        {"last " + sweep_.metric, progress.metric ? format_number(progress.metric) : ""},
        {"time left", progress.seconds_left ? format_duration(progress.seconds_left) : ""}};
    for (const auto& [name, value] : trial_.parameters.items())
      pairs.push_back({name, plain_text(value)});
    page_.section("Summary", html_pairs(pairs));
  }

  void add_curves() {
    std::string html;
    for (const std::string& metric : {sweep_.metric, std::string(jobspec::metric::train_loss)}) {
      if (!trial_.metrics.contains(metric)) continue;
      const auto curve = read_answer<api::CurveAnswer>(context_.controller().get(
          fmt::format("{}/curve?points=500&metric={}", path_of(id_), api::url_encode(metric))));
      PlotSeries line;
      line.label = metric;
      for (const api::CurvePoint& point : curve.points)
        line.points.push_back({static_cast<double>(point.step), point.value});
      const SvgOptions options{metric, "step", metric};
      const std::string still = svg_plot(options, {line});
      if (still.empty()) continue;
      const std::string name = html.empty() ? "curves" : "loss-curve";
      page_.add_chart(line_chart(name, options, {line}));
      html += html_figure(name, still, "");
      if (metric == jobspec::metric::train_loss) break;  // also where it is the sweep's own
    }
    HtmlTable table(page_, {{"metric"},
                            {"last", true},
                            {"step", true, "Of the last value."},
                            {"smallest", true},
                            {"largest", true}});
    for (const auto& [name, summary] : trial_.metrics)
      table.row()
          .cell(name)
          .number(summary.last)
          .number(static_cast<double>(summary.step))
          .number(summary.min)
          .number(summary.max);
    if (!trial_.metrics.empty()) page_.section("Metrics", html + table.text());
  }

  void add_attempts() {
    if (trial_.attempts.empty()) return;
    HtmlTable table(page_, {{"attempt", true},
                            {"state"},
                            {"backend"},
                            {"handle", false, "Slurm's job or the launcher's process."},
                            {"nodes"},
                            {"ranks", true},
                            {"waited", true, "From the launch to the start."},
                            {"started"},
                            {"time", true, "From the start to the end, or until now."},
                            {"exit code", true},
                            {"why"}});
    for (const api::AttemptMessage& attempt : trial_.attempts) {
      const jobspec::Id id = parse_id(attempt.id);
      const bool started = attempt.started > 0;
      table.row()
          .cell(attempt.id, std::to_string(id.attempt))
          .state(attempt.state)
          .cell(attempt.backend)
          .cell(attempt.handle)
          .cell(attempt.node_list.empty() ? std::to_string(attempt.nodes) : attempt.node_list)
          .cell(std::to_string(attempt.ranks))
          .duration(started && attempt.launched > 0 ? attempt.started - attempt.launched : 0)
          .time(attempt.started)
          .duration(started ? (attempt.ended > 0 ? attempt.ended : now()) - attempt.started : 0)
          .cell(attempt.exit_code ? std::to_string(*attempt.exit_code) : "")
          .cell(attempt.reason);
    }
    std::string folder;
    if (!trial_.attempts.back().folder.empty())
      folder = html_paragraph("Files of the newest: " + trial_.attempts.back().folder, "how");
    page_.section("Attempts", table.text() + folder);
  }

  void add_times() {
    api::TimelineAnswer answer;
    try {
      answer =
          read_answer<api::TimelineAnswer>(context_.controller().get(path_of(id_) + "/timeline"));
    } catch (const api::ApiError&) {
      return;  // it has reported no times
    }
    HtmlTable table(page_, {{"attempt", true}, {"part"}, {"time", true}, {"share", true}});
    bool any = false;
    std::string advice;
    for (const auto& attempt : answer.attempts) {
      for (const auto& part : attempt.parts) {
        if (!(part.seconds > 0)) continue;
        any = true;
        const double share = attempt.seconds > 0 ? part.seconds / attempt.seconds : 0;
        table.row()
            .cell(attempt.id)
            .cell(part.name)
            .duration(part.seconds)
            .cell(format_percent(share), fmt::format("{}", share));
      }
      if (!attempt.advice.empty()) advice = attempt.advice;
    }
    if (!any) return;
    page_.section("Where the time went",
                  table.text() + (advice.empty() ? "" : html_paragraph(advice, "how")));
  }

  void add_log() {
    if (trial_.attempts.empty() || trial_.attempts.back().folder.empty()) return;
    const std::string attempt = trial_.attempts.back().id;
    std::string html;
    for (const char* stream : {"stderr", "stdout"}) {
      api::Client::LogPart part;
      try {
        part = context_.controller().get_log(
            fmt::format("{}/log?stream={}&tail={}", path_of(parse_id(attempt)), stream, log_bytes));
      } catch (const api::ApiError& error) {
        html += html_paragraph(fmt::format("{}: {}", stream, error.what()), "how");
        continue;
      }
      if (part.text.empty()) continue;
      const bool cut = part.next_offset > static_cast<std::int64_t>(part.text.size());
      if (cut) part.text.erase(0, part.text.find('\n') + 1);
      html += fmt::format("<h3>{}</h3>\n", stream);
      if (cut) html += html_paragraph(fmt::format("The end of {} bytes.", part.next_offset), "how");
      html += html_verbatim(part.text);
    }
    if (!html.empty()) page_.section("Log of attempt " + attempt, html);
  }

  void add_configuration() {
    const Json& tree = trial_.config ? *trial_.config : trial_.train;
    std::string html;
    if (!tree.is_null())
      html += html_verbatim(jobspec::to_yaml(jobspec::read_record(tree.dump(), trial_.id)));
    html += "<h3>Resources</h3>\n" + html_verbatim(trial_.resources.dump(2));
    page_.section(trial_.config ? "Configuration, as the newest attempt took it" : "Configuration",
                  html);
  }

  Context& context_;
  jobspec::Id id_;
  api::SweepSnapshot sweep_;
  api::TrialAnswer trial_;
  HtmlPage page_;
};

}  // namespace

std::string trial_page(Context& context, const std::string& root, const jobspec::Id& id) {
  return TrialPage(context, root, id).text();
}

}  // namespace thalweg::cli
