// The fields of events that are structs of their own, and the list of all kinds.
#include "daemon/state/events.h"

namespace thalweg::daemon {

using nlohmann::json;

namespace event {

void write(json& to, const jobspec::Metric& value) {
  to = metric_json(value);
}

void read(const json& from, jobspec::Metric& value) {
  value = metric_from(from);
}

void write(json& to, const jobspec::SlurmOptions& value) {
  to = slurm_json(value);
}

void read(const json& from, jobspec::SlurmOptions& value) {
  value = slurm_from(from);
}

namespace {

/// Those that the controller keeps to; the others were checked when the sweep file was read.
template <class Limits, class Field>
void each_limit(Limits& limits, Field&& field) {
  field("max_nodes_in_flight", limits.max_nodes_in_flight);
  field("node_hours", limits.node_hours);
  field("max_retries", limits.max_retries);
}

}  // namespace

void write(json& to, const jobspec::Limits& value) {
  to = json::object();
  each_limit(value, [&](const char* name, const auto& limit) { to[name] = limit; });
}

void read(const json& from, jobspec::Limits& value) {
  each_limit(value, [&](const char* name, auto& limit) { from.at(name).get_to(limit); });
}

void write(json& to, const std::vector<Submitted::Shape>& value) {
  to = json::array();
  for (const Submitted::Shape& shape : value) {
    json& item = to.emplace_back(resources_json(shape.resources));
    item["count"] = shape.count;
  }
}

void read(const json& from, std::vector<Submitted::Shape>& value) {
  for (const json& item : from)
    value.push_back({resources_from(item), item.at("count").get<std::size_t>()});
}

}  // namespace event

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
      described<event::Submitted>(),
      described<event::Launching>(),
      described<event::Recorded>(),
      described<event::Released>(),
      described<event::Running>(),
      described<event::Fenced>(),
      described<event::Ended>(),
      described<event::TrialEnded>(),
      described<event::Stopped>(),
      described<event::SweepEnded>(),
      described<event::CancelRequested>(),
      described<event::RetryRequested>(),
      described<event::Note>(),
  };
  return kinds;
}

}  // namespace thalweg::daemon
