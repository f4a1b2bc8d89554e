#include "daemon/slurm_agent/errors.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "daemon/slurm_agent/compat.h"

namespace thalweg::slurm_agent {
namespace {

using enum Outcome;

// Numbers as in slurm_errno.h. "unknown" wherever the request may have reached the controller.
constexpr ErrorRow table[] = {
    {EAGAIN, retry_later, "the cluster takes no more jobs at the moment"},
    {EACCES, refused, "Slurm does not allow this user to do that"},
    {SLURM_PROTOCOL_VERSION_ERROR, retry_later,
     "the controller runs a Slurm release that this agent was not built for"},
    {SLURM_PROTOCOL_AUTHENTICATION_ERROR, retry_later,
     "Slurm's authentication failed; is munged running on this machine?"},
    {SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR, unknown, "Slurm's controller does not answer"},
    {SLURMCTLD_COMMUNICATIONS_SEND_ERROR, unknown, "talking to Slurm's controller failed"},
    {SLURMCTLD_COMMUNICATIONS_RECEIVE_ERROR, unknown, "Slurm's controller did not answer in full"},
    {SLURMCTLD_COMMUNICATIONS_SHUTDOWN_ERROR, unknown, "Slurm's controller closed the connection"},
    {ESLURM_INVALID_PARTITION_NAME, refused, "there is no such partition"},
    {ESLURM_DEFAULT_PARTITION_NOT_SET, refused,
     "this cluster has no default partition; name one in slurm.partition"},
    {ESLURM_ACCESS_DENIED, refused, "this user may not do that on this cluster or partition"},
    {ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP, refused,
     "this user is not in a group that may use the partition"},
    {ESLURM_REQUESTED_NODES_NOT_IN_PARTITION, refused, "the named nodes are not in the partition"},
    {ESLURM_TOO_MANY_REQUESTED_CPUS, refused, "more CPUs than nodes of the partition have"},
    {ESLURM_INVALID_NODE_COUNT, refused, "this number of nodes is not possible here"},
    {ESLURM_PATHNAME_TOO_LONG, refused,
     "the batch script or a path is longer than this cluster allows"},
    {ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, refused,
     "no nodes of the partition have what is asked for"},
    {ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE, refused,
     "the partition will never run a job of this size or length"},
    {ESLURM_NODES_BUSY, retry_later, "the nodes are busy"},
    {ESLURM_INVALID_JOB_ID, missing, "Slurm does not know such a job (any longer)"},
    {ESLURM_INVALID_NODE_NAME, refused, "a named node does not exist"},
    {ESLURM_TRANSITION_STATE_NO_UPDATE, retry_later, "the job is changing its state just now"},
    {ESLURM_ALREADY_DONE, finished, "the job has ended already"},
    {ESLURM_IN_STANDBY_MODE, retry_later, "the controller that answered is on stand-by"},
    {ESLURM_INVALID_FEATURE, refused, "a feature in slurm.constraint does not exist here"},
    {ESLURM_DISABLED, retry_later, "Slurm has switched this off for the moment"},
    {ESLURM_INVALID_TASK_MEMORY, refused, "no node has that much memory"},
    {ESLURM_INVALID_ACCOUNT, refused,
     "this user cannot charge to that account (slurm.account), or account and partition do not "
     "match"},
    {ESLURM_INVALID_LICENSES, refused, "a licence in slurm.licenses does not exist here"},
    {ESLURM_ACCOUNTING_POLICY, retry_later,
     "a limit of the account or QOS is reached (jobs, nodes, or time)"},
    {ESLURM_INVALID_TIME_LIMIT, refused, "the time limit is longer than the partition allows"},
    {ESLURM_RESERVATION_ACCESS, refused, "this user may not use the reservation"},
    {ESLURM_RESERVATION_INVALID, refused, "there is no such reservation, or it has ended"},
    {ESLURM_RESERVATION_BUSY, retry_later, "the reservation is busy"},
    {ESLURM_RESERVATION_NOT_USABLE, retry_later, "the reservation is not usable now"},
    {ESLURM_INVALID_QOS, refused, "there is no such QOS, or this user may not use it"},
    {ESLURM_NODE_NOT_AVAIL, retry_later, "a node that is needed is down or drained"},
    {ESLURM_INVALID_CPU_COUNT, refused, "this number of CPUs is not possible here"},
    {ESLURM_PARTITION_NOT_AVAIL, retry_later, "the partition takes no jobs now"},
    {ESLURM_INVALID_GRES, refused,
     "no node here has what resources.gpus_per_node, slurm.gres or a gpus option of slurm.sbatch "
     "asks for"},
    {ESLURM_JOB_NOT_PENDING, finished, "the job is no longer waiting"},
    {ESLURM_QOS_THRES, retry_later, "the QOS has used up its share for now"},
    {ESLURM_JOB_STARTED, finished, "the job has started already"},
    {ESLURM_JOB_FINISHED, finished, "the job has ended already"},
    {ESLURM_JOB_NOT_PENDING_NOR_RUNNING, finished, "the job has ended already"},
    {ESLURM_PARTITION_DOWN, retry_later, "the partition is down"},
    {ESLURM_SUBMISSIONS_DISABLED, retry_later, "submitting is switched off on this cluster"},
    {ESLURM_INVALID_TRES, refused,
     "a resource that is asked for (gpus_per_node, slurm.gres) does not exist here"},
    {ESLURM_RESERVATION_MAINT, retry_later, "the nodes are reserved for maintenance"},
    {ESLURM_INVALID_GRES_TYPE, refused,
     "no node here has the type that resources.gpus_per_node, slurm.gres or a gpus option of "
     "slurm.sbatch names"},
    {ESLURM_REBOOT_IN_PROGRESS, retry_later, "nodes are rebooting"},
    {ESLURM_UNSUPPORTED_GRES, refused,
     "generic resources (gpus_per_node, slurm.gres, gpus options) cannot be asked for like this "
     "here"},
    {ESLURM_IN_STANDBY_USE_BACKUP, retry_later, "the controller that answered is on stand-by"},
    {ESLURMD_KILL_JOB_ALREADY_COMPLETE, finished, "the job has ended already"},
    {SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT, unknown, "Slurm's controller did not answer in time"},
    {ESLURM_AUTH_CRED_INVALID, retry_later, "Slurm did not accept this machine's credential"},
    {ESLURM_MISSING_TIME_LIMIT, refused, "this cluster requires a time limit"},
};

// How slurm_errno.h groups its codes, for those that are not in the table.
constexpr int first_answer = 2000;          // of the controller: a plain no
constexpr int first_socket = 5000;          // who knows
constexpr int first_authentication = 6000;  // before anything is done
constexpr int first_database = 7000;        // and everything newer: answers again

Outcome outcome_of_group(int code) {
  if (code < first_answer) return unknown;
  if (code < first_socket) return refused;
  if (code < first_authentication) return unknown;
  return code < first_database ? retry_later : refused;
}

}  // namespace

const ErrorRow* error_table(std::size_t& rows) {
  rows = std::size(table);
  return table;
}

std::string error_number(int code) {
  return " (Slurm error " + std::to_string(code) + ")";
}

Failure explain(int code) {
  const std::string number = error_number(code);
  const auto* row = std::find_if(std::begin(table), std::end(table),
                                 [&](const auto& r) { return r.code == code; });
  if (row != std::end(table)) return {code, row->outcome, row->sentence + number};
  const char* text = slurm_strerror(code);
  return {code, outcome_of_group(code), (text ? text : "unknown error") + number};
}

}  // namespace thalweg::slurm_agent
