#include "daemon/slurm_agent/agent.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

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

  json answer(const json& request);
  void write(const json& line);

 private:
  json hello();
  json ping();
  json submit(const json& request);
  json will_run(const json& request);
  json release_job(const json& request);
  json cancel(const json& request);
  json poll(const json& request);
  json job(const json& request);
  json partitions();
  json nodes();
  int controllers();

  struct Verb;
  static const Verb verbs[];

  Library library_;
  JobList jobs_;
  std::mutex out_mutex_;
  int out_;
  std::mutex site_mutex_;
  Site site_;  ///< as far as known; `controllers` is 1 before the first answer
  unsigned site_generation_ = 0;
};

struct Agent::Verb {
  const char* name;
  bool needs_controller;  ///< answered "retry_later" at once where no controller answers a ping
  json (*run)(Agent&, const json&);
};

const Agent::Verb Agent::verbs[] = {
    {"hello", false, [](Agent& a, const json&) { return a.hello(); }},
    {"ping", false, [](Agent& a, const json&) { return a.ping(); }},
    {"submit", true, [](Agent& a, const json& r) { return a.submit(r); }},
    {"will_run", true, [](Agent& a, const json& r) { return a.will_run(r); }},
    {"release", true, [](Agent& a, const json& r) { return a.release_job(r); }},
    {"cancel", true, [](Agent& a, const json& r) { return a.cancel(r); }},
    {"poll", true, [](Agent& a, const json& r) { return a.poll(r); }},
    {"job", true, [](Agent& a, const json& r) { return a.job(r); }},
    {"partitions", true, [](Agent& a, const json&) { return a.partitions(); }},
    {"nodes", true, [](Agent& a, const json&) { return a.nodes(); }},
};

namespace {

Identity identity_of(const json& request) {
  return {request.at("token"), request.value("folder", "")};
}

}  // namespace

int Agent::controllers() {
  std::lock_guard lock(site_mutex_);
  return site_.controllers;
}

json Agent::answer(const json& request) {
  const std::string wanted = request.at("verb");
  for (const Verb& verb : verbs) {
    if (wanted != verb.name) continue;
    if (reload_requested.exchange(false)) library_.reload();
    try {
      const Library::Use use = library_.use();
      if (verb.needs_controller && !controller_answers(controllers())) {
        return to_json(Failure{0, Outcome::retry_later, "Slurm's controller does not answer"});
      }
      return verb.run(*this, request);
    } catch (const NoSlurm& error) {
      return {{"ok", false}, {"outcome", "no_slurm"}, {"code", 0}, {"message", error.what()}};
    }
  }
  return {{"ok", false},
          {"outcome", "bad_request"},
          {"code", 0},
          {"message", "no verb '" + wanted + "'"}};
}

json Agent::hello() {
  std::unique_lock lock(site_mutex_);
  if (site_generation_ != library_.generation() || site_.version.empty()) {
    lock.unlock();
    auto loaded = load_site();
    if (const auto* failure = std::get_if<Failure>(&loaded)) return to_json(*failure);
    lock.lock();
    site_ = std::get<Site>(loaded);
    site_generation_ = library_.generation();
  }
  return {{"ok", true},
          {"protocol", protocol_version},
          {"version", site_.version},
          {"built_for", std::to_string(compat::built_major) + "." +
                            (compat::built_minor < 10 ? "0" : "") +
                            std::to_string(compat::built_minor)},
          {"cluster", site_.cluster},
          {"min_job_age_s", site_.min_job_age_s},
          {"kill_wait_s", site_.kill_wait_s},
          {"user", ::getuid()}};
}

json Agent::ping() {
  return {{"ok", true}, {"up", controller_answers(controllers())}};
}

json Agent::submit(const json& request) {
  auto result = submit_held(job_request(request));
  if (const auto* failure = std::get_if<Failure>(&result)) return to_json(*failure);
  const auto& submitted = std::get<Submitted>(result);
  return {{"ok", true}, {"job", submitted.job}, {"note", submitted.note}};
}

json Agent::will_run(const json& request) {
  auto result = slurm_agent::will_run(job_request(request));
  if (const auto* failure = std::get_if<Failure>(&result)) return to_json(*failure);
  const auto& forecast = std::get<Forecast>(result);
  return {{"ok", true},
          {"start", forecast.start},
          {"nodes", forecast.nodes},
          {"partition", forecast.partition}};
}

json Agent::release_job(const json& request) {
  const std::uint32_t id = request.at("job");
  const Identity identity = identity_of(request);
  auto found = load_job(id, identity);
  if (const auto* failure = std::get_if<Failure>(&found)) return to_json(*failure);
  if (!std::get<JobFacts>(found).held) return {{"ok", true}};
  auto result = release(id, identity.token);
  if (const auto* failure = std::get_if<Failure>(&result)) return to_json(*failure);
  return {{"ok", true}};
}

// "TERM" asks the ranks of a running job to stop and ends a waiting one; "KILL" ends it.
json Agent::cancel(const json& request) {
  const std::uint32_t id = request.at("job");
  const std::string how = request.value("signal", "KILL");
  auto found = load_job(id, identity_of(request));
  if (const auto* failure = std::get_if<Failure>(&found)) return to_json(*failure);
  const std::string& state = std::get<JobFacts>(found).state;
  const bool gently = how == "TERM" && state == "RUNNING";
  auto result = signal_job(id, gently ? SIGTERM : SIGKILL);
  if (const auto* failure = std::get_if<Failure>(&result)) return to_json(*failure);
  return {{"ok", true}, {"state", state}, {"signal", gently ? "TERM" : "KILL"}};
}

json Agent::poll(const json& request) {
  const std::uint64_t since = request.value("since", std::uint64_t{0});
  std::lock_guard lock(jobs_.mutex);
  const unsigned generation = library_.generation();
  const bool known = jobs_.loaded && jobs_.generation == generation;
  auto result = list_jobs(known ? jobs_.listing.time : 0);
  if (const auto* failure = std::get_if<Failure>(&result)) return to_json(*failure);
  if (auto& fresh = std::get<std::optional<Listing>>(result)) {
    // Slurm sends everything again when any job of the cluster changed, and for a second after
    // that.
    if (!known || fresh->jobs != jobs_.listing.jobs) ++jobs_.stamp;
    jobs_.listing = std::move(*fresh);
    jobs_.generation = generation;
    jobs_.loaded = true;
  }
  if (since == jobs_.stamp) return {{"ok", true}, {"stamp", jobs_.stamp}, {"unchanged", true}};
  json list = json::array();
  for (const JobFacts& one : jobs_.listing.jobs)
    list.push_back(to_json(one));
  return {{"ok", true}, {"stamp", jobs_.stamp}, {"jobs", std::move(list)}};
}

json Agent::job(const json& request) {
  auto result = load_job(request.at("job"), identity_of(request));
  if (const auto* failure = std::get_if<Failure>(&result)) return to_json(*failure);
  return {{"ok", true}, {"job", to_json(std::get<JobFacts>(result))}};
}

json Agent::partitions() {
  auto result = load_partitions();
  if (const auto* failure = std::get_if<Failure>(&result)) return to_json(*failure);
  json list = json::array();
  for (const Partition& one : std::get<std::vector<Partition>>(result))
    list.push_back(to_json(one));
  return {{"ok", true}, {"partitions", std::move(list)}};
}

json Agent::nodes() {
  auto result = count_nodes();
  if (const auto* failure = std::get_if<Failure>(&result)) return to_json(*failure);
  const auto& count = std::get<NodeCount>(result);
  return {{"ok", true}, {"total", count.total}, {"usable", count.usable}};
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

void handle(Agent& agent, const std::string& line) {
  json id;
  json answer;
  try {
    const json request = json::parse(line);
    id = request.value("id", json());
    answer = agent.answer(request);
  } catch (const json::exception& error) {
    answer = {{"ok", false}, {"outcome", "bad_request"}, {"code", 0}, {"message", error.what()}};
  } catch (const std::exception& error) {
    answer = {{"ok", false}, {"outcome", "unknown"}, {"code", 0}, {"message", error.what()}};
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
