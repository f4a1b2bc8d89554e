// Which of the kernel's zones to add up: a package holds its cores, not its DRAM; "psys" holds the
// packages and is left out.
#include "engine/train/energy.h"

#include <fstream>
#include <string>
#include <system_error>

namespace thalweg::engine {
namespace {

std::optional<std::uint64_t> read_number(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (in >> number) return number;
  return {};
}

bool counts(const std::filesystem::path& zone) {
  std::ifstream in(zone / "name");
  std::string name;
  in >> name;
  return name.starts_with("package") || name == "dram";
}

}  // namespace

EnergyMeter::EnergyMeter(const std::filesystem::path& root) {
  std::error_code none;
  for (const auto& zone : std::filesystem::directory_iterator(root, none)) {
    const auto now = read_number(zone.path() / "energy_uj");
    const auto range = read_number(zone.path() / "max_energy_range_uj");
    if (now && range && counts(zone.path()))
      counters_.push_back({zone.path() / "energy_uj", *range, *now});
  }
}

std::optional<double> EnergyMeter::joules() {
  if (counters_.empty()) return {};
  for (Counter& counter : counters_) {
    const auto now = read_number(counter.file);
    if (!now) {  // a part of the sum would be a wrong number
      counters_.clear();
      return {};
    }
    const std::uint64_t grown =
        *now >= counter.last ? *now - counter.last : *now + (counter.range - counter.last);
    microjoules_ += static_cast<double>(grown);
    counter.last = *now;
  }
  return microjoules_ / 1e6;
}

}  // namespace thalweg::engine
