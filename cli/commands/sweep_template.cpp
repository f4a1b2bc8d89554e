// Text with comments rather than a dump of a tree: what a newcomer wants to change next stands
// there as a comment, with the command that tells more.
#include "cli/commands/sweep_template.h"

#include <fmt/format.h>

#include <array>

#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

constexpr std::array kinds{
    StarterKind{"example", "nothing yet: the images of Fashion-MNIST, as an example",
                "{name: val/error, goal: minimize, target: 0.12}",
                "  model: {name: lenet}                # thalweg-train --options model\n",
                "  data: {name: fashion-mnist}\n", "", ""},
    StarterKind{"classes", "a table of numbers in NumPy or HDF5 files, one class for each row",
                "{name: val/error, goal: minimize}", "  model: {name: mlp, hidden: [256, 256]}\n",
                "  data:\n"
                "    name: arrays\n"
                "    inputs: \"@INPUTS@\"           # an array of n x features: FILE.npz:NAME, "
                "FILE.h5:NAME or FILE.npy\n"
                "    labels: \"@ANSWERS@\"           # n whole numbers from 0\n",
                "labels", "data.npz"},
    StarterKind{"regression", "a table of numbers in NumPy or HDF5 files, numbers to predict",
                "{name: val/mae, goal: minimize}",
                "  model: {name: mlp, hidden: [256, 256]}\n"
                "  loss: {name: mse}\n",
                "  data:\n"
                "    name: arrays\n"
                "    inputs: \"@INPUTS@\"           # an array of n x features\n"
                "    targets: \"@ANSWERS@\"         # n or n x outputs\n",
                "targets", "data.npz"},
    StarterKind{"images", "images in NumPy or HDF5 files, one class for each",
                "{name: val/error, goal: minimize}", "  model: {name: resnet, depth: 18}\n",
                "  data:\n"
                "    name: arrays\n"
                "    inputs: \"@INPUTS@\"           # n x channels x height x width\n"
                "    labels: \"@ANSWERS@\"           # n whole numbers from 0\n"
                "  # augment: {flip: 0.5, crop: 4}      # random changes of the training images\n",
                "labels", "images.npz"},
    StarterKind{"text", "a plain text, to predict what comes next",
                "{name: val/perplexity, goal: minimize}",
                "  model: {name: gpt, layers: 4, heads: 4, width: 128}\n",
                "  data: {name: text, file: \"@FILE@\", length: 64}\n", "", "text.txt"},
};

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

/// Inside double quotes.
std::string yaml_text(const std::string& text) {
  return replaced(replaced(text, "\\", "\\\\"), "\"", "\\\"");
}

/// "data.npz:X"
std::string array_in(const std::string& file, const std::string& name) {
  return file.ends_with(".npy") ? file : file + ":" + name;
}

std::string resources(const StarterAnswers& answers) {
  std::string text = fmt::format(
      "# A job's nodes, and processes on each of them; they share every batch.\n"
      "resources: {{nodes: {}, ranks_per_node: {}, threads_per_rank: 1, time: \"01:00:00\"}}\n",
      answers.nodes, answers.ranks_per_node);
  if (!answers.slurm)
    return text +
           "# On a Slurm cluster: slurm: {partition: main, account: mine}\n"
           "# limits: {node_hours: 10}             # no trial starts once so much is spent\n";
  return text +
         (answers.partition.empty()
              ? "# slurm: {partition: main, account: mine}\n"
              : fmt::format("slurm: {{partition: \"{}\"}}\n", yaml_text(answers.partition))) +
         "limits: {max_nodes_in_flight: 16}      # of all jobs together\n"
         "# limits: {node_hours: 100}            # no trial starts once so much is spent\n";
}

}  // namespace

std::span<const StarterKind> starter_kinds() {
  return kinds;
}

const StarterKind* find_starter_kind(const std::string& name) {
  for (const StarterKind& kind : kinds)
    if (name == kind.name) return &kind;
  return nullptr;
}

std::string sweep_template(const StarterAnswers& answers) {
  const StarterKind& kind = *answers.kind;
  const std::string of_answers = answers.answers.empty() ? kind.answers : answers.answers;
  std::string data = replaced(kind.data, "@FILE@", yaml_text(answers.file));
  data = replaced(data, "@INPUTS@", yaml_text(array_in(answers.file, answers.inputs)));
  const std::string& in = answers.answers_file.empty() ? answers.file : answers.answers_file;
  data = replaced(data, "@ANSWERS@", yaml_text(array_in(in, of_answers)));
  return fmt::format(
             "# A sweep: every combination of `parameters` is trained with every seed.\n"
             "#   thalweg validate FILE    checks it;   thalweg run FILE    runs and compares\n"
             "# All keys: man 5 thalweg-sweep. All options of `train`: thalweg-train --options\n"
             "name: \"{}\"\n"
             "method: grid                          # or random, with run_cap and distributions\n"
             "metric: {}\n"
             "seeds: {}                              # 6 and more tell small differences apart\n"
             "parameters:\n"
             "  optimizer.name: {{values: [{}]}}\n"
             "  # optimizer.lr: {{values: [0.001, 0.01]}}\n"
             "  # schedule.decay: {{values: [constant, cosine]}}\n"
             "  # batch.global: {{values: [64, 128, 256]}}\n"
             "train:                                # what all trials share\n",
             yaml_text(answers.name), kind.metric, answers.seeds, join(answers.optimizers, ", ")) +
         kind.model + data +
         fmt::format(
             "  batch: {{global: 64}}\n"
             "  epochs: {}\n"
             "  optimizer: {{lr: auto}}               # auto: what suits the optimizer and the "
             "model\n",
             answers.epochs) +
         resources(answers);
}

}  // namespace thalweg::cli
