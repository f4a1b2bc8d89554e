// Attempts of sweeps that have an owner: they are made, run and ended as that user, by the grant
// that his sweep came with, and nobody else's jobs are taken for them.
#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <fmt/format.h>

#include "daemon/controller/backend_context.h"
#include "daemon/controller/controller.h"
#include "daemon/controller/folder.h"
#include "daemon/controller/log.h"
#include "jobspec/trial.h"

namespace thalweg::daemon {

std::optional<Identity> Controller::identity_of(std::int64_t sweep) const {
  const auto it = state_.sweeps.find(sweep);
  if (it == state_.sweeps.end() || !it->second.owner) return {};
  return Identity{it->second.owner->uid, it->second.owner->grant};
}

Backend::TrackedJob Controller::job_of(const LiveAttempt& attempt) const {
  Backend::TrackedJob job{attempt.handle, attempt.token, live_rows_.at(attempt.id).folder};
  job.identity = identity_of(attempt.id.sweep);
  return job;
}

/// Tokens are public: a job that carries one and is not the owner's is somebody else's doing, and
/// no concern of ours.
bool Controller::forged(const BackendContext& context, const Id& attempt, const JobStatus& status) {
  const auto identity = identity_of(attempt.sweep);
  if (!identity || status.user == identity->uid) return false;
  if (contained_.insert("forged " + status.handle).second)
    log::warning(
        fmt::format("{} {} of uid {} carries the token of attempt {}, which is one of uid "
                    "{}: not believed",
                    context.name, status.handle, status.user, attempt.to_string(), identity->uid),
        {.id = attempt});
  return true;
}

/// The attempt's folder: made here, or by the backend as the user whose it is. Accepted: it is
/// there.
Awaitable<Submission> Controller::prepare(BackendContext& context, const LaunchRequest& request) {
  Backend& backend = *context.setup.backend;
  const jobspec::Trial trial =
      trial_of(request.id, backend.on_this_machine() ? options_.push_local : options_.push_remote);
  const std::string script = backend.script(request);
  if (!request.identity) {
    disk_.run([folder = request.folder, trial, script] { prepare_folder(folder, trial, script); });
    co_return Submission{SubmitOutcome::accepted, "", ""};
  }
  std::map<std::string, std::string> files{{"trial.yaml", jobspec::trial_text(trial)}};
  if (!script.empty()) files[batch_script_name] = script;
  const Preparation made = co_await backend.prepare(request, files);
  co_return Submission{made.done    ? SubmitOutcome::accepted
                       : made.retry ? SubmitOutcome::retry_later
                                    : SubmitOutcome::refused,
                       "", made.message};
}

Awaitable<Authorization> Controller::authorize(const std::string& backend,
                                               const std::string& credential,
                                               const std::string& digest) {
  if (const auto* context = context_of(backend))
    co_return co_await context->setup.backend->authorize(credential, digest);
  co_return Authorization{{}, false, 0, "", 0, "there is no backend '" + backend + "'"};
}

Awaitable<bool> Controller::revoke(const std::string& backend, const std::string& grant) {
  const auto* context = context_of(backend);
  if (!context) co_return false;
  co_return co_await context->setup.backend->revoke(grant);
}

std::optional<CredentialReader> Controller::credential_reader(const std::string& backend) const {
  const auto* context = context_of(backend);
  return context ? context->setup.backend->credential_reader() : std::nullopt;
}

/// Its owner's word has served. One that cannot be taken back now expires.
Awaitable<void> Controller::revoke_grant(std::int64_t sweep) {
  const SweepState& state = state_.sweeps.at(sweep);
  if (!state.owner) co_return;
  const std::string grant = state.owner->grant, backend = state.backend;
  for (const auto& other : state_.sweeps)
    if (other.first != sweep && other.second.owner && other.second.owner->grant == grant) co_return;
  if (context_of(backend) && !co_await revoke(backend, grant))
    log::warning(fmt::format("the grant of sweep {} could not be taken back", sweep),
                 {.id = {.sweep = sweep}});
}

}  // namespace thalweg::daemon
