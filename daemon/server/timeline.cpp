// GET /v1/trials/{id}/timeline: where the time of a trial's attempts went.
#include "db/analysis/timeline.h"

#include <nlohmann/json.hpp>

#include "base/machine.h"
#include "daemon/api/trial_messages.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"

namespace thalweg::daemon {

using boost::asio::awaitable;
using jobspec::Id;

namespace {

api::AttemptTimelineMessage message_of(const db::analysis::AttemptTimeline& attempt) {
  api::AttemptTimelineMessage message;
  message.id = attempt.id.to_string();
  message.state = db::name_of(attempt.state);
  message.nodes = attempt.nodes;
  message.ranks = attempt.ranks;
  message.steps = attempt.steps;
  message.waited = attempt.waited;
  message.seconds = attempt.seconds;
  for (const auto& part : attempt.parts)
    message.parts.push_back({part.name, part.seconds});
  message.bottleneck = attempt.bottleneck;
  message.advice = attempt.advice;
  for (const auto& rank : attempt.per_rank)
    message.per_rank.push_back({rank.rank, rank.node, rank.data_ms, rank.compute_ms,
                                rank.comm_exposed_ms, rank.skew_ms, rank.optimizer_ms});
  return message;
}

}  // namespace

awaitable<Response> get_timeline(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::trial);
  check_trial(app, request, id);
  const auto work = [id](db::ReadStore& store) {
    api::TimelineAnswer answer;
    for (const auto& attempt : db::analysis::timeline(store, id, unix_now()))
      answer.attempts.push_back(message_of(attempt));
    return json_response(api::to_json(answer));
  };
  co_return co_await app.reader.run(request.user, work);
}

}  // namespace thalweg::daemon
