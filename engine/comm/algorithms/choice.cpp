#include "engine/comm/algorithms/choice.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <stdexcept>

namespace thalweg::engine::comm {
namespace {

struct Unit {
  char letter;
  std::size_t bytes;
};
constexpr Unit kUnits[] = {{'G', 1U << 30U}, {'M', 1U << 20U}, {'K', 1U << 10U}};

[[noreturn]] void refuse(Collective collective, std::string_view part, const std::string& why) {
  std::string known;
  for (const auto& name : names_of(collective)) {
    known += (known.empty() ? "" : ", ") + name;
  }
  throw std::invalid_argument(std::string(name_of(collective)) + " \"" + std::string(part) +
                              "\": " + why + "; there are: auto, " + known);
}

std::size_t size_in(Collective collective, std::string_view part, std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error == std::errc() && rest.empty()) return number;
  for (const Unit& unit : kUnits) {
    if (error != std::errc() || rest.size() != 1 || rest[0] != unit.letter) continue;
    if (number <= SIZE_MAX / unit.bytes) return number * unit.bytes;
  }
  refuse(collective, part,
         "\"" + std::string(text) + "\" is no size (a number of bytes, or with K, M or G)");
}

std::string size_text(std::size_t bytes) {
  for (const Unit& unit : kUnits) {
    if (bytes > 0 && bytes % unit.bytes == 0)
      return std::to_string(bytes / unit.bytes) + unit.letter;
  }
  return std::to_string(bytes);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

}  // namespace

Choice Choice::parse(Collective collective, std::string_view text) {
  Choice choice(collective);
  if (trimmed(text) == "auto") return choice;
  while (true) {
    const std::size_t comma = text.find_first_of(",;");
    const std::string_view part = trimmed(text.substr(0, comma));
    const std::size_t colon = part.find(':');
    const std::string_view name = trimmed(part.substr(0, colon));
    Range range{find_row(collective, name), 0, SIZE_MAX};
    if (!range.row) refuse(collective, part, "no algorithm \"" + std::string(name) + "\"");
    if (colon != std::string_view::npos) {
      const std::string_view sizes = trimmed(part.substr(colon + 1));
      const std::size_t dash = sizes.find('-');
      if (dash == std::string_view::npos) {
        refuse(collective, part, "a range of sizes is wanted, such as 0-8K or 8K-");
      }
      range.from = size_in(collective, part, trimmed(sizes.substr(0, dash)));
      const std::string_view last = trimmed(sizes.substr(dash + 1));
      if (!last.empty()) range.to = size_in(collective, part, last);
    }
    if (range.from >= range.to) refuse(collective, part, "the range is empty");
    for (const Range& other : choice.ranges_) {
      if (range.from < other.to && other.from < range.to) {
        refuse(collective, part,
               std::string("it overlaps the range of \"") + other.row->name + "\"");
      }
    }
    choice.ranges_.push_back(range);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::sort(choice.ranges_.begin(), choice.ranges_.end(),
            [](const Range& a, const Range& b) { return a.from < b.from; });
  return choice;
}

const Row& Choice::operator()(const Layout& layout, std::size_t bytes) const {
  for (const Range& range : ranges_) {
    if (range.from <= bytes && (bytes < range.to || range.to == SIZE_MAX)) return *range.row;
  }
  return choose_row(collective_, layout, bytes);
}

void Choice::check(const Layout& layout) const {
  for (const Range& range : ranges_) {
    if (layout.allows(range.row->needs)) continue;
    std::string wanted = "it needs several machines with several ranks on some of them";
    if (range.row->needs == Needs::power_of_two) {
      wanted = "it needs a power of two of ranks, not " + std::to_string(layout.ranks);
    } else if (range.row->needs == Needs::shared_memory) {
      wanted = "it needs all ranks on one machine";
    }
    refuse(collective_, range.row->name, wanted);
  }
}

std::string Choice::text() const {
  if (ranges_.empty()) return "auto";
  std::string text;
  for (const Range& range : ranges_) {
    if (!text.empty()) text += ",";
    text += range.row->name;
    if (range.from == 0 && range.to == SIZE_MAX) continue;
    text += ":" + size_text(range.from) + "-";
    if (range.to != SIZE_MAX) text += size_text(range.to);
  }
  return text;
}

}  // namespace thalweg::engine::comm
