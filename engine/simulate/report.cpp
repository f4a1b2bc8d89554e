// Numbers of a trial from its journal, and all of them as a table, as JSON and as points.
#include "engine/simulate/report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "engine/train/metrics.h"
#include "jobspec/diagnostic.h"

namespace thalweg::engine::simulate {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;

/// Its lines, parsed.
std::vector<Value> lines_of(const std::filesystem::path& journal) {
  std::vector<Value> lines;
  std::ifstream in(journal);
  for (std::string line; std::getline(in, line);)
    lines.push_back(jobspec::read_yaml(line, journal.string()));
  if (lines.empty()) throw std::runtime_error(journal.string() + " is empty");
  return lines;
}

const std::string& type_of(const Value& line) {
  return line.find("type")->as_string();
}
double time_of(const Value& line) {
  return line.find("t")->as_double();
}

bool reaches(double value, double target, jobspec::Goal goal) {
  return goal == jobspec::Goal::minimize ? value <= target : value >= target;
}

class Reader {
 public:
  explicit Reader(const jobspec::Metric& metric) : metric_(metric), target_(metric.target()) {}

  void add(const Value& line) {
    if (type_of(line) == "start") start(line);
    if (type_of(line) == "metrics") metrics(line);
    if (type_of(line) == "ranks") ranks(line);
    if (type_of(line) != "end") return;
    of_.steps = line.find("step")->as_int();
    of_.seconds = time_of(line) - start_;
  }

  Reading reading() {
    if (of_.seconds > 0) of_.samples_per_s = epoch_ * epoch_samples_ / of_.seconds;
    return of_;
  }

 private:
  void start(const Value& line) {
    start_ = time_of(line);
    epoch_samples_ =
        line.find("steps_per_epoch")->as_double() * line.find("config.batch.global")->as_double();
  }

  void metrics(const Value& line) {
    for (const Value& point : line.find("points")->as_list()) {
      const std::string& name = point.as_list()[0].as_string();
      const Value& number = point.as_list()[2];
      if (number.is_string()) continue;  // "nan"
      const double value = number.as_double();
      if (name == metric::epoch) epoch_ = value;
      if (name == metric::staleness_mean) of_.staleness_mean = value;
      if (name == metric::staleness_p99) of_.staleness_p99 = value;
      if (name != metric_.name) continue;
      of_.value = value;
      if (!of_.seconds_to_target && target_ && reaches(value, *target_, metric_.goal))
        of_.seconds_to_target = time_of(line) - start_;
    }
  }

  /// Means a step since the start.
  void ranks(const Value& line) {
    const double seconds = time_of(line) - start_;
    const double steps = line.find("steps")->as_double();
    of_.idle.clear();
    for (const Value& ms : line.find("compute_ms")->as_list())
      of_.idle.push_back(seconds > 0 ? std::max(0.0, 1 - ms.as_double() * steps / 1000 / seconds)
                                     : 0);
  }

  jobspec::Metric metric_;
  std::optional<double> target_;
  Reading of_;
  double start_ = 0, epoch_ = 0, epoch_samples_ = 0;
};

double mean(const std::vector<double>& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}
double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

std::string digits(double value, const char* form = "%.4g") {
  char text[48];
  std::snprintf(text, sizeof text, form, value);
  return text;
}
std::string digits_or_dash(const std::optional<double>& value, const char* form = "%.4g") {
  return value ? digits(*value, form) : "-";
}

std::string in_words(const Value& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters.as_map())
    text += (text.empty() ? "" : " ") + name.substr(name.rfind('.') + 1) + "=" + value.to_text();
  return text.empty() ? "-" : text;
}

std::string outcome_of(const Row& row) {
  switch (row.simulated.outcome.code) {
    case ExitCode::finished:
      return row.reading.seconds_to_target || !row.metric.target() ? "" : "not reached";
    case ExitCode::diverged:
      return "diverged";
    default:
      return "failed";
  }
}

}  // namespace

Reading read_journal(const std::filesystem::path& journal, const jobspec::Metric& metric) {
  Reader reader(metric);
  for (const Value& line : lines_of(journal))
    reader.add(line);
  return reader.reading();
}

std::string table(const std::vector<Row>& rows) {
  const std::string metric = rows.empty() ? "" : rows.front().metric.name;
  std::vector<std::vector<std::string>> cells{{"trial", "parameters", "seed", "ranks", "steps",
                                               metric, "seconds", "to target", "samples/s", "idle",
                                               "idle max", "stale", "p99", ""}};
  for (const Row& row : rows) {
    const Reading& r = row.reading;
    cells.push_back({std::to_string(row.number), in_words(row.parameters), std::to_string(row.seed),
                     std::to_string(row.ranks), std::to_string(r.steps), digits_or_dash(r.value),
                     digits(r.seconds), digits_or_dash(r.seconds_to_target),
                     digits(r.samples_per_s), digits(100 * mean(r.idle), "%.0f %%"),
                     digits(100 * largest(r.idle), "%.0f %%"),
                     digits_or_dash(r.staleness_mean, "%.2f"),
                     digits_or_dash(r.staleness_p99, "%.0f"), outcome_of(row)});
  }
  std::vector<std::size_t> widths(cells[0].size());
  for (const auto& line : cells)
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], line[i].size());
  std::string text;
  for (const auto& line : cells) {
    std::string out;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string space(widths[i] - line[i].size(), ' ');
      const bool left = i == 1 || i + 1 == line.size();
      out += (i == 0 ? "" : "  ") + (left ? line[i] + space : space + line[i]);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + "\n";
  }
  return text;
}

std::string to_json(const std::vector<Row>& rows) {
  List trials;
  for (const Row& row : rows) {
    const Reading& r = row.reading;
    const auto or_null = [](const std::optional<double>& value) {
      return value ? Value(*value) : Value();
    };
    trials.emplace_back(Map{{"trial", row.number},
                            {"seed", static_cast<std::int64_t>(row.seed)},
                            {"parameters", row.parameters},
                            {"simulated", row.simulated.label},
                            {"ranks", row.ranks},
                            {"outcome", row.simulated.outcome.reason},
                            {"code", static_cast<int>(row.simulated.outcome.code)},
                            {"steps", r.steps},
                            {"metric", row.metric.name},
                            {"value", or_null(r.value)},
                            {"seconds", r.seconds},
                            {"target", or_null(row.metric.target())},
                            {"seconds_to_target", or_null(r.seconds_to_target)},
                            {"samples_per_s", r.samples_per_s},
                            {"idle", List(r.idle.begin(), r.idle.end())},
                            {"idle_mean", mean(r.idle)},
                            {"idle_max", largest(r.idle)},
                            {"staleness_mean", or_null(r.staleness_mean)},
                            {"staleness_p99", or_null(r.staleness_p99)},
                            {"messages", static_cast<std::int64_t>(row.simulated.messages)}});
  }
  return Value(Map{{"trials", std::move(trials)}}).to_json() + "\n";
}

std::string points(const Row& row) {
  Map parameters = row.parameters.as_map();
  parameters.emplace_back("simulated", row.simulated.label);
  const bool minimize = row.metric.goal == jobspec::Goal::minimize;
  const auto line = [&](const char* kind, Map fields) {
    Map whole{{"kind", kind}, {"sweep", 0}, {"trial", row.number}};
    for (auto& field : fields)
      whole.push_back(std::move(field));
    return Value(std::move(whole)).to_json() + "\n";
  };
  std::string text = line("trial", {{"parameters", std::move(parameters)},
                                    {"seed", static_cast<std::int64_t>(row.seed)},
                                    {"state", "finished"},
                                    {"metric", row.metric.name},
                                    {"goal", minimize ? "minimize" : "maximize"}});
  for (const Value& from : lines_of(row.journal)) {
    if (type_of(from) != "metrics") continue;
    for (const Value& point : from.find("points")->as_list()) {
      const List& p = point.as_list();
      text += line("point",
                   {{"metric", p[0]}, {"step", p[1]}, {"value", p[2]}, {"time", time_of(from)}});
    }
  }
  return text;
}

}  // namespace thalweg::engine::simulate
