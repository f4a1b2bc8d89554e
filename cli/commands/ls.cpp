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
#include "daemon/api/sweep_messages.h"

namespace thalweg::cli {

namespace api = daemon::api;

namespace {

struct Options {
  Format format;
  std::int64_t limit = 50;
};

Cell count_cell(std::int64_t n, Tint tint = Tint::none) {
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
  for (const Json& each : sweeps) {
    const auto sweep = api::from_json<api::SweepMessage>(each, api::Reading::tolerant);
    const api::Counts& counts = sweep.counts;
    table.add(
        {sweep.id, sweep.name, state_cell(sweep.state), sweep.backend,
         Cell(fmt::format("{}/{}", counts.finished, counts.all()), std::to_string(counts.all())),
         count_cell(counts.running), count_cell(counts.pending), count_cell(counts.finished),
         count_cell(counts.failed, Tint::red), count_cell(counts.cancelled, Tint::yellow),
         sweep.metric, Cell(format_age(sweep.submitted, now()), text_at(each, "submitted")),
         text_at(each, "ended")});
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
