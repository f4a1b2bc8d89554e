// A node with a broken GPU fails each trial at once and so is the first to be free for the next:
// without this it gets most of a sweep.
#include "daemon/state/node_health.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace thalweg::daemon {
namespace {

constexpr double kChance = 0.002;
constexpr double kFor_s = 3600;
constexpr std::string_view kGpu = "GPU ";  // no name of a node has a space
constexpr std::size_t kMaxNames = 100'000;

/// `head` and each number from `first` ("07") to `last`, as wide as the first.
bool add_range(std::string_view first, std::string_view last, std::string_view head,
               std::vector<std::string>& names) {
  std::uint64_t from = 0, to = 0;
  const auto number = [](std::string_view text, std::uint64_t& value) {
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    return end.ec == std::errc() && end.ptr == text.data() + text.size();
  };
  if (!number(first, from) || !number(last, to) || to < from || to - from >= kMaxNames)
    return false;
  for (std::uint64_t i = from; i <= to; ++i)
    names.push_back(fmt::format("{}{:0{}}", head, i, first.size()));
  return true;
}

bool is_name(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

/// One name, or "n[1-3,07]".
bool add_names(std::string_view text, std::vector<std::string>& names) {
  const auto open = text.find('[');
  if (!is_name(text.substr(0, open))) return false;
  if (open == text.npos) {
    names.emplace_back(text);
    return !text.empty();
  }
  if (text.back() != ']') return false;
  const std::string_view head = text.substr(0, open);
  std::string_view ranges = text.substr(open + 1, text.size() - open - 2);
  while (!ranges.empty()) {
    const std::string_view range = ranges.substr(0, ranges.find(','));
    ranges.remove_prefix(std::min(ranges.size(), range.size() + 1));
    const auto dash = range.find('-');
    const std::string_view last = dash == range.npos ? range : range.substr(dash + 1);
    if (!add_range(range.substr(0, dash), last, head, names)) return false;
  }
  return true;
}

/// That as many failures in a row come by chance, at the share of failures elsewhere.
double chance(const NodeHealth& node, const NodeHealth& all) {
  const auto failed = static_cast<double>(all.failed - node.failed);
  const auto finished = static_cast<double>(all.finished - node.finished);
  return std::pow((failed + 1) / (failed + finished + 2),
                  static_cast<double>(node.in_a_row.size()));
}

}  // namespace

std::vector<std::string> node_names(std::string_view list) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '[') ++depth;
    if (i < list.size() && list[i] == ']') --depth;
    if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
    if (!add_names(list.substr(begin, i - begin), names) || names.size() > kMaxNames) return {};
    begin = i + 1;
  }
  return names;
}

std::string gpu_place(const std::string& gpu) {
  return std::string(kGpu) + gpu;
}

std::optional<std::string> gpu_of(std::string_view place) {
  if (!place.starts_with(kGpu)) return {};
  return std::string(place.substr(kGpu.size()));
}

bool are_gpus(const NodeHealths& nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const auto& one) { return gpu_of(one.first).has_value(); });
}

void count_end(NodeHealths& nodes, std::int64_t trial, EndCause cause, std::string_view list,
               const std::string& failed_node, double now) {
  count_end(nodes, trial, cause, node_names(list), failed_node, now);
}

void count_end(NodeHealths& nodes, std::int64_t trial, EndCause cause,
               const std::vector<std::string>& names, const std::string& failed_node, double now) {
  if (cause == EndCause::finished)
    for (const std::string& name : names) {
      nodes[name].finished += 1;
      nodes[name].in_a_row.clear();
    }
  if (cause != EndCause::failed) return;
  // A rank tells its host's name; what the backend is asked to leave out must be a name of its own.
  const std::string short_name = failed_node.substr(0, failed_node.find('.'));
  const auto name =
      names.size() == 1 ? names.begin() : std::find_if(names.begin(), names.end(), [&](auto& each) {
        return each == failed_node || each == short_name;
      });
  if (name == names.end()) return;
  NodeHealth& node = nodes[*name];
  node.failed += 1;
  node.in_a_row.insert(trial);
  node.last = now;
}

std::vector<std::string> nodes_to_avoid(const NodeHealths& nodes, std::int64_t needed, double now) {
  const auto known = static_cast<std::int64_t>(nodes.size());
  constexpr std::int64_t share = 4;
  const std::int64_t enough = are_gpus(nodes) ? 2 : 3;
  const std::int64_t most =
      std::min(std::max<std::int64_t>(known / share, known >= enough ? 1 : 0), known - needed);
  if (most <= 0) return {};
  NodeHealth all;
  for (const auto& [name, node] : nodes) {
    all.finished += node.finished;
    all.failed += node.failed;
  }
  std::vector<std::pair<double, std::string>> bad;
  for (const auto& [name, node] : nodes) {
    if (all.finished == node.finished || now < node.last || now >= node.last + kFor_s) continue;
    if (const double p = chance(node, all); p <= kChance) bad.emplace_back(p, name);
  }
  std::sort(bad.begin(), bad.end());
  std::vector<std::string> names;
  for (const auto& [p, name] : bad)
    if (static_cast<std::int64_t>(names.size()) < most) names.push_back(name);
  return names;
}

std::string why_avoided(const NodeHealths& nodes, const std::vector<std::string>& avoided) {
  std::string text;
  for (const std::string& name : avoided)
    text +=
        fmt::format("{}{} is left out: {} failed there in a row", text.empty() ? "" : "; ", name,
                    count_of(static_cast<std::int64_t>(nodes.at(name).in_a_row.size()), "trial"));
  return text;
}

}  // namespace thalweg::daemon
