// What can be measured: one row a collective, with its work on buffers of a size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/algorithms/table.h"
#include "engine/comm/group.h"
#include "engine/perf/options.h"

namespace thalweg::engine::perf {

/// One collective on buffers of one size.
class Work {
 public:
  virtual ~Work() = default;
  virtual std::size_t bytes() const = 0;  ///< near what was asked for: whole elements on each rank
  virtual std::size_t count() const = 0;  ///< elements in them
  virtual void call() = 0;
  /// Fills the buffers with what wrong() expects after one call.
  virtual void fill() = 0;
  virtual std::uint64_t wrong() const = 0;  ///< elements that are not right after fill() and call()
  virtual void clear() = 0;  ///< zeros: they stay what they are in any number of calls
};

struct Subject {
  const char* name;
  const char* summary;
  std::optional<comm::Collective> collective;  ///< whose table of algorithms it uses
  bool sized;                                  ///< false: there is nothing to vary the size of
  bool reduces;                                ///< with --type and --op
  /// No rank returns before all ranks have called: calls in a row need no barrier between them.
  bool joins;
  /// Bus bandwidth / algorithm bandwidth of n ranks, after nccl-tests
  /// (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md).
  double (*bus_factor)(int ranks);
  /// Why such a group cannot do what is asked for; empty: it can. The same on all ranks.
  std::string (*trouble)(const comm::Group& group, const Options& options);
  /// Collective. Only where there is no trouble.
  std::unique_ptr<Work> (*make)(comm::Group& group, const Options& options, std::size_t bytes);
};

const std::vector<Subject>& subjects();
const Subject& find_subject(const std::string& name);  ///< throws std::out_of_range
std::vector<std::string> subject_names();

}  // namespace thalweg::engine::perf
