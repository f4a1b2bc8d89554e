// Tables in CSV. What a column is is told by its name: long form has `metric` and `value`, so a
// line is one point; else each further column of numbers is a metric, as pandas and W&B write them.
// W&B's charts have a column "run - metric" for each run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <system_error>

#include "base/time_text.h"
#include "cli/commands/imports.h"
#include "cli/exit_code.h"
#include "cli/output/csv.h"
#include "cli/output/text.h"

namespace thalweg::cli {

namespace fs = std::filesystem;
namespace {

using Row = std::vector<std::string>;
using CsvColumn = std::size_t;

constexpr std::array step_names{"step",      "_step", "global_step", "trainer/global_step",
                                "iteration", "iter",  "epoch"};
constexpr std::array run_names{"run", "trial", "run_id", "run_name", "run name", "_run", "name"};
constexpr std::array time_names{"time", "wall_time", "wall time", "timestamp", "_timestamp"};
constexpr std::array prefixes{"config.", "config/", "params.", "params/", "hparams.", "hparams/"};
constexpr std::string_view between = " - ";  // of a run and a metric, in W&B's charts

/// pandas writes nothing where there is no value, others say so.
bool is_empty(const std::string& cell) {
  return cell.empty() || cell == "NA" || cell == "None" || cell == "null";
}

/// In columns of times, also as pandas writes that there is none.
bool is_no_time(const std::string& cell) {
  return is_empty(cell) || cell.find_first_not_of(" \t") == std::string::npos || cell == "NaT" ||
         lower_case(cell) == "nan";
}

/// Unix seconds of the year 10000: what is more is in milliseconds or smaller units.
constexpr double last_year = 253402300800;

struct CsvTable {
  const fs::path& file;
  std::vector<Row> rows;  ///< the first one is the header

  const Row& header() const { return rows.front(); }

  template <std::size_t n>
  std::optional<CsvColumn> find(const std::array<const char*, n>& names) const {
    for (const char* name : names)
      for (CsvColumn c = 0; c < header().size(); ++c)
        if (lower_case(header()[c]) == name) return c;
    return {};
  }
  std::optional<CsvColumn> find(const char* name) const { return find(std::array{name}); }

  [[noreturn]] void wrong(std::size_t row, const std::string& what, const std::string& hint) const {
    throw CommandError(exit_bad_input,
                       fmt::format("{}, row {}: {}", file.string(), row + 1, printable(what)),
                       hint);
  }
  double number(std::size_t row, CsvColumn column) const {
    const std::string& cell = rows[row][column];
    if (const auto value = read_number(cell)) return *value;
    wrong(row, fmt::format("{} '{}' is no number", header()[column], cell),
          "numbers are written as 0.5, 1e-3, nan or inf");
  }
  std::int64_t step(std::size_t row, CsvColumn column) const {
    const double value = number(row, column);
    constexpr double max_exact = 9007199254740992;  // 2^53
    if (value >= 0 && value < max_exact && std::floor(value) == value)
      return static_cast<std::int64_t>(value);
    wrong(row, fmt::format("{} '{}' is no step", header()[column], rows[row][column]),
          "steps are whole numbers from 0");
  }
};

/// What the columns are.
struct Roles {
  CsvColumn step = 0;
  std::optional<CsvColumn> run, sweep, time, metric, value;
  std::vector<CsvColumn> metrics, parameters;
  bool charts = false;  ///< "run - metric" in each header
};

bool is_numeric(const CsvTable& table, CsvColumn column) {
  bool any = false;
  for (std::size_t row = 1; row < table.rows.size(); ++row) {
    const std::string& cell = table.rows[row][column];
    if (is_empty(cell)) continue;
    if (!read_number(cell)) return false;
    any = true;
  }
  return any;
}

bool is_among(std::span<const std::string> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Without the prefix that says so.
std::string parameter_name(const std::string& header) {
  for (const std::string_view prefix : prefixes)
    if (header.starts_with(prefix) && header.size() > prefix.size())
      return header.substr(prefix.size());
  return header;
}

void sort_columns(const CsvTable& table, const ReadOptions& options, Roles& roles) {
  const auto attempt = table.find("attempt");
  std::vector<CsvColumn> rest;
  for (CsvColumn c = 0; c < table.header().size(); ++c) {
    const bool has_role = c == roles.step || c == roles.run || c == roles.sweep ||
                          c == roles.time || c == roles.metric || c == roles.value;
    // pandas' own index has no name.
    if (!has_role && !table.header()[c].empty() && !(roles.metric && c == attempt))
      rest.push_back(c);
  }
  roles.charts = !roles.metric && !roles.run && !rest.empty() &&
                 std::all_of(rest.begin(), rest.end(), [&](CsvColumn c) {
                   return table.header()[c].find(between) != std::string::npos;
                 });
  for (const CsvColumn c : rest) {
    const std::string& name = table.header()[c];
    const bool parameter = roles.metric || is_among(options.parameters, name) ||
                           parameter_name(name) != name || lower_case(name) == "seed" ||
                           !is_numeric(table, c);
    (parameter && !roles.charts ? roles.parameters : roles.metrics).push_back(c);
  }
}

Roles roles_of(const CsvTable& table, const ReadOptions& options) {
  Roles roles;
  const auto step = table.find(step_names);
  if (!step)
    throw CommandError(
        exit_bad_input,
        fmt::format("{}: no column of steps among {}", table.file.string(),
                    printable(join(table.header(), ", "))),
        "name it step; further columns: run, time, and metric with value, or one for each metric");
  roles.step = *step;
  roles.run = table.find(run_names);
  roles.time = table.find(time_names);
  const auto metric = table.find("metric"), value = table.find("value");
  if (metric && value) {
    roles.metric = metric;
    roles.value = value;
  }
  if (roles.run && lower_case(table.header()[*roles.run]) == "trial")
    roles.sweep = table.find("sweep");
  for (const std::string& name : options.parameters)
    if (!is_among(table.header(), name))
      throw CommandError(
          exit_bad_input,
          fmt::format("{}: no column {} for --parameters", table.file.string(), name),
          "its columns are " + printable(join(table.header(), ", ")));
  sort_columns(table, options, roles);
  if (!roles.metric && roles.metrics.empty())
    throw CommandError(exit_bad_input,
                       fmt::format("{}: no column of a metric", table.file.string()),
                       "a column of numbers for each metric, or the columns metric and value");
  return roles;
}

class Reader {
 public:
  Reader(const CsvTable& table, const Roles& roles, ReadRuns& runs)
      : table_(table), roles_(roles), run_(runs), shift_(shift_of_times()) {}

  void read(std::size_t row) {
    const Row& cells = table_.rows[row];
    if (is_empty(cells[roles_.step])) return;
    const std::int64_t step = table_.step(row, roles_.step);
    const double time = time_of(row);
    if (roles_.charts) return read_charts(row, step, time);
    ReadRun& run = run_(name_of(row));
    for (const CsvColumn c : roles_.parameters)
      set_parameter(row, c, run);
    if (roles_.metric) {
      if (!is_empty(cells[*roles_.value]))
        run.curves[cells[*roles_.metric]].push_back(
            {step, table_.number(row, *roles_.value), time});
      return;
    }
    for (const CsvColumn c : roles_.metrics)
      if (!is_empty(cells[c]))
        run.curves[table_.header()[c]].push_back({step, table_.number(row, c), time});
  }

 private:
  std::string name_of(std::size_t row) const {
    if (!roles_.run) return table_.file.stem().string();
    const std::string& name = table_.rows[row][*roles_.run];
    return roles_.sweep ? table_.rows[row][*roles_.sweep] + "." + name : name;
  }

  double time_of(std::size_t row) const {
    if (!roles_.time) return 0;
    const std::string& cell = table_.rows[row][*roles_.time];
    if (is_no_time(cell)) return 0;
    if (const auto seconds = read_number(cell)) {
      const double time = *seconds + shift_;
      if (*seconds >= 0 && time > 0 && time < last_year) return time;
    } else if (const auto time = read_time(cell)) {
      return *time;
    }
    table_.wrong(row, fmt::format("{} '{}' is no time", table_.header()[*roles_.time], cell),
                 "times are Unix seconds (no milliseconds), seconds from a start, or as "
                 "2026-11-20T12:00:00+01:00");
  }

  /// What is added to seconds from a start that nobody says, which begin with 0: the last of them
  /// is when the file was written. 0 itself would be a time that is not known.
  double shift_of_times() const {
    constexpr double first_date = 1e8;  // in 1973
    double last = 0;
    bool from_start = false;
    for (std::size_t row = 1; roles_.time && row < table_.rows.size(); ++row) {
      const auto seconds = read_number(table_.rows[row][*roles_.time]);
      from_start = from_start || seconds == 0;
      if (seconds && std::isfinite(*seconds)) last = std::max(last, *seconds);
    }
    if (!from_start || last >= first_date) return 0;
    std::error_code unknown;
    const auto written = fs::last_write_time(table_.file, unknown);
    if (unknown) return 0;
    const auto at = std::chrono::file_clock::to_sys(written).time_since_epoch();
    return std::max(std::floor(std::chrono::duration<double>(at).count() - last), 0.0);
  }

  void read_charts(std::size_t row, std::int64_t step, double time) {
    for (const CsvColumn c : roles_.metrics) {
      const std::string& header = table_.header()[c];
      const auto at = header.rfind(between);
      const std::string metric = header.substr(at + between.size());
      // The range of what was averaged; the value itself stands beside it.
      if (metric.ends_with("__MIN") || metric.ends_with("__MAX")) continue;
      if (!is_empty(table_.rows[row][c]))
        run_(header.substr(0, at)).curves[metric].push_back({step, table_.number(row, c), time});
    }
  }

  void set_parameter(std::size_t row, CsvColumn column, ReadRun& run) const {
    const std::string& cell = table_.rows[row][column];
    if (is_empty(cell)) return;
    const std::string name = parameter_name(table_.header()[column]);
    const Json value = parameter_json(cell);
    const auto [known, is_new] = run.parameters.emplace(name, value);
    if (!is_new && *known != value)
      table_.wrong(row,
                   fmt::format("{} is a parameter, but changes within the run {}: '{}' after {}",
                               name, run.source, cell, known->dump()),
                   "leave the column out, or give each run its own name in the column run");
  }

  const CsvTable& table_;
  const Roles& roles_;
  RunsByName run_;
  double shift_;
};

std::string names(const CsvTable& table, const std::vector<CsvColumn>& columns) {
  std::vector<std::string> list;
  for (const CsvColumn c : columns)
    list.push_back(table.header()[c]);
  return printable(join(list, ", "));
}

std::string describe(const CsvTable& table, const Roles& roles) {
  std::string text = fmt::format("{}: {}, steps in {}", table.file.string(),
                                 roles.metric   ? "a point in each row"
                                 : roles.charts ? "a chart of W&B, a run in each column"
                                                : "a column for each metric",
                                 table.header()[roles.step]);
  if (roles.run) text += ", runs in " + table.header()[*roles.run];
  if (roles.time) text += ", times in " + table.header()[*roles.time];
  if (!roles.metrics.empty() && !roles.charts) text += "; metrics: " + names(table, roles.metrics);
  if (!roles.parameters.empty()) text += "; parameters: " + names(table, roles.parameters);
  return text;
}

}  // namespace

void read_table(const fs::path& file, std::string_view text, const ReadOptions& options,
                ReadRuns& runs) {
  const CsvTable table{file, parse_csv(text)};
  if (table.rows.size() < 2)
    throw CommandError(exit_bad_input, file.string() + ": no table in CSV, or one without rows",
                       "the first row names the columns: run,step,val/loss");
  for (std::size_t row = 1; row < table.rows.size(); ++row)
    if (table.rows[row].size() != table.header().size())
      table.wrong(row,
                  fmt::format("{} where the header has {}",
                              count_of(static_cast<long long>(table.rows[row].size()), "field"),
                              table.header().size()),
                  "fields are separated by commas; text with commas is quoted");
  const Roles roles = roles_of(table, options);
  Reader reader(table, roles, runs);
  for (std::size_t row = 1; row < table.rows.size(); ++row)
    reader.read(row);
  runs.understood.push_back(describe(table, roles));
}

}  // namespace thalweg::cli
