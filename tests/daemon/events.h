// Short ways to write events in tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "daemon/state/resources.h"
#include "daemon/state/state.h"

namespace thalweg::test {

/// Applies events one after the other, numbering them.
struct Log {
  daemon::State state;
  double time = 1000;

  Log& operator()(const std::string& kind, const std::string& id,
                  const nlohmann::json& data = nlohmann::json::object()) {
    daemon::apply(state, {state.last_event + 1, time, kind, *jobspec::Id::parse(id), data.dump()});
    return *this;
  }

  /// A sweep of trials with one shape.
  Log& sweep(const std::string& id, int trials, int nodes = 1, const nlohmann::json& limits = {},
             const nlohmann::json& bayes = {}, const nlohmann::json& start_order = {},
             const nlohmann::json& more = {}) {
    jobspec::Resources resources;
    resources.nodes = nodes;
    nlohmann::json shape = daemon::resources_json(resources);
    shape["count"] = trials;
    nlohmann::json all{{"max_nodes_in_flight", 64}, {"node_hours", 0}, {"max_retries", 2}};
    if (limits.is_object()) all.update(limits);
    nlohmann::json data{{"backend", "fake"}, {"limits", all}, {"shapes", {shape}}};
    if (bayes.is_object()) data["bayes"] = bayes;
    if (!start_order.is_null()) data["start_order"] = start_order;
    if (more.is_object()) data.update(more);
    return (*this)("submitted", id, data);
  }

  Log& launching(const std::string& id) {
    return (*this)("launching", id,
                   {{"token", "token-" + id},
                    {"folder", "/x"},
                    {"backend", "fake"},
                    {"nodes", 1},
                    {"ranks", 1}});
  }

  Log& running(const std::string& id) {
    launching(id)("recorded", id, {{"handle", "job-" + id}})("released", id);
    return (*this)("running", id, {{"started", time}, {"node_list", "n1"}});
  }

  Log& ended(const std::string& id, const std::string& cause, std::int64_t step = 0,
             const std::string& reason = "r") {
    return (*this)("ended", id,
                   {{"cause", cause}, {"step", step}, {"reason", reason}, {"node_seconds", 10}});
  }
};

}  // namespace thalweg::test
