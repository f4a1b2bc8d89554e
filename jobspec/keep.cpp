// `keep` as text and as values; the block of a sweep file against what the site fixes.
#include "jobspec/keep.h"

#include <fmt/format.h>

#include "jobspec/parse.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {
namespace {

constexpr const char* keys[] = {"checkpoints", "trials", "points"};
constexpr std::int64_t max_trials = 1'000'000;

std::string shown(const Keep& keep, const std::string& key) {
  return write_keep(keep).find(key)->to_text();
}

void check_locked(const Value& value, Parsing& parsing) {
  for (const char* key : keys) {
    const std::string setting = std::string("keep.") + key;
    const std::string fixed = shown(parsing.site.keep, key);
    if (parsing.site.locked.count(setting) == 0 || shown(parsing.sweep.keep, key) == fixed)
      continue;
    const auto source = parsing.site.sources.find(setting);
    const Value* const given = value.find(key);
    parsing.diagnostics.add(
        given ? given->place : value.place, setting,
        fmt::format("fixed to {} by {} (enforce)", fixed,
                    source == parsing.site.sources.end() ? "the site" : source->second),
        "leave it out");
  }
}

/// Where the values come from that the sweep file does not set itself.
std::string source_of(const SiteLimits& site, const Value* value) {
  for (const char* key : keys)
    if (value == nullptr || (value->is_map() && value->find(key) == nullptr))
      if (const std::string source = site.source_of(std::string("keep.") + key); !source.empty())
        return source;
  return "";
}

}  // namespace

void read_keep_key(const std::string& key, const Value& value, const std::string& path, Keep& keep,
                   Diagnostics& diagnostics) {
  if (key == "checkpoints") {
    if (const auto found =
            value.is_string() ? find_name<KeepCheckpoints>(value.as_string()) : std::nullopt)
      keep.checkpoints = *found;
    else
      diagnostics.add(value.place, path,
                      fmt::format("found {}, expected all, last, best or none", describe(value)));
    return;
  }
  const bool good = value.is_int() && value.as_int() >= 0 && value.as_int() <= max_trials;
  if (key == "points") {
    if (good && (value.as_int() == 0 || value.as_int() >= Keep::min_points))
      keep.points = value.as_int();
    else
      diagnostics.add(value.place, path,
                      fmt::format("found {}, expected how many points of each curve stay, at least "
                                  "{}, 0 for all",
                                  describe(value), Keep::min_points));
    return;
  }
  if (good)
    keep.trials = value.as_int();
  else
    diagnostics.add(value.place, path,
                    fmt::format("found {}, expected how many of the best trials keep their "
                                "checkpoints, 0 for all",
                                describe(value)));
}

Value write_keep(const Keep& keep) {
  return Map{{"checkpoints", std::string(name_of(keep.checkpoints))},
             {"trials", keep.trials},
             {"points", keep.points}};
}

namespace {

std::string describe_points(const Keep& keep) {
  return keep.points == 0 ? ""
                          : fmt::format(
                                "of each curve about {} points (of validation and the "
                                "sweep's metric all)",
                                keep.points);
}

std::string describe_checkpoints(const Keep& keep) {
  if (keep.all_checkpoints()) return "";
  const char* which = "";
  switch (keep.checkpoints) {
    case KeepCheckpoints::all:
      which = "all checkpoints";
      break;
    case KeepCheckpoints::last:
      which = "the newest checkpoint and that of the best validation";
      break;
    case KeepCheckpoints::best:
      which = "the checkpoint of the best validation, else the newest";
      break;
    case KeepCheckpoints::none:
      which = "no checkpoint";
      break;
  }
  if (keep.trials == 0 || keep.checkpoints == KeepCheckpoints::none)
    return fmt::format("of each finished trial {}", which);
  return fmt::format("of the best {} {}, of other finished trials none",
                     keep.trials == 1 ? "trial" : fmt::format("{} trials", keep.trials), which);
}

}  // namespace

std::string describe(const Keep& keep) {
  const std::string checkpoints = describe_checkpoints(keep), points = describe_points(keep);
  return checkpoints + (checkpoints.empty() || points.empty() ? "" : "; ") + points;
}

void parse_keep(const Value* value, Parsing& parsing) {
  Sweep& sweep = parsing.sweep;
  sweep.keep = parsing.site.keep;
  if (value != nullptr && value->is_string()) {
    read_keep_key("checkpoints", *value, "keep", sweep.keep, parsing.diagnostics);
  } else if (value != nullptr) {
    Fields fields(*value, "keep", parsing.diagnostics);
    for (const char* key : keys)
      if (const Value* one = fields.take(key))
        read_keep_key(key, *one, fields.path_of(key), sweep.keep, parsing.diagnostics);
    fields.finish();
  }
  if (value != nullptr) check_locked(*value, parsing);
  const std::string source = source_of(parsing.site, value);
  if (const std::string stays = describe_checkpoints(sweep.keep); !stays.empty())
    sweep.notes.push_back(fmt::format(
        "keep{}: when the sweep has ended, checkpoints are removed; there stay {}, and of trials "
        "that did not finish the newest",
        source, stays));
  if (const std::string stays = describe_points(sweep.keep); !stays.empty())
    sweep.notes.push_back(
        fmt::format("keep{}: when the sweep has ended, points of curves are removed; there stay {}",
                    source, stays));
}

}  // namespace thalweg::jobspec
