// The commented sweep file that `thalweg init` writes, from a few answers.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace thalweg::cli {

/// A kind of training that people start from. Adding one: a row in sweep_template.cpp.
struct StarterKind {
  const char* name;
  const char* summary;  ///< what one has, in the words of somebody who has it
  const char* metric;   ///< with its goal, as YAML
  const char* model;    ///< lines of YAML below `train:`, with comments
  const char* data;     ///< the same; @FILE@ stands for the file's name, @INPUTS@ for the array of
                        ///< the inputs, @ANSWERS@ for that of the labels or targets
  const char* answers;  ///< the usual name of these; empty where a file has no names
  const char* file;  ///< the file's name where nobody says another; empty where no file is needed
};

std::span<const StarterKind> starter_kinds();
/// nullptr where there is none of this name.
const StarterKind* find_starter_kind(const std::string& name);

struct StarterAnswers {
  const StarterKind* kind = nullptr;
  std::string name = "first";              ///< of the sweep
  std::string file;                        ///< the data
  std::string inputs = "inputs", answers;  ///< names in it; `answers` empty: the usual one
  std::string answers_file;  ///< where `file` is an .npy file, which has one array only
  std::vector<std::string> optimizers{"momentum", "adamw"};
  int seeds = 3;
  int epochs = 5;
  bool slurm = false;
  int nodes = 1, ranks_per_node = 2;
  std::string partition;
};

std::string sweep_template(const StarterAnswers& answers);

}  // namespace thalweg::cli
