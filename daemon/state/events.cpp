// The fields of events that are structs of their own, and the list of all kinds.
#include "daemon/state/events.h"

namespace thalweg::daemon {

using nlohmann::json;

namespace api {
namespace {

template <class Limits, class Each>
void each_limit(Limits& limits, Each&& each) {
  each("max_nodes_in_flight", limits.max_nodes_in_flight);
  each("node_hours", limits.node_hours);
  each("max_retries", limits.max_retries);
}

}  // namespace

json JsonOf<jobspec::Keep>::write(const jobspec::Keep& value) {
  return {{"checkpoints", jobspec::name_of(value.checkpoints)},
          {"trials", value.trials},
          {"points", value.points}};
}

void JsonOf<jobspec::Keep>::read(const json& from, jobspec::Keep& value) {
  value.checkpoints =
      jobspec::from_name<jobspec::KeepCheckpoints>(from.at("checkpoints").get<std::string>());
  value.trials = from.at("trials").get<std::int64_t>();
  value.points = from.value("points", std::int64_t{0});  // earlier versions did not know it
}

json JsonOf<jobspec::Limits>::write(const jobspec::Limits& value) {
  json limits;
  each_limit(value, [&](const char* name, const auto& limit) { limits[name] = limit; });
  if (value.deadline > 0) limits["deadline"] = value.deadline;
  return limits;
}

void JsonOf<jobspec::Limits>::read(const json& from, jobspec::Limits& value) {
  each_limit(value, [&](const char* name, auto& limit) { from.at(name).get_to(limit); });
  value.deadline = from.value("deadline", 0.0);  // earlier versions did not know it
}

json JsonOf<event::Submitted::Shape>::write(const event::Submitted::Shape& value) {
  json shape = resources_json(value.resources);
  shape["count"] = value.count;
  return shape;
}

void JsonOf<event::Submitted::Shape>::read(const json& from, event::Submitted::Shape& value) {
  value = {resources_from(from), from.at("count").get<std::size_t>()};
}

}  // namespace api

void event::Submitted::set_learning(const std::optional<jobspec::Learning>& learning) {
  bayes.reset();
  search.reset();
  if (!learning) return;
  if (learning->method == jobspec::Learning().method)
    bayes = learning;
  else
    search = {learning->method, *learning};
}

std::optional<jobspec::Learning> event::Submitted::learning() const {
  if (!search) return bayes;
  jobspec::Learning found = search->learning;
  found.method = search->method;
  return found;
}

db::Event new_event(std::string_view kind, double time, const Id& id, const json& data) {
  return {0, time, std::string(kind), id,
          data.dump(-1, ' ', false, json::error_handler_t::replace)};
}

namespace {

template <class E>
EventKind described() {
  EventKind kind{E::kind, E::about, {}};
  const E e{};
  E::each_field(e, [&](const char* name, auto&&...) { kind.fields.emplace_back(name); });
  return kind;
}

}  // namespace

const std::vector<EventKind>& event_kinds() {
  static const std::vector<EventKind> kinds = {
      described<event::Submitted>(),       described<event::Launching>(),
      described<event::Recorded>(),        described<event::Released>(),
      described<event::Running>(),         described<event::Fenced>(),
      described<event::ClockSet>(),        described<event::Ending>(),
      described<event::Ended>(),           described<event::TrialEnded>(),
      described<event::Stopped>(),         described<event::SweepEnded>(),
      described<event::CancelRequested>(), described<event::TerminatedEarly>(),
      described<event::Promoted>(),        described<event::Chosen>(),
      described<event::RetryRequested>(),  described<event::TrialsAdded>(),
      described<event::SeedLook>(),        described<event::Lengthened>(),
      described<event::Labelled>(),        described<event::Shared>(),
      described<event::Archived>(),        described<event::Pruning>(),
      described<event::Pruned>(),          described<event::Relocated>(),
      described<event::Removing>(),        described<event::Removed>(),
      described<event::Imported>(),        described<event::Note>(),
  };
  return kinds;
}

}  // namespace thalweg::daemon
