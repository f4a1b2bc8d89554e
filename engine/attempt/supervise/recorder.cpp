#include "engine/attempt/supervise/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>

#include "base/disk_room.h"
#include "base/file.h"
#include "base/text.h"
#include "jobspec/metric_names.h"
#include "jobspec/value.h"

namespace thalweg::engine {

namespace fs = std::filesystem;

namespace {

using namespace std::chrono_literals;

constexpr double kBurst = 2000, kPerSecond = 200;  // values of one metric
constexpr auto kHold = 500ms;
constexpr std::size_t kShownName = 40;
constexpr std::size_t kPointsOfALine = 2000, kMaxWaiting = 1'000'000;
constexpr const char* kLatest = "latest.json";
// A mean over nothing, as some report before there is a first result, is no divergence yet.
constexpr std::int64_t kBeforeFirstValue = 3;

std::uintmax_t size_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const std::uintmax_t size = fs::file_size(path, error);
    return error ? 0 : size;
  }
  std::uintmax_t bytes = 0;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error))
    if (it->is_regular_file(error)) bytes += it->file_size(error);
  return bytes;
}

}  // namespace

Recorder::Recorder(Record& record, const jobspec::Trial& trial, fs::path folder,
                   std::int64_t resumed_step)
    : record_(record),
      trial_(trial),
      folder_(std::move(folder)),
      last_step_(resumed_step),
      checkpoint_step_(resumed_step) {}

void Recorder::Series::see(const MetricPoint& point) {
  if (!std::isfinite(point.value)) return;
  if (point.value < least) {
    least = point.value;
    step_of_least = point.step;
  }
  if (point.value > most) {
    most = point.value;
    step_of_most = point.step;
  }
}

void Recorder::Series::hold(const MetricPoint& point, Clock::time_point now) {
  if (!holds()) held_since = now;
  ++thinned;
  forget(point.step);
  if (std::isfinite(point.value) && point.value < least) smallest = point;
  if (std::isfinite(point.value) && point.value > most) largest = point;
  see(point);
  last = point;
}

std::vector<MetricPoint> Recorder::Series::release() {
  std::vector<MetricPoint> points;
  // Of one step all that is held is one point.
  if (smallest && largest && smallest->step == largest->step) largest.reset();
  for (auto* held : {&smallest, &largest})
    if (last && *held && (*held)->step == last->step) held->reset();
  for (auto* held : {&smallest, &largest, &last}) {
    if (*held) points.push_back(**held);
    held->reset();
  }
  thinned -= static_cast<std::int64_t>(points.size());
  std::stable_sort(points.begin(), points.end(),
                   [](const MetricPoint& a, const MetricPoint& b) { return a.step < b.step; });
  return points;
}

/// A later value of the step takes its place. What is the smallest or the largest then is not
/// known: the next one may be.
void Recorder::Series::forget(std::int64_t step) {
  for (auto* held : {&smallest, &largest})
    if (*held && (*held)->step == step) held->reset();
  if (step_of_least == step) least = std::numeric_limits<double>::infinity();
  if (step_of_most == step) most = -std::numeric_limits<double>::infinity();
}

void Recorder::metric(const std::string& name, std::int64_t step, double value) {
  if (!jobspec::is_metric_name(name))
    return lose("names", 1,
                fmt::format("a metric's name has 1 to {} bytes and no control characters, not as "
                            "'{}'",
                            jobspec::max_metric_name, cut_utf8(name, kShownName)));
  auto it = series_.find(name);
  if (it == series_.end()) {
    if (series_.size() >= jobspec::max_metrics)
      return lose("names", 1,
                  fmt::format("more than {} metrics: the first of them are kept, {} is not",
                              jobspec::max_metrics, name));
    it = series_.try_emplace(name).first;
    it->second.tokens = kBurst;
    it->second.filled = Clock::now();
  }
  last_step_ = std::max(last_step_, step);
  if (name == trial_.metric.name) watch(step, value);
  Series& series = it->second;
  const auto now = Clock::now();
  const std::chrono::duration<double> since = now - series.filled;
  series.tokens = std::min(kBurst, series.tokens + kPerSecond * since.count());
  series.filled = now;
  if (series.tokens < 1 || waiting_.size() >= kMaxWaiting) {
    series.hold({name, step, value}, now);
    thin_ = name;
    return;
  }
  series.tokens -= 1;
  series.last.reset();
  series.forget(step);
  series.see({name, step, value});
  waiting_.push_back({name, step, value});
}

bool Recorder::is_better(double value) const {
  if (jobspec::has_diverged(value)) return false;
  if (!best_) return true;
  return trial_.metric.goal == jobspec::Goal::minimize ? value < *best_ : value > *best_;
}

void Recorder::watch(std::int64_t step, double value) {
  reported_ = true;
  const bool better = is_better(value);
  const bool any = best_.has_value();
  if (better) best_ = value;
  without_better_ = better ? 0 : without_better_ + 1;
  not_finite_ = jobspec::has_diverged(value) ? not_finite_ + 1 : 0;
  if (!stop_reason_.empty()) return;
  const auto target = trial_.metric.target();
  const bool least = trial_.metric.goal == jobspec::Goal::minimize;
  if (trial_.program->stop_at_nan && not_finite_ >= (any ? 1 : kBeforeFirstValue))
    stop_reason_ =
        fmt::format("{} is {} at step {}: it has diverged (stop: {{at: end}} lets it continue)",
                    trial_.metric.name, value, step);
  else if (trial_.program->stop_at_target && target && std::isfinite(value) &&
           (least ? value <= *target : value >= *target))
    stop_reason_ =
        fmt::format("{} reached its target {} at step {}", trial_.metric.name, *target, step);
  else if (trial_.program->patience > 0 && without_better_ >= trial_.program->patience)
    stop_reason_ = fmt::format("{} reports of {} without a better one than {}, at step {}",
                               without_better_, trial_.metric.name, best_.value_or(value), step);
}

void Recorder::checkpoint(const fs::path& path, std::optional<std::int64_t> step, double seconds) {
  const fs::path whole = fs::path(trial_.program->directory) / path;
  std::error_code error;
  if (!fs::exists(whole, error))
    return warn("checkpoint", "the checkpoint " + whole.string() + " is not there");
  const std::int64_t at = step.value_or(last_step_);
  const jobspec::Value latest = jobspec::Map{{"step", at}, {"path", whole.string()}};
  AtomicFile file(folder_ / "checkpoints" / kLatest);
  file.write(latest.to_json() + "\n");
  file.commit();
  const fs::path within = whole.lexically_relative(folder_);
  const bool inside = !within.empty() && *within.begin() != "..";
  flush(Clock::now());
  record_.checkpoint({at, inside ? within : whole, size_of(whole), seconds, seconds});
  checkpoint_step_ = at;
}

void Recorder::flush(Clock::time_point now, bool last) {
  for (auto& [name, series] : series_)
    if (series.holds() && (last || now - series.held_since >= kHold))
      for (MetricPoint& point : series.release())
        waiting_.push_back(std::move(point));
  std::size_t written = 0;
  try {
    while (written < waiting_.size()) {
      const auto begin = waiting_.begin() + static_cast<std::ptrdiff_t>(written);
      const std::size_t count = std::min(kPointsOfALine, waiting_.size() - written);
      record_.metrics({begin, begin + static_cast<std::ptrdiff_t>(count)});
      written += count;
    }
    full_since_.reset();
  } catch (const std::system_error&) {
    if (!full_since_) full_since_ = now;
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(written));
    if (last || now - *full_since_ > room_patience) throw;
    return;
  }
  waiting_.clear();
  if (!thin_.empty()) count_thinned();
}

/// Over all metrics, since that is what a reader wants to know; `thin_` is one of them.
void Recorder::count_thinned() {
  std::int64_t thinned = 0;
  for (const auto& [name, series] : series_)
    thinned += series.thinned - series.held();
  const std::int64_t more = thinned - losses_["points"].count;
  if (more > 0)
    lose("points", more,
         fmt::format("{} is reported more than {:.0f} times a second: only the last value of each "
                     "half second is kept, and each new minimum or maximum",
                     thin_, kPerSecond));
  thin_.clear();
}

void Recorder::lose(const std::string& kind, std::int64_t count, const std::string& text) {
  constexpr std::int64_t more_rarely = 10;
  Loss& loss = losses_[kind];
  if (loss.count == 0) loss.text = text;
  loss.count += count;
  if (loss.told == 0 || loss.count >= more_rarely * loss.told) tell(kind, loss);
}

void Recorder::tell(const std::string& kind, Loss& loss) {
  try {
    record_.lost(kind, loss.count, loss.text);
    loss.told = loss.count;
  } catch (const std::system_error&) {
    // A full disk: told later.
  }
}

void Recorder::tell_losses() {
  for (auto& [kind, loss] : losses_)
    if (loss.told != loss.count) tell(kind, loss);
}

void Recorder::warn(const std::string& kind, const std::string& text) {
  if (warned_.count(kind) > 0) return;
  try {
    record_.note("warning", text);
    warned_.insert(kind);
  } catch (const std::system_error&) {
    // A full disk, of which this may be the warning.
  }
}

std::optional<ProgramCheckpoint> newest_program_checkpoint(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    try {
      const fs::path file = folder / kLatest;
      const jobspec::Value latest = jobspec::read_yaml(read_file(file), file.string());
      const jobspec::Value* path = latest.is_map() ? latest.find("path") : nullptr;
      const jobspec::Value* step = latest.is_map() ? latest.find("step") : nullptr;
      std::error_code error;
      if (path != nullptr && step != nullptr && fs::exists(path->as_string(), error))
        return ProgramCheckpoint{path->as_string(), step->as_int()};
    } catch (const std::exception&) {
      // This attempt reported none.
    }
  }
  return std::nullopt;
}

}  // namespace thalweg::engine
