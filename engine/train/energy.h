// How much energy this machine's processors have taken.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace thalweg::engine {

/// Linux's powercap counters (RAPL: Intel and AMD processors): packages and DRAM of all sockets, of
/// everything that runs on the machine. Counters begin again after some minutes under load
/// (max_energy_range_uj, about 20 minutes at 200 W), so joules() must be called more often. For
/// one thread.
class EnergyMeter {
 public:
  /// `root`: where the kernel shows them. Counters that may not be read count as none.
  explicit EnergyMeter(const std::filesystem::path& root = "/sys/class/powercap");
  /// Joules since construction; nothing where the machine has no counters.
  std::optional<double> joules();

 private:
  struct Counter {
    std::filesystem::path file;
    std::uint64_t range = 0;  ///< microjoules at which it begins again
    std::uint64_t last = 0;
  };
  std::vector<Counter> counters_;
  double microjoules_ = 0;
};

}  // namespace thalweg::engine
