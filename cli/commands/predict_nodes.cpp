// thalweg predict TRIAL --nodes: the controller knows what was measured and does the arithmetic;
// --simulate asks the simulator (simulated_speeds.h) for numbers of nodes that were not.
#include "cli/commands/predict_nodes.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/simulated_speeds.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

std::string number_or_nothing(std::optional<double> value) {
  return value && std::isfinite(*value) ? format_number(value) : "";
}

std::string currency_of(const Json& answer) {
  const std::string currency = text_at(answer, "currency");
  return currency.empty() ? "money" : printable(currency);
}

Table forecast_table(const Json& answer) {
  const double revocations = number_at(answer, "revocations").value_or(0);
  Table table({{"nodes", "nodes", Align::right},
               {"measured", ""},
               {"samples_per_s", "samples/s", Align::right},
               {"efficiency", "of sum", Align::right},
               {"seconds", "time", Align::right},
               {"expected_seconds", "expected", Align::right},
               {"node_hours", "node-hours", Align::right},
               {"money", currency_of(answer), Align::right},
               {"value", "value", Align::right}});
  for (const Json& row : list_at(answer, "rows")) {
    const auto seconds = [&](const char* key) { return format_duration(number_at(row, key)); };
    table.add(
        {format_number(number_at(row, "nodes")),
         flag_at(row, "measured")    ? "measured"
         : flag_at(row, "simulated") ? "simulated"
                                     : "predicted",
         format_number(number_at(row, "samples_per_s")), format_share(number_at(row, "efficiency")),
         seconds("seconds"), revocations > 0 ? seconds("expected_seconds") : "",
         format_number(number_at(row, "node_hours")), number_or_nothing(number_at(row, "money")),
         number_or_nothing(number_at(row, "value"))});
  }
  return table;
}

using Query = std::vector<std::pair<std::string, std::string>>;

/// Where one number of nodes was measured nothing tells what others gain but the simulator.
bool asks_simulator(const Json& answer, const NodesOptions& options) {
  if (options.simulate || options.no_simulation) return options.simulate;
  const auto known = [&](const char* key) { return number_at(answer, key).value_or(0) > 0; };
  return !std::isfinite(number_at(answer, "mape").value_or(NAN)) && known("sample_us") &&
         known("measured_samples_per_s");
}

/// Speeds of the nodes that were not measured, as "2:3800.5,4:7100" for the controller; a note says
/// what was simulated.
std::string simulated_text(Context& context, const Json& answer, const NodesOptions& options,
                           std::vector<std::string>& notes) {
  SimulatedSpeeds wanted;
  wanted.trial = parse_id(text_at(answer, "trial"));
  wanted.sample_us = number_at(answer, "sample_us").value_or(0);
  wanted.update_ms = number_at(answer, "update_ms").value_or(0);
  wanted.measured_nodes = number_at(answer, "measured_nodes").value_or(0);
  wanted.measured_speed = number_at(answer, "measured_samples_per_s").value_or(0);
  wanted.batch = number_at(answer, "batch").value_or(0);
  const double measured_link = number_at(answer, "link_gbit").value_or(0);
  const bool is_measured = !options.link_gbit && measured_link > 0;
  wanted.link_gbit = options.link_gbit.value_or(is_measured ? measured_link : kDefaultLinkGbit);
  if (!options.simulate) wanted.patience_s = 60;  // nobody asked for it
  wanted.latency_us = options.latency_us.value_or(kDefaultLatencyUs);
  for (const Json& row : list_at(answer, "rows"))
    if (!flag_at(row, "measured")) wanted.nodes.push_back(number_at(row, "nodes").value_or(1));
  if (wanted.nodes.empty()) return "";
  std::string text;
  for (const auto& [nodes, speed] : simulated_speeds(context, wanted))
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", nodes, speed);
  notes.push_back(fmt::format(
      "simulated: its own mode and messages on links of {:.3g} Gbit/s{} and {:g} us{}, its passes "
      "and updates as fast as measured",
      wanted.link_gbit,
      is_measured ? fmt::format(" (as {} and others like it summed gradients)",
                                printable(text_at(answer, "link_of")))
                  : "",
      wanted.latency_us, options.link_gbit ? "" : " (--link and --latency-us say others)"));
  return text;
}

/// The same; where nobody asked for a simulation, and none can be had, nothing with a note.
std::string simulated_if_possible(Context& context, const Json& answer, const NodesOptions& options,
                                  std::vector<std::string>& notes) {
  try {
    return simulated_text(context, answer, options, notes);
  } catch (const std::exception& error) {
    if (options.simulate) throw;
    notes.push_back(std::string("not simulated: ") + error.what());
    return "";
  }
}

void print_limits(Context& context, const Json& answer, const NodesOptions& options) {
  const std::string metric = printable(text_at(answer, "metric"));
  if (options.hours)
    context.out << fmt::format("value: {} after {} h\n", metric, format_number(options.hours));
  if (options.money)
    context.out << fmt::format("value: {} for {} {}\n", metric, format_number(options.money),
                               currency_of(answer));
  if (const auto mape = number_at(answer, "mape"); mape && std::isfinite(*mape))
    context.out << fmt::format("speeds predicted from fewer nodes missed by {:.1f} %\n",
                               100 * *mape);
  if (const auto rate = number_at(answer, "revocations"); rate.value_or(0) > 0)
    context.out << fmt::format(
        "with {} revocations per node and hour, {} s a checkpoint, {} s a restart\n",
        format_number(rate), format_number(number_at(answer, "checkpoint_s")),
        format_number(number_at(answer, "restart_s")));
}

void check(const std::string& id, const NodesOptions& options) {
  if (options.nodes.empty())
    throw CommandError(exit_bad_input, "on how many nodes?",
                       "for example: thalweg predict " + id + " --nodes 1,2,4,8");
  if (options.hours && options.money)
    throw CommandError(exit_bad_input, "either --hours or --money: which of them is the limit?");
  if (options.simulate && options.no_simulation)
    throw CommandError(exit_bad_input, "either --simulate or --no-simulation");
  if ((options.link_gbit || options.latency_us) && !options.simulate)
    throw CommandError(exit_bad_input, "--link and --latency-us are of the simulated network",
                       "add --simulate");
  if (options.link_gbit.value_or(1) <= 0 || options.latency_us.value_or(0) < 0)
    throw CommandError(exit_bad_input, "--link must be above 0, and --latency-us at least 0");
}

}  // namespace

int predict_nodes(Context& context, const std::string& file, const NodesOptions& options) {
  check(file, options);
  const jobspec::Id id = id_or_newest(context, file);
  const auto text = [](std::optional<double> value) {
    return value ? fmt::format("{}", *value) : std::string();
  };
  Query query{{"trial", id.to_string()},
              {"nodes", join(options.nodes, ",")},
              {"revocations", text(options.revocations)},
              {"hours", text(options.hours)},
              {"money", text(options.money)},
              {"partition", options.partition}};
  Json answer = context.controller().get(with_query("/v1/forecast", query));
  std::vector<std::string> notes;
  if (asks_simulator(answer, options)) {
    const std::string simulated = simulated_if_possible(context, answer, options, notes);
    if (!simulated.empty()) {
      query.front().second = text_at(answer, "trial");  // the best one may be another by now
      query.emplace_back("simulated", simulated);
      answer = context.controller().get(with_query("/v1/forecast", query));
    }
  }
  if (options.format.json) {
    print_json(context.out, answer);
    return exit_ok;
  }
  context.out << fmt::format("trial {} to {}: {} samples, {} at a time\n", text_at(answer, "trial"),
                             printable(text_at(answer, "until")),
                             format_number(number_at(answer, "samples")),
                             format_number(number_at(answer, "batch")));
  print_table(context, forecast_table(answer), options.format);
  print_limits(context, answer, options);
  print_notes(context, notes);
  print_notes(context, texts_at(answer, "notes"));
  return exit_ok;
}

void add_nodes_options(Arguments& arguments, NodesOptions& options) {
  arguments.option("--nodes", "A,B", options.nodes,
                   "of a trial: speed, time and cost on so many nodes");
  arguments.flag("--simulate", options.simulate,
                 "of a trial: simulate its ranks and messages where nothing was measured (by "
                 "itself where one number of nodes was)");
  arguments.flag("--no-simulation", options.no_simulation,
                 "of a trial: speeds by sums and laws of what was measured alone");
  arguments.option("--link", "GBIT", options.link_gbit,
                   "of the simulated network: 10^9 bits a second of a rank's link (default: as "
                   "earlier runs on several nodes measured it, else 80)");
  arguments.option("--latency-us", "X", options.latency_us,
                   "of the simulated network: of a message, in microseconds (default: 2)");
  arguments.option("--revocations", "R", options.revocations,
                   "of a trial: nodes taken away per node and hour (default: as in the record)");
  arguments.option("--hours", "H", options.hours,
                   "of a trial: how good its metric is after so long");
  arguments.option("--money", "M", options.money,
                   "of a trial: how good its metric is once so much is spent");
  arguments.option("--partition", "NAME", options.partition,
                   "of a trial: with this partition's price and revocations (default: the "
                   "sweep's)");
}

}  // namespace thalweg::cli
