#include "engine/data/pixel_answers.h"

#include <algorithm>

namespace thalweg::engine {

std::int64_t pixels_of(const SampleForm& form) {
  std::int64_t pixels = 1;
  for (std::size_t i = 1; i < form.input.size(); ++i)
    pixels *= form.input[i];
  return pixels;
}

Answers answers_of(const SampleForm& form) {
  const std::int64_t count = std::max(form.labels, form.targets), pixels = pixels_of(form);
  if (count <= 1 || form.input.size() < 3) return Answers::of_sample;
  const bool fits = pixels > 1 && (form.labels > 0 ? count == pixels : count % pixels == 0);
  if (form.answers.size() <= 1) {
    if (fits) return Answers::of_pixels;
    return form.labels > 0 ? Answers::of_other_places : Answers::of_sample;
  }
  const std::size_t axes = form.input.size() - 1;
  const bool last = form.answers.size() >= axes &&
                    std::equal(form.input.begin() + 1, form.input.end(),
                               form.answers.end() - static_cast<std::ptrdiff_t>(axes));
  return fits && last ? Answers::of_pixels : Answers::of_other_places;
}

void copy_answers(const Dataset& dataset, std::size_t index, const Augmenter* augmenter,
                  const DrawPlace& draw, AnswerWorkspace& workspace, std::int32_t* labels,
                  float* targets) {
  if (dataset.form().labels == 0) labels = nullptr;
  if (dataset.form().targets == 0) targets = nullptr;
  if (augmenter == nullptr || !augmenter->moves_answers()) {
    if (labels != nullptr) dataset.copy_labels(index, labels);
    if (targets != nullptr) dataset.copy_targets(index, targets);
    return;
  }
  const augment::Change change = augmenter->draw(draw.seed, draw.epoch, draw.place);
  if (labels != nullptr) {
    workspace.labels.resize(static_cast<std::size_t>(dataset.form().labels));
    dataset.copy_labels(index, workspace.labels.data());
    augmenter->move(change, workspace.labels.data(), labels);
  }
  if (targets != nullptr) {
    workspace.targets.resize(static_cast<std::size_t>(dataset.form().targets));
    dataset.copy_targets(index, workspace.targets.data());
    augmenter->move(change, workspace.targets.data(), targets);
  }
}

}  // namespace thalweg::engine
