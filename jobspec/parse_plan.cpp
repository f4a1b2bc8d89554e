// `limits` and the node cap of a sweep file.
#include <fmt/core.h>

#include <algorithm>

#include "base/time_text.h"
#include "jobspec/parse.h"
#include "jobspec/resources.h"

namespace thalweg::jobspec {
namespace {

constexpr const char* cap_reason = "larger jobs wait too long in the queue";

/// "64 nodes x 2 ranks = 128 ranks instead of 130", and a plan with all the ranks where one is
/// near.
std::string nearest_plan(int nodes, int ranks_per_node, int cap) {
  const auto count = [](int n, const char* noun) {
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
  };
  const int ranks = nodes * ranks_per_node;
  std::string plan =
      fmt::format("{} x {} = {} instead of {}", count(cap, "node"), count(ranks_per_node, "rank"),
                  count(cap * ranks_per_node, "rank"), ranks);
  for (int n = cap; 2 * n > cap; --n) {
    if (ranks % n != 0) continue;
    plan += fmt::format(", or {} x {} = {}", count(n, "node"), count(ranks / n, "rank"),
                        count(ranks, "rank"));
    break;
  }
  return plan;
}

/// One request for nodes: its place, key and number.
struct Request {
  Place place;
  std::string key;
  int nodes;
  int fewest = nodes;  ///< that an attempt may do with
};

std::vector<Request> node_requests(const Value* resources, const Sweep& sweep) {
  const Axis* axis = find_axis(sweep, "resources.nodes");
  if (!axis) {
    const Value* nodes = resources ? resources->find("nodes") : nullptr;
    return {{nodes ? nodes->place : Place{}, "resources.nodes", sweep.resources.nodes,
             sweep.resources.required_nodes()}};
  }
  std::vector<Request> requests;
  const auto add = [&](const Value& value) {
    // A wrong value has its diagnostic already.
    const bool good = value.is_int() && value.as_int() > 0 && value.as_int() < 1'000'000;
    if (!good) return;
    requests.push_back(
        {value.place, "parameters.resources.nodes", static_cast<int>(value.as_int())});
  };
  if (const auto* values = axis->distribution->listed()) {
    for (const Value& value : *values)
      add(value);
  } else if (auto bounds = axis->distribution->bounds()) {
    bounds->second.place = axis->place;
    add(bounds->second);
  }
  return requests;
}

/// What an elastic trial cannot be at the same time.
void check_range(const Value* resources, Parsing& parsing) {
  const Value* range = resources ? resources->find("nodes") : nullptr;
  if (range == nullptr || !range->is_map()) return;
  const auto refuse = [&](const std::string& message, const std::string& hint) {
    parsing.diagnostics.add(range->place, "resources.nodes", message, hint);
  };
  const Sweep& sweep = parsing.sweep;
  if (find_axis(sweep, "resources.nodes"))
    refuse("found a range, and parameters.resources.nodes beside it",
           "keep one of them: an axis compares sizes, a range lets one trial change its size");
  if (sweep.program)
    refuse(
        "found a range, expected a number: only Thalweg's own engine continues with another number "
        "of ranks",
        "write nodes: " + std::to_string(sweep.resources.nodes));
  const Value* batch = sweep.train.find("batch");
  const Value* shares = batch && batch->is_map() ? batch->find("shares") : nullptr;
  if ((shares != nullptr && shares->is_list()) || find_axis(sweep, "batch.shares"))
    refuse("found a range, and batch.shares gives one share for each rank of one size",
           "write nodes: " + std::to_string(sweep.resources.nodes) +
               ", or batch.measure_shares: true");
  const Value* each = batch && batch->is_map() ? batch->find("per_rank") : nullptr;
  const bool known = each != nullptr && each->is_int() && each->as_int() < 1'000'000;
  if (each != nullptr || find_axis(sweep, "batch.per_rank"))
    refuse("found a range, and batch.per_rank makes the batch, and so the curve, depend on it",
           known ? "write batch: {global: " +
                       std::to_string(each->as_int() * sweep.resources.ranks()) + "}"
                 : "set batch.global");
}

bool is_variable(const std::string& name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9');
  });
}

}  // namespace

void parse_limits(const Value& value, Parsing& parsing) {
  Limits& limits = parsing.sweep.limits;
  constexpr std::int64_t most = 1'000'000;
  Fields fields(value, "limits", parsing.diagnostics);
  fields.integer("max_nodes_per_job", limits.max_nodes_per_job, {1, most});
  fields.integer("max_nodes_in_flight", limits.max_nodes_in_flight, {1, most});
  double hours = 0;
  if (fields.real("node_hours", hours)) {
    if (hours <= 0) fields.wrong(*fields.take("node_hours"), "node_hours", "a number above 0");
    limits.node_hours = hours;
  }
  if (const Value* when = fields.take("deadline"); when != nullptr) {
    const auto time = when->is_string() ? read_local_time(when->as_string()) : std::nullopt;
    if (!time)
      fields.wrong(*when, "deadline", "a time as 2027-01-31T18:00",
                   "local time, or with an offset from UTC as in 2027-01-31T18:00+01:00");
    limits.deadline = time.value_or(0);
  }
  fields.integer("max_retries", limits.max_retries, {0, 1000});
  fields.boolean("clamp", parsing.sweep.clamp);
  fields.finish();
}

void parse_environment(const Value& value, Parsing& parsing) {
  const auto report_error = [&](Place place, const std::string& name, const std::string& message,
                                const std::string& hint) {
    parsing.diagnostics.add(place, name.empty() ? "env" : "env." + name, message, hint);
  };
  if (!value.is_map())
    return report_error(value.place, "",
                        "found " + describe(value) + ", expected variables by name",
                        "as {OMP_PROC_BIND: \"true\"}");
  for (const auto& [name, text] : value.as_map()) {
    if (!is_variable(name)) {
      report_error(
          text.place, name,
          "this is no name of a variable, expected letters, digits and '_', not a digit first", "");
    } else if (!text.is_string() && !text.is_null()) {
      report_error(text.place, name,
                   "found " + describe(text) + ", expected text, or null to remove it",
                   text.is_list() || text.is_map() ? "" : "put it in quotes");
    } else {
      parsing.sweep.environment.emplace_back(
          name, text.is_null() ? std::nullopt : std::optional(text.as_string()));
    }
  }
}

void check_nodes(const Value* resources, const Value* limits, Parsing& parsing) {
  Sweep& sweep = parsing.sweep;
  const int asked_cap = limits && limits->find("max_nodes_per_job")
                            ? sweep.limits.max_nodes_per_job
                            : parsing.site.max_nodes_per_job;
  const int cap = std::min(asked_cap, parsing.site.max_nodes_per_job);
  const std::string from = parsing.site.source_of("max_nodes_per_job");
  if (asked_cap > cap && sweep.clamp) {
    sweep.notes.push_back(fmt::format(
        "limits.max_nodes_per_job: clamped from {} to {}, the site's cap{}", asked_cap, cap, from));
  } else if (asked_cap > cap) {
    parsing.diagnostics.add(limits->find("max_nodes_per_job")->place, "limits.max_nodes_per_job",
                            fmt::format("found {}, expected at most {}, the site's cap{}: {}",
                                        asked_cap, cap, from, cap_reason));
  }
  sweep.limits.max_nodes_per_job = cap;

  int most = 1, least = 1;  // of any trial; that any trial can start with
  for (const Request& request : node_requests(resources, sweep)) {
    most = std::max(most, std::min(request.nodes, cap));
    least = std::max(least, std::min(request.fewest, cap));
    if (request.nodes <= cap) continue;
    if (sweep.clamp) {
      sweep.notes.push_back(fmt::format("{}: clamped from {} to {} nodes: {}", request.key,
                                        request.nodes, cap, cap_reason));
      continue;
    }
    parsing.diagnostics.add(
        request.place, request.key,
        fmt::format("found {} nodes, expected at most {}: {}", request.nodes, cap, cap_reason),
        fmt::format("nearest plan that fits: {}; `clamp: true` in limits takes it",
                    nearest_plan(request.nodes, sweep.resources.ranks_per_node, cap)));
  }
  if (sweep.clamp) sweep.resources = sweep.resources.at_most(cap);
  check_range(resources, parsing);

  const Value* in_flight = limits ? limits->find("max_nodes_in_flight") : nullptr;
  if (!in_flight) {
    sweep.limits.max_nodes_in_flight = std::max(sweep.limits.max_nodes_in_flight, most);
  } else if (sweep.limits.max_nodes_in_flight < least) {
    parsing.diagnostics.add(
        in_flight->place, "limits.max_nodes_in_flight",
        fmt::format(
            "found {}, expected at least {}, the nodes of one trial, which could never start",
            sweep.limits.max_nodes_in_flight, least));
  }
}

void set_resource(Resources& resources, std::string_view key, const Value& value) {
  if (key == "time") {
    resources.time_limit_s = parse_time(value).value_or(resources.time_limit_s);
    return;
  }
  if (key == "memory") {
    resources.memory_mib = parse_memory(value).value_or(resources.memory_mib);
    return;
  }
  const std::pair<const char*, int*> counts[] = {
      {"nodes", &resources.nodes},
      {"ranks_per_node", &resources.ranks_per_node},
      {"threads_per_rank", &resources.threads_per_rank},
      {"gpus_per_node", &resources.gpus_per_node},
  };
  for (const auto& [name, count] : counts) {
    if (name == key) *count = static_cast<int>(value.as_int());
  }
}

}  // namespace thalweg::jobspec
