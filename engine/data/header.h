// What of a dataset can be told without its contents: from files' headers and sizes, folders and
// options.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/data/dataset.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

/// What is not known before all of the data are read.
struct Unseen {
  std::string what;  ///< "data.classes"
  std::string why;   ///< a sentence without its subject: "is the largest label, and ..."
};

namespace data {

/// Beside the dataset that a header gives.
struct HeaderFacts {
  std::vector<Unseen> unseen;
  /// Whether form().classes and vocabulary are a guess, since labels or tokens have to be read.
  bool classes_unknown = false;
  std::size_t held_bytes = 0;  ///< that loading takes of memory; mapped files take none
};

/// Labels, tokens and groups up to here are read for what only they tell.
inline constexpr std::size_t kReadableBytes = std::size_t{16} << 20;

/// Form and number of samples whose contents stay where they are: copies throw std::logic_error.
class HeaderOnly final : public Dataset {
 public:
  HeaderOnly(SampleForm form, std::size_t size, std::optional<StoredForm> stored = {})
      : Dataset(std::move(form)), size_(size), stored_(std::move(stored)) {}
  std::size_t size() const override { return size_; }
  const StoredForm* stored() const override { return stored_ ? &*stored_ : nullptr; }
  void copy(std::size_t index, float* out) const override;
  const std::uint8_t* stored_sample(std::size_t index) const override;
  void copy_labels(std::size_t index, std::int32_t* out) const override;

 private:
  std::size_t size_;
  std::optional<StoredForm> stored_;
};

}  // namespace data

/// A dataset that knows what load_dataset()'s would of its form, size, sets and notes, but whose
/// samples must not be asked for.
struct DataHeader {
  std::unique_ptr<Dataset> dataset;  ///< null where not even its size can be seen
  data::HeaderFacts facts;
};

/// Of what `train.data` asks for, in milliseconds whatever its size. Throws as load_dataset() where
/// headers, sizes and options do not fit together or files are missing.
DataHeader read_data_header(const jobspec::Value& data);

}  // namespace thalweg::engine
