#include "tests/bench/gpu/measured_kernels.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/gpu/library.h"
#include "engine/train/kernel_file.h"

namespace thalweg::engine::bench {
namespace {

constexpr std::size_t kWorkspace = std::size_t{1} << 30;
constexpr double kSeconds = 40;

/// The row of `machine`, made where there is none.
MeasuredKernels& row_of(std::vector<MeasuredKernels>& rows, const std::string& machine) {
  const auto found = std::find_if(
      rows.begin(), rows.end(), [&](const MeasuredKernels& row) { return row.machine == machine; });
  if (found != rows.end()) return *found;
  rows.push_back({machine, kWorkspace, kWorkspace, {}});
  return rows.back();
}

}  // namespace

KernelOptions measured_kernels(gpu::Gpu& machine, const std::string& file,
                               const std::function<KernelTimes(const MeasureOptions&)>& measure) {
  std::vector<MeasuredKernels> rows;
  if (!file.empty()) rows = read_kernels(file);
  MeasuredKernels& row =
      row_of(rows, machine.info().name + ", " + machine.stream()->library().versions());
  MeasureOptions how;
  how.scratch = kWorkspace;
  how.seconds = kSeconds;
  how.known = row.times;
  for (const auto& [key, times] : measure(how))
    if (!times.algorithms.empty()) row.times.insert_or_assign(key, times);
  if (!file.empty()) write_kernels(file, rows);
  return {kWorkspace, std::make_shared<const KernelTimes>(row.times)};
}

}  // namespace thalweg::engine::bench
