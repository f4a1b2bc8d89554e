// Which trials and metrics an export means, and what the controller has of them.
#include "cli/commands/exports.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "base/file.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "jobspec/value.h"

namespace thalweg::cli {

namespace api = daemon::api;

std::span<const ExportFormat> export_formats() {
  static constexpr std::array formats{ExportFormat{"jsonl", false, false, make_jsonl},
                                      ExportFormat{"csv", false, false, make_points_csv},
                                      ExportFormat{"tensorboard", true, false, make_tensorboard},
                                      ExportFormat{"mllog", true, true, make_mllog},
                                      ExportFormat{"capsule", false, false, make_capsules}};
  return formats;
}

namespace {

std::vector<std::string> known_metrics(Context& context, const std::string& sweep) {
  const Json answer = context.controller().post(
      "/v1/query",
      {{"sql", "SELECT DISTINCT metric FROM latest_metrics WHERE sweep = ? ORDER BY metric"},
       {"parameters", {parse_id(sweep).sweep}},
       {"max_rows", 100'000}});
  std::vector<std::string> names;
  for (const Json& row : list_at(answer, "rows"))
    if (row.is_array() && !row.empty()) names.push_back(plain_text(row[0]));
  return names;
}

/// Of the sweep only the trials of these numbers; empty: all.
SweepExport read_sweep(Context& context, std::int64_t number,
                       const std::set<std::int64_t>& trials) {
  SweepExport chosen{
      read_answer<api::SweepSnapshot>(context.controller().get(path_of({number, 0, 0}))), {}, {}};
  auto& all = chosen.sweep.trials;
  std::set<std::int64_t> missing = trials;
  for (const auto& trial : all)
    missing.erase(parse_id(trial.id).trial);
  if (!missing.empty())
    throw CommandError(exit_not_found,
                       "there is no trial " + jobspec::Id{number, *missing.begin(), 0}.to_string(),
                       "sweep " + chosen.sweep.id + " has " +
                           count_of(static_cast<long long>(all.size()), "trial"));
  if (!trials.empty())
    std::erase_if(all,
                  [&](const auto& trial) { return trials.count(parse_id(trial.id).trial) == 0; });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return parse_id(a.id).trial < parse_id(b.id).trial;
  });
  chosen.known = known_metrics(context, chosen.sweep.id);
  return chosen;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Throws CommandError where none of the sweeps has this metric.
void check_metric(const std::vector<SweepExport>& chosen, const std::string& metric) {
  std::set<std::string> all;
  for (const SweepExport& each : chosen)
    all.insert(each.known.begin(), each.known.end());
  if (all.count(metric) != 0) return;
  const std::vector<std::string> names(all.begin(), all.end());
  const std::string near = jobspec::nearest(metric, names);
  throw CommandError(exit_not_found, "no trial has points of '" + printable(metric) + "'",
                     names.empty() ? "none has reported anything yet"
                                   : (near.empty() ? "" : "did you mean " + near + "? ") +
                                         "they have " + printable(join(names, ", ")));
}

}  // namespace

std::vector<SweepExport> choose_exports(Context& context, const std::vector<std::string>& ids,
                                        const std::vector<std::string>& metrics, bool own_metric) {
  std::vector<std::int64_t> order;
  std::map<std::int64_t, std::set<std::int64_t>> trials;
  std::set<std::int64_t> whole;
  for (const std::string& word : ids) {
    const jobspec::Id id = find_id(context, word);
    if (id.attempt != 0)
      throw CommandError(exit_bad_input, "--format takes sweeps and trials, not " + id.to_string(),
                         "an attempt's points are among its trial's: thalweg export " +
                             jobspec::Id{id.sweep, id.trial, 0}.to_string());
    if (trials.count(id.sweep) == 0) order.push_back(id.sweep);
    trials[id.sweep].insert(id.trial);
    if (is_sweep(id)) whole.insert(id.sweep);
  }
  std::vector<SweepExport> chosen;
  for (const std::int64_t sweep : order)
    chosen.push_back(read_sweep(
        context, sweep, whole.count(sweep) != 0 ? std::set<std::int64_t>() : trials[sweep]));
  for (const std::string& metric : metrics)
    check_metric(chosen, metric);
  for (SweepExport& each : chosen)
    for (const std::string& name : each.known)
      if (metrics.empty() ? !own_metric || name == each.sweep.metric : holds(metrics, name))
        each.metrics.push_back(name);
  return chosen;
}

void each_exported(Context& context, const SweepExport& from,
                   const std::function<void(const api::TrialMessage& trial,
                                            const std::vector<ExportedCurve>& curves)>& each) {
  // Few questions, and little memory for curves of a million points.
  constexpr std::size_t at_once = 16;
  const auto& trials = from.sweep.trials;
  for (std::size_t first = 0; first < trials.size(); first += at_once) {
    const std::size_t end = std::min(first + at_once, trials.size());
    std::string numbers;
    for (std::size_t i = first; i < end; ++i)
      numbers += (i == first ? "" : ",") + std::to_string(parse_id(trials[i].id).trial);
    std::map<std::string, std::vector<ExportedCurve>> found;
    for (const std::string& metric : from.metrics) {
      auto answer = read_answer<api::CurvesAnswer>(context.controller().get(
          path_of(parse_id(from.sweep.id)) + "/curves?metric=" + api::url_encode(metric) +
          "&trials=" + numbers));
      for (auto& curve : answer.curves)
        if (!curve.points.empty()) found[curve.id].push_back({metric, std::move(curve.points)});
    }
    for (std::size_t i = first; i < end; ++i)
      each(trials[i], found[trials[i].id]);
  }
}

void write_export_file(const std::filesystem::path& file, std::string_view bytes) {
  const Descriptor opened(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!opened)
    throw std::system_error(errno, std::generic_category(), "cannot create " + file.string());
  thalweg::write_all(opened.get(), bytes, file);
}

}  // namespace thalweg::cli
