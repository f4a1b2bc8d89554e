#include "cli/commands/common.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/shell.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "cli/output/watcher.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "daemon/api/sweep_messages.h"
#include "jobspec/value.h"

namespace thalweg::cli {

void add_json(Arguments& arguments, Format& format) {
  arguments.flag("--json", format.json, "print the controller's answer as JSON");
}

void add_json_and_csv(Arguments& arguments, Format& format) {
  add_json(arguments, format);
  arguments.flag("--csv", format.csv, "print the table as CSV, with all columns and digits");
}

namespace {

constexpr const char* how_ids_look =
    "write 12 for a sweep, 12.3 for a trial, 12.3.1 for an attempt";

[[noreturn]] void no_id(const std::string& problem, const std::string& hint) {
  throw CommandError(exit_bad_input, printable(problem), printable(hint));
}

}  // namespace

jobspec::Id parse_id(const std::string& text) {
  if (const auto id = jobspec::Id::parse(text)) return *id;
  no_id("'" + text + "' is not an id", how_ids_look);
}

jobspec::Id find_id(Context& context, const std::string& text) {
  if (const auto id = jobspec::Id::parse(text)) return *id;
  const std::string path =
      with_query("/v1/resolve", {{"name", text}, {"acts", context.acts ? "1" : "0"}});
  daemon::api::ResolveAnswer found;
  try {
    found = read_answer<daemon::api::ResolveAnswer>(context.controller().get(path));
  } catch (const daemon::api::Unreachable& error) {
    no_id("'" + text + "' is not an id, and names of sweeps cannot be looked up: " + error.what(),
          how_ids_look);
  }
  if (found.id.empty()) no_id(found.problem, found.hint);
  return parse_id(found.id);
}

bool is_sweep(const jobspec::Id& id) {
  return id.trial == 0;
}
bool is_trial(const jobspec::Id& id) {
  return id.trial != 0 && id.attempt == 0;
}

std::string path_of(const jobspec::Id& id) {
  const char* kind = is_sweep(id) ? "sweeps/" : is_trial(id) ? "trials/" : "attempts/";
  return std::string("/v1/") + kind + id.to_string();
}

std::string with_query(std::string path,
                       const std::vector<std::pair<std::string, std::string>>& pairs) {
  for (const auto& [key, value] : pairs)
    if (!value.empty())
      path += fmt::format("{}{}={}", path.find('?') == path.npos ? "?" : "&", key,
                          daemon::api::url_encode(value));
  return path;
}

jobspec::Id id_or_newest(Context& context, const std::string& text) {
  if (!text.empty()) return find_id(context, text);
  const Json answer = context.controller().get("/v1/sweeps?limit=1");
  const Json& sweeps = list_at(answer, "sweeps");
  if (sweeps.empty())
    throw CommandError(exit_not_found, "there are no sweeps yet", "try: thalweg run sweep.yaml");
  return parse_id(text_at(sweeps[0], "id"));
}

jobspec::Id sweep_or_newest(Context& context, const std::string& text, const std::string& command) {
  const jobspec::Id id = id_or_newest(context, text);
  if (!is_sweep(id))
    throw CommandError(exit_bad_input, command + " takes sweeps, not " + id.to_string(),
                       "thalweg " + command + " " + std::to_string(id.sweep));
  return id;
}

std::vector<std::string> other_records(Context& context) {
  std::vector<std::string> lines;
  try {
    const Json answer = context.controller_if_any().get("/v1/homes");
    for (const Json& home : list_at(answer, "homes")) {
      const std::string host = text_at(home, "host"), folder = text_at(home, "home");
      const bool here = host == text_at(answer, "host");
      lines.push_back(printable(
          here
              ? fmt::format("the record in {} has the same run folders: THALWEG_HOME={} thalweg ls",
                            folder, shell_word(folder))
              : fmt::format("this is {}; your record on {} ({}) has the same run folders: ssh {} "
                            "thalweg ls",
                            text_at(answer, "host"), host, folder, shell_word(host))));
    }
  } catch (const std::exception&) {
    // A controller of another version, or run folders that do not answer.
  }
  return lines;
}

void print_table(Context& context, const Table& table, const Format& format) {
  if (format.csv)
    table.print_csv(context.out);
  else
    table.print(context.out, context.palette, context.width());
}

void print_pairs(Context& context, const std::vector<std::pair<std::string, Cell>>& pairs) {
  int width = 0;
  for (const auto& [name, value] : pairs)
    if (!value.text.empty()) width = std::max(width, display_width(name));
  for (const auto& [name, value] : pairs)
    if (!value.text.empty())
      context.out << context.palette(Tint::dim, pad_right(name, width)) << "  "
                  << context.palette(value.tint, printable(value.text)) << '\n';
}

void print_next(Context& context,
                const std::vector<std::pair<std::string, std::string>>& commands) {
  int width = 0;
  for (const auto& [command, purpose] : commands)
    width = std::max(width, display_width(command));
  context.out << '\n' << context.palette(Tint::bold, "Next:") << '\n';
  // The purposes beside the commands where they are no narrower than this, else below them.
  constexpr int narrowest = 24;
  const bool beside = context.width() == 0 || context.width() - width - 4 >= narrowest;
  const int indent = beside ? width + 4 : 6;
  const int room = context.width() == 0 ? 0 : std::max(context.width() - indent, 1);
  for (const auto& [command, purpose] : commands) {
    context.out << "  " << context.palette(Tint::cyan, command);
    bool first = beside;
    for (const std::string& line : wrap(purpose, room)) {
      context.out << (first ? "" : "\n")
                  << std::string(first ? indent - 2 - display_width(command) : indent, ' ')
                  << context.palette(Tint::dim, line);
      first = false;
    }
    context.out << '\n';
  }
}

std::string metric_in_words(const Json& metric) {
  return printable(text_at(metric, "name")) +
         (text_at(metric, "goal") == "maximize" ? " (larger is better)" : " (smaller is better)");
}

void print_notes(Context& context, const std::vector<std::string>& notes) {
  for (const std::string& note : notes)
    for (const std::string& line : wrap("note: " + printable(note), context.width()))
      context.out << context.palette(Tint::yellow, line) << '\n';
}

Cell state_cell(const std::string& state) {
  Cell cell{state, state, tint_of_state(state)};
  cell.style = "state " + state;
  return cell;
}

Cell number_cell(std::optional<double> value) {
  if (!value) return {};
  return {format_number(value), fmt::format("{}", *value)};
}

std::string time_taken(double started, double ended) {
  if (started <= 0) return {};
  return format_duration((ended > 0 ? ended : now()) - started);
}

void write_out(Context& context, const std::string& file, const std::string& text) {
  if (file == "-") {
    context.out << text;
    return;
  }
  std::ofstream out(file, std::ios::trunc);
  out << text << std::flush;
  if (!out) throw CommandError(exit_failed, "cannot write " + file + ": " + std::strerror(errno));
  context.out << "written: " << printable(file) << '\n';
}

}  // namespace thalweg::cli
