// Labelled samples in memory, and the table of where they may come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::engine {

/// A data file is missing or broken. what() is "FILE: offset N: reason" (no offset where none
/// applies).
class DataError : public std::runtime_error {
 public:
  static constexpr std::int64_t kNoOffset = -1;
  DataError(const std::filesystem::path& file, std::int64_t offset, const std::string& reason);
};

/// Immutable after construction; thread-safe to read.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const std::vector<std::int64_t>& sample_shape() const = 0;  ///< (c, h, w) or (features)
  virtual int classes() const = 0;
  virtual std::size_t size() const = 0;
  /// Writes sample `index`, normalised, as product(sample_shape()) floats.
  virtual void copy(std::size_t index, float* out) const = 0;
  virtual std::int32_t label(std::size_t index) const = 0;  ///< 0 .. classes()-1
};

/// Loads what `train.data` asks for. Throws std::invalid_argument on an unknown name ("did you
/// mean") or wrong options, DataError on missing or broken files.
std::unique_ptr<Dataset> load_dataset(const jobspec::Value& data);

std::vector<jobspec::Section> data_schema();

}  // namespace thalweg::engine
