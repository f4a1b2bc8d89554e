// The engine reads the file: its formats, and what libhdf5 needs, are its affair.
#include "cli/commands/starter_data.h"

#include <cctype>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/process.h"
#include "cli/commands/common.h"
#include "cli/output/json.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

constexpr const char* input_names[] = {"inputs", "x",        "x_train", "train_x",      "images",
                                       "data",   "features", "input",   "train_images", "train"};
constexpr const char* answer_names[] = {"labels", "targets", "y",       "y_train",      "train_y",
                                        "target", "label",   "classes", "train_labels", "outputs"};

/// Of files with one array each: what the names of those that belong together differ in.
constexpr const char* input_words[] = {"inputs", "input", "images", "features", "data", "x"};
constexpr const char* answer_words[] = {"labels",  "label", "targets", "target",
                                        "classes", "y",     "outputs", "Y"};

/// The one of the first of these names that is there; HDF5's "/train/X" counts as "x", too.
template <class Names>
const ArrayFacts* named(const std::vector<ArrayFacts>& arrays, const Names& names) {
  for (const char* name : names)
    for (const ArrayFacts& array : arrays)
      if (lower_case(array.name.substr(array.name.rfind('/') + 1)) == name) return &array;
  return nullptr;
}

long long row_size(const ArrayFacts& array) {
  long long size = 1;
  for (std::size_t i = 1; i < array.shape.size(); ++i)
    size *= array.shape[i];
  return size;
}

bool belong(const ArrayFacts& a, const ArrayFacts& b) {
  return &a != &b && !a.shape.empty() && !b.shape.empty() && a.shape[0] == b.shape[0];
}

/// The array with the largest rows, or the smallest, of those that belong to `other`.
const ArrayFacts* by_size(const std::vector<ArrayFacts>& arrays, bool largest,
                          const ArrayFacts* other) {
  const ArrayFacts* found = nullptr;
  for (const ArrayFacts& array : arrays) {
    if (other != nullptr && !belong(array, *other)) continue;
    const bool better = found == nullptr || (largest ? row_size(array) > row_size(*found)
                                                     : row_size(array) < row_size(*found));
    if (better) found = &array;
  }
  return found;
}

}  // namespace

std::optional<StarterData> data_of(const std::vector<ArrayFacts>& arrays) {
  const ArrayFacts* inputs = named(arrays, input_names);
  const ArrayFacts* answers = named(arrays, answer_names);
  if (inputs == nullptr) inputs = by_size(arrays, true, answers);
  if (inputs != nullptr && answers == nullptr) answers = by_size(arrays, false, inputs);
  if (inputs == nullptr || answers == nullptr || !belong(*inputs, *answers)) return std::nullopt;
  constexpr std::size_t image_sizes = 4;  // n x channels x height x width
  const bool labels = answers->integer && row_size(*answers) == 1;
  const char* kind = !labels                               ? "regression"
                     : inputs->shape.size() == image_sizes ? "images"
                                                           : "classes";
  return StarterData{kind, inputs->name, answers->name};
}

std::string answers_beside(const std::string& inputs, const std::string& usual) {
  const std::filesystem::path path(inputs);
  const std::string stem = path.stem().string();
  std::vector<std::string> words{usual};
  words.insert(words.end(), std::begin(answer_words), std::end(answer_words));
  const auto is_letter = [&](std::size_t at) {
    return at < stem.size() && std::isalpha(static_cast<unsigned char>(stem[at])) != 0;
  };
  for (const char* word : input_words) {
    const std::size_t length = std::strlen(word), at = lower_case(stem).find(word);
    if (at == std::string::npos || is_letter(at - 1) || is_letter(at + length)) continue;
    for (const std::string& answer : words) {
      const auto beside =
          path.parent_path() / (stem.substr(0, at) + answer + stem.substr(at + length) + ".npy");
      if (std::filesystem::is_regular_file(beside) && beside != path) return beside.string();
    }
  }
  return (path.parent_path() / (usual + ".npy")).string();
}

bool is_array_file(const std::string& file) {
  for (const char* ending : {".npy", ".npz", ".h5", ".hdf5"})
    if (file.ends_with(ending)) return true;
  return false;
}

std::vector<ArrayFacts> arrays_in(const std::string& file) {
  constexpr double max_seconds = 30;
  const std::string program = find_program("thalweg-train").string();
  if (program.empty())
    throw CommandError(exit_failed, "thalweg-train is neither beside thalweg nor in PATH",
                       "it reads the names of the arrays; --kind does without");
  ProgramOutput output;
  try {
    output = run_program({program, "--arrays", "--json", file}, max_seconds);
  } catch (const std::system_error& error) {
    throw CommandError(exit_failed, program + " could not be run: " + error.what());
  }
  const Json answer = Json::parse(output.out, nullptr, false);
  if (output.code != 0 || !answer.is_object()) {
    const std::string reason = output.err.substr(0, output.err.find('\n'));
    throw CommandError(exit_bad_input, reason.empty() ? "cannot read " + file : printable(reason));
  }
  std::vector<ArrayFacts> arrays;
  for (const Json& array : list_at(answer, "arrays")) {
    ArrayFacts facts{text_at(array, "name"), flag_at(array, "integer"), {}};
    for (const Json& size : list_at(array, "shape"))
      facts.shape.push_back(size.get<long long>());
    arrays.push_back(std::move(facts));
  }
  return arrays;
}

}  // namespace thalweg::cli
