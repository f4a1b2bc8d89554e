// thalweg timeline: where the time of a trial's attempts went, and what to do about the largest
// part.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/svg_bars.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "daemon/api/trial_messages.h"

namespace thalweg::cli {
namespace {

using daemon::api::AttemptTimelineMessage;
using daemon::api::TimelineAnswer;

struct TimelineOptions {
  std::string id;
  std::string svg;  ///< a file, "-" for the standard output
  Format format;
};

/// "████▌": eighths of a column.
std::string bar(double share, int columns) {
  static const std::vector<std::string> eighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto parts = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * columns * 8));
  std::string text;
  for (int i = 0; i < parts / 8; ++i)
    text += "█";
  return text + eighths[static_cast<std::size_t>(parts % 8)];
}

void print_parts(Context& context, const AttemptTimelineMessage& attempt) {
  constexpr int bar_columns = 30;
  for (const auto& part : attempt.parts) {
    const double share = attempt.seconds > 0 ? part.seconds / attempt.seconds : 0;
    const bool largest = part.name == attempt.bottleneck;
    context.out << fmt::format("  {} {} {}  ", pad_right(part.name, 14),
                               pad_left(format_duration(part.seconds), 9),
                               pad_left(format_percent(share), 6))
                << context.palette(largest ? Tint::yellow : Tint::cyan, bar(share, bar_columns))
                << '\n';
  }
}

void print_ranks(Context& context, const AttemptTimelineMessage& attempt) {
  if (attempt.per_rank.size() < 2) return;
  Table table({{"rank", "RANK", Align::right},
               {"node", "NODE", Align::left, true},
               {"data_ms", "DATA", Align::right},
               {"compute_ms", "COMPUTE", Align::right},
               {"comm_exposed_ms", "SUMS", Align::right},
               {"skew_ms", "SKEW", Align::right},
               {"optimizer_ms", "UPDATE", Align::right}});
  for (const auto& rank : attempt.per_rank)
    table.add({std::to_string(rank.rank), printable(rank.node), number_cell(rank.data_ms),
               number_cell(rank.compute_ms), number_cell(rank.comm_exposed_ms),
               number_cell(rank.skew_ms), number_cell(rank.optimizer_ms)});
  context.out << "  ms a step of each rank:\n";
  table.print(context.out, context.palette, context.width());
}

bool over(const std::string& state) {
  return state != "launching" && state != "queued" && state != "running";
}

void print_attempt(Context& context, const AttemptTimelineMessage& attempt) {
  context.out << context.palette(Tint::bold, attempt.id) << "  "
              << context.palette(tint_of_state(attempt.state), attempt.state) << "  "
              << fmt::format("{} from launch{}, {} on {}, {}", format_duration(attempt.seconds),
                             over(attempt.state) ? " to end" : " to now",
                             count_of(attempt.ranks, "rank"), count_of(attempt.nodes, "node"),
                             count_of(attempt.steps, "step"))
              << '\n';
  if (attempt.waited >= 1)
    context.out << context.palette(Tint::dim,
                                   fmt::format("  launched after {} of waiting for its turn",
                                               format_duration(attempt.waited)))
                << '\n';
  print_parts(context, attempt);
  print_ranks(context, attempt);
  if (!attempt.bottleneck.empty())
    for (const std::string& line :
         wrap(printable(fmt::format("most of it: {}: {}", attempt.bottleneck, attempt.advice)),
              std::max(0, context.width() - 2)))
      context.out << "  " << line << '\n';
}

void write_svg(Context& context, const TimelineOptions& options, const std::string& title,
               const TimelineAnswer& answer) {
  std::vector<Bar> bars;
  for (const auto& attempt : answer.attempts) {
    bars.push_back({attempt.id, {}});
    for (const auto& part : attempt.parts)
      bars.back().parts.push_back({part.name, part.seconds});
  }
  const std::string text = svg_bars("Where the time of " + title + " went", "s", bars);
  if (text.empty()) throw CommandError(exit_not_found, "nothing to draw: no time has passed yet");
  write_out(context, options.svg, text);
}

int timeline(Context& context, const TimelineOptions& options) {
  const jobspec::Id id = find_id(context, options.id);
  if (is_sweep(id))
    throw CommandError(exit_bad_input, fmt::format("{} is a sweep: name a trial, as {}.1, or an "
                                                   "attempt",
                                                   options.id, id.to_string()));
  const jobspec::Id trial{id.sweep, id.trial, 0};
  const auto json = context.controller().get(path_of(trial) + "/timeline");
  auto answer = read_answer<TimelineAnswer>(json);
  if (!is_trial(id))
    std::erase_if(answer.attempts, [&](const auto& a) { return a.id != id.to_string(); });
  if (answer.attempts.empty())
    throw CommandError(exit_not_found, is_trial(id) ? id.to_string() + " has not been launched yet"
                                                    : "there is no attempt " + id.to_string());
  if (options.format.json) {
    print_json(context.out, daemon::api::to_json(answer));
    return exit_ok;
  }
  if (!options.svg.empty()) {
    write_svg(context, options, id.to_string(), answer);
    return exit_ok;
  }
  for (std::size_t i = 0; i < answer.attempts.size(); ++i) {
    if (i > 0) context.out << '\n';
    print_attempt(context, answer.attempts[i]);
  }
  return exit_ok;
}

}  // namespace

Action make_timeline(Arguments& arguments) {
  auto options = std::make_shared<TimelineOptions>();
  Argument& id = arguments.positional("ID", options->id, "a trial, or one attempt");
  id.completes = Completes::id;
  arguments.option("--svg", "FILE", options->svg, "write the picture as SVG (- prints it)")
      .completes = Completes::file;
  add_json(arguments, options->format);
  return [options](Context& context) { return timeline(context, *options); };
}

}  // namespace thalweg::cli
