// init_from: a run that begins with the weights of another one, or with all of its state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/train/checkpoint.h"
#include "engine/train/weight_names.h"
#include "jobspec/fwd.h"
#include "jobspec/schema.h"

namespace thalweg::engine {

/// The section `init_from` of `train`.
jobspec::Section init_from_section();

/// It, read. Either `trial` or `file` is set.
struct InitFrom {
  std::string trial;                ///< "12.3": the controller says where its checkpoints are
  std::filesystem::path file;       ///< a checkpoint, a folder of checkpoints, .npz or .safetensors
  bool best = false;                ///< of several checkpoints that of the best validation
  bool all = false;                 ///< optimizer and step, too, not the weights alone
  std::string prefix;               ///< before each name of this model in the file
  std::vector<std::string> except;  ///< patterns of names that keep their initial values
};
/// Nothing where nothing is asked for. Throws std::invalid_argument where settings exclude each
/// other.
std::optional<InitFrom> read_init_from(const jobspec::Value& tree);

/// What a model begins with.
struct Beginning {
  struct LoadedArray {
    WeightName where;
    std::vector<float> values;
  };
  std::filesystem::path file;  ///< the very one
  std::vector<LoadedArray> arrays;
  std::vector<std::string> fresh;        ///< names that keep their initial values
  std::optional<std::int64_t> step;      ///< of a checkpoint
  std::optional<Checkpoint> checkpoint;  ///< with state: all

  /// Puts the arrays over initial values, in the plain layout.
  void put(std::vector<float>& parameters, std::vector<float>& running) const;
  /// For the start record.
  jobspec::Value record(const InitFrom& from) const;
};

/// Reads it for this model. `folders`: of the checkpoints of `from.trial`, newest attempt first.
/// Throws std::invalid_argument, beginning with the key, where something is missing or does not
/// fit.
Beginning load_beginning(const InitFrom& from, const std::vector<std::filesystem::path>& folders,
                         const Graph& graph);

/// With state: all the run goes on as from a checkpoint of its own, but for what belongs to the
/// other run alone: what its stop rule saw, its best checkpoint, and what another kind of schedule
/// learnt. `identity`: this run's. Throws std::invalid_argument where this run has another
/// optimizer or no steps left.
Checkpoint continued(const Beginning& beginning, const jobspec::Value& identity);

/// Arrays of a .npz or .safetensors file: names first, numbers when asked for.
class TensorFile {
 public:
  /// Throws std::runtime_error where it cannot be read, std::invalid_argument for another ending.
  explicit TensorFile(const std::filesystem::path& file);
  const std::vector<std::string>& names() const { return names_; }
  /// One of names(). Throws std::runtime_error.
  NamedTensor read(const std::string& name) const;

 private:
  void read_header();

  std::filesystem::path file_;
  std::vector<std::string> names_;
  // Of safetensors:
  struct Span {
    Shape shape;
    std::string type;
    std::uint64_t begin, end;
  };
  std::vector<Span> spans_;  ///< as names_
};

}  // namespace thalweg::engine
