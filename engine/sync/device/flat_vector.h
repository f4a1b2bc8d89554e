// A flat vector of floats where a model's device wants it: in the host's memory or a GPU's.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "engine/gpu/gpu.h"
#include "engine/tensor/buffer.h"

namespace thalweg::engine {

class Model;

/// Of a sparse FlatVector.
struct UnmapPages {
  std::size_t bytes = 0;
  void operator()(float* pages) const;
};

/// Zeroed. Movable.
class FlatVector {
 public:
  FlatVector() = default;
  /// `gpu` null: the host's memory. `what` names it where there is no room for it.
  FlatVector(gpu::Gpu* gpu, std::size_t count, const std::string& what);
  /// Where the model's device wants it.
  static FlatVector of(const Model& model, std::size_t count, const std::string& what);
  /// In the host's memory, which is taken page by page as something is written there: for vectors
  /// of which a rank has a part. Throws std::bad_alloc.
  static FlatVector sparse(std::size_t count);

  /// For devices and optimizers; of a GPU the host cannot look there.
  float* floats() {
    return pages_ ? pages_.get() : where_ != nullptr ? there_.floats() : here_.floats();
  }
  const float* floats() const {
    return pages_ ? pages_.get() : where_ != nullptr ? there_.floats() : here_.floats();
  }
  std::size_t count() const { return count_; }
  /// Whether the host may look there.
  bool on_host() const { return where_ == nullptr; }

  /// Copies, where need be after all the GPU's work has been done.
  std::vector<float> read() const;
  void read(float* to) const;
  void write(const float* from);

 private:
  gpu::Gpu* where_ = nullptr;
  Buffer here_;
  std::unique_ptr<float, UnmapPages> pages_;  ///< of a sparse vector
  gpu::Memory there_;
  std::size_t count_ = 0;
};

}  // namespace thalweg::engine
