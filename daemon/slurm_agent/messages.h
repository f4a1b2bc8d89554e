// What thalwegd and thalweg-slurm-agent say to each other (protocol.md), as both sides have it: a
// struct per question, which names its verb and its answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "daemon/api/fields.h"

namespace thalweg::slurm_agent {

using daemon::api::Field;

inline constexpr int protocol_version = 3;

enum class Outcome {
  refused,      ///< will never work as asked
  retry_later,  ///< nothing was done; may work later
  unknown,      ///< it may or may not have been done
  missing,      ///< there is no such job (any more)
  finished,     ///< the job has ended already
  no_slurm,     ///< libslurm finds no configuration on this machine
  bad_request   ///< the line is no question of this protocol
};

/// Instead of any answer.
struct Failure {
  int code = 0;  ///< Slurm's error number; 0 = the agent itself says no
  Outcome outcome = Outcome::unknown;
  std::string message;  ///< "sentence (Slurm error 2000)"

  static void each_field(auto& self, auto&& field) {
    field("code", self.code);
    field("outcome", self.outcome);
    field("message", self.message);
  }
};

template <class T>
using Result = std::variant<T, Failure>;

struct Nothing {
  static void each_field(auto&, auto&&) {}
};

struct Hello : Nothing {
  static constexpr const char* verb = "hello";
  struct Answer {
    int protocol = 0;
    std::string version;    ///< of the Slurm controller
    std::string built_for;  ///< the release whose libslurm the agent links
    std::string cluster;
    std::int64_t min_job_age_s = 0, kill_wait_s = 0;
    std::uint32_t user = 0;  ///< the agent's own uid; who alone may decode credentials for it
    bool site = false;       ///< acts for many users, each by his grant
    bool tokens = false;     ///< takes proofs by Slurm's tokens (JWT), too

    static void each_field(auto& self, auto&& field) {
      field("protocol", self.protocol);
      field("version", self.version);
      field("built_for", self.built_for);
      field("cluster", self.cluster);
      field("min_job_age_s", self.min_job_age_s);
      field("kill_wait_s", self.kill_wait_s);
      field("user", self.user);
      field("site", self.site, Field::may_miss);
      field("tokens", self.tokens, Field::may_miss);
    }
  };
};

struct Ping : Nothing {
  static constexpr const char* verb = "ping";
  struct Answer {
    bool up = false;
    static void each_field(auto& self, auto&& field) { field("up", self.up); }
  };
};

/// Name -> value, as sbatch takes them; flags have an empty value.
using Options = std::map<std::string, std::string>;

/// On whose behalf, in site mode: the user's number and what `authorize` answered.
struct As {
  std::uint32_t uid = 0;
  std::string grant;

  static void each_field(auto& self, auto&& field) {
    field("uid", self.uid);
    field("grant", self.grant);
  }
};

struct JobRequest {
  std::optional<As> as;
  std::string script;
  Options options;                       ///< the whole request, as in the script's #SBATCH lines
  std::vector<std::string> environment;  ///< NAME=value

  static void each_field(auto& self, auto&& field) {
    field("as", self.as);
    field("script", self.script);
    field("options", self.options);
    field("environment", self.environment);
  }
};

struct Submit : JobRequest {
  static constexpr const char* verb = "submit";
  std::string token;
  struct Answer {
    std::uint32_t job = 0;
    std::string note;  ///< what Slurm or the site's submit plug-in said beside "yes"

    static void each_field(auto& self, auto&& field) {
      field("job", self.job);
      field("note", self.note);
    }
  };

  static void each_field(auto& self, auto&& field) {
    JobRequest::each_field(self, field);
    field("token", self.token);
  }
};

/// When and where Slurm would start such a job now.
struct WillRun : JobRequest {
  static constexpr const char* verb = "will_run";
  struct Answer {
    std::int64_t start = 0;  ///< Unix seconds
    std::string nodes, partition;

    static void each_field(auto& self, auto&& field) {
      field("start", self.start);
      field("nodes", self.nodes);
      field("partition", self.partition);
    }
  };
};

/// A job, and what proves that it is the one that was submitted, beside its number, which Slurm may
/// give out again: the token in its comment, or, since comments can be changed, that it is this
/// user's, has a name of ours and works in the attempt's own folder.
struct JobQuestion {
  std::optional<As> as;
  std::uint32_t job = 0;
  std::string token, folder;

  static void each_field(auto& self, auto&& field) {
    field("as", self.as);
    field("job", self.job);
    field("token", self.token);
    field("folder", self.folder, Field::may_miss);
  }
};

struct Release : JobQuestion {
  static constexpr const char* verb = "release";
  using Answer = Nothing;
};

struct Cancel : JobQuestion {
  static constexpr const char* verb = "cancel";
  std::string signal = "KILL";  ///< or "TERM", which asks the ranks of a running job to stop
  struct Answer {
    std::string signal;  ///< that was sent
    std::string state;   ///< before

    static void each_field(auto& self, auto&& field) {
      field("signal", self.signal);
      field("state", self.state);
    }
  };

  static void each_field(auto& self, auto&& field) {
    JobQuestion::each_field(self, field);
    field("signal", self.signal, Field::may_miss);
  }
};

/// A job as Slurm shows it. Times are Unix seconds, 0 = not yet; exits are wait statuses.
struct JobFacts {
  std::uint32_t job = 0;
  std::string token;  ///< empty: not one of ours, or its comment was changed
  std::string name, state, reason, nodes, folder;
  bool completing = false, held = false, released = false;
  std::int64_t submitted = 0, eligible = 0, started = 0, ended = 0;
  std::uint32_t exit = 0, steps_exit = 0;
  std::uint32_t node_count = 0;  ///< of `nodes`; 0 = not known
  std::uint32_t user = 0;        ///< its owner's uid

  bool operator==(const JobFacts&) const = default;
  static void each_field(auto& self, auto&& field) {
    field("job", self.job);
    field("token", self.token);
    field("name", self.name, Field::may_miss);
    field("state", self.state);
    field("reason", self.reason);
    field("nodes", self.nodes);
    field("held", self.held);
    field("released", self.released, Field::may_miss);
    field("completing", self.completing);
    field("folder", self.folder, Field::may_miss);
    field("submitted", self.submitted, Field::may_miss);
    field("eligible", self.eligible, Field::may_miss);
    field("started", self.started);
    field("ended", self.ended);
    field("exit", self.exit);
    field("steps_exit", self.steps_exit);
    field("node_count", self.node_count, Field::may_miss);
    field("user", self.user, Field::may_miss);
  }
};

struct Poll {
  static constexpr const char* verb = "poll";
  std::optional<std::uint64_t> since;  ///< the stamp of an earlier answer
  struct Answer {
    std::uint64_t stamp = 0;
    std::optional<bool> unchanged;              ///< since `since`, or
    std::optional<std::vector<JobFacts>> jobs;  ///< all of them

    static void each_field(auto& self, auto&& field) {
      field("stamp", self.stamp);
      field("unchanged", self.unchanged);
      field("jobs", self.jobs);
    }
  };

  static void each_field(auto& self, auto&& field) { field("since", self.since); }
};

struct Job : JobQuestion {
  static constexpr const char* verb = "job";
  struct Answer {
    JobFacts job;
    static void each_field(auto& self, auto&& field) { field("job", self.job); }
  };
};

struct PartitionMessage {
  std::string name;
  bool is_default = false;
  bool up = false;         ///< takes submissions and starts jobs
  std::int64_t nodes = 0;  ///< down ones too
  std::int64_t min_nodes = 0, max_nodes = 0, max_minutes = 0;  ///< maxima: 0 = no limit

  static void each_field(auto& self, auto&& field) {
    field("name", self.name);
    field("default", self.is_default);
    field("up", self.up);
    field("nodes", self.nodes);
    field("min_nodes", self.min_nodes);
    field("max_nodes", self.max_nodes);
    field("max_minutes", self.max_minutes);
  }
};

struct Partitions : Nothing {
  static constexpr const char* verb = "partitions";
  struct Answer {
    std::vector<PartitionMessage> partitions;
    static void each_field(auto& self, auto&& field) { field("partitions", self.partitions); }
  };
};

struct Nodes : Nothing {
  static constexpr const char* verb = "nodes";
  struct Answer {
    int total = 0, usable = 0;  ///< usable: neither down, drained nor silent

    static void each_field(auto& self, auto&& field) {
      field("total", self.total);
      field("usable", self.usable);
    }
  };
};

/// A user's own word that jobs may run under his name, for a grant that says so from then on.
struct Authorize {
  static constexpr const char* verb = "authorize";
  std::string credential;  ///< MUNGE's, over auth::sweep_payload(digest), for the agent alone
  std::string digest;      ///< SHA-256 of the sweep's text
  struct Answer {
    std::string grant;
    std::uint32_t uid = 0, gid = 0;
    std::string user;          ///< name
    std::int64_t expires = 0;  ///< Unix seconds

    static void each_field(auto& self, auto&& field) {
      field("grant", self.grant);
      field("uid", self.uid);
      field("gid", self.gid);
      field("user", self.user);
      field("expires", self.expires);
    }
  };

  static void each_field(auto& self, auto&& field) {
    field("credential", self.credential);
    field("digest", self.digest);
  }
};

struct Revoke {
  static constexpr const char* verb = "revoke";
  std::string grant;
  using Answer = Nothing;

  static void each_field(auto& self, auto&& field) { field("grant", self.grant); }
};

/// Makes an attempt's folder, and files in it, as the user.
struct Prepare {
  static constexpr const char* verb = "prepare";
  std::optional<As> as;
  std::string folder;
  std::map<std::string, std::string> files;  ///< name -> text
  using Answer = Nothing;

  static void each_field(auto& self, auto&& field) {
    field("as", self.as);
    field("folder", self.folder);
    field("files", self.files);
  }
};

/// Removes what is in attempts' folders, as the user whose they are. The folders themselves are in
/// ones of the controller's, which removes them then.
struct Remove {
  static constexpr const char* verb = "remove";
  std::optional<As> as;
  std::vector<std::string> folders;
  std::string runs;  ///< in which they are: the agent's own word to its child, nobody else's
  struct Answer {
    std::uint32_t done = 0;  ///< with so many of them, from the first on, it is through
    std::map<std::string, std::string> problems;  ///< why these are not empty, by folder

    static void each_field(auto& self, auto&& field) {
      field("done", self.done);
      field("problems", self.problems);
    }
  };

  static void each_field(auto& self, auto&& field) {
    field("as", self.as);
    field("folders", self.folders);
    field("runs", self.runs, Field::may_miss);
  }
};

/// f.operator()<Question>() for each question there is: the one list of them.
void each_question(auto&& f) {
  f.template operator()<Hello>();
  f.template operator()<Ping>();
  f.template operator()<Submit>();
  f.template operator()<WillRun>();
  f.template operator()<Release>();
  f.template operator()<Cancel>();
  f.template operator()<Poll>();
  f.template operator()<Job>();
  f.template operator()<Partitions>();
  f.template operator()<Nodes>();
  f.template operator()<Authorize>();
  f.template operator()<Revoke>();
  f.template operator()<Prepare>();
  f.template operator()<Remove>();
}

/// Without the id that goes with it.
template <class Question>
nlohmann::json question_json(const Question& question) {
  nlohmann::json line = daemon::api::to_json(question);
  line["verb"] = Question::verb;
  return line;
}

/// what() is for people.
struct BadQuestion : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws BadQuestion where a member is missing or of another type.
template <class Question>
Question read_question(const nlohmann::json& line) {
  try {
    return daemon::api::from_json<Question>(line, daemon::api::Reading::strict);
  } catch (const std::invalid_argument& error) {
    throw BadQuestion(error.what());
  }
}

/// Without the id that goes with it.
template <class Answer>
nlohmann::json answer_json(const Result<Answer>& result) {
  nlohmann::json line =
      std::visit([](const auto& either) { return daemon::api::to_json(either); }, result);
  line["ok"] = std::holds_alternative<Answer>(result);
  return line;
}

/// A failure that cannot be read leaves the outcome unknown. Throws std::invalid_argument where
/// `reading` is strict and the answer is not that of this version.
template <class Answer>
Result<Answer> read_answer(const nlohmann::json& line, daemon::api::Reading reading) {
  using daemon::api::Reading;
  const auto ok = line.find("ok");
  if (ok != line.end() && *ok == true) return daemon::api::from_json<Answer>(line, reading);
  return daemon::api::from_json<Failure>(line, Reading::tolerant);
}

}  // namespace thalweg::slurm_agent

namespace thalweg::jobspec {

template <>
struct EnumNames<slurm_agent::Outcome> {
  static constexpr std::string_view what = "outcome";
  static constexpr std::array<std::string_view, 7> names = {
      "refused", "retry_later", "unknown", "missing", "finished", "no_slurm", "bad_request"};
};

}  // namespace thalweg::jobspec
