// POST /v1/import: runs of other programs become a sweep, whole or not at all, that nothing runs.
#include <gmock/gmock.h>

#include "daemon/server/imports.h"
#include "jobspec/sweep.h"
#include "tests/daemon/server_fixture.h"

namespace thalweg::daemon {
namespace {

using testing::HasSubstr;

json trial(const std::string& source, double lr) {
  return {{"source", source}, {"parameters", {{"lr", lr}}}};
}

/// Three runs, two of the same parameters.
json request() {
  return {{"name", "others"},
          {"source", "runs/"},
          {"metric", "loss"},
          {"target", 0.3},
          {"trials", {trial("a", 0.1), trial("b", 0.2), trial("c", 0.2)}},
          {"curves",
           {{{"trial", 1}, {"metric", "loss"}, {"points", {{1, 0.5, 100.0}, {2, 0.25, 110.5}}}},
            {{"trial", 2}, {"metric", "loss"}, {"points", {{1, "nan", 100.0}, {2, "inf", 101.0}}}},
            {{"trial", 3}, {"metric", "loss"}, {"points", {{1, 0.75, 0}}}},
            {{"trial", 1}, {"metric", "lr"}, {"points", {{1, 0.1, 100.0}}}}}}};
}

struct ImportTest : ServerTest {
  std::string refusal(const std::string& path, const json& body, int status) {
    try {
      client->post(path, body);
    } catch (const api::ApiError& error) {
      EXPECT_EQ(error.status(), status) << error.what();
      return error.what();
    }
    ADD_FAILURE() << path << " was taken";
    return "";
  }
  json sweeps() { return client->get("/v1/sweeps").at("sweeps"); }
};

TEST_F(ImportTest, OfARunThatLacksATimeNoSecondsAreTold) {
  json partly = request();
  partly["curves"][0]["points"] = json::parse("[[1, 0.5, 100.0], [2, 0.25, 0]]");
  const std::string id = client->post("/v1/import", partly).at("id");
  const json row = client->get("/v1/sweeps/" + id + "/compare").at("rows")[0];
  EXPECT_EQ(row.at("steps_to_target").at("median"), 2);
  EXPECT_FALSE(row.at("seconds_to_target").at("median").is_number()) << row;
}

TEST_F(ImportTest, RunsAreASweepThatHasFinishedAlsoAfterARestart) {
  const json answer = client->post("/v1/import", request());
  EXPECT_EQ(answer.at("trials"), 3);
  EXPECT_EQ(answer.at("configurations"), 2);
  EXPECT_EQ(answer.at("points"), 6);
  const std::string id = answer.at("id");
  for (const bool restarted : {false, true}) {
    if (restarted) start();
    const json sweep = client->get("/v1/sweeps/" + id);
    EXPECT_EQ(sweep.at("state"), "finished");
    EXPECT_EQ(sweep.at("backend"), "imported");
    EXPECT_EQ(sweep.at("counts").at("finished"), 3);
    EXPECT_EQ(sweep.at("description"), "imported from runs/");
    EXPECT_EQ(sweep.at("trials")[2].at("configuration"), 2);
    EXPECT_EQ(sweep.at("trials")[2].at("seed"), 2);
    EXPECT_EQ(sweep.at("trials")[0].at("parameters"), json({{"lr", 0.1}}));
    EXPECT_EQ(client->get("/v1/trials/" + id + ".1/curve?metric=loss").at("points"),
              json::parse("[[1, 0.5, 100.0, 1], [2, 0.25, 110.5, 1]]"));
    const json wild = client->get("/v1/trials/" + id + ".2/curve?metric=loss").at("points");
    EXPECT_EQ(wild[0][1], "nan");
    EXPECT_EQ(wild[1][1], "inf");
    const json comparison = client->get("/v1/sweeps/" + id + "/compare");
    ASSERT_EQ(comparison.at("rows").size(), 2u);
    EXPECT_EQ(comparison.at("rows")[0].at("group"), json({{"lr", 0.1}}));
    EXPECT_EQ(comparison.at("rows")[0].at("steps_to_target").at("median"), 2);
    EXPECT_EQ(comparison.at("rows")[0].at("seconds_to_target").at("median"), 10.5);
    EXPECT_EQ(comparison.at("rows")[1].at("n"), 2);
    EXPECT_EQ(comparison.at("rows")[1].at("steps_to_target").at("reached"), 0);
    const json attempt = client->get("/v1/attempts/" + id + ".1.1");
    EXPECT_EQ(attempt.at("handle"), "a");
    EXPECT_EQ(attempt.at("ended"), 110.5);
  }
  EXPECT_TRUE(world.cluster.jobs.empty()) << "nothing may run";
}

TEST_F(ImportTest, WithoutTimesNoSecondsAreClaimed) {
  json body = request();
  body["curves"][0]["points"] = {{1, 0.5, 0}, {2, 0.25, 0}};
  body["curves"].erase(3);
  const std::string id = client->post("/v1/import", body).at("id");
  const json row = client->get("/v1/sweeps/" + id + "/compare").at("rows")[0];
  EXPECT_EQ(row.at("steps_to_target").at("median"), 2);
  EXPECT_EQ(row.at("seconds_to_target").at("median"), "nan");
  EXPECT_EQ(row.at("cost_node_seconds").at("median"), "nan");
  EXPECT_TRUE(client->get("/v1/studies/pareto?sweeps=" + id).at("rows").empty())
      << "it would beat all others";
}

TEST_F(ImportTest, ItsTextIsASweepFile) {
  const std::string id = client->post("/v1/import", request()).at("id");
  const json rows = client->post("/v1/query", {{"sql", "SELECT text FROM sweeps"}}).at("rows");
  const auto sweep = running->there([&] {
    return jobspec::parse_sweep(rows[0][0].get<std::string>(), "sweep.yaml", *running->app().schema,
                                {});
  });
  EXPECT_EQ(sweep.name, "others");
  EXPECT_EQ(sweep.metric.name, "loss");
  EXPECT_EQ(sweep.metric.targets, std::vector<double>{0.3});
}

TEST_F(ImportTest, NothingRunsItAndAllElseWorks) {
  const std::string id = client->post("/v1/import", request()).at("id");
  for (const char* states : {"failed", "finished"})
    EXPECT_THAT(refusal("/v1/retry", {{"id", id}, {"states", {states}}}, 409),
                HasSubstr("runs of other programs and cannot be run again"));
  EXPECT_THAT(refusal("/v1/extend", {{"id", id}, {"text", sweep_text}}, 409),
              HasSubstr("cannot be extended"));
  EXPECT_THAT(refusal("/v1/sweeps",
                      {{"text", "train: {steps: 4, init_from: {trial: \"" + id + ".1\"}}\n"}}, 400),
              HasSubstr("is a run of another program, so it has no checkpoint"));
  EXPECT_EQ(status([&] { client->get_log("/v1/attempts/" + id + ".1.1/log"); }), 404);
  EXPECT_EQ(client->post("/v1/cancel", {{"id", id}}).at("cancelled"), 0);
  EXPECT_EQ(client->post("/v1/label", {{"id", id}, {"name", "tb"}}).at("name"), "tb");
  EXPECT_EQ(client->post("/v1/prune", {{"id", id}, {"keep", "none"}}).at("freed_bytes"), 0);
  EXPECT_EQ(client->get("/v1/sweeps/" + id + "/size").at("bytes"), 0);
  EXPECT_EQ(status([&] { client->get("/v1/studies/timeline?trials=" + id + ".1"); }), 200);
  client->post("/v1/archive", {{"id", id}});
  EXPECT_GT(sweeps().at(0).at("archived"), 0);
  client->post("/v1/remove", {{"id", id}});
  EXPECT_TRUE(test::eventually([&] {
    return client->post("/v1/query", {{"sql", "SELECT 1 FROM trials"}}).at("rows").empty();
  }));
  EXPECT_TRUE(sweeps().empty());
  start();
  EXPECT_TRUE(sweeps().empty());
}

TEST_F(ImportTest, PartsAreOneImport) {
  json first = request(), last;
  first["more"] = true;
  first["curves"].erase(3);
  last["upload"] = client->post("/v1/import", first).at("upload");
  EXPECT_TRUE(sweeps().empty()) << "half an import does not show";
  last["curves"] = {request().at("curves")[3],
                    {{"trial", 1}, {"metric", "loss"}, {"points", {{3, 0.125, 120.0}}}},
                    {{"trial", 4}, {"metric", "loss"}, {"points", {{3, 0.125, 120.0}}}}};
  last["trials"] = {trial("d", 0.4)};
  const json answer = client->post("/v1/import", last);
  EXPECT_EQ(answer.at("trials"), 4);
  EXPECT_EQ(answer.at("points"), 8);
  const std::string id = answer.at("id");
  EXPECT_EQ(client->get("/v1/trials/" + id + ".1/curve?metric=loss").at("points").size(), 3u);
  EXPECT_THAT(refusal("/v1/import", last, 404), HasSubstr("begin again"));
}

TEST_F(ImportTest, AnInterruptedOneLeavesNothing) {
  json first = request();
  first["more"] = true;
  const json upload = client->post("/v1/import", first).at("upload");
  start();
  EXPECT_TRUE(sweeps().empty());
  EXPECT_THAT(refusal("/v1/import", {{"upload", upload}}, 404), HasSubstr("begin again"));
  for (std::size_t i = 0; i < Uploads::max_of_user; ++i)
    client->post("/v1/import", first);
  EXPECT_THAT(refusal("/v1/import", first, 503), HasSubstr("try again in a minute"));
}

TEST(Uploads, AreForgottenWhenNobodyContinuesThem) {
  Uploads uploads;
  const auto keep = [&](uid_t user, double now) {
    Upload upload;
    upload.user = user;
    return uploads.keep(std::move(upload), now);
  };
  const std::string first = keep(1, 0), second = keep(1, 50);
  EXPECT_THROW(keep(1, 55), HttpError) << "one user has no more";
  EXPECT_THROW(uploads.take(second, 2, 55), HttpError) << "it is another's";
  EXPECT_THROW(uploads.take(first, 1, 61), HttpError);
  EXPECT_NO_THROW(uploads.take(second, 1, 61));
  EXPECT_THROW(uploads.take(second, 1, 61), HttpError) << "each part goes on from the last";
  for (uid_t user = 1; user <= Uploads::max_at_once; ++user)
    keep(user, 100);
  EXPECT_THROW(keep(9, 100), HttpError);
}

TEST(Uploads, HaveAsManyPointsAsOneTransactionMay) {
  api::ImportRequest part;
  part.trials = {{"a", json::object(), {}}};
  part.curves = {{1, "loss", {}}};
  part.curves[0].points.resize(Upload::max_points);
  Upload upload;
  upload.add(part);
  part.trials.clear();
  part.curves[0].points.resize(1);
  EXPECT_THROW(upload.add(part), HttpError);
}

TEST_F(ImportTest, WhatCannotBeTakenIsNamed) {
  const auto changed = [](const char* key, const json& value) {
    json body = request();
    body[key] = value;
    return body;
  };
  const auto curve = [&](const json& trial_number, const json& points) {
    return changed("curves", {{{"trial", trial_number}, {"metric", "loss"}, {"points", points}}});
  };
  const std::string path = "/v1/import";
  EXPECT_THAT(refusal(path, changed("name", "12"), 400), HasSubstr("taken for an id"));
  EXPECT_THAT(refusal(path, changed("goal", "up"), 400), HasSubstr("minimize or maximize"));
  EXPECT_THAT(refusal(path, changed("metric", "acc"), 400), HasSubstr("no run has points"));
  EXPECT_THAT(refusal(path, changed("trials", json::array()), 400), HasSubstr("no trial 1 yet"));
  EXPECT_THAT(refusal(path, curve(4, json::array()), 400), HasSubstr("no trial 4 yet"));
  EXPECT_THAT(refusal(path, curve(0, json::array()), 400), HasSubstr("no trial 0 yet"));
  EXPECT_THAT(refusal(path, curve(1, {{-1, 0.5, 0}}), 400), HasSubstr("step -1 is below 0"));
  for (const json& points : {json({{1, 0.5}}), json({{1, "x", 0}}), json({1, 2, 3}), json("x")})
    refusal(path, curve(1, points), 400);
  EXPECT_THAT(refusal(path, changed("trials", {{{"parameters", {{"a", {1, 2}}}}}}), 400),
              HasSubstr("not a list"));
  EXPECT_TRUE(sweeps().empty());
}

}  // namespace
}  // namespace thalweg::daemon
