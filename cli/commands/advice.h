// What the rules say of a sweep file, for `advise` and `validate`: puts together what is known of
// it and prints what they find.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/common.h"
#include "daemon/api/engine_check.h"
#include "jobspec/advise/advise.h"
#include "jobspec/schema.h"
#include "jobspec/site.h"
#include "jobspec/sweep.h"

namespace thalweg::cli {

/// A sweep file that has been read, and what the engine plans for it.
struct AdviceSubject {
  const jobspec::Sweep& sweep;
  const jobspec::Expansion& expansion;
  const jobspec::Schema& schema;
  const jobspec::SiteLimits& limits;
  const std::vector<daemon::api::PlannedShape>& planned;
  bool slurm = false;                                          ///< the trials will run there
  double node_bytes = 0, gpu_bytes = 0, link_bytes_per_s = 0;  ///< as the user says; 0: not said
};

struct SweepAdvice {
  std::vector<jobspec::advise::Advice> all;
  std::size_t earlier_runs = 0;  ///< that were known
};

/// Asks a controller that runs what earlier runs measured; none is started for it.
SweepAdvice advise_on(Context& context, const AdviceSubject& subject);

/// {rule, question, verdict, text, basis, source, numbers:{…}, trials:[…]}
Json json_of(const jobspec::advise::Advice& advice);
Json json_of(const std::vector<jobspec::advise::Advice>& advice);

/// "trials 3, 7, 12 and 5 more"; empty for the whole sweep and for all of its trials.
std::string which_trials(const std::vector<std::int64_t>& trials, std::size_t in_all);

}  // namespace thalweg::cli
