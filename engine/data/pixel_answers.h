// Labels and targets that belong to the pixels of an image, and so go where its pixels go.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/augment.h"
#include "engine/data/dataset.h"

namespace thalweg::engine {

/// What a sample's labels or targets are of.
enum class Answers {
  of_sample,        ///< the whole of it: they stay as they are
  of_pixels,        ///< (c, d, h, w) targets or (d, h, w) labels of an image of that size
  of_other_places,  ///< positions that are not the image's pixels
};

/// By the dimensions (SampleForm::answers); where there is one only, as many labels as pixels, or a
/// multiple of that of targets, belong to them.
Answers answers_of(const SampleForm& form);

/// Pixels of the image: the product of all of its dimensions but the first.
std::int64_t pixels_of(const SampleForm& form);

/// Memory that a thread keeps for copy_answers().
struct AnswerWorkspace {
  std::vector<std::int32_t> labels;
  std::vector<float> targets;
};

/// Which draw of an augmenter a sample gets: Augmenter::draw().
struct DrawPlace {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint64_t place = 0;
};

/// Labels and targets of sample `index`, moved as the augmenter (may be null) moves its image.
/// `labels` and `targets` may be null.
void copy_answers(const Dataset& dataset, std::size_t index, const Augmenter* augmenter,
                  const DrawPlace& draw, AnswerWorkspace& workspace, std::int32_t* labels,
                  float* targets);

}  // namespace thalweg::engine
