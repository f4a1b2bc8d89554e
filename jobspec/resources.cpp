#include "jobspec/resources.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "jobspec/metrics.h"
#include "jobspec/synonyms.h"

namespace thalweg::jobspec {
namespace {

/// Whole text as a number of at most nine digits (no overflow in what is computed from it).
std::optional<std::int64_t> number(std::string_view text) {
  if (text.empty() || text.size() > 9 || text[0] == '-') return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> clock_seconds(std::string_view text, std::int64_t days) {
  const std::size_t first = text.find(':');
  const std::size_t second = first == text.npos ? text.npos : text.find(':', first + 1);
  if (second == text.npos) return std::nullopt;
  const auto hours = number(text.substr(0, first));
  const auto minutes = number(text.substr(first + 1, second - first - 1));
  const auto seconds = number(text.substr(second + 1));
  if (!hours || !minutes || !seconds || *minutes > 59 || *seconds > 59) return std::nullopt;
  if (*hours > 100'000) return std::nullopt;
  return ((days * 24 + *hours) * 60 + *minutes) * 60 + *seconds;
}

/// "2h" -> write "02:00:00".
std::string time_hint(const Value& value) {
  if (!value.is_string()) return "";
  const std::string text = squashed(value.as_string());
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto amount = number(std::string_view(text).substr(0, digits));
  const std::string unit = text.substr(digits);
  if (text.find(':') != text.npos && std::count(text.begin(), text.end(), ':') == 1)
    return "give all three: hours, minutes and seconds";
  if (!amount || unit.empty()) return "";
  const std::int64_t seconds = unit[0] == 'd'   ? 86400
                               : unit[0] == 'h' ? 3600
                               : unit[0] == 'm' ? 60
                               : unit[0] == 's' ? 1
                                                : 0;
  constexpr std::int64_t most = 1'000'000'000;
  return seconds == 0 || *amount == 0 || *amount > most
             ? ""
             : "write \"" + format_time(*amount * seconds) + "\"";
}

/// "64GB" -> write 64G.
std::string memory_hint(const Value& value) {
  if (!value.is_string()) return "";
  const std::string text = squashed(value.as_string());
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = text.substr(digits);
  const bool known = unit == "gb" || unit == "g" || unit == "gib" || unit == "mb" || unit == "m" ||
                     unit == "mib" || unit == "tb" || unit == "t";
  if (digits == 0 || !known) return "";
  return "write " + text.substr(0, digits) + static_cast<char>(unit[0] - 'a' + 'A');
}

}  // namespace

std::optional<std::int64_t> parse_time(const Value& value) {
  std::optional<std::int64_t> seconds;
  if (value.is_int()) {
    constexpr std::int64_t max_minutes = 10'000'000;
    if (value.as_int() <= max_minutes) seconds = value.as_int() * 60;
  } else if (value.is_string()) {
    std::string_view text = value.as_string();
    const std::size_t dash = text.find('-');
    if (dash == text.npos) {
      seconds = clock_seconds(text, 0);
    } else if (const auto days = number(text.substr(0, dash)); days && *days <= 10'000) {
      seconds = clock_seconds(text.substr(dash + 1), *days);
    }
  }
  return seconds && *seconds > 0 ? seconds : std::nullopt;
}

std::string format_time(std::int64_t seconds) {
  const std::int64_t days = seconds / 86400;
  const std::string clock =
      fmt::format("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
  return days > 0 ? fmt::format("{}-{}", days, clock) : clock;
}

std::optional<std::int64_t> parse_memory(const Value& value) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  if (value.is_int()) {
    const std::int64_t mib = value.as_int();
    return mib >= 0 && mib <= most ? std::optional(mib) : std::nullopt;
  }
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.as_string();
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto amount = number(std::string_view(text).substr(0, digits));
  if (!amount) return std::nullopt;
  const std::string unit = text.substr(digits);
  constexpr std::array<std::pair<const char*, std::int64_t>, 6> units{
      {{"M", 1}, {"MiB", 1}, {"G", 1024}, {"GiB", 1024}, {"T", 1 << 20}, {"TiB", 1 << 20}}};
  for (const auto& [name, factor] : units) {
    if (unit == name && *amount <= most / factor) return *amount * factor;
  }
  return std::nullopt;
}

namespace {

constexpr std::int64_t max_nodes = 1'000'000;  // keeps nodes x ranks inside an int's product

/// `nodes: {min: 2, max: 8}`: attempts of other sizes within that go on from each other.
void read_node_range(const Value& range, const std::string& path, Resources& resources,
                     Diagnostics& diagnostics) {
  Fields fields(range, path, diagnostics);
  int fewest = 1, most = 1;
  const bool given = fields.require("min", "the fewest nodes that an attempt may do with") &
                     fields.require("max", "the most nodes that an attempt takes");
  const bool good =
      fields.integer("min", fewest, {1, max_nodes}) & fields.integer("max", most, {1, max_nodes});
  fields.finish();
  if (!given || !good) return;
  if (fewest > most) {
    fields.wrong(*range.find("min"), "min", "at most max, which is " + std::to_string(most),
                 "swap them");
    return;
  }
  resources.nodes = most;
  resources.min_nodes = fewest < most ? fewest : 0;
}

void read_nodes(Fields& fields, Resources& resources, Diagnostics& diagnostics) {
  const Value* const nodes = fields.take("nodes");
  if (nodes != nullptr && nodes->is_map()) {
    read_node_range(*nodes, fields.path_of("nodes"), resources, diagnostics);
  } else if (nodes != nullptr &&
             (nodes->is_list() ||
              (nodes->is_string() && nodes->as_string().find('-', 1) != std::string::npos))) {
    fields.wrong(*nodes, "nodes", "a whole number of at least 1, or a range",
                 "write a range as {min: 2, max: 8}");
  } else {
    fields.integer("nodes", resources.nodes, {1, max_nodes});
  }
}

}  // namespace

Resources read_resources(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  Resources resources;
  Fields fields(value, path, diagnostics);
  read_nodes(fields, resources, diagnostics);
  fields.integer("ranks_per_node", resources.ranks_per_node, {1, 1024});
  fields.integer("threads_per_rank", resources.threads_per_rank, {1, 1024});
  if (const Value* time = fields.take("time")) {
    if (const auto seconds = parse_time(*time)) {
      resources.time_limit_s = *seconds;
    } else {
      fields.wrong(*time, "time", "\"HH:MM:SS\", \"D-HH:MM:SS\" or a whole number of minutes",
                   time_hint(*time));
    }
  }
  if (const Value* memory = fields.take("memory")) {
    if (const auto mib = parse_memory(*memory)) {
      resources.memory_mib = *mib;
    } else {
      fields.wrong(*memory, "memory", "MiB per node as a whole number, or text like \"64G\"",
                   memory_hint(*memory));
    }
  }
  fields.integer("gpus_per_node", resources.gpus_per_node, {0, 1024});
  fields.finish();
  return resources;
}

std::vector<std::string> resource_keys() {
  return {"nodes", "ranks_per_node", "threads_per_rank", "time", "memory", "gpus_per_node"};
}

Value write_resources(const Resources& resources) {
  const Value nodes = resources.elastic()
                          ? Value(Map{{"min", resources.min_nodes}, {"max", resources.nodes}})
                          : Value(resources.nodes);
  Map map{{"nodes", nodes},
          {"ranks_per_node", resources.ranks_per_node},
          {"threads_per_rank", resources.threads_per_rank},
          {"time", format_time(resources.time_limit_s)}};
  if (resources.memory_mib > 0) map.emplace_back("memory", resources.memory_mib);
  if (resources.gpus_per_node > 0) map.emplace_back("gpus_per_node", resources.gpus_per_node);
  return map;
}

namespace {

/// `target: 0.1` or `targets: [0.2, 0.1]`.
void read_targets(Fields& fields, Metric& metric) {
  double target = 0;
  if (fields.real("target", target)) metric.targets = {target};
  const Value* const several = fields.take("targets");
  if (several == nullptr || several->is_null()) return;
  const auto refuse = [&](const char* hint) {
    fields.wrong(*several, "targets", "a list of different numbers, without target beside it",
                 hint);
  };
  if (!metric.targets.empty()) return refuse("put target into the list");
  if (!several->is_list()) return refuse("write targets: [0.2, 0.1]");
  for (const Value& item : several->as_list()) {
    if (!item.is_number() || !std::isfinite(item.as_double()) ||
        std::find(metric.targets.begin(), metric.targets.end(), item.as_double()) !=
            metric.targets.end())
      return refuse("write targets: [0.2, 0.1]");
    metric.targets.push_back(item.as_double());
  }
}

constexpr std::pair<const char*, Impute> impute_words[] = {
    {"worst", Impute::worst}, {"best", Impute::best}, {"latest", Impute::latest}};

/// Of W&B's metrics: what a failed trial and a running one count as in a search by results.
std::optional<Impute> read_impute(Fields& fields, const char* key, bool may_be_off) {
  const Value* const value = fields.take_quietly(key);
  if (value == nullptr) return std::nullopt;
  const std::string word = value->is_string() ? value->as_string() : "";
  for (const auto& [name, impute] : impute_words)
    if (word == name) return impute;
  const bool off = word == "false" || (value->is_bool() && !value->as_bool());
  if (!may_be_off || !off) {
    std::vector<std::string> words{"worst", "best", "latest"};
    if (may_be_off) words.push_back("false");
    fields.wrong(*value, key, may_be_off ? "worst, best, latest or false" : "worst, best or latest",
                 word_hint("", word, words));
  }
  return std::nullopt;
}

}  // namespace

Metric read_metric(const Value& value, const std::string& path, Diagnostics& diagnostics) {
  Metric metric;
  Fields fields(value, path, diagnostics);
  if (!fields.is_map()) return metric;
  if (!fields.take("name")) {
    fields.missing("name", "the name of a metric", "such as val/error");
  } else if (fields.text("name", metric.name) && metric.name.empty()) {
    fields.wrong(*fields.take("name"), "name", "the name of a metric", "such as val/error");
  }
  const Goal usual = goal_by_name(metric.name).value_or(Goal::minimize);
  std::string goal(name_of(usual));
  if (fields.text("goal", goal) && goal != "minimize" && goal != "maximize") {
    const Value& found = *fields.take("goal");
    fields.wrong(found, "goal", "minimize or maximize",
                 word_hint("metric.goal", goal, {"minimize", "maximize"}));
  }
  metric.goal = goal == "maximize" ? Goal::maximize : Goal::minimize;
  read_targets(fields, metric);
  metric.impute = read_impute(fields, "impute", false).value_or(Impute::worst);
  metric.impute_while_running = read_impute(fields, "impute_while_running", true);
  fields.finish();
  return metric;
}

std::optional<double> Metric::target() const {
  const auto [least, most] = std::minmax_element(targets.begin(), targets.end());
  if (least == targets.end()) return std::nullopt;
  return goal == Goal::maximize ? *most : *least;
}

Value write_metric(const Metric& metric) {
  Map map{{"name", metric.name}, {"goal", metric.goal == Goal::minimize ? "minimize" : "maximize"}};
  if (metric.targets.size() == 1) map.emplace_back("target", metric.targets.front());
  if (metric.targets.size() > 1)
    map.emplace_back("targets", List(metric.targets.begin(), metric.targets.end()));
  return map;
}

}  // namespace thalweg::jobspec
