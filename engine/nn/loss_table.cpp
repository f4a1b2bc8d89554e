// The losses: a new one is a .cpp per device, its name in each device's layer.h, and a row here.
#include <algorithm>
#include <stdexcept>

#include "engine/device/cpu/layer.h"
#include "engine/device/cuda/layer.h"
#include "engine/device/reference/layer.h"
#include "engine/nn/graph.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

using jobspec::Option;

Option class_weights() {
  return jobspec::list_option(
      "class_weights", jobspec::List{},
      "what the loss of each class is multiplied by, one number a class; empty = all 1");
}

bool has_five_classes(const LossPlan& plan) {
  return plan.data.classes > 5;
}

bool has_positions(const LossPlan& plan) {
  return plan.position_step == plan.data.classes;  // images are no language
}

bool of_images(const LossPlan& plan) {
  return plan.of_images();
}

/// The sums stand in engine/device/labels.h, reference/bce.cpp and reference/elementwise_losses.h.
const Metric error{"error", 0, 1};
const Metric accuracy{"accuracy", one_minus + 0, 1};
const Metric top5{"top5_error", 2, 1, has_five_classes};
const Metric perplexity{"perplexity", Metric::exp_of_loss, 0, has_positions};
const Metric iou{"iou", 3, 4};
const Metric iou_of_images{"iou", 3, 4, of_images};
const Metric wrong_side{"error", 2, 1};  // of bce, whose iou has the same places
const Metric right_side{"accuracy", one_minus + 2, 1};
const Metric mae{"mae", 0, 1};

/// Of labels: where the logits of a position stand. Throws where the model's output does not fit.
void place_logits(LossPlan& plan) {
  const Shape& out = plan.output;
  const std::int64_t classes = plan.data.classes;
  plan.positions = plan.data.labels;
  const auto refuse = [&](const std::string& wanted) {
    throw std::invalid_argument("the last layer puts out " + to_text(out) + " where " + wanted);
  };
  const std::string per_class = std::to_string(classes) + " classes";
  if (plan.positions == 1) {
    if (out != Shape{classes}) refuse(per_class + " are expected");
    return;
  }
  if (out == Shape{plan.positions, classes}) {
    plan.position_step = classes;
    return;
  }
  const bool images =
      out.size() > 2 && out[0] == classes && elements(out) == classes * plan.positions;
  if (!images)
    refuse("(" + std::to_string(plan.positions) + ", " + std::to_string(classes) + ") or " +
           per_class + " of " + std::to_string(plan.positions) + " pixels are expected");
  plan.position_step = 1;
  plan.class_step = plan.positions;
}

void read_weights(LossPlan& plan) {
  const jobspec::Value* given = plan.options.find("class_weights");
  if (given == nullptr || given->as_list().empty()) return;
  for (const jobspec::Value& weight : given->as_list()) {
    if (!weight.is_number() || !(weight.as_double() >= 0))
      throw std::invalid_argument("loss.class_weights: expected numbers of at least 0, found " +
                                  weight.to_text());
    plan.weights.push_back(weight.as_double());
  }
  if (plan.weights.size() != static_cast<std::size_t>(plan.data.classes))
    throw std::invalid_argument("loss.class_weights: " + std::to_string(plan.weights.size()) +
                                " weights for " + std::to_string(plan.data.classes) + " classes");
}

const LossKind& find_loss(const std::string& name, const InputShape& data) {
  const bool labels = data.classes > 0;
  if (name == "auto")
    return *std::find_if(loss_table().begin(), loss_table().end(),
                         [&](const LossKind& kind) { return kind.of_labels == labels; });
  const LossKind* kind = loss_table().find(name);
  if (kind == nullptr) {
    std::vector<std::string> names = loss_table().names();
    names.insert(names.begin(), "auto");
    jobspec::refuse_name("loss.name", "loss", name, names);
  }
  if (kind->of_labels != labels)
    throw std::invalid_argument(
        "loss " + name + " is over " +
        (labels ? "targets, but the data has labels" : "labels, but the data has targets"));
  return *kind;
}

}  // namespace

const jobspec::Table<LossKind>& loss_table() {
  static const jobspec::Table<LossKind> table(
      "loss",
      {
          {"cross_entropy",
           "cross-entropy of the softmax of the logits",
           {jobspec::real_option("smoothing", 0, 0, 1,
                                 "share of the label spread over all classes"),
            class_weights()},
           true,
           &reference::cross_entropy,
           cpu::cross_entropy,
           cuda::cross_entropy,
           {error, accuracy, top5, perplexity, iou_of_images}},
          {"dice",
           "1 - the Dice coefficient of every class's softmax, averaged: for segmentation",
           {jobspec::real_option("epsilon", 1, 1e-12, 1e6, "added to both parts of each quotient")},
           true,
           &reference::dice,
           cpu::dice,
           cuda::dice,
           {error, accuracy, iou}},
          {"mse",
           "squared error, averaged over the targets",
           {},
           false,
           &reference::mse,
           cpu::mse,
           cuda::mse,
           {mae}},
          {"l1",
           "absolute error, averaged over the targets",
           {},
           false,
           &reference::l1,
           cpu::l1,
           cuda::l1,
           {mae}},
          {"quadratic_deep",
           "1/2 (y - t)' Q (y - t) with DeepOBS' Q of 100 targets",
           {},
           false,
           &reference::quadratic_deep,
           cpu::quadratic_deep,
           cuda::quadratic_deep,
           {}},
          {"bce",
           "binary cross-entropy of logits with targets from 0 to 1",
           {},
           false,
           &reference::bce,
           cpu::bce,
           cuda::bce,
           {wrong_side, right_side, iou}},
      });
  return table;
}

LossPlan plan_loss(const jobspec::Value& loss, const InputShape& data, const Shape& output) {
  jobspec::Map options;
  std::string name = "auto";
  if (!loss.is_null())
    for (const auto& [key, value] : loss.as_map()) {
      if (key == "name")
        name = value.to_text();
      else
        options.emplace_back(key, value);
    }
  LossPlan plan;
  plan.kind = &find_loss(name, data);
  plan.options = complete_options(plan.kind->options, options, "loss " + plan.kind->name);
  plan.data = data;
  plan.output = output;
  if (plan.kind->of_labels) {
    place_logits(plan);
    read_weights(plan);
  } else if (elements(output) != data.targets) {
    throw std::invalid_argument("the last layer puts out " + to_text(output) + " where " +
                                std::to_string(data.targets) + " targets are to be met");
  }
  return plan;
}

jobspec::Section loss_schema() {
  jobspec::Section section{"loss", "What training makes small", {}, "name", {}};
  section.fallback = "auto";
  section.variants.push_back({"auto", "cross_entropy of labels, mse of targets", {}});
  for (jobspec::Variant& variant : loss_table().variants())
    section.variants.push_back(std::move(variant));
  return section;
}

}  // namespace thalweg::engine
