// What the agent answers to each verb (protocol.md), asking Slurm as the user whose process it is.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "daemon/slurm_agent/calls.h"
#include "daemon/slurm_agent/library.h"
#include "daemon/slurm_agent/messages.h"

namespace thalweg::slurm_agent {

/// One listing shared by all who ask, so that "nothing changed" costs no more than Slurm's own
/// answer.
struct JobList {
  std::mutex mutex;
  bool loaded = false;
  std::uint64_t stamp = 0;  ///< grows with every change
  unsigned generation = 0;
  Listing listing;
};

/// Thread-safe.
class Verbs {
 public:
  explicit Verbs(Whose whose = {});

  /// Without the id. Throws BadQuestion or a json::exception where the line is no question.
  nlohmann::json answer(const nlohmann::json& line);
  /// SlurmUser of the cluster.
  Result<std::uint32_t> slurm_user();

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
  nlohmann::json answer_to(const nlohmann::json& line);
  int controllers();
  Result<Site> site();

  Whose whose_;
  Library library_;
  JobList jobs_;
  std::mutex site_mutex_;
  Site site_;  ///< as far as known; `controllers` is 1 before the first answer
  unsigned site_generation_ = 0;
};

/// A whole line to a whole line: reads the question, takes its id over, and turns what `answer`
/// throws into a failure.
std::string answer_line(const std::string& text,
                        const std::function<nlohmann::json(const nlohmann::json&)>& answer);

/// Without the id.
nlohmann::json failure_json(Outcome outcome, const std::string& message);

/// All Verbs read slurm.conf again. Safe in a signal handler.
void request_reload();

}  // namespace thalweg::slurm_agent
