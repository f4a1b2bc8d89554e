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

[[noreturn]] void no_id(const std::string& text, const std::string& what, const std::string& hint) {
  throw CommandError(exit_bad_input, "'" + printable(text) + "' " + what,
                     hint.empty()
                         ? "write 12 for a sweep, 12.3 for a trial, 12.3.1 for an attempt, "
                           "or a sweep's name or its beginning; `thalweg ls` lists the sweeps"
                         : hint);
}

/// The sweeps that are there, newest first; none where no controller answers.
Json known_sweeps(Context& context) {
  try {
    return list_at(context.controller_if_any().get("/v1/sweeps?limit=100000"), "sweeps");
  } catch (const daemon::api::Unreachable&) {
    return Json::array();
  }
}

/// Ids of what `text` means as the beginning of a sweep's name, with ".3" or ".3.1" after it or
/// without.
std::vector<std::string> with_prefix(const std::string& text, const Json& sweeps) {
  // Names may have dots: the longest end that can belong to an id is taken for it.
  std::string prefix = text, rest;
  for (std::size_t dot = text.find('.'); dot != std::string::npos; dot = text.find('.', dot + 1))
    if (rest.empty() && dot > 0 && jobspec::Id::parse("1" + text.substr(dot))) {
      prefix = text.substr(0, dot);
      rest = text.substr(dot);
    }
  std::vector<std::string> found;
  for (const Json& sweep : sweeps)
    if (!prefix.empty() && text_at(sweep, "name").starts_with(prefix))
      found.push_back(text_at(sweep, "id") + rest);
  return found;
}

}  // namespace

jobspec::Id parse_id(const std::string& text) {
  const auto id = jobspec::Id::parse(text);
  if (!id) no_id(text, "is not an id", "");
  return *id;
}

jobspec::Id find_id(Context& context, const std::string& text) {
  if (const auto id = jobspec::Id::parse(text)) return *id;
  std::vector<std::string> names, found;
  const Json sweeps = known_sweeps(context);
  for (const Json& sweep : sweeps) {
    const std::string name = text_at(sweep, "name");
    names.push_back(name);
    if (name.empty() || !text.starts_with(name)) continue;
    // The rest is ".3" or ".3.1", or nothing.
    const std::string id = text_at(sweep, "id") + text.substr(name.size());
    if (jobspec::Id::parse(id)) found.push_back(id);
  }
  if (found.empty()) found = with_prefix(text, sweeps);
  if (found.size() == 1) return parse_id(found[0]);
  if (found.size() > 1)
    no_id(text, "is the name of " + count_of(found.size(), "sweep") + ", or how it begins",
          "say which by its id: " + join(found, ", ") + " (newest first)");
  const std::string near = jobspec::nearest(text, names);
  no_id(text, "is neither an id nor the name of a sweep",
        near.empty() ? "" : "did you mean " + near + "?");
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

void print_notes(Context& context, const std::vector<std::string>& notes) {
  for (const std::string& note : notes)
    for (const std::string& line : wrap("note: " + printable(note), context.width()))
      context.out << context.palette(Tint::yellow, line) << '\n';
}

Cell state_cell(const std::string& state) {
  return {state, state, tint_of_state(state)};
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
