// One row per decay, warm-up and scaling: each is defined in the .cpp of its name.
#include "engine/schedule/table.h"

namespace thalweg::engine {

DecayEntry constant();
DecayEntry step();
DecayEntry multistep();
DecayEntry exponential();
DecayEntry inverse_time();
DecayEntry inverse_sqrt();
DecayEntry sigmoid();
DecayEntry polynomial();
DecayEntry linear();
DecayEntry cosine();
DecayEntry cosine_restarts();
DecayEntry one_cycle();
DecayEntry wsd();
DecayEntry plateau();
DecayEntry list();

WarmupEntry warmup_none();
WarmupEntry warmup_linear();
WarmupEntry warmup_constant();
WarmupEntry warmup_quadratic();

ScalingEntry scaling_none();
ScalingEntry scaling_linear();
ScalingEntry scaling_sqrt();
ScalingEntry scaling_auto();
ScalingEntry scaling_mccandlish();

const jobspec::Table<DecayEntry>& decay_table() {
  static const jobspec::Table<DecayEntry> table(
      "decay",
      {constant(), step(), multistep(), exponential(), inverse_time(), inverse_sqrt(), sigmoid(),
       polynomial(), linear(), cosine(), cosine_restarts(), one_cycle(), wsd(), plateau(), list()});
  return table;
}

const jobspec::Table<WarmupEntry>& warmup_table() {
  static const jobspec::Table<WarmupEntry> table(
      "warm-up", {warmup_none(), warmup_linear(), warmup_constant(), warmup_quadratic()});
  return table;
}

const jobspec::Table<ScalingEntry>& scaling_table() {
  static const jobspec::Table<ScalingEntry> table(
      "batch scaling",
      {scaling_none(), scaling_linear(), scaling_sqrt(), scaling_auto(), scaling_mccandlish()});
  return table;
}

}  // namespace thalweg::engine
