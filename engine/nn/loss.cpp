// The loss of a graph: which one, and where the logits of each label stand.
#include <algorithm>
#include <stdexcept>

#include "engine/nn/graph.h"
#include "jobspec/options.h"
#include "jobspec/schema.h"

namespace thalweg::engine {
namespace {

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
  const jobspec::Options complete(
      complete_options(plan.kind->options, options, "loss " + plan.kind->name), plan.kind->options);
  plan.data = data;
  plan.output = output;
  if (plan.kind->of_labels) {
    place_logits(plan);
  } else if (elements(output) != data.targets) {
    throw std::invalid_argument("the last layer puts out " + to_text(output) + " where " +
                                std::to_string(data.targets) + " targets are to be met");
  }
  if (plan.kind->plan != nullptr) plan.kind->plan(plan, complete);
  return plan;
}

jobspec::Section loss_schema() {
  jobspec::Section section{"loss", "What training makes small", {}, "name", {}};
  section.default_value = "auto";
  section.variants.push_back({"auto", "cross_entropy of labels, mse of targets", {}});
  for (jobspec::Variant& variant : loss_table().variants())
    section.variants.push_back(std::move(variant));
  return section;
}

}  // namespace thalweg::engine
