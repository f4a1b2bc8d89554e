// Trained weights as files that other programs read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/train/restored.h"
#include "engine/train/weight_names.h"

namespace thalweg::engine {

/// `file` ends with one of these.
std::vector<std::string> export_endings();

/// In the format that the file's ending names: .npz (numpy.load) or .safetensors; not .onnx.
/// Appears whole or not at all. Throws std::invalid_argument for another ending, std::system_error.
void write_tensors(const std::filesystem::path& file, const std::vector<NamedTensor>& tensors);

/// Weights and running statistics of the trial's checkpoint (Restored) under PyTorch's names:
/// LAYER.weight, LAYER.bias, LAYER.running_mean, LAYER.running_var (the biased variance); linear
/// weights are (outputs, inputs), those of convolutions (outputs, inputs, height, width). A
/// .onnx file holds the model as well (engine/layers/onnx.h). Returns what was written, in words.
std::string export_trial(const std::filesystem::path& trial_file, const WhichCheckpoint& which,
                         const std::filesystem::path& file);

}  // namespace thalweg::engine
