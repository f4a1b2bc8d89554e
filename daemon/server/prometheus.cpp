// GET /metrics: how many sweeps, trials and jobs there are, in Prometheus' text form (version 0.0.4
// of the exposition format), of the sweeps that the asker may see. From memory: it costs no query.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/machine.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/views.h"

namespace thalweg::daemon {

using boost::asio::awaitable;

namespace {

/// A label's value: backslash, quote and newline are escaped.
std::string label_value(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

class MetricsPage {
 public:
  /// Begins a metric; its samples follow.
  void metric(const char* name, const char* type, const char* help) {
    name_ = name;
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void sample(double value, const std::string& labels = "") {
    text_ += fmt::format("{}{} {}\n", name_, labels.empty() ? "" : "{" + labels + "}", value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_, text_;
};

struct MetricCounts {
  std::map<std::string, std::int64_t> sweeps{
      {"active", 0}, {"finished", 0}, {"failed", 0}, {"cancelled", 0}};
  std::map<std::string, std::int64_t> trials{{"waiting", 0},  {"queued", 0}, {"running", 0},
                                             {"finished", 0}, {"failed", 0}, {"cancelled", 0}};
  std::int64_t nodes = 0, losses = 0;
  double node_seconds = 0;
};

void add_counts(const SweepState& sweep, MetricCounts& counts) {
  ++counts.sweeps[std::string(name_of(sweep.phase))];
  const Counts trials = counts_of(sweep);
  const std::int64_t queued = static_cast<std::int64_t>(sweep.live.size()) - trials.running;
  counts.trials["running"] += trials.running;
  counts.trials["queued"] += queued;
  counts.trials["waiting"] += trials.pending - queued;
  counts.trials["finished"] += trials.finished;
  counts.trials["failed"] += trials.failed;
  counts.trials["cancelled"] += trials.cancelled;
  counts.nodes += sweep.nodes_in_flight;
  counts.losses += sweep.losses;
  counts.node_seconds += sweep.node_seconds;
}

void write_states(MetricsPage& page, const std::map<std::string, MetricCounts>& users,
                  std::map<std::string, std::int64_t> MetricCounts::*states) {
  for (const auto& [user, counts] : users)
    for (const auto& [state, number] : counts.*states)
      page.sample(static_cast<double>(number),
                  fmt::format("user={},state={}", label_value(user), label_value(state)));
}

template <class Number>
void write_each(MetricsPage& page, const std::map<std::string, MetricCounts>& users,
                Number MetricCounts::*number) {
  for (const auto& [user, counts] : users)
    page.sample(static_cast<double>(counts.*number), "user=" + label_value(user));
}

/// `all`: also what tells of sweeps that only an operator sees.
std::string page_of(const App& app, const std::map<std::string, MetricCounts>& users, bool all) {
  MetricsPage page;
  page.metric("thalweg_build_info", "gauge", "Always 1; the version is a label.");
  page.sample(1, "version=" + label_value(THALWEG_VERSION));
  page.metric("thalweg_start_time_seconds", "gauge", "When the controller started, Unix time.");
  page.sample(app.started);
  page.metric("thalweg_sweeps", "gauge", "Recorded sweeps by state.");
  write_states(page, users, &MetricCounts::sweeps);
  page.metric("thalweg_trials", "gauge", "Trials of recorded sweeps by state.");
  write_states(page, users, &MetricCounts::trials);
  page.metric("thalweg_nodes_in_use", "gauge", "Nodes of attempts that are queued or running.");
  write_each(page, users, &MetricCounts::nodes);
  page.metric("thalweg_node_seconds", "gauge",
              "Node-seconds of ended attempts of recorded sweeps.");
  write_each(page, users, &MetricCounts::node_seconds);
  page.metric("thalweg_lost_attempts", "gauge",
              "Attempts of recorded sweeps that had run and ended without a warning.");
  write_each(page, users, &MetricCounts::losses);
  if (!all) return page.take();
  page.metric("thalweg_events_total", "counter", "Events in the log.");
  page.sample(static_cast<double>(app.controller.state().last_event));
  std::error_code error;
  page.metric("thalweg_database_bytes", "gauge", "Size of the database.");
  if (const auto size = std::filesystem::file_size(app.home.database(), error); !error)
    page.sample(static_cast<double>(size));
  page.metric("thalweg_database_free_bytes", "gauge", "Free space on the database's file system.");
  if (const auto space = std::filesystem::space(app.home.directory, error); !error)
    page.sample(static_cast<double>(space.available));
  return page.take();
}

}  // namespace

awaitable<Response> get_metrics_page(App& app, const Request& request) {
  const Sight sight(app, request);
  std::map<std::string, MetricCounts> users;
  const std::string own = user_name(geteuid());
  for (const auto& [id, sweep] : app.controller.state().sweeps)
    if (sight.of(sweep)) add_counts(sweep, users[sweep.owner ? sweep.owner->user : own]);
  if (users.empty()) users[own];
  Response response;
  response.body = page_of(app, users, sight.all());
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  co_return response;
}

}  // namespace thalweg::daemon
