#include "cli/output/watcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <ostream>

#include "cli/output/format.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

/// With more trials running than this, plain progress is one line for the sweep instead of one
/// each.
constexpr long long trials_named = 4;

std::string outcome(const SweepView& sweep, const TrialView& trial) {
  std::string text = trial.state;
  if (trial.state == "finished" && trial.metric) {
    text += fmt::format("{} {} {}", trial.diverged ? ", but diverged:" : "", sweep.metric,
                        format_number(trial.metric));
    if (trial.best && trial.best != trial.metric)
      text += fmt::format(" (best {})", format_number(trial.best));
  }
  if (!trial.reason.empty()) text += ": " + trial.reason;
  return text;
}

}  // namespace

double now() {
  using std::chrono::system_clock;
  return std::chrono::duration<double>(system_clock::now().time_since_epoch()).count();
}

void LiveWatcher::update(const SweepView& sweep) {
  sweep_ = sweep;
  any_ = true;
  paint({});
}

void LiveWatcher::tick() {
  if (any_) paint({});
}

void LiveWatcher::resume() {
  drawn_.clear();
  tick();
}

void LiveWatcher::say(const std::string& line) {
  paint(line);
}

void LiveWatcher::paint(const std::string& above) {
  const TerminalSize size = terminal_.size();
  std::vector<std::string> lines;
  if (any_) lines = progress_frame(sweep_, size, now(), palette_);
  std::vector<std::string> all = lines;
  if (!above.empty()) all.insert(all.begin(), above);
  write_all(terminal_.file, repaint(drawn_, size.columns, all));
  drawn_.clear();
  for (const std::string& line : lines)
    drawn_.push_back(painted_width(line));
}

std::string repaint(const std::vector<int>& drawn, int columns,
                    const std::vector<std::string>& lines) {
  // A window made narrower has wrapped the old lines: they take more rows now.
  int rows = 0;
  for (const int width : drawn)
    rows += std::max(1, (width + columns - 1) / std::max(1, columns));
  std::string text = "\x1b[?25l";
  if (rows > 0) text += fmt::format("\x1b[{}A", rows);
  text += "\r";
  for (const std::string& line : lines)
    text += line + "\x1b[K\r\n";
  return text + "\x1b[J\x1b[?25h";
}

int painted_width(std::string_view line) {
  std::string bare;
  while (!line.empty()) {
    if (line.starts_with("\x1b[")) {
      const auto end = line.find('m');
      if (end == std::string_view::npos) break;
      line.remove_prefix(end + 1);
    } else {
      bare += line.front();
      line.remove_prefix(1);
    }
  }
  return display_width(bare);
}

void PlainWatcher::say(const std::string& line) {
  out_ << line << std::endl;
}

void PlainWatcher::update(const SweepView& sweep) {
  update_at(sweep, now());
}

void PlainWatcher::update_at(const SweepView& sweep, double time) {
  if (!any_) {
    last_progress_ = time;
    say(fmt::format("{} on {}: {}", sweep.title, sweep.backend, counts_line(sweep)));
  }
  say_changes(sweep);
  if (!sweep.over() && time - last_progress_ >= interval_) {
    last_progress_ = time;
    say_progress(sweep);
  }
  if (sweep.over() && (!any_ || !before_.over())) {
    std::string line = fmt::format("{} {} after {}: {}", sweep.title, sweep.state,
                                   format_duration(elapsed(sweep, time)), counts_line(sweep));
    if (const std::string best = best_line(sweep); !best.empty()) line += "; " + best;
    say(line);
  }
  any_ = true;
  before_ = sweep;
}

void PlainWatcher::say_changes(const SweepView& sweep) {
  std::map<std::string, const TrialView*> old;
  for (const TrialView& trial : before_.trials)
    old[trial.id] = &trial;
  for (const TrialView& trial : sweep.trials) {
    const auto found = old.find(trial.id);
    const TrialView* was = found == old.end() ? nullptr : found->second;
    // At the beginning, what waits or has ended long ago is in the counts.
    if (was == nullptr && (trial.state != "running" || any_)) continue;
    if (was != nullptr && was->state == trial.state && was->attempts == trial.attempts) continue;
    if (was != nullptr && was->state == trial.state && trial.attempts > 1)
      say(fmt::format("{} attempt {}{}", trial.id, trial.attempts,
                      trial.last_end.empty() ? ""
                                             : fmt::format(", since attempt {} ended: {}",
                                                           trial.attempts - 1, trial.last_end)));
    else if (trial.state == "running")
      say(fmt::format("{} running  {}", trial.id, trial.label));
    else if (was != nullptr && was->state != trial.state)
      say(fmt::format("{} {}{}", trial.id, outcome(sweep, trial),
                      trial.warning.empty() ? "" : "; " + trial.warning));
  }
}

void PlainWatcher::say_waiting(const SweepView& sweep) {
  constexpr std::size_t max_reasons = 3;
  std::map<std::string, std::pair<long long, std::string>> reasons;  // how many, the first one
  for (const TrialView& trial : sweep.trials) {
    const bool waits = trial.state == "pending" && !trial.waiting_for.empty();
    if (!waits) continue;
    auto& [count, first] = reasons[trial.waiting_for];
    if (count++ == 0) first = trial.id;
  }
  if (reasons.size() == 1 && sweep.count("running") > 0 && reasons.begin()->second.first > 1)
    return;  // the usual: the others are not done yet
  std::size_t told = 0;
  for (const auto& [reason, who] : reasons) {
    if (told++ == max_reasons) break;
    const std::string others =
        who.first > 1 ? fmt::format(" and {} more wait", who.first - 1) : " waits";
    say(fmt::format("{}{}: {}", who.second, others, reason));
  }
}

namespace {

/// What the trial tells, without what it does not: programs of one's own know no loss or rate.
std::string progress_line(const SweepView& sweep, const TrialView& trial) {
  std::string line = fmt::format("{} step {}", trial.id, format_number(trial.step));
  if (trial.steps)
    line += fmt::format("/{} ({})", format_number(trial.steps), format_percent(trial.fraction()));
  if (trial.loss) line += "  loss " + format_number(trial.loss);
  if (trial.metric) line += fmt::format("  {} {}", sweep.metric, format_number(trial.metric));
  if (trial.samples_per_s) line += "  " + format_rate(trial.samples_per_s);
  if (trial.seconds_left) line += fmt::format("  {} left", format_duration(trial.seconds_left));
  return line;
}

}  // namespace

void PlainWatcher::say_progress(const SweepView& sweep) {
  say_waiting(sweep);
  if (sweep.count("running") > trials_named) {
    std::string line =
        fmt::format("{}: {}{}", sweep.title, counts_line(sweep), time_left_text(sweep, ", "));
    if (const std::string best = best_line(sweep); !best.empty()) line += "; " + best;
    return say(line);
  }
  for (const TrialView& trial : sweep.trials) {
    if (trial.state != "running") continue;
    if (!trial.step || !trial.waiting_for.empty()) {
      say(fmt::format("{} {}", trial.id,
                      trial.waiting_for.empty() ? "starting" : "waits for " + trial.waiting_for));
      continue;
    }
    say(progress_line(sweep, trial));
  }
  if (const std::string left = time_left_text(sweep, ""); !left.empty())
    say(fmt::format("{}: {}", sweep.title, left));
}

std::unique_ptr<Watcher> make_watcher(const Terminal& terminal, std::ostream& out) {
  if (terminal.moves) return std::make_unique<LiveWatcher>(terminal, Palette(terminal.colour));
  return std::make_unique<PlainWatcher>(out);
}

}  // namespace thalweg::cli
