#include "daemon/slurm_agent/calls.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include "daemon/slurm_agent/compat.h"
#include "daemon/slurm_agent/names.h"

namespace thalweg::slurm_agent {
namespace {

/// Owns one answer of libslurm.
template <class T, void (*release)(T*)>
struct Free {
  void operator()(T* answer) const { release(answer); }
};
template <class T, void (*release)(T*)>
using Owned = std::unique_ptr<T, Free<T, release>>;

using Jobs = Owned<job_info_msg_t, slurm_free_job_info_msg>;
using NodeTable = Owned<node_info_msg_t, slurm_free_node_info_msg>;
using PartitionTable = Owned<partition_info_msg_t, slurm_free_partition_info_msg>;
using SubmitAnswer = Owned<submit_response_msg_t, slurm_free_submit_response_response_msg>;
using WillRunAnswer = Owned<will_run_response_msg_t, slurm_free_will_run_response_msg>;
using ArrayAnswer = Owned<job_array_resp_msg_t, slurm_free_job_array_resp>;
using Configuration = Owned<slurm_conf_t, compat::free_configuration>;

Failure last_failure() {
  return explain(errno);
}

std::string text(const char* c_string) {
  return c_string ? c_string : "";
}

/// What follows the prefix in the comment; empty where there is no such comment.
std::string mark_of(const slurm_job_info_t& job) {
  const std::string comment = text(job.comment);
  if (comment.rfind(comment_prefix, 0) != 0) return {};
  return comment.substr(std::strlen(comment_prefix));
}

bool is_ours(const slurm_job_info_t& job, const Whose& whose) {
  return whose.holds(job.user_id) &&
         (!mark_of(job).empty() || text(job.name).rfind(name_prefix, 0) == 0);
}

JobFacts facts_of(const slurm_job_info_t& job) {
  JobFacts facts;
  const std::uint32_t base = job.job_state & JOB_STATE_BASE;
  facts.job = job.job_id;
  facts.user = job.user_id;
  facts.token = mark_of(job);
  if (facts.token.ends_with(released_mark)) {
    facts.token.resize(facts.token.size() - std::strlen(released_mark));
    facts.released = true;
  }
  facts.folder = text(job.work_dir);
  facts.submitted = job.submit_time;
  // Of a job that waits it may lie ahead: its begin time.
  if (base != JOB_PENDING) facts.eligible = job.eligible_time;
  facts.name = text(job.name);
  facts.state = state_name(job.job_state);
  facts.reason = reason_name(job.state_reason);
  if (job.state_desc) facts.reason += (facts.reason.empty() ? "" : ": ") + text(job.state_desc);
  facts.nodes = text(job.nodes);
  if (!facts.nodes.empty()) facts.node_count = job.num_nodes;
  facts.completing = (job.job_state & JOB_COMPLETING) != 0;
  facts.held = base == JOB_PENDING && job.priority == 0;
  if (base != JOB_PENDING) facts.started = job.start_time;  // before that it is a guess
  if (base > JOB_SUSPENDED) facts.ended = job.end_time;
  facts.exit = job.exit_code;
  facts.steps_exit = job.derived_ec;
  return facts;
}

std::string option(const JobRequest& request, const char* name) {
  const auto found = request.options.find(name);
  return found == request.options.end() ? "" : found->second;
}

/// A mistake that Slurm would accept and the node then trip over.
std::optional<std::string> mistake(const JobRequest& request) {
  // A line end in a #SBATCH line would make the rest of it a command of the script.
  for (const auto& [name, value] : request.options)
    if (std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x20; }))
      return name + " holds a control character";
  std::vector<std::string> outputs;
  for (const char* name : {"output", "error"}) {
    const std::string path = option(request, name);
    outputs.push_back(plain_path(path).value_or(""));
    if (!path.empty() && outputs.back().empty())
      return "Slurm cannot write to a path with a backslash: " + path;
  }
  return script_mistake(request.script, option(request, "chdir"), outputs);
}

void fill(Description& description, const JobRequest& request) {
  job_desc_msg_t& d = description.get();
  d.kill_on_node_fail = 1;
  set_options(description, request.options);
  d.script = description.keep(request.script);
  d.user_id = ::getuid();
  d.group_id = ::getgid();
  description.set_environment(request.environment);
}

bool is_about_limits(int code) {
  return code == ESLURM_INVALID_PARTITION_NAME || code == ESLURM_DEFAULT_PARTITION_NOT_SET ||
         code == ESLURM_TOO_MANY_REQUESTED_CPUS || code == ESLURM_INVALID_NODE_COUNT ||
         code == ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE || code == ESLURM_INVALID_TIME_LIMIT ||
         code == ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE || code == ESLURM_INVALID_TASK_MEMORY ||
         code == ESLURM_INVALID_CPU_COUNT;
}

std::optional<std::string> why_impossible(const Shape& shape) {
  const auto partitions = load_partitions();
  if (const auto* known = std::get_if<std::vector<Partition>>(&partitions)) {
    return impossible(shape, *known);
  }
  return {};
}

Partition partition_of(const partition_info_t& p, const node_info_msg_t& nodes) {
  Partition partition;
  partition.name = text(p.name);
  partition.is_default = (p.flags & PART_FLAG_DEFAULT) != 0;
  partition.submittable = (p.state_up & PARTITION_SUBMIT) != 0;
  partition.schedulable = (p.state_up & PARTITION_SCHED) != 0;
  partition.min_nodes = p.min_nodes;
  partition.max_nodes = p.max_nodes == INFINITE ? 0 : p.max_nodes;
  partition.max_minutes = p.max_time == INFINITE ? 0 : p.max_time;
  // Pairs of first and last index into the node table, ended by -1.
  for (const std::int32_t* range = p.node_inx; range && *range >= 0; range += 2) {
    const auto end = std::min<std::int64_t>(std::int64_t{range[1]} + 1, nodes.record_count);
    for (std::int64_t i = range[0]; i < end; ++i) {
      const node_info_t& node = nodes.node_array[i];
      partition.nodes.push_back({node.cpus, static_cast<std::int64_t>(node.real_memory)});
    }
  }
  return partition;
}

}  // namespace

bool Whose::holds(std::uint32_t uid) const {
  return min_uid ? uid >= *min_uid : uid == ::getuid();
}

bool controller_answers(int controllers) {
  for (int i = 0; i < controllers; ++i) {
    if (slurm_ping(i) == SLURM_SUCCESS) return true;
  }
  return false;
}

Result<Site> load_site() {
  slurm_conf_t* raw = nullptr;
  if (slurm_load_ctl_conf(0, &raw) != SLURM_SUCCESS) return last_failure();
  const Configuration conf(raw);
  return Site{text(conf->version),
              text(conf->cluster_name),
              conf->min_job_age,
              conf->kill_wait,
              static_cast<int>(std::max<std::uint32_t>(conf->control_cnt, 1)),
              conf->slurm_user_id};
}

Result<std::vector<Partition>> load_partitions() {
  node_info_msg_t* raw_nodes = nullptr;
  if (slurm_load_node(0, &raw_nodes, SHOW_ALL) != SLURM_SUCCESS) return last_failure();
  const NodeTable nodes(raw_nodes);
  partition_info_msg_t* raw = nullptr;
  if (slurm_load_partitions(0, &raw, SHOW_ALL) != SLURM_SUCCESS) return last_failure();
  const PartitionTable answer(raw);
  std::vector<Partition> partitions;
  for (std::uint32_t i = 0; i < answer->record_count; ++i) {
    partitions.push_back(partition_of(answer->partition_array[i], *nodes));
  }
  return partitions;
}

Result<Nodes::Answer> count_nodes() {
  node_info_msg_t* raw = nullptr;
  if (slurm_load_node(0, &raw, SHOW_ALL) != SLURM_SUCCESS) return last_failure();
  const NodeTable nodes(raw);
  Nodes::Answer count;
  for (std::uint32_t i = 0; i < nodes->record_count; ++i) {
    const node_info_t& node = nodes->node_array[i];
    if (!node.name) continue;  // a hole in a table with dynamic nodes
    ++count.total;
    const std::uint32_t base = node.node_state & NODE_STATE_BASE;
    const bool out =
        (node.node_state & (NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND)) != 0;
    if (!out && base != NODE_STATE_DOWN && base != NODE_STATE_UNKNOWN) ++count.usable;
  }
  return count;
}

namespace {

/// Slurm looks at nodes that are up when it says whether a job could run. What is missing while
/// others are out may come back with them.
std::optional<std::string> nodes_out() {
  const auto answer = count_nodes();
  const auto* count = std::get_if<Nodes::Answer>(&answer);
  if (count == nullptr || count->usable == count->total) return {};
  return "the nodes that are up do not have what is asked for; " +
         std::to_string(count->total - count->usable) + " of " + std::to_string(count->total) +
         " are down or drained now";
}

}  // namespace

Result<Submit::Answer> submit_held(const Submit& request) {
  if (const auto wrong = mistake(request)) return Failure{0, Outcome::refused, *wrong};
  Description description;
  try {
    fill(description, request);
  } catch (const BadOption& error) {
    return Failure{0, Outcome::refused, error.what()};
  }
  description.get().comment = description.keep(comment_prefix + request.token);
  description.get().priority = 0;  // held
  const Shape shape = shape_of(description.get());
  submit_response_msg_t* raw = nullptr;
  errno = 0;
  const int rc = slurm_submit_batch_job(&description.get(), &raw);
  const int code = errno;
  const SubmitAnswer answer(raw);
  if (rc != SLURM_SUCCESS || !answer) {
    Failure failure = explain(code);
    if (failure.outcome == Outcome::refused && is_about_limits(code)) {
      if (auto reason = why_impossible(shape)) failure.message = *reason + error_number(code);
    }
    if (answer && answer->job_submit_user_msg)
      failure.message += ": " + text(answer->job_submit_user_msg);
    return failure;
  }
  Submit::Answer submitted{compat::job_id(*answer), text(answer->job_submit_user_msg)};
  const int note = static_cast<int>(answer->error_code);
  // Accepted, and Slurm says that it can never run. It is believed where the reason is plain: a
  // partition that is down gives the same answer.
  if (note == ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE) {
    if (auto reason = why_impossible(shape)) {
      signal_job(submitted.job, SIGKILL);
      return Failure{note, Outcome::refused, *reason + error_number(note)};
    }
  }
  if (note != 0 && note != ESLURM_JOB_HELD && submitted.note.empty())
    submitted.note = explain(note).message;
  return submitted;
}

namespace {

/// Without accounting there is no QOS that could lift a partition's limits.
bool limits_are_final() {
  slurm_conf_t* raw = nullptr;
  if (slurm_load_ctl_conf(0, &raw) != SLURM_SUCCESS) return false;
  const Configuration conf(raw);
  const std::string accounting = text(conf->accounting_storage_type);
  return accounting.empty() || accounting.ends_with("/none");
}

/// Where limits are not enforced at submission (EnforcePartLimits=NO) Slurm says when such a job
/// would start, too, and then leaves it pending for ever.
std::optional<Failure> never_starts(Shape shape) {
  shape.tasks_per_node = shape.cpus_per_task = 1;  // Slurm knows better what fits into its nodes
  shape.memory_mib = 0;
  auto reason = why_impossible(shape);
  if (!reason) return {};
  if (limits_are_final()) return Failure{0, Outcome::refused, *reason};
  return Failure{0, Outcome::retry_later, *reason + ", unless a QOS lifts the limit"};
}

}  // namespace

Result<WillRun::Answer> will_run(const JobRequest& request) {
  Description description;
  try {
    fill(description, request);
  } catch (const BadOption& error) {
    return Failure{0, Outcome::refused, error.what()};
  }
  will_run_response_msg_t* raw = nullptr;
  errno = 0;
  const int rc = slurm_job_will_run2(&description.get(), &raw);
  const int code = errno;
  const WillRunAnswer answer(raw);
  if (rc == SLURM_SUCCESS && answer) {
    if (auto never = never_starts(shape_of(description.get()))) return *never;
    return WillRun::Answer{answer->start_time, text(answer->node_list), text(answer->part_name)};
  }
  Failure failure = explain(code);
  if (is_about_limits(code)) {
    if (auto reason = why_impossible(shape_of(description.get()))) {
      failure = {code, Outcome::refused, *reason + error_number(code)};
    } else if (code == ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE) {
      failure.outcome = Outcome::retry_later;  // a partition that is down gives the same answer
    } else if (code == ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE) {
      if (auto wait = nodes_out()) failure = {code, Outcome::retry_later, *wait};
    }
  }
  return failure;
}

Result<JobFacts> load_job(const JobQuestion& asked, const Whose& whose) {
  job_info_msg_t* raw = nullptr;
  if (compat::load_job(&raw, asked.job, SHOW_ALL) != SLURM_SUCCESS) return last_failure();
  const Jobs answer(raw);
  for (std::uint32_t i = 0; i < answer->record_count; ++i) {
    if (!is_ours(answer->job_array[i], whose)) continue;
    JobFacts facts = facts_of(answer->job_array[i]);
    const bool same_token = !asked.token.empty() && facts.token == asked.token;
    const bool same_folder =
        facts.token.empty() && !asked.folder.empty() && facts.folder == asked.folder;
    if (facts.job == asked.job && (same_token || same_folder)) return facts;
  }
  return Failure{0, Outcome::missing,
                 "job " + std::to_string(asked.job) + " is not the one that was submitted"};
}

namespace {

/// `comment` empty: it stays.
Result<bool> let_run(std::uint32_t job, const std::string& comment) {
  job_desc_msg_t change;
  slurm_init_job_desc_msg(&change);
  std::string id = std::to_string(job);
  change.job_id_str = id.data();
  change.priority = INFINITE;
  if (!comment.empty()) change.comment = const_cast<char*>(comment.c_str());  // only read
  job_array_resp_msg_t* raw = nullptr;
  errno = 0;
  const int rc = slurm_update_job2(&change, &raw);
  const int code = errno;
  const ArrayAnswer answer(raw);
  if (answer) {
    for (std::uint32_t i = 0; i < answer->job_array_count; ++i) {
      const int one = static_cast<int>(answer->error_code[i]);
      if (one != SLURM_SUCCESS) return explain(one);
    }
  }
  if (rc != SLURM_SUCCESS) return explain(rc > 0 ? rc : code);
  return true;
}

}  // namespace

Result<bool> release(std::uint32_t job, const std::string& token) {
  auto result = let_run(job, comment_prefix + token + released_mark);
  const auto* failure = std::get_if<Failure>(&result);
  // A site may forbid to change comments; the job must run all the same.
  if (failure != nullptr && failure->outcome == Outcome::refused) return let_run(job, "");
  return result;
}

Result<bool> signal_job(std::uint32_t job, int signal) {
  const std::string id = std::to_string(job);
  errno = 0;
  const int rc = slurm_kill_job2(id.c_str(), static_cast<std::uint16_t>(signal), 0, nullptr);
  if (rc == SLURM_SUCCESS) return true;
  return explain(rc > 0 ? rc : errno);
}

Result<std::optional<Listing>> list_jobs(std::time_t known, const Whose& whose) {
  job_info_msg_t* raw = nullptr;
  if (slurm_load_jobs(known, &raw, SHOW_ALL | SHOW_LOCAL) != SLURM_SUCCESS) {
    if (errno == SLURM_NO_CHANGE_IN_DATA) return std::optional<Listing>();
    return last_failure();
  }
  const Jobs answer(raw);
  Listing listing{answer->last_update, {}};
  for (std::uint32_t i = 0; i < answer->record_count; ++i) {
    if (!is_ours(answer->job_array[i], whose)) continue;
    listing.jobs.push_back(facts_of(answer->job_array[i]));
  }
  return std::optional<Listing>(std::move(listing));
}

}  // namespace thalweg::slurm_agent
