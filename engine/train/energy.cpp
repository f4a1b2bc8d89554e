// Which of the kernel's zones to add up: a package holds its cores, not its DRAM; "psys" holds the
// packages and is left out.
#include "engine/train/energy.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "base/process.h"
#include "engine/attempt/failure.h"
#include "engine/train/rank_times.h"

namespace thalweg::engine {
namespace {

template <class Number>
std::optional<Number> read_number(const std::filesystem::path& file) {
  std::ifstream in(file);
  Number number{};
  if (in >> number) return number;
  return {};
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool counts(const std::filesystem::path& zone) {
  std::ifstream in(zone / "name");
  std::string name;
  in >> name;
  return name.starts_with("package") || name == "dram";
}

}  // namespace

CpuEnergy::CpuEnergy(const std::filesystem::path& root) {
  std::error_code none;
  for (const auto& zone : std::filesystem::directory_iterator(root, none)) {
    const auto now = read_number<std::uint64_t>(zone.path() / "energy_uj");
    const auto range = read_number<std::uint64_t>(zone.path() / "max_energy_range_uj");
    if (now && range && counts(zone.path()))
      counters_.push_back({zone.path() / "energy_uj", *range, *now});
  }
}

std::optional<double> CpuEnergy::joules() {
  if (counters_.empty()) return {};
  for (Counter& counter : counters_) {
    const auto now = read_number<std::uint64_t>(counter.file);
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

NodeEnergy::NodeEnergy(std::filesystem::path file)
    : file_(std::move(file)), first_(read_number<double>(file_)) {}

std::optional<double> NodeEnergy::joules() const {
  if (!first_) return {};
  const auto now = read_number<double>(file_);
  if (!now || *now < *first_) return {};
  return *now - *first_;
}

SlurmEnergy::SlurmEnergy() : step_(slurm_step()) {}

std::optional<double> SlurmEnergy::joules() {
  constexpr double max_s = 5, share = 20, most = 1e15;  // above: Slurm's "no value"
  if (step_.empty() || steady_seconds() < next_) return {};
  const double begun = steady_seconds();
  std::string text;
  try {
    const ProgramOutput told = run_program(
        {"sstat", "--noheader", "--parsable2", "--jobs", step_, "--format", "ConsumedEnergyRaw"},
        max_s);
    if (!told.timed_out && told.code == 0) text = told.out;
  } catch (const std::system_error&) {
    // There is no sstat here.
  }
  next_ = steady_seconds() + share * (steady_seconds() - begun);
  std::istringstream in(text);
  double joules = 0;
  if (!(in >> joules)) step_.clear();
  return joules > 0 && joules < most ? std::optional(joules) : std::nullopt;
}

EnergyMeter::EnergyMeter(comm::Group& group, const std::string& gpu) {
  if (group.rank() == 0) slurm_.emplace();
  const std::vector<std::string> all = gather_texts(group, gpu);
  if (gpu.empty()) return;
  const auto first = std::find(all.begin(), all.end(), gpu) - all.begin();
  gpu_ = first == group.rank() ? gpu::GpuEnergy(gpu) : gpu::GpuEnergy::told_elsewhere();
}

Energy EnergyMeter::joules() {
  return {cpu_.joules().value_or(Energy::unknown), node_.joules().value_or(Energy::unknown),
          gpu_.joules().value_or(Energy::unknown),
          slurm_ ? slurm_->joules().value_or(Energy::unknown) : Energy::unknown};
}

}  // namespace thalweg::engine
