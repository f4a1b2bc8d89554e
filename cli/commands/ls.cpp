// thalweg ls: the sweeps, newest first.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "cli/output/watcher.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

struct Options {
  Format format;
  std::int64_t limit = 50;
};

Cell count_cell(const Json& counts, const char* state, Tint tint = Tint::none) {
  const long long n = count_at(counts, state);
  return {n > 0 ? std::to_string(n) : "", std::to_string(n), tint};
}

Table sweep_table(const Json& sweeps) {
  Table table({{"id", "id", Align::right},
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
               {"ended", "", Align::right, false, 0, true}});
  for (const Json& sweep : sweeps) {
    const Json& counts = member(sweep, "counts");
    long long all = 0;
    if (counts.is_object())
      for (const auto& [state, n] : counts.items())
        all += n.is_number() ? n.get<long long>() : 0;
    table.add({text_at(sweep, "id"), text_at(sweep, "name"), state_cell(text_at(sweep, "state")),
               text_at(sweep, "backend"),
               Cell(fmt::format("{}/{}", count_at(counts, "finished"), all), std::to_string(all)),
               count_cell(counts, "running"), count_cell(counts, "pending"),
               count_cell(counts, "finished"), count_cell(counts, "failed", Tint::red),
               count_cell(counts, "cancelled", Tint::yellow), text_at(sweep, "metric"),
               Cell(format_age(number_at(sweep, "submitted").value_or(0), now()),
                    text_at(sweep, "submitted")),
               text_at(sweep, "ended")});
  }
  return table;
}

int ls(Context& context, const Options& options) {
  const Json answer = context.controller().get("/v1/sweeps?limit=" + std::to_string(options.limit));
  if (options.format.json) {
    print_json(context.out, answer);
    return exit_ok;
  }
  const Json& sweeps = list_at(answer, "sweeps");
  if (sweeps.empty() && !options.format.csv) {
    context.out << "no sweeps yet; try: thalweg run sweep.yaml\n";
    return exit_ok;
  }
  print_table(context, sweep_table(sweeps), options.format);
  return exit_ok;
}

}  // namespace

Action make_ls(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.option("-n,--limit", "N", options->limit, "at most N sweeps (default: 50)");
  add_json_and_csv(arguments, options->format);
  return [options](Context& context) { return ls(context, *options); };
}

}  // namespace thalweg::cli
