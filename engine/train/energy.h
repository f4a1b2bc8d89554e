// How much energy this machine has taken, as far as it tells.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/gpu/energy.h"

namespace thalweg::engine {

/// Linux's powercap counters (RAPL: Intel and AMD processors): packages and DRAM of all sockets, of
/// everything that runs on the machine. Counters begin again after some minutes under load
/// (max_energy_range_uj, about 20 minutes at 200 W), so joules() must be called more often. For
/// one thread.
class CpuEnergy {
 public:
  /// `root`: where the kernel shows them. Counters that may not be read count as none.
  explicit CpuEnergy(const std::filesystem::path& root = "/sys/class/powercap");
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

/// The whole node's counter on HPE Cray machines, which every user may read ("12345 J 1700000 us").
class NodeEnergy {
 public:
  explicit NodeEnergy(std::filesystem::path file = "/sys/cray/pm_counters/energy");
  /// Joules since construction; nothing where there is no counter or it began again.
  std::optional<double> joules() const;

 private:
  std::filesystem::path file_;
  std::optional<double> first_;
};

/// What Slurm's energy plug-in (AcctGatherEnergyType) counts for the job step that this process
/// belongs to, on all its nodes, as `sstat` tells. Zero, as it says where there is no plug-in,
/// counts as not known.
class SlurmEnergy {
 public:
  /// Outside of a job step (SLURM_JOB_ID and SLURM_STEP_ID) it tells nothing.
  SlurmEnergy();
  /// Joules since the step began; blocks for some 50 ms, at most 5 s. Asked again only after 20
  /// times as long as the answer took, until then nothing; never again after it failed.
  std::optional<double> joules();

 private:
  std::string step_;  ///< "4711.0"; empty: not to be asked
  double next_ = 0;   ///< steady seconds
};

/// Joules since the attempt began; NaN: not known.
struct Energy {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  double cpu = unknown;    ///< this machine's processors and their memory
  double node = unknown;   ///< this machine
  double gpu = unknown;    ///< the GPU for which this rank speaks; 0 where another rank does
  double slurm = unknown;  ///< all nodes of the job step; rank 0 alone asks
};

/// All counters of a rank. For one thread.
class EnergyMeter {
 public:
  EnergyMeter() = default;
  /// `gpu`: Info::uuid of this rank's; empty: it has none. The first of several ranks on one GPU
  /// speaks for it. Collective.
  EnergyMeter(comm::Group& group, const std::string& gpu);
  Energy joules();
  /// Counters that begin again are read; nothing else is asked.
  void keep_up() { cpu_.joules(); }

 private:
  CpuEnergy cpu_;
  NodeEnergy node_;
  gpu::GpuEnergy gpu_;
  std::optional<SlurmEnergy> slurm_;
};

}  // namespace thalweg::engine
