#include "cli/output/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/output/format.h"
#include "cli/output/text.h"
#include "cli/output/trial_labels.h"
#include "daemon/api/sweep_messages.h"

namespace thalweg::cli {

namespace api = daemon::api;

namespace {

std::optional<double> real(const std::optional<std::int64_t>& number) {
  return number ? std::optional<double>(static_cast<double>(*number)) : std::nullopt;
}

TrialView view_of(const api::TrialMessage& trial, const TrialLabels& labels) {
  TrialView view;
  view.id = trial.id;
  view.label = labels.of(trial);
  view.label += (view.label.empty() ? "seed " : ", seed ") + std::to_string(trial.seed);
  view.state = trial.state;
  view.reason = printable(trial.reason);
  view.warning = printable(trial.warning);
  view.attempts = trial.attempts;
  view.ended = trial.ended;
  const api::Progress& progress = trial.progress;
  view.attempt_state = progress.attempt_state.value_or("");
  view.waiting_for = printable(progress.waiting_for.value_or(""));
  view.last_end = printable(progress.last_end.value_or(""));
  view.step = real(progress.step);
  view.steps = real(progress.steps);
  view.loss = progress.loss;
  view.metric = progress.metric;
  view.best = progress.best;
  view.diverged = progress.diverged.value_or(false);
  view.samples_per_s = progress.samples_per_s;
  view.seconds_left = progress.seconds_left;
  return view;
}

/// A narrower window shows the header only.
constexpr int narrowest_list = 40;

/// One number of a trial line; the ones that matter least leave a narrow window first.
struct Field {
  std::string title;
  std::string (*text)(const TrialView& trial);
  int leaves;  ///< order of leaving; 0 = stays, also where no trial knows it
  int width = 0;
};

/// Columns of the trial lines for one window.
struct Layout {
  int id = 0, label = 0, bar = 0, percent = 6;
  std::vector<Field> fields;
  static constexpr int mark = 2, gap = 2;

  static Layout of(const SweepView& sweep, int columns);
  /// What bar, percent and fields take together.
  int rest() const {
    int width = bar + percent;
    for (const Field& field : fields)
      width += gap + field.width;
    return width;
  }
};

constexpr const char* done_text = "done";

std::vector<Field> fields_of(const SweepView& sweep) {
  std::vector<Field> fields{
      {"loss", [](const TrialView& t) { return format_number(t.loss); }, 1},
      {truncate(sweep.metric, 16), [](const TrialView& t) { return format_number(t.metric); }, 0},
      {"rate", [](const TrialView& t) { return format_rate(t.samples_per_s); }, 3},
      {"left",
       [](const TrialView& t) {
         return t.state == "finished" ? done_text
                : t.seconds_left      ? format_duration(std::ceil(*t.seconds_left))
                                      : unknown_mark;
       },
       2}};
  // What no trial tells, as programs of one's own tell no loss or rate, takes no room.
  std::erase_if(fields, [&](const Field& field) {
    return field.leaves > 0 &&
           std::none_of(sweep.trials.begin(), sweep.trials.end(), [&](const TrialView& trial) {
             const std::string text = field.text(trial);
             return text != unknown_mark && text != done_text;
           });
  });
  for (Field& field : fields) {
    field.width = std::max(6, display_width(field.title));
    for (const TrialView& trial : sweep.trials)
      field.width = std::max(field.width, display_width(field.text(trial)));
  }
  return fields;
}

Layout Layout::of(const SweepView& sweep, int columns) {
  constexpr int min_label = 10, min_bar = 6, max_bar = 40;
  Layout layout;
  layout.fields = fields_of(sweep);
  int longest = min_label;
  for (const TrialView& trial : sweep.trials) {
    layout.id = std::max(layout.id, display_width(trial.id));
    longest = std::max(longest, display_width(trial.label));
  }
  const auto free = [&] { return columns - mark - layout.id - 2 * gap - layout.rest(); };
  for (int leaves = 3; leaves > 0 && free() < min_label + min_bar; --leaves)
    std::erase_if(layout.fields, [&](const Field& field) { return field.leaves == leaves; });
  // The label says which trial it is: it comes first, and the bar says what the percentage says.
  if (free() < longest + min_bar) layout.percent = 0;
  const int room = free();
  layout.label = std::clamp(room - min_bar, min_label, longest);
  layout.bar = std::clamp(room - layout.label, 1, max_bar);
  return layout;
}

std::string heading(const Layout& layout, const Palette& palette) {
  std::string line = pad_right("trial", Layout::mark + layout.id + Layout::gap) +
                     pad_right("parameters", layout.label + Layout::gap) +
                     std::string(layout.bar + layout.percent, ' ');
  for (const Field& field : layout.fields)
    line += pad_left(field.title, Layout::gap + field.width);
  return palette(Tint::dim, line);
}

const char* mark_of(const TrialView& trial) {
  if (trial.state == "finished") return "✓";
  if (trial.state == "failed") return "✗";
  if (trial.state == "cancelled") return "⊘";
  if (trial.state == "running") return trial.attempts > 1 ? "↻" : "▸";
  return "·";
}

/// What stands in place of the bar of a trial that is not training; empty where it is.
std::string standing_text(const TrialView& trial) {
  if (trial.state == "failed") return "failed" + (trial.reason.empty() ? "" : ": " + trial.reason);
  if (trial.state == "cancelled") return "cancelled";
  if (trial.attempt_state == "running" && !trial.waiting_for.empty())
    return "waits for " + trial.waiting_for;
  const bool waits = trial.state == "pending" || (trial.state == "running" && !trial.step);
  if (!waits) return {};
  std::string text = trial.state == "pending" ? "pending" : trial.attempt_state;
  if (text.empty() || text == "running") text = "starting";  // nothing reported yet
  return text + (trial.waiting_for.empty() ? "" : ": " + trial.waiting_for);
}

std::string trial_line(const TrialView& trial, const Layout& layout, const Palette& palette) {
  const Tint tint = tint_of_state(trial.state);
  std::string line = palette(tint, mark_of(trial)) + " " + pad_left(trial.id, layout.id) + "  " +
                     pad_right(truncate(trial.label, layout.label), layout.label) + "  ";
  const std::string standing = standing_text(trial);
  if (!standing.empty()) return line + palette(tint, truncate(standing, layout.rest()));
  const int bar = layout.bar + layout.percent;
  if (trial.state == "running" && !trial.steps) {  // how far it is nobody knows
    line += pad_right(truncate("step " + format_number(trial.step), bar), bar);
  } else {
    line += progress_bar(trial.fraction(), layout.bar, tint, palette);
    if (layout.percent > 0) line += pad_left(format_percent(trial.fraction()), layout.percent);
  }
  for (const Field& field : layout.fields)
    line += pad_left(field.text(trial), Layout::gap + field.width);
  return line;
}

/// Which trials are shown, in order, where only `room` lines are there.
std::vector<const TrialView*> choose(const SweepView& sweep, std::size_t room) {
  std::vector<const TrialView*> all;
  for (const TrialView& trial : sweep.trials)
    all.push_back(&trial);
  if (all.size() <= room) return all;
  const auto order = [](const TrialView* trial) {
    if (trial->state == "running") return 0;
    if (trial->state == "failed") return 1;
    if (trial->state == "pending") return 2;
    return 3;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const TrialView* a, const TrialView* b) { return order(a) < order(b); });
  all.resize(room > 0 ? room - 1 : 0);  // one line counts the rest
  return all;
}

std::string folded(const SweepView& sweep, const std::vector<const TrialView*>& shown) {
  std::vector<std::string> parts;
  for (const char* state : {"running", "failed", "pending", "finished", "cancelled"}) {
    long long hidden = sweep.count(state);
    for (const TrialView* trial : shown)
      hidden -= trial->state == state;
    if (hidden > 0) parts.push_back(fmt::format("{} more {}", hidden, state));
  }
  return parts.empty() ? "" : "… " + join(parts, ", ");
}

}  // namespace

double TrialView::fraction() const {
  if (state == "finished") return 1;
  if (!step || !steps || !(*steps > 0)) return 0;
  return std::clamp(*step / *steps, 0.0, 1.0);
}

SweepView SweepView::from_json(const Json& snapshot) {
  const auto sweep = api::from_json<api::SweepSnapshot>(snapshot, api::Reading::tolerant);
  SweepView view;
  view.id = sweep.id;
  view.name = printable(sweep.name);
  view.title = fmt::format("sweep {} {}", view.id, view.name);
  view.backend = sweep.backend;
  view.state = sweep.state;
  view.metric = printable(sweep.metric);
  view.maximize = sweep.goal == "maximize";
  view.submitted = sweep.submitted;
  view.ended = sweep.ended;
  const TrialLabels labels(sweep.trials);
  for (const api::TrialMessage& trial : sweep.trials)
    view.trials.push_back(view_of(trial, labels));
  return view;
}

SweepView SweepView::states_of(const api::SweepSnapshot& snapshot) {
  SweepView view;
  const TrialLabels none({});
  for (const api::TrialMessage& trial : snapshot.trials)
    if (trial.state == "running")
      view.trials.push_back(view_of(trial, none));
    else
      view.trials.emplace_back().state = trial.state;
  return view;
}

SweepView SweepView::only(const std::string& trial) const {
  SweepView view = *this;
  view.title = fmt::format("trial {} of {}", trial, name);
  std::erase_if(view.trials, [&](const TrialView& each) { return each.id != trial; });
  if (view.trials.empty()) return view;
  const TrialView& only = view.trials.front();
  view.state = only.state == "pending" || only.state == "running" ? "active" : only.state;
  if (only.ended > 0) view.ended = only.ended;
  return view;
}

long long SweepView::count(std::string_view wanted) const {
  return std::count_if(trials.begin(), trials.end(),
                       [&](const TrialView& trial) { return trial.state == wanted; });
}

bool SweepView::all_finished() const {
  return count("finished") == static_cast<long long>(trials.size());
}

const TrialView* SweepView::best() const {
  const TrialView* first = nullptr;
  for (const TrialView& trial : trials) {
    if (!trial.best || std::isnan(*trial.best) || trial.diverged) continue;
    if (first == nullptr || (maximize ? *trial.best > *first->best : *trial.best < *first->best))
      first = &trial;
  }
  return first;
}

std::string progress_bar(double fraction, int width, Tint tint, const Palette& palette) {
  const int halves = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * width * 2 + 0.5);
  std::string full, rest;
  for (int i = 0; i < halves / 2; ++i)
    full += "━";
  if (halves % 2 == 1) full += "╸";
  for (int i = (halves + 1) / 2; i < width; ++i)
    rest += "─";
  return palette(tint, full) + palette(Tint::dim, rest);
}

std::string counts_line(const SweepView& sweep) {
  std::string line = fmt::format("{}/{} finished", sweep.count("finished"),
                                 count_of(sweep.trials.size(), "trial"));
  for (const char* state : {"running", "pending", "failed", "cancelled"})
    if (const auto n = sweep.count(state); n > 0) line += fmt::format(", {} {}", n, state);
  return line;
}

std::string best_line(const SweepView& sweep) {
  const TrialView* best = sweep.best();
  if (best == nullptr) return {};
  return fmt::format("best {} {} ({})", sweep.metric, format_number(best->best), best->id);
}

std::optional<double> time_left(const SweepView& sweep) {
  double left = 0, longest = 0, whole = 0;
  long long known = 0, running = 0, others = sweep.count("pending");
  for (const TrialView& trial : sweep.trials) {
    if (trial.state != "running") continue;
    ++running;
    const double done = trial.fraction();
    if (!trial.seconds_left || !std::isfinite(*trial.seconds_left) || done >= 1) {
      ++others;
      continue;
    }
    ++known;
    left += *trial.seconds_left;
    longest = std::max(longest, *trial.seconds_left);
    whole += *trial.seconds_left / (1 - done);
  }
  if (known == 0) return {};
  const double typical = whole / static_cast<double>(known);
  return std::max(longest,
                  (left + static_cast<double>(others) * typical) / static_cast<double>(running));
}

std::string time_left_text(const SweepView& sweep, const char* separator) {
  const auto left = time_left(sweep);
  if (!left || sweep.trials.size() < 2) return {};
  return fmt::format("{}about {} left", separator, format_duration(std::ceil(*left)));
}

double elapsed(const SweepView& sweep, double now) {
  if (sweep.submitted <= 0) return 0;
  return std::max(0.0, (sweep.ended > 0 ? sweep.ended : now) - sweep.submitted);
}

std::vector<std::string> progress_frame(const SweepView& sweep, TerminalSize size, double now,
                                        const Palette& palette) {
  const int columns = std::max(10, size.columns - 1);
  const int rows = std::max(1, size.rows - 1);
  double done = 0;
  for (const TrialView& trial : sweep.trials)
    done += trial.fraction();
  if (!sweep.trials.empty()) done /= static_cast<double>(sweep.trials.size());
  if (sweep.over() && sweep.count("pending") + sweep.count("running") == 0) done = 1;

  const std::string best = best_line(sweep);
  const std::string after = fmt::format(
      " · {} · {} {}{}{}", sweep.backend, sweep.over() ? sweep.state : "running",
      format_duration(std::floor(elapsed(sweep, now))), best.empty() ? "" : " · ", best);
  const std::string title =
      truncate(sweep.title, std::max(columns / 4, columns - display_width(after)));
  std::vector<std::string> lines;
  lines.push_back(palette(Tint::bold, title) + truncate(after, columns - display_width(title)));
  const std::string counts = fmt::format("{} · {}{}", format_percent(done), counts_line(sweep),
                                         time_left_text(sweep, " · "));
  const int bar =
      std::clamp(columns - 1 - display_width(counts), 4, std::clamp(columns / 4, 4, 40));
  lines.push_back(progress_bar(done, bar, tint_of_state(sweep.state), palette) + " " +
                  truncate(counts, columns - bar - 1));
  if (rows >= 5 && columns >= narrowest_list) {
    const Layout layout = Layout::of(sweep, columns);
    lines.push_back(heading(layout, palette));
    const auto shown = choose(sweep, static_cast<std::size_t>(rows) - lines.size());
    for (const TrialView* trial : shown)
      lines.push_back(trial_line(*trial, layout, palette));
    if (const std::string rest = folded(sweep, shown); !rest.empty())
      lines.push_back(palette(Tint::dim, truncate(rest, columns)));
  }
  lines.resize(std::min(lines.size(), static_cast<std::size_t>(rows)));
  return lines;
}

}  // namespace thalweg::cli
