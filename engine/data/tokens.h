// A long row of tokens, cut into windows: what a language model is trained on.
#pragma once

#include <memory>

#include "engine/data/array.h"
#include "engine/data/dataset.h"

namespace thalweg::engine {

/// Sample i is tokens [i stride, i stride + length); its labels are the tokens one further.
/// `tokens` has one dimension and integers in [0, vocabulary). Throws DataError where there are not
/// even two samples.
std::unique_ptr<Dataset> token_windows(Array tokens, int vocabulary, std::int64_t length,
                                       std::int64_t stride);

/// Largest token + 1, or `vocabulary` where it is above 0. Throws DataError on a token that is
/// negative or not below it.
int check_tokens(const Array& tokens, int vocabulary);

}  // namespace thalweg::engine
