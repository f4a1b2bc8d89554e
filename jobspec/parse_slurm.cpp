// The `slurm` block of a sweep file, against the rest of the file.
#include <fmt/format.h>

#include <algorithm>

#include "jobspec/parse.h"
#include "jobspec/resources.h"
#include "jobspec/synonyms.h"
#include "jobspec/time_warning.h"

namespace thalweg::jobspec {
namespace {

/// Where what the option asks for is resources, they say it for every backend.
std::string remedy_for(const std::string& name, const Value& value) {
  std::string remedy = fmt::format("write slurm: {{sbatch: {{{}: …}}}}", name);
  for (const Meaning& meaning : meanings_of_key("slurm", name))
    if (meaning.means.starts_with("resources."))
      return fmt::format("{}; or, for Slurm itself, {}",
                         how_to_write(meaning.means, "slurm", value), remedy);
  return remedy;
}

/// An option of sbatch under `slurm` itself is one line away from being right.
void complain_misplaced(const Value& value, Fields& fields, Diagnostics& diagnostics) {
  for (const auto& [name, one] : value.as_map()) {
    const SlurmOption* option = find_slurm_option(name);
    if (option == nullptr || option->use == SlurmUse::key) continue;
    fields.take_quietly(name);
    diagnostics.add(one.place, "slurm." + name,
                    option->free() ? "no key of `slurm` itself" : refusal_of(*option),
                    option->free() ? remedy_for(name, one) : "");
  }
}

/// The same option as a key and under `sbatch`, with different values.
void check_twice(const Value& value, Diagnostics& diagnostics) {
  const Value* sbatch = value.find("sbatch");
  if (sbatch == nullptr || !sbatch->is_map()) return;
  for (const auto& [name, one] : sbatch->as_map()) {
    const Value* own = value.find(name);
    if (own && own->to_json() != one.to_json())
      diagnostics.add(one.place, "slurm.sbatch." + name,
                      fmt::format("slurm.{} says {}, too", name, own->to_text()));
  }
}

void check_memory(const Value& value, Parsing& parsing) {
  const bool asked =
      parsing.sweep.resources.memory_mib > 0 || find_axis(parsing.sweep, "resources.memory");
  for (const char* name : {"mem-per-cpu", "mem-per-gpu"})
    if (asked && parsing.sweep.slurm.options.count(name) != 0)
      parsing.diagnostics.add(value.place, "slurm.sbatch." + std::string(name),
                              "resources.memory asks for memory, too", "Slurm takes one of them");
}

std::string only_others(const SlurmOptions& slurm) {
  SlurmOptions others;
  for (const auto& [name, value] : slurm.options)
    if (find_slurm_option(name)->use == SlurmUse::sbatch) others.options[name] = value;
  return write_slurm(others).to_json();
}

/// What one key of the block comes to, as text to compare and to show.
std::string shown(const SlurmOptions& slurm, const std::string& key) {
  if (key == "sbatch") return only_others(slurm);
  const Value block = write_slurm(slurm);
  const Value* value = block.find(key);
  return value ? value->to_text() : "its default";
}

void check_locked(const Value& value, Parsing& parsing) {
  for (const std::string& key : slurm_keys()) {
    const std::string setting = "slurm." + key;
    if (parsing.site.locked.count(setting) == 0) continue;
    const std::string fixed = shown(parsing.site.slurm, key);
    if (shown(parsing.sweep.slurm, key) == fixed) continue;
    const Value* given = value.find(key);
    if (given == nullptr) given = value.find("sbatch");
    const auto source = parsing.site.sources.find(setting);
    parsing.diagnostics.add(
        given ? given->place : value.place, setting,
        fmt::format("fixed to {} by {} (enforce)", fixed,
                    source == parsing.site.sources.end() ? "the site" : source->second),
        "leave it out");
  }
}

}  // namespace

void parse_slurm(const Value& value, Parsing& parsing) {
  Fields fields(value, "slurm", parsing.diagnostics);
  if (!fields.is_map()) return;
  for (const std::string& key : slurm_keys())
    if (const Value* one = fields.take(key))
      read_slurm_key(key, *one, "slurm." + key, parsing.sweep.slurm, parsing.diagnostics);
  complain_misplaced(value, fields, parsing.diagnostics);
  check_twice(value, parsing.diagnostics);
  check_memory(value, parsing);
  check_locked(value, parsing);
  fields.finish();
}

namespace {

/// Shortest and longest of the trials' time limits, in seconds.
std::pair<std::int64_t, std::int64_t> time_limits(const Sweep& sweep) {
  const std::int64_t given = sweep.resources.time_limit_s;
  const Axis* axis = find_axis(sweep, "resources.time");
  if (axis == nullptr) return {given, given};
  std::vector<Value> times;
  if (const auto* values = axis->distribution->listed()) times = *values;
  if (const auto bounds = axis->distribution->bounds()) times = {bounds->first, bounds->second};
  std::vector<std::int64_t> limits;
  for (const Value& time : times)
    limits.push_back(parse_time(time).value_or(given));
  if (limits.empty()) return {given, given};
  const auto [least, most] = std::minmax_element(limits.begin(), limits.end());
  return {*least, *most};
}

/// Why the trials cannot share jobs; empty where they can.
std::string why_not_packed(const Sweep& sweep) {
  if (sweep.resources.elastic())
    return fmt::format("resources.nodes is a range, {} to {}", sweep.resources.min_nodes,
                       sweep.resources.nodes);
  const Axis* axis = find_axis(sweep, "resources.nodes");
  if (axis == nullptr)
    return sweep.resources.nodes == 1 ? ""
                                      : fmt::format("resources.nodes is {}", sweep.resources.nodes);
  const auto* values = axis->distribution->listed();
  const bool one = values != nullptr &&
                   std::all_of(values->begin(), values->end(),
                               [](const Value& v) { return v.is_int() && v.as_int() == 1; });
  return one ? "" : "resources.nodes varies";
}

}  // namespace

void check_pack(const Value* slurm, const Value* limits, Parsing& parsing) {
  Sweep& sweep = parsing.sweep;
  if (sweep.slurm.pack.trials == 0) return;
  const Value* given = slurm ? slurm->find("pack") : nullptr;
  if (const std::string why = why_not_packed(sweep); !why.empty()) {
    // A default of the site's is for trials that it suits.
    if (given)
      parsing.diagnostics.add(given->place, "slurm.pack",
                              "trials that share a job take one node each, and " + why,
                              "leave slurm.pack out, or write resources: {nodes: 1}");
    sweep.slurm.pack = {};
    return;
  }
  const std::int64_t longest = time_limits(sweep).second, job = sweep.slurm.pack.time_limit_s;
  if (job > 0 && job < longest) {
    if (given)
      parsing.diagnostics.add(
          given->place, "slurm.pack.time_limit",
          fmt::format("found {}, expected at least the longest time limit of a trial, {} "
                      "(resources.time)",
                      format_time(job), format_time(longest)));
    sweep.slurm.pack.time_limit_s = longest;
  }
  const int places = sweep.slurm.pack.trials * sweep.slurm.pack.jobs;
  const Value* in_flight = limits ? limits->find("max_nodes_in_flight") : nullptr;
  // As many again wait, so that a trial that ends has a successor at once.
  if (!in_flight)
    sweep.limits.max_nodes_in_flight = std::max(sweep.limits.max_nodes_in_flight, 2 * places);
  else if (sweep.limits.max_nodes_in_flight < places)
    parsing.note(in_flight->place, "limits.max_nodes_in_flight",
                 fmt::format("found {}: of the {} places that slurm.pack asks for, the others stay "
                             "empty (each trial counts as a node)",
                             sweep.limits.max_nodes_in_flight, places));
}

void check_signal(const Value* slurm, Parsing& parsing) {
  Sweep& sweep = parsing.sweep;
  const std::int64_t shortest = time_limits(sweep).first;
  std::int64_t& signal = sweep.slurm.signal_before_end_s;
  const Value* given = slurm ? slurm->find("signal_before_end_s") : nullptr;
  if (!given) {
    signal = warning_s(shortest, signal);
  } else if (signal >= shortest) {
    parsing.diagnostics.add(
        given->place, "slurm.signal_before_end_s",
        fmt::format("found {}, expected less than the shortest time limit, {} s", signal,
                    shortest));
  } else if (const std::int64_t told_s = warning_s(shortest, signal); told_s < signal) {
    parsing.note(given->place, "slurm.signal_before_end_s",
                 fmt::format("found {}: jobs of {} s are told {} s before their end, half their "
                             "time",
                             signal, shortest, told_s));
  }
}

}  // namespace thalweg::jobspec
