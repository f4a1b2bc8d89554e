// A GPU that is only described: models are compiled for it, so that cuDNN plans all their calls,
// and nothing runs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/gpu/cudnn_plans.h"
#include "engine/gpu/gpu.h"
#include "engine/gpu/library.h"

namespace thalweg::engine::gpu {

/// cuDNN's convolutions and attention; products that cannot run; no LSTMs, for which cuDNN wants a
/// GPU: layers do without.
class PlanningLibrary final : public Library {
 public:
  explicit PlanningLibrary(CudnnTarget& target) : target_(target) {}
  std::unique_ptr<Call> product(const Product& shape) const override;
  std::unique_ptr<Call> convolution(const Convolution& shape) const override;
  std::unique_ptr<Call> attention(const FusedAttention& shape) const override;
  RecurrenceCalls recurrence(const Recurrence& shape) const override;
  std::string versions() const override { return "none"; }

  struct Made {
    int calls = 0;
    std::optional<Convolution> convolution;
    double max_ms_after_first = 0;  ///< of this thread's time, to make it and to know algorithm 0
    std::string kernels;            ///< that the driver was asked for by the first, a line each
  };
  const std::map<std::string, Made>& made() const { return made_; }  ///< by key
  const std::vector<Recurrence>& recurrences() const { return recurrences_; }

 private:
  template <class Make>
  std::unique_ptr<Call> timed(const std::string& key, const Make& make) const;

  CudnnTarget& target_;
  mutable std::map<std::string, Made> made_;
  mutable std::vector<Recurrence> recurrences_;
};

/// What a compiled program asks of its GPU; anything else throws std::logic_error.
class DescribedGpu final : public Gpu {
 public:
  explicit DescribedGpu(const Library& library) : library_(library) {}
  const Info& info() const override { return info_; }
  std::size_t free_bytes() const override;
  void* allocate(std::size_t bytes, const std::string& what) override;
  void release(void*) noexcept override {}
  void* allocate_pinned(std::size_t bytes) override;
  void release_pinned(void*) noexcept override {}
  std::unique_ptr<Stream> stream(bool high = false) override;
  std::unique_ptr<Event> event(bool timed = true) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  Counts counts() const override { return {}; }

 private:
  const Library& library_;
  Info info_;
};

/// Loads the tests' driver (fake_cuda_driver.cpp) in place of any other, before cuDNN looks for
/// one. Its kernels' names since the last call.
std::string fake_driver_kernels();

}  // namespace thalweg::engine::gpu
