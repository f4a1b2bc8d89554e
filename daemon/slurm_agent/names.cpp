#include "daemon/slurm_agent/names.h"

#include "daemon/slurm_agent/compat.h"

namespace thalweg::slurm_agent {
namespace {

struct Name {
  std::uint32_t number;
  const char* text;
};

constexpr Name states[] = {
    {JOB_PENDING, "PENDING"},     {JOB_RUNNING, "RUNNING"},     {JOB_SUSPENDED, "SUSPENDED"},
    {JOB_COMPLETE, "COMPLETED"},  {JOB_CANCELLED, "CANCELLED"}, {JOB_FAILED, "FAILED"},
    {JOB_TIMEOUT, "TIMEOUT"},     {JOB_NODE_FAIL, "NODE_FAIL"}, {JOB_PREEMPTED, "PREEMPTED"},
    {JOB_BOOT_FAIL, "BOOT_FAIL"}, {JOB_DEADLINE, "DEADLINE"},   {JOB_OOM, "OUT_OF_MEMORY"},
};

// The reasons that jobs of Thalweg meet; the rest shows its number.
constexpr Name reasons[] = {
    {WAIT_NO_REASON, ""},
    {WAIT_PRIORITY, "Priority"},
    {WAIT_DEPENDENCY, "Dependency"},
    {WAIT_RESOURCES, "Resources"},
    {WAIT_PART_NODE_LIMIT, "PartitionNodeLimit"},
    {WAIT_PART_TIME_LIMIT, "PartitionTimeLimit"},
    {WAIT_PART_DOWN, "PartitionDown"},
    {WAIT_PART_INACTIVE, "PartitionInactive"},
    {WAIT_HELD, "JobHeldAdmin"},
    {WAIT_HELD_USER, "JobHeldUser"},
    {WAIT_TIME, "BeginTime"},
    {WAIT_LICENSES, "Licenses"},
    {WAIT_ASSOC_JOB_LIMIT, "AssociationJobLimit"},
    {WAIT_ASSOC_RESOURCE_LIMIT, "AssociationResourceLimit"},
    {WAIT_ASSOC_TIME_LIMIT, "AssociationTimeLimit"},
    {WAIT_RESERVATION, "Reservation"},
    {WAIT_NODE_NOT_AVAIL, "ReqNodeNotAvail"},
    {FAIL_DOWN_PARTITION, "PartitionDown"},
    {FAIL_DOWN_NODE, "NodeDown"},
    {FAIL_BAD_CONSTRAINTS, "BadConstraints"},
    {FAIL_SYSTEM, "SystemFailure"},
    {FAIL_LAUNCH, "JobLaunchFailure"},
    {FAIL_EXIT_CODE, "NonZeroExitCode"},
    {FAIL_TIMEOUT, "TimeLimit"},
    {FAIL_INACTIVE_LIMIT, "InactiveLimit"},
    {FAIL_ACCOUNT, "InvalidAccount"},
    {FAIL_QOS, "InvalidQOS"},
    {WAIT_QOS_THRES, "QOSUsageThreshold"},
    {WAIT_QOS_JOB_LIMIT, "QOSJobLimit"},
    {WAIT_QOS_RESOURCE_LIMIT, "QOSResourceLimit"},
    {WAIT_QOS_TIME_LIMIT, "QOSTimeLimit"},
    {WAIT_CLEANING, "Cleaning"},
    {WAIT_PROLOG, "Prolog"},
    {WAIT_QOS, "QOSNotAllowed"},
    {WAIT_ACCOUNT, "AccountNotAllowed"},
    {WAIT_DEP_INVALID, "DependencyNeverSatisfied"},
    {WAIT_QOS_GRP_CPU, "QOSGrpCpuLimit"},
    {WAIT_QOS_GRP_CPU_MIN, "QOSGrpCPUMinutesLimit"},
    {WAIT_QOS_GRP_JOB, "QOSGrpJobsLimit"},
    {WAIT_QOS_GRP_MEM, "QOSGrpMemLimit"},
    {WAIT_QOS_GRP_NODE, "QOSGrpNodeLimit"},
    {WAIT_QOS_GRP_SUB_JOB, "QOSGrpSubmitJobsLimit"},
    {WAIT_QOS_MAX_CPU_PER_JOB, "QOSMaxCpuPerJobLimit"},
    {WAIT_QOS_MAX_NODE_PER_JOB, "QOSMaxNodePerJobLimit"},
    {WAIT_QOS_MAX_WALL_PER_JOB, "QOSMaxWallDurationPerJobLimit"},
    {WAIT_QOS_MAX_CPU_PER_USER, "QOSMaxCpuPerUserLimit"},
    {WAIT_QOS_MAX_JOB_PER_USER, "QOSMaxJobsPerUserLimit"},
    {WAIT_QOS_MAX_NODE_PER_USER, "QOSMaxNodePerUserLimit"},
    {WAIT_QOS_MAX_SUB_JOB, "QOSMaxSubmitJobPerUserLimit"},
    {WAIT_ASSOC_GRP_CPU, "AssocGrpCpuLimit"},
    {WAIT_ASSOC_GRP_CPU_MIN, "AssocGrpCPUMinutesLimit"},
    {WAIT_ASSOC_GRP_JOB, "AssocGrpJobsLimit"},
    {WAIT_ASSOC_GRP_MEM, "AssocGrpMemLimit"},
    {WAIT_ASSOC_GRP_NODE, "AssocGrpNodeLimit"},
    {WAIT_ASSOC_GRP_SUB_JOB, "AssocGrpSubmitJobsLimit"},
    {WAIT_ASSOC_MAX_JOBS, "AssocMaxJobsLimit"},
    {WAIT_ASSOC_MAX_CPU_PER_JOB, "AssocMaxCpuPerJobLimit"},
    {WAIT_ASSOC_MAX_NODE_PER_JOB, "AssocMaxNodePerJobLimit"},
    {WAIT_ASSOC_MAX_WALL_PER_JOB, "AssocMaxWallDurationPerJobLimit"},
    {WAIT_ASSOC_MAX_SUB_JOB, "AssocMaxSubmitJobLimit"},
};

template <std::size_t size>
const char* find(const Name (&table)[size], std::uint32_t number) {
  for (const Name& row : table) {
    if (row.number == number) return row.text;
  }
  return nullptr;
}

}  // namespace

std::string state_name(std::uint32_t job_state) {
  const char* text = find(states, job_state & JOB_STATE_BASE);
  return text ? text : "STATE " + std::to_string(job_state & JOB_STATE_BASE);
}

std::string reason_name(std::uint32_t reason) {
  const char* text = find(reasons, reason);
  return text ? text : "Reason " + std::to_string(reason);
}

}  // namespace thalweg::slurm_agent
