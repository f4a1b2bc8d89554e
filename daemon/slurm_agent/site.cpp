#include "daemon/slurm_agent/site.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <type_traits>

#include "daemon/auth/munge.h"
#include "daemon/slurm_agent/attempt_folder.h"
#include "daemon/slurm_agent/log.h"

namespace thalweg::slurm_agent {
namespace {

using nlohmann::json;

// Older ones were not made for this submission; munged's own limit is 300 s unless told otherwise.
constexpr int max_ttl_s = 300;
// A user can stop his own processes: so many of the workers he may keep waiting.
constexpr int turns_of_user = 2;
// Of all users together: the other workers (LineLimits) are for what needs nobody's leave.
constexpr int turns_of_all = 28;

constexpr const char* calls_under_way =
    "other calls of this user, or very many of others, are under way";

Failure refused(const std::string& message) {
  return {0, Outcome::refused, message};
}

Person service_person(const std::string& name) {
  auto found = find_person(name);
  if (!found)
    throw std::runtime_error("there is no user '" + name +
                             "' (--service-user), who is to run the "
                             "controller; make one or name another");
  if (found->uid == 0) throw std::runtime_error("the controller's user cannot be root");
  return *std::move(found);
}

template <class Question>
concept OnBehalf = requires(Question question) {
  question.as;
};

/// Reading needs nobody's leave: it is answered by the agent as itself.
template <class Question>
constexpr bool only_reads = std::is_same_v<Question, Job>;

std::string who(const std::optional<As>& as) {
  return as ? " for uid " + std::to_string(as->uid) + " by grant " + short_name(as->grant) : "";
}

template <class Answer>
void log_answer(const std::string& what, const Result<Answer>& result) {
  if (const auto* failure = std::get_if<Failure>(&result))
    log_line("refused: " + what + ": " + failure->message);
}

// Of a child that ends by itself after four seconds.
constexpr std::chrono::milliseconds removal_limit{15000};
constexpr std::size_t max_folders = 1000;

/// A child that could not be had, did not answer, or was killed.
Failure no_answer(const ChildEnd& end) {
  if (!end.started) return {0, Outcome::retry_later, "no process can be started for it"};
  if (end.late) return {0, Outcome::unknown, "it took too long, or was stopped, and was ended"};
  const bool exited = WIFEXITED(end.status);
  const std::string words = end.err.empty() ? "it ended without an answer" : end.err;
  // Before it became the user it asked for nothing.
  if (exited && WEXITSTATUS(end.status) == 126) return {0, Outcome::retry_later, words};
  return {0, Outcome::unknown, printable(words)};
}

}  // namespace

SiteAgent::Turn::Turn(SiteAgent& agent, uid_t uid) : agent_(agent), uid_(uid) {
  std::lock_guard lock(agent_.turns_mutex_);
  int& count = agent_.turns_[uid_];
  granted_ = count < turns_of_user && agent_.all_turns_ < turns_of_all;
  if (granted_) ++count, ++agent_.all_turns_;
  if (count == 0) agent_.turns_.erase(uid_);
}

SiteAgent::Turn::~Turn() {
  std::lock_guard lock(agent_.turns_mutex_);
  if (!granted_) return;
  --agent_.all_turns_;
  if (--agent_.turns_[uid_] == 0) agent_.turns_.erase(uid_);
}

SiteAgent::SiteAgent(SiteOptions options)
    : options_(std::move(options)),
      service_(service_person(options_.service_user)),
      verbs_(Whose{options_.min_uid}),
      grants_(options_.state, std::time(nullptr)),
      proofs_(options_.munge_socket, std::time(nullptr)),
      child_({"thalweg-slurm-agent", "--once"}) {
  if (!auth::munge_available())
    throw std::runtime_error("--site needs MUNGE: install libmunge-dev (munge-devel), build again");
  if (child_.descriptor() < 0) throw std::runtime_error("cannot open its own program in /proc");
  if (options_.jwt_key.empty()) return;
  std::ifstream file(options_.jwt_key, std::ios::binary);
  if (!file) throw std::runtime_error("--jwt-key: cannot read " + options_.jwt_key);
  try {
    tokens_ = std::make_unique<auth::JwtProofs>(
        std::string(std::istreambuf_iterator<char>(file), {}), std::time(nullptr));
  } catch (const auth::JwtError& error) {
    throw std::runtime_error("--jwt-key: " + std::string(error.what()) + ": " + options_.jwt_key);
  }
}

json SiteAgent::answer(const json& line) {
  const std::string wanted = line.at("verb");
  std::optional<json> answer;
  each_question([&]<class Question>() {
    if (wanted != Question::verb) return;
    if constexpr (std::is_same_v<Question, Authorize>) {
      answer = answer_json(authorize(read_question<Question>(line)));
    } else if constexpr (std::is_same_v<Question, Revoke>) {
      answer = answer_json(revoke(read_question<Question>(line)));
    } else if constexpr (std::is_same_v<Question, Prepare>) {
      answer = answer_json(prepare(read_question<Question>(line)));
    } else if constexpr (std::is_same_v<Question, Remove>) {
      answer = remove(read_question<Question>(line));
    } else if constexpr (OnBehalf<Question> && !only_reads<Question>) {
      answer = ask_as(read_question<Question>(line), options_.child_limit);
    } else {
      json reading = line;
      reading.erase("as");
      answer = verbs_.answer(reading);
      if constexpr (std::is_same_v<Question, Hello>)
        if (answer->value("ok", false)) (*answer)["tokens"] = tokens_ != nullptr;
    }
  });
  if (!answer) throw BadQuestion("no verb '" + wanted + "'");
  return *std::move(answer);
}

std::optional<Failure> SiteAgent::barred(uid_t uid) {
  Barred barred{options_.min_uid, 0, service_.uid, ::geteuid()};
  // What needs no word of Slurm first: it may be down.
  std::string why = why_barred(uid, barred);
  if (!why.empty()) return refused(why);
  if (options_.slurm_user) {
    barred.slurm_user = *options_.slurm_user;
  } else {
    const auto known = verbs_.slurm_user();
    if (const auto* failure = std::get_if<Failure>(&known))
      return Failure{failure->code, Outcome::retry_later,
                     "Slurm does not say who SlurmUser is: " + failure->message};
    barred.slurm_user = std::get<std::uint32_t>(known);
  }
  why = why_barred(uid, barred);
  if (!why.empty()) return refused(why);
  return {};
}

auth::Credential SiteAgent::decoded(const std::string& credential) {
  auth::Credential said;
  if (!credential.starts_with(auth::jwt_prefix)) {
    said = proofs_.check(credential, std::time(nullptr));
    if (said.error != 0)
      said.problem =
          "MUNGE refuses the credential: " + said.problem + " (" + std::to_string(said.error) + ")";
  } else if (tokens_) {
    said = tokens_->check(credential, std::time(nullptr));
    if (said.error != 0) said.problem = "the proof by a token is refused: " + said.problem;
  } else {
    said.error = -1;
    said.problem = "Slurm's tokens count for nothing here (--jwt-key): unset SLURM_JWT";
  }
  return said;
}

Result<Authorize::Answer> SiteAgent::authorize(const Authorize& asked) {
  const std::int64_t now = std::time(nullptr);
  grants_.forget_expired(now);
  std::string whose = "authorize";
  const auto decide = [&]() -> Result<Authorize::Answer> {
    if (asked.digest.size() != 64 ||
        asked.digest.find_first_not_of("0123456789abcdef") != std::string::npos)
      return refused("the digest is no SHA-256 in lower-case hexadecimal digits");
    const auth::Credential credential = decoded(asked.credential);
    if (credential.error != 0) return refused(credential.problem);
    whose += " for uid " + std::to_string(credential.uid);
    if (credential.payload != auth::sweep_payload(asked.digest))
      return refused("the credential is for something else than this sweep");
    if (credential.reader != ::geteuid())
      return refused("the credential is not restricted to the agent (uid " +
                     std::to_string(::geteuid()) + ")");
    if (credential.ttl_s <= 0 || credential.ttl_s > max_ttl_s)
      return refused("the credential lives for more than " + std::to_string(max_ttl_s) + " s");
    if (const auto no = barred(credential.uid)) return *no;
    const auto person = find_person(credential.uid);
    if (!person)
      return refused("uid " + std::to_string(credential.uid) + " has no account on this machine");
    const Grant grant{asked.digest, person->uid, person->gid,
                      person->name, now,         now + options_.grant_days * day_s};
    const auto name = grants_.add(grant);
    if (!name)
      return refused("user " + person->name + " has " + std::to_string(Grants::max_of_user) +
                     " grants already: sweeps that are removed give theirs back");
    log_line("grant " + short_name(*name) + " of " + person->name + " (" +
             std::to_string(person->uid) + ") for sweep " + asked.digest.substr(0, 8) + "...");
    return Authorize::Answer{*name, person->uid, person->gid, person->name, grant.expires};
  };
  const auto result = decide();
  log_answer(whose, result);
  return result;
}

Result<Nothing> SiteAgent::revoke(const Revoke& asked) {
  if (grants_.remove(asked.grant)) log_line("revoked grant " + short_name(asked.grant));
  return Nothing{};
}

Result<Person> SiteAgent::person_for(const std::optional<As>& as) {
  if (!as) return refused("it does not say on whose behalf (\"as\")");
  const auto grant = grants_.find(as->grant);
  if (!grant) return refused("there is no such grant: it was revoked, or never given");
  if (grant->uid != as->uid)
    return refused("the grant is one of uid " + std::to_string(grant->uid));
  if (grant->expires <= std::time(nullptr))
    return refused("the grant has expired: the user must submit again (thalweg rerun)");
  if (const auto no = barred(as->uid)) return *no;
  auto person = find_person(as->uid);
  if (!person || person->name != grant->user)
    return refused("uid " + std::to_string(as->uid) + " is no longer user " + grant->user);
  return *std::move(person);
}

/// The child is this program without --site: what it can do is what the user can do himself.
template <class Question>
json SiteAgent::ask_as(Question question, std::chrono::milliseconds limit) {
  using Answer = typename Question::Answer;
  const std::string what = Question::verb + who(question.as);
  const auto decide = [&]() -> Result<Answer> {
    auto found = person_for(question.as);
    if (auto* failure = std::get_if<Failure>(&found)) return *failure;
    const Person& person = std::get<Person>(found);
    const Turn turn(*this, person.uid);
    if (!turn.granted()) return Failure{0, Outcome::retry_later, calls_under_way};
    question.as.reset();
    ChildCall call;
    call.input =
        question_json(question).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    call.limit = limit;
    call.keep = child_.descriptor();
    call.work = [this] { child_.exec(); };
    const ChildEnd end = run_as(person, call);
    const json answered = json::parse(end.out, nullptr, false);
    if (end.late || !answered.is_object()) return no_answer(end);
    try {
      return read_answer<Answer>(answered, daemon::api::Reading::strict);
    } catch (const std::invalid_argument& error) {
      return Failure{0, Outcome::unknown, std::string("its child answered oddly: ") + error.what()};
    }
  };
  const Result<Answer> result = decide();
  log_answer(what, result);
  if constexpr (!std::is_same_v<Question, WillRun>) {
    if (std::holds_alternative<Answer>(result)) log_line("did " + what);
  }
  return answer_json(result);
}

Result<Nothing> SiteAgent::prepare(const Prepare& asked) {
  const auto decide = [&]() -> Result<Nothing> {
    auto found = person_for(asked.as);
    if (auto* failure = std::get_if<Failure>(&found)) return *failure;
    const Person& person = std::get<Person>(found);
    const auto path = attempt_path(options_.runs, asked.folder);
    if (!path)
      return refused("'" + asked.folder + "' is no attempt's folder in the folders of --runs");
    if (const std::string wrong = wrong_files(asked.files); !wrong.empty()) return refused(wrong);
    const Turn turn(*this, person.uid);
    if (!turn.granted()) return Failure{0, Outcome::retry_later, calls_under_way};
    AttemptPlan plan{*path, service_.uid, service_.gid, person.uid, {}};
    for (const auto& [name, text] : asked.files)
      plan.files.push_back({name, "." + name + ".new", text});
    ChildCall call;
    call.limit = options_.child_limit;
    call.more_groups = {service_.gid};
    call.work = [&plan] {
      const AttemptProblem problem = make_attempt(plan);
      [[maybe_unused]] const ssize_t n = ::write(STDOUT_FILENO, &problem, sizeof problem);
    };
    const ChildEnd end = run_as(person, call);
    AttemptProblem problem;
    if (end.late || end.out.size() != sizeof problem) return no_answer(end);
    std::memcpy(&problem, end.out.data(), sizeof problem);
    if (problem.what[0] == '\0') return Nothing{};
    const bool later = problem.error == ENOSPC || problem.error == EDQUOT || problem.error == EIO ||
                       problem.error == EAGAIN || problem.error == ENOMEM;
    return Failure{
        problem.error, later ? Outcome::retry_later : Outcome::refused,
        problem.what + (problem.error == 0 ? std::string()
                                           : ": " + std::string(std::strerror(problem.error)))};
  };
  const auto result = decide();
  log_answer(std::string("prepare") + who(asked.as) + " of " + asked.folder, result);
  return result;
}

json SiteAgent::remove(Remove asked) {
  const auto wrong = [&]() -> std::string {
    if (!asked.runs.empty()) return "it names folders of runs of its own";
    if (asked.folders.empty() || asked.folders.size() > max_folders)
      return "it names no folder, or more than " + std::to_string(max_folders);
    for (const std::string& folder : asked.folders) {
      const auto path = attempt_path(options_.runs, folder);
      if (!path) return "'" + folder + "' is no attempt's folder in the folders of --runs";
      if (asked.runs.empty()) asked.runs = path->runs;
      if (asked.runs != path->runs) return "its folders are in several folders of runs";
    }
    return "";
  };
  if (const std::string why = wrong(); !why.empty()) {
    const Result<Remove::Answer> answer = refused(why);
    log_answer(Remove::verb + who(asked.as), answer);
    return answer_json(answer);
  }
  return ask_as(std::move(asked), std::min(options_.child_limit, removal_limit));
}

}  // namespace thalweg::slurm_agent
