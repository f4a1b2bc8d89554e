// What the log's events look like: as written now, and as earlier versions wrote them.
#include "daemon/state/events.h"

#include <gmock/gmock.h>

#include <set>

namespace thalweg::daemon {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

template <class E>
json again(const E& e) {
  return api::to_json(from_json<E>(api::to_json(e)));
}

/// The texts are those of version 1 of the log: never change them, logs hold them.
TEST(Events, AreWrittenAsEver) {
  event::Launching launching{"t", "s", "/r/1", "local", 2, 8};
  EXPECT_EQ(
      new_event(5, {1, 2, 3}, launching).data,
      R"({"backend":"local","folder":"/r/1","nodes":2,"push_secret":"s","ranks":8,"token":"t"})");
  EXPECT_EQ(new_event(5, {}, event::Released{}).data, "{}");
  EXPECT_EQ(new_event(5, {}, event::Running{12.5, "n[1-2]"}).data,
            R"({"node_list":"n[1-2]","started":12.5})");
  EXPECT_EQ(new_event(5, {}, event::Ended{EndCause::bad_input, "no lr"}).data,
            R"({"cause":"bad_input","reason":"no lr"})");
  event::Ended ended{EndCause::failed, "died", 0, 20.0};
  ended.node_seconds = 0.0;
  ended.exit_code = 137;
  ended.rank = 1;
  ended.node = "n2";
  EXPECT_EQ(new_event(5, {}, ended).data,
            R"({"cause":"failed","ended":20.0,"exit_code":137,"node":"n2","node_seconds":0.0,)"
            R"("rank":1,"reason":"died","step":0})");
  EXPECT_EQ(new_event(5, {}, event::TrialEnded{TrialPhase::cancelled, "x"}).data,
            R"({"reason":"x","state":"cancelled"})");
  EXPECT_EQ(new_event(5, {}, event::SweepEnded{SweepPhase::failed}).data, R"({"state":"failed"})");
  EXPECT_EQ(new_event(5, {}, event::Stopped{"budget", true}).data,
            R"({"end_running":true,"reason":"budget"})");
  EXPECT_EQ(new_event(5, {}, event::Note{"info", "\xff"}).data,
            "{\"level\":\"info\",\"text\":\"\xef\xbf\xbd\"}");
  const db::Event e = new_event(5, {1, 2, 3}, event::Recorded{"42"});
  EXPECT_EQ(e.kind, "recorded");
  EXPECT_EQ(e.time, 5);
  EXPECT_EQ(e.id, (Id{1, 2, 3}));
  EXPECT_TRUE(is<event::Recorded>(e));
  EXPECT_FALSE(is<event::Released>(e));
}

TEST(Events, ReadBackAsWritten) {
  event::Submitted submitted;
  submitted.backend = "slurm";
  submitted.metric = {"val/accuracy", jobspec::Goal::maximize, {0.9}};
  submitted.slurm.options = {{"partition", "main"}};
  submitted.limits.max_nodes_in_flight = 7;
  submitted.limits.node_hours = 1.5;
  submitted.limits.max_retries = 0;
  submitted.shapes = {{{}, 3}, {{}, 1}};
  submitted.shapes[1].resources.gpus_per_node = 4;
  submitted.start_order = 0xffffffffffffffff;
  const auto back = from_json<event::Submitted>(api::to_json(submitted));
  EXPECT_EQ(back.start_order, submitted.start_order);
  EXPECT_EQ(back.metric.goal, jobspec::Goal::maximize);
  EXPECT_EQ(back.slurm.options, submitted.slurm.options);
  EXPECT_EQ(back.limits.max_nodes_in_flight, 7);
  ASSERT_EQ(back.shapes.size(), 2u);
  EXPECT_EQ(back.shapes[0].count, 3u);
  EXPECT_EQ(back.shapes[1].resources.gpus_per_node, 4);
  EXPECT_EQ(again(submitted), api::to_json(submitted));
  event::TrialsAdded added{{"seeds=5"}, submitted.limits, submitted.shapes, std::nullopt, "me"};
  EXPECT_EQ(again(added), api::to_json(added));
  event::Ended ended{EndCause::stopped, "told to", 12, 5.0, 10.0, 1.0, "n1", 75, 3, "n2"};
  EXPECT_EQ(again(ended), api::to_json(ended));
  EXPECT_EQ(api::to_json(ended).size(), 10u);
  const event::Imported imported{submitted.metric, 3, "runs/", Owner{5, 6, "ada", ""}};
  EXPECT_EQ(again(imported), api::to_json(imported));
}

TEST(Events, OfEarlierVersionsAreRead) {
  const auto launching = from_json<event::Launching>(
      json::parse(R"({"token":"t","folder":"/r","backend":"local","nodes":1,"ranks":2})"));
  EXPECT_EQ(launching.push_secret, "");
  const auto submitted = from_json<event::Submitted>(json::parse(
      R"({"backend":"slurm","limits":{"max_nodes_in_flight":64,"node_hours":0,"max_retries":2},)"
      R"("shapes":[{"first":1,"count":2,"nodes":3}],"moon":"full"})"));
  EXPECT_EQ(submitted.metric.name, jobspec::Metric().name);
  EXPECT_EQ(submitted.shapes.at(0).resources.nodes, 3);
  const auto ended = from_json<event::Ended>(json{{"cause", "lost"}});
  EXPECT_EQ(ended.cause, EndCause::lost);
  EXPECT_FALSE(ended.step);
}

template <class E>
std::string complaint(const json& data) {
  try {
    from_json<E>(data);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

/// Of bayes as ever; of other methods in a field of their own, which older versions pass over.
TEST(Events, OfSearchesByResultsNameTheMethod) {
  event::Submitted submitted;
  jobspec::Learning learning{5, 2, 3};
  submitted.set_learning(learning);
  nlohmann::json data = api::to_json(submitted);
  EXPECT_EQ(data["bayes"], (nlohmann::json{{"initial", 5}, {"parallel", 2}, {"seeds", 3}}));
  EXPECT_FALSE(data.contains("search"));
  EXPECT_EQ(from_json<event::Submitted>(data).learning()->method, "bayes");
  learning.method = "other";
  submitted.set_learning(learning);
  data = api::to_json(submitted);
  EXPECT_FALSE(data.contains("bayes"));
  const auto back = from_json<event::Submitted>(data).learning();
  ASSERT_TRUE(back);
  EXPECT_EQ(back->method, "other");
  EXPECT_EQ(back->drawn_trials(), 15);
  EXPECT_EQ(back->parallel, 2);
}

TEST(Events, MistakesAreNamed) {
  EXPECT_EQ(complaint<event::Recorded>(json::object()), "\"handle\" is missing");
  EXPECT_EQ(complaint<event::Ended>({{"cause", "tired"}}),
            "\"cause\": 'tired' is no cause of an end");
  EXPECT_THAT(complaint<event::Running>({{"started", "soon"}}),
              HasSubstr("\"started\": not a number"));
}

TEST(Events, EveryKindIsListedOnceWithItsFields) {
  std::set<std::string_view> names;
  for (const EventKind& kind : event_kinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_FALSE(kind.about.empty()) << kind.name;
  }
  EXPECT_EQ(names.size(), 30u);
  EXPECT_THAT(event_kinds()[1].fields,
              ElementsAre("token", "push_secret", "folder", "backend", "nodes", "ranks", "size",
                          "size_reason", "without"));
}

}  // namespace
}  // namespace thalweg::daemon
