// What a way of working together remembers from step to step, beside the replica.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace thalweg::engine {

/// Numbers that go through checkpoints: one of the spans, or a list.
struct SyncState {
  /// What becomes of the ranks' numbers when a run goes on with another number of ranks.
  enum class Ranks {
    equal,     ///< every rank holds the same
    summed,    ///< each has its own; what counts is their sum: it is added up and split evenly
    averaged,  ///< each has its own; new ranks get the mean
  };

  std::string name;
  Ranks ranks = Ranks::equal;
  std::span<float> floats{};
  std::span<double> doubles{};
  /// Floats are laid out as the model's parameters, in its memory (perhaps a GPU's).
  bool model_layout = false;
  /// Of any length, the same on every rank.
  std::vector<double>* list = nullptr;
};

}  // namespace thalweg::engine
