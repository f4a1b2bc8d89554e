// What stands in a data file, for a sweep file to start from.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace thalweg::cli {

struct ArrayFacts {
  std::string name;
  bool integer = false;
  std::vector<long long> shape;
};

/// What is trained on these arrays, and under which names they are: inputs, and the labels or
/// targets that have one row for each of theirs.
struct StarterData {
  std::string kind;  ///< as StarterKind::name
  std::string inputs, answers;
};

/// By names that people use (X and y, images and labels, …), else by shapes. Nothing where no two
/// arrays belong together.
std::optional<StarterData> data_of(const std::vector<ArrayFacts>& arrays);

/// The arrays of an NPY, NPZ or HDF5 file, as thalweg-train tells them. Throws CommandError where
/// it cannot read the file.
std::vector<ArrayFacts> arrays_in(const std::string& file);

bool is_array_file(const std::string& file);

/// Where the labels or targets of the inputs in this .npy file are: y.npy of x.npy,
/// train_labels.npy of train_images.npy, ... beside it, the first one that is there; else
/// labels.npy (`usual`).
std::string answers_beside(const std::string& inputs, const std::string& usual);

}  // namespace thalweg::cli
