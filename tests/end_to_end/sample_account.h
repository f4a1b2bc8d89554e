// Whether a trial's record says that as many samples were trained on as its ranks have computed and
// its optimizer has applied, however many attempts it took.
#pragma once

#include <cstdint>
#include <string>

#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {

/// What a trial of TinySweep must come to.
struct TrialLength {
  std::string mode = "sync";
  std::int64_t steps = 0;
  int gradients = 1;  ///< async, hybrid: that servers take in a step
  int waiting = 0;    ///< lag: gradients that are not applied at the end
};

/// Expects that all losses of the trial's attempts are finite, that the last checkpoint is of the
/// record's last step, that its samples are those of the record and of as many steps (abs: at
/// least), and that nothing but `waiting` of them is not applied. Returns the samples.
std::int64_t expect_samples_applied(SweepHome& home, const std::string& sweep, std::int64_t trial,
                                    const TrialLength& length);

}  // namespace thalweg::test
