// How a run may end badly: exit codes, and the file that says why.
#pragma once

#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace thalweg::engine {

/// What thalweg-train and thalweg-attempt exit with; engine/README.md explains each.
enum class ExitCode : int {
  finished = 0,
  failed = 1,
  bad_input = 2,
  diverged = 3,
  stopped = 75,
  superseded = 76
};

/// Some rank could not go on, and all know which.
class PeerFailed : public std::runtime_error {
 public:
  /// `what` it could not do; by default it says so itself.
  PeerFailed(ExitCode code, int rank, const std::string& node,
             const std::string& what = "could not continue; its own message says why");
  ExitCode code() const { return code_; }
  int rank() const { return rank_; }
  const std::string& node() const { return node_; }

 private:
  ExitCode code_;
  int rank_;
  std::string node_;
};

struct Failure {
  ExitCode code = ExitCode::failed;
  std::string reason;
  int rank = -1;  ///< the rank that failed, not the one that reports; -1 unknown
  std::string node;
  /// Of a program of the user's own, where that is what ended: its exit code, or the signal.
  std::optional<int> program_exit{}, program_signal{};
};

/// What an exception means; `rank` and `node` are this process's own. Bad input:
/// jobspec::InputError, std::invalid_argument.
Failure failure_of(const std::exception_ptr& error, int rank, const std::string& node);

/// Those of ranks and of the launcher that lie in the attempt folder, in any order.
std::vector<std::filesystem::path> failure_files(const std::filesystem::path& folder);

/// The Slurm step that this process is in, "4711.0"; empty outside of one.
std::string slurm_step();

/// What a rank of this Slurm step has left there; nothing outside of Slurm.
std::optional<Failure> failure_in_step(const std::filesystem::path& folder);

/// Leaves failure.rank<reporter>.json in the attempt folder (journal.md). False where the disk does
/// not let it.
bool write_failure(const std::filesystem::path& folder, int reporter,
                   const Failure& failure) noexcept;

}  // namespace thalweg::engine
