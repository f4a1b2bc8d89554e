// Targets of images belong to their pixels, so that flips and crops move them along, while changed
// colours are the input's alone: the model learns to undo them.
#include "engine/data/inputs_as_targets.h"

#include <stdexcept>
#include <utility>

#include "engine/data/table.h"
#include "engine/data/wrapped.h"

namespace thalweg::engine::data {
namespace {

SampleForm form_of(const SampleForm& own) {
  if (own.vocabulary > 0)
    throw std::invalid_argument(
        "data.targets: the inputs are tokens, no real numbers to predict; leave it out");
  SampleForm form;
  form.input = form.answers = own.input;
  form.labels = 0;
  form.targets = static_cast<std::int64_t>(input_floats(own));
  return form;
}

class InputsAsTargets final : public Wrapped {
 public:
  explicit InputsAsTargets(std::unique_ptr<Dataset> inner)
      : Wrapped(form_of(inner->form()), std::move(inner)) {}
  std::string describe(std::size_t index, bool) const override {
    return inner().describe(index, false);
  }
  void copy_labels(std::size_t, std::int32_t*) const override {
    throw std::logic_error("this dataset has no labels");
  }
  void copy_targets(std::size_t index, float* out) const override { inner().copy(index, out); }
};

}  // namespace

std::unique_ptr<Dataset> inputs_as_targets(std::unique_ptr<Dataset> dataset) {
  return std::make_unique<InputsAsTargets>(std::move(dataset));
}

jobspec::Option targets_option() {
  return choice_option("targets", {"own", kInputs},
                       "what is to be predicted: the data's own labels or targets, or the inputs "
                       "themselves (autoencoders)");
}

}  // namespace thalweg::engine::data
