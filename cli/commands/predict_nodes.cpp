// thalweg predict TRIAL --nodes: the controller knows what was measured and does the arithmetic;
// --simulate asks the simulator (simulated_speeds.h) for numbers of nodes that were not.
#include "cli/commands/predict_nodes.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands/simulated_speeds.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

/// Where one number of nodes was measured nothing tells what others gain but the simulator.
bool asks_simulator(const Json& answer, const SimulationOptions& options) {
  if (options.simulate || options.no_simulation) return options.simulate;
  const auto known = [&](const char* key) { return number_at(answer, key).value_or(0) > 0; };
  return !std::isfinite(number_at(answer, "mape").value_or(NAN)) && known("sample_us") &&
         known("measured_samples_per_s");
}

/// Speeds of the nodes that were not measured, as "2:3800.5,4:7100" for the controller; a note says
/// what was simulated.
std::string simulated_text(Context& context, const Json& answer, const SimulationOptions& options,
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
    if (text_at(row, "speed") != "measured")
      wanted.nodes.push_back(number_at(row, "nodes").value_or(1));
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
std::string simulated_if_possible(Context& context, const Json& answer,
                                  const SimulationOptions& options,
                                  std::vector<std::string>& notes) {
  try {
    return simulated_text(context, answer, options, notes);
  } catch (const std::exception& error) {
    if (options.simulate) throw;
    notes.push_back(std::string("not simulated: ") + error.what());
    return "";
  }
}

void check(const SimulationOptions& options) {
  if (options.simulate && options.no_simulation)
    throw CommandError(exit_bad_input, "either --simulate or --no-simulation");
  if ((options.link_gbit || options.latency_us) && !options.simulate)
    throw CommandError(exit_bad_input, "--link and --latency-us are for the simulated network",
                       "add --simulate");
  if (options.link_gbit.value_or(1) <= 0 || options.latency_us.value_or(0) < 0)
    throw CommandError(exit_bad_input, "--link must be above 0, and --latency-us at least 0");
}

}  // namespace

Json predicted_nodes(Context& context, const jobspec::Id& id, const Query& query,
                     const SimulationOptions& options) {
  check(options);
  const auto ask = [&](const std::string& trial, const std::string& simulated) {
    Query asked = query;
    asked.emplace_back("simulated", simulated);
    return context.controller().get(with_query("/v1/studies/predict?trials=" + trial, asked));
  };
  Json answer = ask(id.to_string(), "");
  if (!asks_simulator(answer, options)) return answer;
  std::vector<std::string> notes;
  const std::string simulated = simulated_if_possible(context, answer, options, notes);
  // The best one may be another by now.
  if (!simulated.empty()) answer = ask(text_at(answer, "trial"), simulated);
  for (std::string& note : texts_at(answer, "notes"))
    notes.push_back(std::move(note));
  answer["notes"] = notes;
  return answer;
}

void add_simulation_options(Arguments& arguments, SimulationOptions& options) {
  arguments.flag("--simulate", options.simulate,
                 "for a trial: simulate its ranks and messages where nothing was measured "
                 "(automatic where one number of nodes was)");
  arguments.flag("--no-simulation", options.no_simulation,
                 "of a trial: speeds by sums and laws of what was measured alone");
  arguments.option("--link", "GBIT", options.link_gbit,
                   "simulated network: 10^9 bits a second of a rank's link (default: as earlier "
                   "runs on several nodes measured it, else 80)");
  arguments.option("--latency-us", "X", options.latency_us,
                   "simulated network: latency of a message, in microseconds (default: 2)");
}

}  // namespace thalweg::cli
