// What differs between the Slurm releases 22.05 to 26.05, hidden in one place; no other file asks
// for the release. libslurm's structures change with every release: one build of the agent fits one
// release.
#pragma once

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <cstdint>

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0)
#error "Slurm 22.05 or newer is needed (slurm_init)"
#endif

// libslurm exports it and slurm.h names it in a comment, but does not declare it.
extern "C" void slurm_free_will_run_response_msg(will_run_response_msg_t* msg);

namespace thalweg::slurm_agent::compat {

inline std::uint32_t job_id(const submit_response_msg_t& response) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
  return response.step_id.job_id;
#else
  return response.job_id;
#endif
}

inline int load_job(job_info_msg_t** list, std::uint32_t job, std::uint16_t flags) {
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
  slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;
  id.job_id = job;
  return slurm_load_job(list, id, flags);
#else
  return slurm_load_job(list, job, flags);
#endif
}

/// Since 26.05 no public function frees it; it is loaded once per (re)start, so that is a few KB at
/// most.
inline void free_configuration([[maybe_unused]] slurm_conf_t* configuration) {
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)
  slurm_free_ctl_conf(configuration);
#endif
}

/// What stands before a generic resource in job_desc_msg_t::tres_per_node: "gres:gpu:2", later
/// "gres/gpu:2".
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
inline constexpr const char* gres_prefix = "gres/";
#else
inline constexpr const char* gres_prefix = "gres:";
#endif

/// What stands before "gpu:..." in job_desc_msg_t::tres_bind.
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
inline constexpr const char* bind_prefix = "gres/";
#else
inline constexpr const char* bind_prefix = "";
#endif

/// Release this agent was built for: 22, 5.
inline constexpr int built_major = SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER);
inline constexpr int built_minor = SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER);

}  // namespace thalweg::slurm_agent::compat
