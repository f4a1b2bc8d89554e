// The words that people bring from elsewhere (PyTorch, Keras, W&B, Optuna, Ray, Slurm), and what
// they are called here. One table feeds every "did you mean": keys of the file, names of
// parameters, values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobspec/value.h"

namespace thalweg::jobspec {

/// What a word stands for.
struct Meaning {
  /// Of a key: its path from the top of the file ("train.batch.global"). Of a value: the value that
  /// is meant. Empty where there is no counterpart.
  std::string means{};
  std::string remedy{};  ///< in words; instead of the usual sentence where it is not empty
};

/// A word without case, dashes, underscores and blanks: "Weight-Decay" and "weight_decay" are
/// equal.
std::string squashed(std::string_view word);

/// `place`: path from the top of the file of the map that the key stands in ("" = the top itself,
/// "train.optimizer", "parameters"). Best first; none where the table does not know the word.
std::vector<Meaning> meanings_of_key(std::string_view place, std::string_view key);
/// `path`: that of the key ("train.data.name", "method").
std::optional<Meaning> meaning_of_value(std::string_view path, std::string_view text);

/// "did you mean 'lr'?", "write batch: {global: 128}", "write seeds: 3 at the top level": how to
/// say at `place` what stands at `path` with that value.
std::string how_to_write(std::string_view path, std::string_view place, const Value& value);

/// The key that a section takes where only one value is given ("train.batch" -> "global"); empty
/// where it has none.
std::string main_key(std::string_view section);
/// As it would stand in a file on one line: [sgd, adamw], {min: 1, max: 3}.
std::string flow_text(const Value& value);
/// "data: {name: arrays, inputs: ...}" for the path of a file of samples; empty where the file is
/// of no kind that is known.
std::string data_of_file(const std::string& path);

/// Every row's meaning of a key, each once, for the test that they exist.
std::vector<std::string> meant_keys();

}  // namespace thalweg::jobspec
