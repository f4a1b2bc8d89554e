// Labelled samples in memory, and the table of where they may come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "jobspec/fwd.h"

namespace thalweg::engine {

/// A data file is missing or broken. what() is "FILE: offset N: reason" (no offset where none
/// applies).
class DataError : public std::runtime_error {
 public:
  static constexpr std::int64_t kNoOffset = -1;
  DataError(const std::filesystem::path& file, std::int64_t offset, const std::string& reason);
  /// Of another DataError's what().
  explicit DataError(const std::string& text) : std::runtime_error(text) {}
};

/// What every sample of a dataset holds: inputs, and either class numbers or real numbers to
/// predict.
struct SampleForm {
  std::vector<std::int64_t> input;  ///< (c, h, w), (c, d, h, w), (features), of tokens (positions)
  int classes = 0;                  ///< labels are 0 .. classes-1; 0 = there are targets instead
  std::int64_t labels = 1;          ///< in a sample: 1, or one for each position; 0 with targets
  std::int64_t targets = 0;         ///< real numbers in a sample; 0 with labels
  int vocabulary = 0;  ///< above 0: inputs are token numbers below it, which floats hold exactly
  /// Dimensions of the labels or targets of a sample, where the data says them; else empty.
  std::vector<std::int64_t> answers{};
};

/// A label that stands for "do not count this position".
constexpr std::int32_t kNoLabel = -1;

/// Samples that lie in memory as numbers of one or two bytes.
struct StoredForm {
  std::size_t bytes = 1;  ///< of a value
  /// What each of the 256 or 65536 bit patterns stands for: one such table for each channel, or one
  /// for all.
  std::vector<float> values;

  std::size_t patterns() const { return std::size_t{1} << (8 * bytes); }
  std::size_t tables() const { return values.size() / patterns(); }
};

/// Immutable after construction; thread-safe to read.
class Dataset {
 public:
  virtual ~Dataset() = default;
  const SampleForm& form() const { return form_; }
  const std::vector<std::int64_t>& sample_shape() const { return form_.input; }
  int classes() const { return form_.classes; }
  virtual std::size_t size() const = 0;
  /// Which sample that is, for messages: "row 12 of FILE:NAME", of its targets or of its inputs.
  virtual std::string describe(std::size_t index, bool targets) const;
  /// What a user should know of the data, in sentences.
  virtual std::vector<std::string> notes() const { return {}; }
  /// Numbers found in the data that the record should keep, in sentences.
  virtual std::vector<std::string> facts() const { return {}; }
  /// So many samples at the end, but for own_test(), are held out for validation by the data's own
  /// definition; 0 = it has none.
  virtual std::size_t own_validation() const { return 0; }
  /// So many of the last samples are a test set of its own; 0 = it has none.
  virtual std::size_t own_test() const { return 0; }
  /// Writes sample `index`, normalised, as product(sample_shape()) floats. May throw DataError.
  virtual void copy(std::size_t index, float* out) const;
  /// Null where copy() makes the samples or they are stored as wider numbers.
  virtual const StoredForm* stored() const { return nullptr; }
  /// Sample `index` as it is stored, where stored() is not null: little-endian, perhaps unaligned.
  virtual const std::uint8_t* stored_sample(std::size_t index) const;
  /// Writes form().labels numbers: 0 .. classes()-1 or kNoLabel.
  virtual void copy_labels(std::size_t index, std::int32_t* out) const = 0;
  /// Writes form().targets numbers.
  virtual void copy_targets(std::size_t index, float* out) const;
  /// Of a dataset with one label in a sample.
  std::int32_t label(std::size_t index) const;

 protected:
  explicit Dataset(SampleForm form);

 private:
  SampleForm form_;
};

/// "the inputs hold NaN, first in row 412 of FILE:NAME": of the first of these samples with a
/// number that is not finite; empty where there is none. May throw DataError.
std::string not_finite_in(const Dataset& dataset, const std::vector<std::uint32_t>& samples);

/// Inputs of a sample as floats.
std::size_t input_floats(const SampleForm& form);

/// Loads what `train.data` asks for. Throws std::invalid_argument on an unknown name ("did you
/// mean") or wrong options, DataError on missing or broken files.
std::unique_ptr<Dataset> load_dataset(const jobspec::Value& data);

std::vector<jobspec::Section> data_schema();

}  // namespace thalweg::engine
