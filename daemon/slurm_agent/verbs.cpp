// The questions to Slurm by their verbs, and the one listing of jobs that all polls share.
#include "daemon/slurm_agent/verbs.h"

#include <unistd.h>

#include <csignal>
#include <random>
#include <type_traits>

#include "daemon/slurm_agent/compat.h"

namespace thalweg::slurm_agent {
namespace {

using nlohmann::json;

std::atomic<bool> reload_requested = false;

// Another one in every process, so that a stamp from a previous agent is never taken for one of
// ours. Fits a double.
std::uint64_t first_stamp() {
  std::random_device device;
  return (std::uint64_t{device() & 0x1fffffu} << 31) + 1;
}

/// Copies of values within values within values use up the stack.
bool not_too_deep(int depth, json::parse_event_t, json&) {
  constexpr int max_depth = 16;
  if (depth > max_depth) throw BadQuestion("values within values, too deep");
  return true;
}

/// What the agent without --site answers to what needs it.
BadQuestion needs_site(const std::string& what) {
  return BadQuestion("'" + what + "' needs thalweg-slurm-agent --site");
}

template <class Question>
constexpr bool is_of_site =
    std::is_same_v<Question, Authorize> || std::is_same_v<Question, Revoke> ||
    std::is_same_v<Question, Prepare> || std::is_same_v<Question, Remove>;

}  // namespace

void request_reload() {
  reload_requested = true;
}

std::string answer_line(const std::string& text, const std::function<json(const json&)>& answer) {
  json id;
  json answered;
  try {
    const json line = json::parse(text, not_too_deep);
    const auto given = line.is_object() ? line.find("id") : line.end();
    if (given != line.end() && given->is_structured())
      throw BadQuestion("\"id\" is no number and no text");
    if (given != line.end()) id = *given;
    answered = answer(line);
  } catch (const json::exception& error) {
    answered = failure_json(Outcome::bad_request, error.what());
  } catch (const BadQuestion& error) {
    answered = failure_json(Outcome::bad_request, error.what());
  } catch (const std::exception& error) {
    answered = failure_json(Outcome::unknown, error.what());
  }
  answered["id"] = id;
  // A node's reason or a job's name may hold any bytes.
  return answered.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

json failure_json(Outcome outcome, const std::string& message) {
  return answer_json<Nothing>(Failure{0, outcome, message});
}

Verbs::Verbs(Whose whose) : whose_(whose) {
  jobs_.stamp = first_stamp();
}

int Verbs::controllers() {
  std::lock_guard lock(site_mutex_);
  return site_.controllers;
}

template <class Question>
json Verbs::answer_to(const json& line) {
  // What tells whether Slurm answers is answered itself where it does not.
  [[maybe_unused]] constexpr bool needs_controller =
      !std::is_same_v<Question, Hello> && !std::is_same_v<Question, Ping>;
  if (reload_requested.exchange(false)) library_.reload();
  if (line.contains("as")) throw needs_site("as");
  if constexpr (is_of_site<Question>) {
    throw needs_site(Question::verb);
  } else {
    try {
      const Library::Use use = library_.use();
      if (needs_controller && !controller_answers(controllers()))
        return failure_json(Outcome::retry_later, "Slurm's controller does not answer");
      const Result<typename Question::Answer> answer = run(read_question<Question>(line));
      return answer_json(answer);
    } catch (const NoSlurm& error) {
      return failure_json(Outcome::no_slurm, error.what());
    }
  }
}

json Verbs::answer(const json& line) {
  const std::string wanted = line.at("verb");
  std::optional<json> answer;
  each_question([&]<class Question>() {
    if (wanted == Question::verb) answer = answer_to<Question>(line);
  });
  if (!answer) throw BadQuestion("no verb '" + wanted + "'");
  return *std::move(answer);
}

Result<Site> Verbs::site() {
  std::unique_lock lock(site_mutex_);
  if (site_generation_ != library_.generation() || site_.version.empty()) {
    lock.unlock();
    auto loaded = load_site();
    if (std::holds_alternative<Failure>(loaded)) return loaded;
    lock.lock();
    site_ = std::get<Site>(loaded);
    site_generation_ = library_.generation();
  }
  return site_;
}

Result<std::uint32_t> Verbs::slurm_user() {
  try {
    const Library::Use use = library_.use();
    const auto known = site();
    if (const auto* failure = std::get_if<Failure>(&known)) return *failure;
    return std::get<Site>(known).slurm_user;
  } catch (const NoSlurm& error) {
    return Failure{0, Outcome::no_slurm, error.what()};
  }
}

Result<Hello::Answer> Verbs::run(const Hello&) {
  const auto known = site();
  if (const auto* failure = std::get_if<Failure>(&known)) return *failure;
  const Site& facts = std::get<Site>(known);
  const std::string minor = std::to_string(compat::built_minor);
  return Hello::Answer{
      protocol_version,
      facts.version,
      std::to_string(compat::built_major) + (minor.size() < 2 ? ".0" : ".") + minor,
      facts.cluster,
      facts.min_job_age_s,
      facts.kill_wait_s,
      ::getuid(),
      whose_.min_uid.has_value()};
}

Result<Ping::Answer> Verbs::run(const Ping&) {
  return Ping::Answer{controller_answers(controllers())};
}

Result<Release::Answer> Verbs::run(const Release& asked) {
  auto found = load_job(asked, whose_);
  if (const auto* failure = std::get_if<Failure>(&found)) return *failure;
  if (!std::get<JobFacts>(found).held) return Release::Answer{};
  auto result = release(asked.job, asked.token);
  if (const auto* failure = std::get_if<Failure>(&result)) return *failure;
  return Release::Answer{};
}

// "TERM" asks the ranks of a running job to stop and ends a waiting one; "KILL" ends it.
Result<Cancel::Answer> Verbs::run(const Cancel& asked) {
  auto found = load_job(asked, whose_);
  if (const auto* failure = std::get_if<Failure>(&found)) return *failure;
  const std::string& state = std::get<JobFacts>(found).state;
  const bool gently = asked.signal == "TERM" && state == "RUNNING";
  auto result = signal_job(asked.job, gently ? SIGTERM : SIGKILL);
  if (const auto* failure = std::get_if<Failure>(&result)) return *failure;
  return Cancel::Answer{gently ? "TERM" : "KILL", state};
}

Result<Poll::Answer> Verbs::run(const Poll& asked) {
  std::lock_guard lock(jobs_.mutex);
  const unsigned generation = library_.generation();
  const bool known = jobs_.loaded && jobs_.generation == generation;
  auto result = list_jobs(known ? jobs_.listing.time : 0, whose_);
  if (const auto* failure = std::get_if<Failure>(&result)) return *failure;
  if (auto& fresh = std::get<std::optional<Listing>>(result)) {
    // Slurm sends everything again when any job of the cluster changed, and for a second after
    // that.
    if (!known || fresh->jobs != jobs_.listing.jobs) ++jobs_.stamp;
    jobs_.listing = std::move(*fresh);
    jobs_.generation = generation;
    jobs_.loaded = true;
  }
  if (asked.since == jobs_.stamp) return Poll::Answer{jobs_.stamp, true, {}};
  return Poll::Answer{jobs_.stamp, {}, jobs_.listing.jobs};
}

Result<Job::Answer> Verbs::run(const Job& asked) {
  auto result = load_job(asked, whose_);
  if (const auto* failure = std::get_if<Failure>(&result)) return *failure;
  return Job::Answer{std::get<JobFacts>(std::move(result))};
}

Result<Partitions::Answer> Verbs::run(const Partitions&) {
  auto result = load_partitions();
  if (const auto* failure = std::get_if<Failure>(&result)) return *failure;
  Partitions::Answer answer;
  for (const Partition& one : std::get<std::vector<Partition>>(result))
    answer.partitions.push_back({one.name, one.is_default, one.submittable && one.schedulable,
                                 static_cast<std::int64_t>(one.nodes.size()), one.min_nodes,
                                 one.max_nodes, one.max_minutes});
  return answer;
}

}  // namespace thalweg::slurm_agent
