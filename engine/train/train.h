// The whole of an attempt: set up, train, tell how it ended.
#pragma once

#include <cstdint>
#include <string>

#include "engine/attempt/failure.h"
#include "engine/train/attempt.h"

namespace thalweg::engine {

struct Outcome {
  ExitCode code = ExitCode::finished;
  std::int64_t step = 0;  ///< optimizer steps completed
  std::string reason;
};

/// The main loop: from the attempt's step to the end, or to where it is asked to stop.
Outcome train(Attempt& attempt);

/// Collective. Rank 0 writes the journal into the attempt folder, the end record included, also
/// where it throws. Throws what went wrong (describe_failure() says what it means).
Outcome run_attempt(const AttemptInput& input);

}  // namespace thalweg::engine
