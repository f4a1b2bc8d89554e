// libslurm reads such texts in sbatch only; its own reader is not among its public calls.
#include "daemon/slurm_agent/moment.h"

#include <charconv>
#include <iterator>

namespace thalweg::slurm_agent {
namespace {

struct Unit {
  const char* name;
  std::time_t seconds;
};
constexpr Unit units[] = {{"", 1},         {"seconds", 1},  {"minutes", 60},
                          {"hours", 3600}, {"days", 86400}, {"weeks", 7 * 86400}};

constexpr std::int64_t max_units = 1'000'000'000;  // weeks of it still fit

std::optional<std::time_t> later(const std::string& text, std::time_t now) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 0 || count > max_units) return {};
  const std::string unit(end, text.data() + text.size());
  for (const Unit& known : units)
    if (unit == known.name) return now + count * known.seconds;
  return {};
}

}  // namespace

std::optional<std::time_t> moment(const std::string& text, std::time_t now) {
  if (text == "now") return now;
  if (text.rfind("now+", 0) == 0) return later(text.substr(4), now);
  for (const char* form : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"}) {
    std::tm parts{};
    const char* end = ::strptime(text.c_str(), form, &parts);
    if (end == nullptr || *end != '\0') continue;
    parts.tm_isdst = -1;
    return std::mktime(&parts);
  }
  return {};
}

}  // namespace thalweg::slurm_agent
