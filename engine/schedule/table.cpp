#include "engine/schedule/table.h"

namespace thalweg::engine {

// One row per decay, warm-up and scaling: each is defined in the .cpp of its name.
#define THALWEG_DECAYS(ROW)                                                                \
  ROW(constant)                                                                            \
  ROW(step)                                                                                \
  ROW(multistep)                                                                           \
  ROW(exponential)                                                                         \
  ROW(inverse_time) ROW(inverse_sqrt) ROW(sigmoid) ROW(polynomial) ROW(linear) ROW(cosine) \
      ROW(cosine_restarts) ROW(one_cycle) ROW(wsd) ROW(plateau) ROW(list)
#define THALWEG_WARMUPS(ROW) \
  ROW(warmup_none) ROW(warmup_linear) ROW(warmup_constant) ROW(warmup_quadratic)
#define THALWEG_SCALINGS(ROW) \
  ROW(scaling_none) ROW(scaling_linear) ROW(scaling_sqrt) ROW(scaling_auto) ROW(scaling_mccandlish)

#define THALWEG_DECLARE(name) DecayEntry name();
THALWEG_DECAYS(THALWEG_DECLARE)
#undef THALWEG_DECLARE
#define THALWEG_DECLARE(name) WarmupEntry name();
THALWEG_WARMUPS(THALWEG_DECLARE)
#undef THALWEG_DECLARE
#define THALWEG_DECLARE(name) ScalingEntry name();
THALWEG_SCALINGS(THALWEG_DECLARE)
#undef THALWEG_DECLARE

#define THALWEG_CALL(name) name(),
const std::vector<DecayEntry>& decay_table() {
  static const std::vector<DecayEntry> table{THALWEG_DECAYS(THALWEG_CALL)};
  return table;
}
const std::vector<WarmupEntry>& warmup_table() {
  static const std::vector<WarmupEntry> table{THALWEG_WARMUPS(THALWEG_CALL)};
  return table;
}
const std::vector<ScalingEntry>& scaling_table() {
  static const std::vector<ScalingEntry> table{THALWEG_SCALINGS(THALWEG_CALL)};
  return table;
}
#undef THALWEG_CALL

}  // namespace thalweg::engine
