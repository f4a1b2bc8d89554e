// Reads questions line by line, lets a few workers answer them, and keeps the one listing of jobs
// that all polls share.
#include "daemon/slurm_agent/agent.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <type_traits>

#include "daemon/slurm_agent/calls.h"
#include "daemon/slurm_agent/compat.h"
#include "daemon/slurm_agent/library.h"
#include "daemon/slurm_agent/messages.h"

namespace thalweg::slurm_agent {
namespace {

using nlohmann::json;

// Two submissions at once already use most of what slurmctld gives (1670 of 1900 per second); the
// others keep a poll and a cancellation from waiting behind slow submissions.
constexpr int worker_count = 4;
// Longer than any batch script Slurm takes (4 MB by default), escaped.
constexpr std::size_t longest_line = 32u << 20;

std::atomic<bool> reload_requested = false;

// Another one in every process, so that a stamp from a previous agent is never taken for one of
// ours. Fits a double.
std::uint64_t first_stamp() {
  std::random_device device;
  return (std::uint64_t{device() & 0x1fffffu} << 31) + 1;
}

/// One listing shared by all who ask, so that "nothing changed" costs no more than Slurm's own
/// answer.
struct JobList {
  std::mutex mutex;
  bool loaded = false;
  std::uint64_t stamp = first_stamp();  ///< grows with every change
  unsigned generation = 0;
  Listing listing;
};

class Agent {
 public:
  explicit Agent(int out) : out_(out) {}

  json answer(const json& line);
  void write(const json& line);

 private:
  Result<Hello::Answer> run(const Hello&);
  Result<Ping::Answer> run(const Ping&);
  Result<Submit::Answer> run(const Submit& asked) { return submit_held(asked); }
  Result<WillRun::Answer> run(const WillRun& asked) { return will_run(asked); }
  Result<Release::Answer> run(const Release& asked);
  Result<Cancel::Answer> run(const Cancel& asked);
  Result<Poll::Answer> run(const Poll& asked);
  Result<Job::Answer> run(const Job& asked);
  Result<Partitions::Answer> run(const Partitions&);
  Result<Nodes::Answer> run(const Nodes&) { return count_nodes(); }
  template <class Question>
  json answer_to(const json& line);
  int controllers();

  Library library_;
  JobList jobs_;
  std::mutex out_mutex_;
  int out_;
  std::mutex site_mutex_;
  Site site_;  ///< as far as known; `controllers` is 1 before the first answer
  unsigned site_generation_ = 0;
};

int Agent::controllers() {
  std::lock_guard lock(site_mutex_);
  return site_.controllers;
}

template <class Question>
json Agent::answer_to(const json& line) {
  // What tells whether Slurm answers is answered itself where it does not.
  constexpr bool needs_controller =
      !std::is_same_v<Question, Hello> && !std::is_same_v<Question, Ping>;
  using Answer = Result<typename Question::Answer>;
  if (reload_requested.exchange(false)) library_.reload();
  try {
    const Library::Use use = library_.use();
    if (needs_controller && !controller_answers(controllers()))
      return answer_json<typename Question::Answer>(
          Failure{0, Outcome::retry_later, "Slurm's controller does not answer"});
    const Answer answer = run(read_question<Question>(line));
    return answer_json(answer);
  } catch (const NoSlurm& error) {
    return answer_json<typename Question::Answer>(Failure{0, Outcome::no_slurm, error.what()});
  }
}

json Agent::answer(const json& line) {
  const std::string wanted = line.at("verb");
  std::optional<json> answer;
  each_question([&]<class Question>() {
    if (wanted == Question::verb) answer = answer_to<Question>(line);
  });
  if (!answer) throw BadQuestion("no verb '" + wanted + "'");
  return *std::move(answer);
}

Result<Hello::Answer> Agent::run(const Hello&) {
  std::unique_lock lock(site_mutex_);
  if (site_generation_ != library_.generation() || site_.version.empty()) {
    lock.unlock();
    auto loaded = load_site();
    if (const auto* failure = std::get_if<Failure>(&loaded)) return *failure;
    lock.lock();
    site_ = std::get<Site>(loaded);
    site_generation_ = library_.generation();
  }
  const std::string minor = std::to_string(compat::built_minor);
  return Hello::Answer{
      protocol_version,
      site_.version,
      std::to_string(compat::built_major) + (minor.size() < 2 ? ".0" : ".") + minor,
      site_.cluster,
      site_.min_job_age_s,
      site_.kill_wait_s,
      ::getuid()};
}

Result<Ping::Answer> Agent::run(const Ping&) {
  return Ping::Answer{controller_answers(controllers())};
}

Result<Release::Answer> Agent::run(const Release& asked) {
  auto found = load_job(asked);
  if (const auto* failure = std::get_if<Failure>(&found)) return *failure;
  if (!std::get<JobFacts>(found).held) return Release::Answer{};
  auto result = release(asked.job, asked.token);
  if (const auto* failure = std::get_if<Failure>(&result)) return *failure;
  return Release::Answer{};
}

// "TERM" asks the ranks of a running job to stop and ends a waiting one; "KILL" ends it.
Result<Cancel::Answer> Agent::run(const Cancel& asked) {
  auto found = load_job(asked);
  if (const auto* failure = std::get_if<Failure>(&found)) return *failure;
  const std::string& state = std::get<JobFacts>(found).state;
  const bool gently = asked.signal == "TERM" && state == "RUNNING";
  auto result = signal_job(asked.job, gently ? SIGTERM : SIGKILL);
  if (const auto* failure = std::get_if<Failure>(&result)) return *failure;
  return Cancel::Answer{gently ? "TERM" : "KILL", state};
}

Result<Poll::Answer> Agent::run(const Poll& asked) {
  std::lock_guard lock(jobs_.mutex);
  const unsigned generation = library_.generation();
  const bool known = jobs_.loaded && jobs_.generation == generation;
  auto result = list_jobs(known ? jobs_.listing.time : 0);
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

Result<Job::Answer> Agent::run(const Job& asked) {
  auto result = load_job(asked);
  if (const auto* failure = std::get_if<Failure>(&result)) return *failure;
  return Job::Answer{std::get<JobFacts>(std::move(result))};
}

Result<Partitions::Answer> Agent::run(const Partitions&) {
  auto result = load_partitions();
  if (const auto* failure = std::get_if<Failure>(&result)) return *failure;
  Partitions::Answer answer;
  for (const Partition& one : std::get<std::vector<Partition>>(result))
    answer.partitions.push_back({one.name, one.is_default, one.submittable && one.schedulable,
                                 static_cast<std::int64_t>(one.nodes.size()), one.min_nodes,
                                 one.max_nodes, one.max_minutes});
  return answer;
}

void Agent::write(const json& line) {
  // A node's reason or a job's name may hold any bytes.
  const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  std::lock_guard lock(out_mutex_);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(out_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;  // nobody listens any more; the input will end too
    done += static_cast<std::size_t>(n);
  }
}

/// Lines that wait for a worker.
class Queue {
 public:
  void push(std::string line) {
    std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    wake_.notify_one();
  }
  std::string pop() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return !lines_.empty(); });
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::string> lines_;
};

json failure(Outcome outcome, const char* message) {
  return answer_json<Nothing>(Failure{0, outcome, message});
}

void handle(Agent& agent, const std::string& text) {
  json id;
  json answer;
  try {
    const json line = json::parse(text);
    id = line.value("id", json());
    answer = agent.answer(line);
  } catch (const json::exception& error) {
    answer = failure(Outcome::bad_request, error.what());
  } catch (const BadQuestion& error) {
    answer = failure(Outcome::bad_request, error.what());
  } catch (const std::exception& error) {
    answer = failure(Outcome::unknown, error.what());
  }
  answer["id"] = id;
  agent.write(answer);
}

// False at the end of the input.
bool read_more(int in, std::string& buffer) {
  char block[65536];
  for (;;) {
    const ssize_t n = ::read(in, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    buffer.append(block, static_cast<std::size_t>(n));
    return true;
  }
}

}  // namespace

void request_reload() {
  reload_requested = 1;
}

int serve(int in, int out) {
  // Neither is ever destroyed: at the end of the input a worker may be inside a call for ten
  // seconds more, and nobody waits for its answer.
  static Agent* const agent = new Agent(out);
  static Queue* const queue = new Queue;
  for (int i = 0; i < worker_count; ++i) {
    std::thread([] {
      for (;;)
        handle(*agent, queue->pop());
    }).detach();
  }
  std::string buffer;
  while (read_more(in, buffer)) {
    std::size_t begin = 0;
    for (std::size_t end; (end = buffer.find('\n', begin)) != std::string::npos; begin = end + 1) {
      if (end > begin) queue->push(buffer.substr(begin, end - begin));
    }
    buffer.erase(0, begin);
    if (buffer.size() > longest_line) {
      std::fprintf(stderr, "slurm agent: a line of more than %zu bytes\n", longest_line);
      return 2;
    }
  }
  return 0;
}

}  // namespace thalweg::slurm_agent
