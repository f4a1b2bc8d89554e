// The PMIx server of ranks that all run on this machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace thalweg::engine::launch {

/// One job ("namespace") of `ranks` processes. The PMIx library runs threads of its own; signals to
/// be kept from them must be blocked before. One per process. Throws std::runtime_error.
class PmixServer {
 public:
  PmixServer(int ranks, const std::filesystem::path& folder, const std::string& host);
  ~PmixServer();
  PmixServer(const PmixServer&) = delete;
  PmixServer& operator=(const PmixServer&) = delete;

  /// This process's environment and what a rank needs to find the server ("NAME=value").
  std::vector<std::string> environment(int rank) const;

 private:
  std::string job_;
};

/// This process's environment without what an outer PMIx server (a Slurm step's) has put there.
std::vector<std::string> environment_without_pmix();

}  // namespace thalweg::engine::launch
