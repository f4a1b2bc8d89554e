// thalweg ls: the sweeps, newest first.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/machine.h"
#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/plot.h"
#include "cli/output/text.h"
#include "cli/output/watcher.h"
#include "daemon/api/client.h"
#include "daemon/api/sweep_messages.h"
#include "daemon/api/trial_messages.h"

namespace thalweg::cli {

namespace api = daemon::api;

namespace {

struct LsOptions {
  Format format;
  std::int64_t limit = 50;
  std::vector<std::string> tags, states;
  std::string name, since;
  bool mine = false, archived = false, size = false;

  bool filters() const {
    return !tags.empty() || !states.empty() || !name.empty() || !since.empty() || mine || archived;
  }
};

/// "12h", "3d", "2w" ago, or a day as 2026-11-03. Throws CommandError (bad input).
double read_since(const std::string& text) {
  std::tm day{};
  if (const char* end = strptime(text.c_str(), "%Y-%m-%d", &day); end != nullptr && *end == '\0') {
    day.tm_isdst = -1;
    return static_cast<double>(std::mktime(&day));
  }
  std::int64_t count = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, count);
  const std::map<std::string, double> units{
      {"m", 60}, {"h", 3600}, {"d", 24 * 3600}, {"w", 7 * 24 * 3600}};
  const auto unit = units.find(std::string(end, last));
  if (error != std::errc{} || count < 0 || unit == units.end())
    throw CommandError(exit_bad_input, "--since " + text + ": expected a time",
                       "for example 12h, 3d, 2w or 2026-11-03");
  return now() - static_cast<double>(count) * unit->second;
}

bool fits(const api::SweepMessage& sweep, const LsOptions& options, double since) {
  const auto in = [](const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  for (const std::string& tag : options.tags)
    if (!in(sweep.tags, tag)) return false;
  return (options.archived || sweep.archived == 0) &&
         (options.states.empty() || in(options.states, sweep.state)) &&
         (options.name.empty() || sweep.name.find(options.name) != std::string::npos) &&
         sweep.submitted >= since && (!options.mine || sweep.owner == user_name(geteuid()));
}

/// The newest that fit. Without filters the controller is asked for no more than are shown, as
/// long as none of them is archived.
Json find_sweeps(Context& context, const LsOptions& options) {
  const double since = options.since.empty() ? 0 : read_since(options.since);
  const auto ask = [&](std::int64_t limit) {
    return context.controller().get("/v1/sweeps?limit=" + std::to_string(limit));
  };
  const auto fitting = [&](const Json& answer) {
    Json list = Json::array();
    for (const Json& each : list_at(answer, "sweeps"))
      if (static_cast<std::int64_t>(list.size()) < options.limit &&
          fits(read_answer<api::SweepMessage>(each), options, since))
        list.push_back(each);
    return list;
  };
  constexpr std::int64_t all = 100'000;
  Json answer = ask(options.filters() ? all : options.limit);
  Json list = fitting(answer);
  if (!options.filters() && list.size() < list_at(answer, "sweeps").size())
    list = fitting(answer = ask(all));
  answer["sweeps"] = std::move(list);
  return answer;
}

Cell count_cell(std::int64_t n, Tint tint = Tint::none) {
  return {n > 0 ? std::to_string(n) : "", std::to_string(n), tint};
}

/// By id: the ranked metric of a sweep's best trial.
using Sparklines = std::map<std::string, std::string>;

/// Only for a person, whose window has room for them.
bool shows_sparklines(const Context& context, const Format& format) {
  constexpr int min_width = 100;
  return !format.json && !format.csv && context.terminal.utf8 && context.width() >= min_width;
}

Sparklines find_sparklines(Context& context, const Json& sweeps) {
  constexpr std::size_t max_sweeps = 50;
  constexpr int width = 12;
  std::vector<std::string> ids;
  for (const Json& sweep : sweeps)
    if (ids.size() < max_sweeps) ids.push_back(text_at(sweep, "id"));
  Sparklines lines;
  try {
    const auto answer = read_answer<api::SparklinesAnswer>(context.controller().get(
        fmt::format("/v1/sparklines?sweeps={}&points={}", join(ids, ","), width)));
    for (const auto& each : answer.sparklines)
      lines[each.id] = sparkline(each.values, width);
  } catch (const api::ApiError&) {
    // A controller of another version: the list is the same without.
  }
  return lines;
}

/// What the numbers of the listed sweeps need beside them, by sweep.
std::vector<std::string> find_warnings(Context& context, const Json& sweeps) {
  constexpr std::size_t max_sweeps = 50, max_lines = 5;
  std::vector<std::string> ids, lines;
  for (const Json& sweep : sweeps)
    if (ids.size() < max_sweeps) ids.push_back(text_at(sweep, "id"));
  try {
    const auto answer = read_answer<api::WarningsAnswer>(
        context.controller().get("/v1/warnings?sweeps=" + join(ids, ",")));
    for (const auto& sweep : answer.sweeps)
      for (const std::string& text : sweep.warnings)
        lines.push_back(sweep.id + ": " + text);
  } catch (const api::ApiError&) {
    // A controller of another version: the list is the same without.
  }
  if (lines.size() > max_lines) {
    const auto more = static_cast<long long>(lines.size() - max_lines);
    lines.resize(max_lines);
    lines.push_back("… " + count_of(more, "more warning") + " (thalweg show SWEEP)");
  }
  return lines;
}

Table sweep_table(const Json& sweeps, const Sparklines& sparklines) {
  std::vector<Column> columns{{"id", "id", Align::right},
                              {"name", "name", Align::left, true},
                              {"state", "state"},
                              {"backend", "backend", Align::left, false, 2},
                              {"trials", "trials", Align::right},
                              {"running", "running", Align::right},
                              {"pending", "pending", Align::right},
                              {"finished", "", Align::right, false, 0, true},
                              {"failed", "failed", Align::right},
                              {"cancelled", "cancelled", Align::right, false, 3},
                              {"metric", "metric", Align::left, true, 4},
                              {"submitted", "submitted", Align::right, false, 1},
                              {"ended", "", Align::right, false, 0, true},
                              {"tags", "tags", Align::left, true, 5},
                              {"bytes", "size", Align::right},
                              {"owner", "owner"}};
  if (!sparklines.empty()) columns.push_back({"curve", "best", Align::left, false, 6});
  Table table(columns);
  // Whose they are is worth a column where they are not all one user's.
  const bool shared = std::any_of(sweeps.begin(), sweeps.end(), [&](const Json& each) {
    return text_at(each, "owner") != text_at(sweeps.front(), "owner");
  });
  const auto sparkline_of = [&](const std::string& id) {
    const auto found = sparklines.find(id);
    return found == sparklines.end() ? std::string() : found->second;
  };
  for (const Json& each : sweeps) {
    const auto sweep = api::from_json<api::SweepMessage>(each, api::Reading::tolerant);
    const api::Counts& counts = sweep.counts;
    table.add(
        {sweep.id, sweep.name, state_cell(sweep.state), sweep.backend,
         Cell(fmt::format(
                  "{}/{}{}", counts.finished, counts.all(),
                  counts.to_come ? fmt::format(" (to {})", counts.all() + *counts.to_come) : ""),
              std::to_string(counts.all())),
         count_cell(counts.running), count_cell(counts.pending), count_cell(counts.finished),
         count_cell(counts.failed, Tint::red), count_cell(counts.cancelled, Tint::yellow),
         sweep.metric, Cell(format_age(sweep.submitted, now()), text_at(each, "submitted")),
         text_at(each, "ended"), Cell(join(sweep.tags, " ")),
         Cell(format_bytes(number_at(each, "bytes")), text_at(each, "bytes")),
         Cell(shared ? sweep.owner : "", sweep.owner), Cell(sparkline_of(sweep.id))});
  }
  return table;
}

/// Asked for all at once.
void add_sizes(Context& context, Json& sweeps) {
  Json ids = Json::array();
  for (const Json& sweep : sweeps)
    ids.push_back(member(sweep, "id"));
  const Json answer = context.controller().post("/v1/sizes", {{"ids", ids}});
  std::map<std::string, Json> bytes;
  for (const Json& size : list_at(answer, "sizes"))
    bytes[text_at(size, "id")] = member(size, "bytes");
  for (Json& sweep : sweeps)
    sweep["bytes"] = bytes[text_at(sweep, "id")];
}

int ls(Context& context, const LsOptions& options) {
  Json answer = find_sweeps(context, options);
  std::vector<std::string> warnings;
  if (!options.format.json && !options.format.csv && !answer["sweeps"].empty())
    warnings = find_warnings(context, answer["sweeps"]);
  if (options.size) add_sizes(context, answer["sweeps"]);
  if (options.format.json) {
    print_json(context.out, answer);
    return exit_ok;
  }
  const Json& sweeps = list_at(answer, "sweeps");
  if (sweeps.empty() && !options.format.csv) {
    context.out << (options.filters() ? "no sweep matches; thalweg ls lists all but archived ones\n"
                                      : "no sweeps yet; try: thalweg run sweep.yaml\n");
    for (const std::string& line : other_records(context))
      context.out << line << '\n';
    return exit_ok;
  }
  Sparklines sparklines;
  if (shows_sparklines(context, options.format)) sparklines = find_sparklines(context, sweeps);
  print_table(context, sweep_table(sweeps, sparklines), options.format);
  print_notes(context, warnings);
  return exit_ok;
}

}  // namespace

Action make_ls(Arguments& arguments) {
  auto options = std::make_shared<LsOptions>();
  arguments.option("-n,--limit", "N", options->limit, "at most N sweeps (default: 50)");
  arguments.option("--tag", "TAGS", options->tags, "with all of these tags");
  arguments.option("--state", "STATES", options->states, "in one of these states").choices = {
      "active", "finished", "failed", "cancelled"};
  arguments.option("--name", "TEXT", options->name, "with this in the name");
  arguments.option("--since", "WHEN", options->since, "submitted since then: 12h, 3d, 2026-11-03");
  arguments.flag("--mine", options->mine, "submitted by me");
  arguments.flag("--archived", options->archived, "archived ones, too");
  arguments.flag("--size", options->size, "disk space of their run folders (reads them all)");
  add_json_and_csv(arguments, options->format);
  return [options](Context& context) { return ls(context, *options); };
}

}  // namespace thalweg::cli
