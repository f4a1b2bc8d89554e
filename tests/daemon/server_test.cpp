// What the endpoints answer.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <regex>
#include <set>

#include "base/machine.h"
#include "daemon/api/messages.h"
#include "daemon/server/home_folder.h"
#include "jobspec/trial.h"
#include "tests/daemon/server_fixture.h"

namespace thalweg::daemon {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST_F(ServerTest, AMessageSaysAllOfWhatWasSent) {
  const std::string answer =
      raw("GET /v1/sweeps/1%00x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("'1\\\\0x' is not an id"));  // in JSON
}

TEST_F(ServerTest, AnswersAPing) {
  const json answer = client->get("/v1/ping");
  EXPECT_EQ(answer.at("pid"), getpid());
  EXPECT_TRUE(test::eventually(
      [&] { return client->get("/v1/ping").at("backends").at("fake") == "a fake"; }));
  EXPECT_TRUE(client->ping());
}

// The grammar of Prometheus' text form 0.0.4, line by line (prometheus.io/docs/instrumenting/
// exposition_formats); promtool, too, where it is installed.
TEST_F(ServerTest, CountsForPrometheus) {
  wait_for_end(submit());
  const std::string page = client->get_text("/metrics");
  const std::regex comment("# (HELP [a-z_]+ [A-Z].*\\.|TYPE [a-z_]+ (gauge|counter))");
  const std::regex sample(
      "([a-z_]+)(\\{[a-z]+=\"([^\"\\\\]|\\\\.)*\"(,[a-z]+=\"([^\"\\\\]|\\\\.)*\")*\\})? "
      "[-+.e0-9]+");
  std::istringstream lines(page);
  std::string declared;
  int samples = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) declared = line.substr(7, line.rfind(' ') - 7);
    if (line.starts_with("#")) {
      EXPECT_TRUE(std::regex_match(line, comment)) << line;
      continue;
    }
    std::smatch found;
    ASSERT_TRUE(std::regex_match(line, found, sample)) << line;
    EXPECT_EQ(found[1], declared) << "samples stand below their metric";
    ++samples;
  }
  EXPECT_GT(samples, 15);
  EXPECT_TRUE(page.ends_with("\n"));
  EXPECT_THAT(page, HasSubstr("state=\"finished\"} 2\n")) << "trials";
  EXPECT_THAT(page, HasSubstr("thalweg_database_bytes "));
  const test::Outcome promtool = test::run({"sh", "-c", "command -v promtool"});
  if (promtool.code != 0) return;
  const test::TempDir folder;
  std::ofstream(folder.path() / "page") << page;
  const test::Outcome checked =
      test::run({"sh", "-c", "promtool check metrics < " + (folder.path() / "page").string()});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
}

TEST_F(ServerTest, AnswersStudiesAsTables) {
  const std::string id = submit();
  wait_for_end(id);
  const json list = client->get("/v1/studies").at("studies");
  ASSERT_FALSE(list.empty());
  for (const json& study : list) {
    const std::string path = "/v1/studies/" + study.at("name").get<std::string>();
    const std::string of = study.at("of");
    const bool of_trials = of == "trials", of_record = of == "record";
    const std::string ids = of_trials || of_record ? "?trials=" : "?sweeps=";
    std::string query = of_record ? "?" : ids + id + (of_trials ? ".1" : "");
    for (const json& option : study.at("options"))
      for (const auto& [name, value] :
           {std::pair{"target", "0.5"}, std::pair{"by", "optimizer.lr"}})
        if (option.at("name") == name) query += fmt::format("&{}={}", name, value);
    const json answer = client->get(path + query);
    EXPECT_EQ(answer.at("study"), study.at("name"));
    ASSERT_FALSE(answer.at("columns").empty());
    for (const json& row : answer.at("rows"))
      EXPECT_EQ(row.size(), answer.at("columns").size());
    EXPECT_EQ(status([&] { client->get(path); }), of_record ? 200 : 400) << "of which?";
    EXPECT_EQ(status([&] { client->get(path + ids + "99" + (of_trials ? ".1" : "")); }), 404);
    EXPECT_EQ(status([&] { client->get(path + query + "&nonsense=1"); }), 400);
  }
  const json rows = client->get("/v1/studies/regret?sweeps=" + id).at("rows");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[1].at("budget").is_number_integer());
  EXPECT_EQ(rows[1].at("budget"), 2);
  try {
    client->get("/v1/studies/regrets?sweeps=" + id);
    FAIL() << "there is none of that name";
  } catch (const api::ApiError& error) {
    EXPECT_EQ(error.status(), 404);
    EXPECT_THAT(error.what(), HasSubstr("there are: "));
  }
}

TEST_F(ServerTest, ListsItsEndpoints) {
  EXPECT_EQ(client->get("/v1").at("endpoints").size(), endpoints().size());
  for (const auto& endpoint : endpoints()) {
    EXPECT_FALSE(endpoint.doc.empty());
    EXPECT_TRUE((endpoint.handle == nullptr) != (endpoint.stream == nullptr)) << endpoint.pattern;
  }
}

TEST_F(ServerTest, ASweepFromItsFileToItsEnd) {
  const std::string id = submit();
  const json end = wait_for_end(id);
  EXPECT_EQ(end.at("state"), "finished");
  EXPECT_EQ(end.at("counts").at("finished"), 2);
  ASSERT_EQ(end.at("trials").size(), 2u);
  EXPECT_EQ(end.at("trials")[1].at("parameters").at("optimizer.lr"), 0.2);
  EXPECT_EQ(end.at("trials")[0].at("progress").at("step"), 4);
  EXPECT_EQ(end.at("trials")[0].at("progress").at("best"), 0.1);

  EXPECT_EQ(client->get("/v1/sweeps").at("sweeps").at(0).at("id"), id);
  const json trial = client->get("/v1/trials/" + id + ".1");
  EXPECT_EQ(trial.at("attempts").at(0).at("state"), "finished");
  EXPECT_EQ(trial.at("metrics").at("train/loss").at("last"), 4.5);
  EXPECT_EQ(trial.at("train").at("steps"), 4);
  const json attempt = client->get("/v1/attempts/" + id + ".1.1");
  EXPECT_EQ(attempt.at("events").at(0).at("kind"), "launching");
  EXPECT_FALSE(attempt.at("events").at(0).at("data").contains("token"));
  const json curve = client->get("/v1/trials/" + id + ".1/curve?metric=train/loss");
  EXPECT_EQ(curve.at("points").size(), 4u);
  EXPECT_EQ(curve.at("points")[0][1], 1.5);
  const json curves = client->get("/v1/sweeps/" + id + "/curves?metric=train/loss&points=2");
  EXPECT_EQ(curves.at("metric"), "train/loss");
  ASSERT_EQ(curves.at("curves").size(), 2u);
  EXPECT_EQ(curves.at("curves")[0].at("id"), id + ".1");
  EXPECT_EQ(curves.at("curves")[0].at("points"),
            json::array({curve["points"][0], curve["points"][3]}));
  const json one = client->get("/v1/sweeps/" + id + "/curves?metric=train/loss&trials=2");
  ASSERT_EQ(one.at("curves").size(), 1u);
  EXPECT_EQ(one.at("curves")[0].at("id"), id + ".2");
  const json best = client->get("/v1/sparklines?sweeps=" + id).at("sparklines");
  ASSERT_EQ(best.size(), 1u);
  EXPECT_EQ(best[0].at("id"), id);
  const std::string winner = best[0].at("trial");
  const json whole = client->get("/v1/trials/" + winner + "/curve?metric=val/error");
  ASSERT_EQ(best[0].at("values").size(), whole.at("points").size());
  EXPECT_EQ(best[0].at("values")[0], whole.at("points")[0][1]);
  const json comparison = client->get("/v1/sweeps/" + id + "/compare?target=0.2");
  EXPECT_EQ(comparison.at("rows").size(), 2u);
  const auto log = client->get_log("/v1/attempts/" + id + ".1.1/log?stream=journal");
  EXPECT_TRUE(log.ended);
  EXPECT_EQ(log.next_offset, static_cast<std::int64_t>(log.text.size()));
  EXPECT_THAT(log.text, StartsWith("{\"n\":1,"));
  const auto tail = client->get_log("/v1/attempts/" + id + ".1.1/log?stream=journal&tail=10");
  EXPECT_EQ(tail.text, log.text.substr(log.text.size() - 10));
  EXPECT_EQ(tail.next_offset, log.next_offset);
  EXPECT_EQ(client->get_log("/v1/attempts/" + id + ".1.1/log?stream=journal&tail=1000000").text,
            log.text);
}

TEST_F(ServerTest, AMetricThatNobodyReportedIsToldWithThoseThatWere) {
  const std::string id =
      client
          ->post("/v1/sweeps", {{"text", std::string(sweep_text) + "metric: {name: train_loss}\n"}})
          .at("id");
  wait_for_end(id);
  const std::string sentence =
      "2 trials finished without any value of 'train_loss': reported were ";
  EXPECT_THAT(client->get("/v1/sweeps/" + id + "/compare").at("notes").dump(),
              testing::AllOf(HasSubstr(sentence), HasSubstr("(did you mean 'train/loss'?)")));
  EXPECT_THAT(client->get("/v1/warnings?sweeps=" + id).at("sweeps").dump(), HasSubstr(sentence));
}

TEST_F(ServerTest, ADryRunOnlyLooks) {
  const json answer = client->post("/v1/sweeps", {{"text", sweep_text}, {"dry_run", true}});
  EXPECT_FALSE(answer.contains("id"));
  EXPECT_EQ(answer.at("trials").size(), 2u);
  EXPECT_EQ(answer.at("nodes_per_job"), 1);
  EXPECT_TRUE(client->get("/v1/sweeps").at("sweeps").empty());
}

TEST_F(ServerTest, TheBackendIsAskedOncePerDistinctRequest) {
  const std::string text =
      "method: grid\nseeds: 2\nparameters:\n  resources.nodes: {values: [1, 2, 3]}\n"
      "train: {steps: 4}\nresources: {time: 60}\n";
  std::vector<int> asked;
  world.cluster.on_forecast = [&](const LaunchRequest& request) {
    asked.push_back(request.resources.nodes);
    Forecast forecast;
    forecast.start = 1000 + request.resources.nodes;
    forecast.refused = request.resources.nodes > 2 && world.cluster.room == 1;
    forecast.message = forecast.refused ? "too many nodes" : "";
    return forecast;
  };
  const json answer = client->post("/v1/sweeps", {{"text", text}, {"dry_run", true}});
  EXPECT_THAT(asked, testing::ElementsAre(1, 2, 3));
  ASSERT_EQ(answer.at("forecasts").size(), 3u);
  EXPECT_EQ(answer.at("forecasts")[1].at("trial"), ".3");
  EXPECT_EQ(answer.at("forecasts")[1].at("trials"), 2);
  EXPECT_EQ(answer.at("forecasts")[1].at("start"), 1002);
  EXPECT_EQ(answer.at("most_node_hours"), 12);

  world.cluster.room = 1;
  for (const bool dry : {true, false}) {
    try {
      client->post("/v1/sweeps", {{"text", text}, {"dry_run", dry}});
      FAIL() << "was taken";
    } catch (const api::ApiError& error) {
      EXPECT_EQ(error.status(), 400);
      EXPECT_THAT(
          error.what(),
          testing::HasSubstr("fake could never run trial 5 (and 1 more like it): too many nodes"));
    }
  }
  EXPECT_TRUE(client->get("/v1/sweeps").at("sweeps").empty());
}

TEST_F(ServerTest, ABackendThatHasNothingToSayOfOneRequestIsAskedOfTheOthers) {
  const std::string text =
      "method: grid\nparameters:\n  resources.nodes: {values: [1, 2, 3]}\n"
      "train: {steps: 4}\nresources: {time: 60}\n";
  world.cluster.on_forecast = [](const LaunchRequest& request) -> std::optional<Forecast> {
    if (request.resources.nodes < 3) return {};
    Forecast forecast;
    forecast.refused = true;
    forecast.message = "too many nodes";
    return forecast;
  };
  try {
    client->post("/v1/sweeps", {{"text", text}});
    FAIL() << "was taken";
  } catch (const api::ApiError& error) {
    EXPECT_THAT(error.what(), HasSubstr("fake could never run trial 3: too many nodes"));
  }
}

TEST_F(ServerTest, WhatOnlySlurmDoesIsNotedElsewhere) {
  const json answer = client->post(
      "/v1/sweeps",
      {{"text", std::string(sweep_text) + "slurm: {partition: main, setup: [module load x]}\n"},
       {"dry_run", true}});
  EXPECT_EQ(answer.at("notes").back(),
            "slurm (partition, setup): ignored, the backend fake is not Slurm");
}

TEST_F(ServerTest, AnAttemptShowsWhatWasAskedOfSlurm) {
  const std::string without = submit();
  wait_for_end(without);
  EXPECT_FALSE(client->get("/v1/attempts/" + without + ".1.1").contains("request"));

  world.cluster.script =
      "#!/bin/sh\n# Thalweg\n#SBATCH --nodes=2\n#SBATCH --time=60\nexec srun\n#SBATCH --late\n";
  const std::string id = submit();
  wait_for_end(id);
  const json attempt = client->get("/v1/attempts/" + id + ".1.1");
  EXPECT_EQ(attempt.at("request"), json::array({"--nodes=2", "--time=60"}));
  EXPECT_EQ(
      test::read_file(std::filesystem::path(attempt.at("folder").get<std::string>()) / "batch.sh"),
      world.cluster.script);
  EXPECT_EQ(client->post("/v1/sweeps", {{"text", sweep_text}, {"dry_run", true}}).at("script"),
            world.cluster.script);
}

TEST_F(ServerTest, PathsCountFromTheFolderOfTheSweepFile) {
  const std::string train = "train: {steps: 4, data: {file: x.npz:X}}\n";
  const std::string id =
      client->post("/v1/sweeps", {{"text", train}, {"directory", "/exp"}}).at("id");
  EXPECT_EQ(client->get("/v1/trials/" + id + ".1").at("train").at("data").at("file"),
            "/exp/x.npz:X");
  wait_for_end(id);
}

/// What decides a trial.
json seen(const json& sweep) {
  std::set<std::string> all;
  for (const json& trial : sweep.at("trials"))
    all.insert(trial.at("parameters").dump() + " " + trial.at("seed").dump());
  return all;
}

TEST_F(ServerTest, AnExtendedSweepIsTheOneThatItsFileGivesFromTheStart) {
  const auto text = [&](int draws, int seeds) {
    return fmt::format(
        "method: random\nrun_cap: {}\nseeds: {}\n"
        "parameters: {{optimizer.lr: {{min: 0.1, max: 1.0}}}}\n"
        "train: {{steps: 4, data: {{file: 'x.npz:X'}}}}\n",
        draws, seeds);
  };
  const std::string id =
      client->post("/v1/sweeps", {{"text", text(2, 1)}, {"directory", "/exp"}}).at("id");
  wait_for_end(id);
  const json dry =
      client->post("/v1/extend", {{"id", id}, {"text", text(3, 2)}, {"dry_run", true}});
  ASSERT_EQ(dry.at("trials").size(), 4u);
  EXPECT_EQ(dry.at("trials")[0].at("id"), ".3");
  EXPECT_EQ(client->get("/v1/sweeps/" + id).at("counts").at("finished"), 2);

  const json answer =
      client->post("/v1/extend", {{"id", id}, {"text", text(3, 2)}, {"changes", {"seeds=2"}}});
  EXPECT_EQ(answer.at("new_trials"), json::array({id + ".3", id + ".4", id + ".5", id + ".6"}));
  EXPECT_EQ(answer.at("trials"), 6);
  const json extended = wait_for_end(id);
  EXPECT_EQ(extended.at("state"), "finished");
  EXPECT_EQ(extended.at("trials")[0].at("attempts"), 1) << "what was there did not run again";
  EXPECT_EQ(extended.at("trials")[2].at("configuration"), 1) << "seed 2 of the first";
  EXPECT_EQ(extended.at("trials")[5].at("configuration"), 3);
  const std::string whole =
      client->post("/v1/sweeps", {{"text", text(3, 2)}, {"directory", "/exp"}}).at("id");
  EXPECT_EQ(seen(extended), seen(wait_for_end(whole)));

  start();  // the log alone tells the new controller
  EXPECT_EQ(client->get("/v1/sweeps/" + id).at("counts").at("finished"), 6);
  const json again = client->post("/v1/extend", {{"id", id}, {"text", text(3, 2)}});
  EXPECT_TRUE(again.at("new_trials").empty());
  EXPECT_EQ(client->get("/v1/sweeps/" + id).at("state"), "finished");
}

TEST_F(ServerTest, LabelsSurviveARestart) {
  const std::string id = submit();
  wait_for_end(id);
  client->post("/v1/label", {{"id", id}, {"add_tags", {"paper", "draft"}}, {"comment", "a\nb"}});
  const json answer = client->post(
      "/v1/label",
      {{"id", id}, {"name", "wide"}, {"add_tags", {"lamb"}}, {"remove_tags", {"draft"}}});
  EXPECT_EQ(answer.at("tags"), json({"lamb", "paper"}));
  start();
  const json sweep = client->get("/v1/sweeps/" + id);
  EXPECT_EQ(sweep.at("name"), "wide");
  EXPECT_EQ(sweep.at("tags"), json({"lamb", "paper"}));
  EXPECT_EQ(sweep.at("comment"), "a\nb");
  EXPECT_EQ(sweep.at("counts").at("finished"), 2);
  EXPECT_EQ(client->get("/v1/sweeps").at("sweeps").at(0).at("tags"), json({"lamb", "paper"}));
  for (const json& wrong : {json{{"add_tags", {"two words"}}}, json{{"add_tags", {"-x"}}},
                            json{{"name", ""}}, json{{"name", "12"}}, json{{"name", "a\nb"}}}) {
    json body = wrong;
    body["id"] = id;
    EXPECT_EQ(status([&] { client->post("/v1/label", body); }), 400) << wrong;
  }
  EXPECT_EQ(status([&] { client->post("/v1/label", {{"id", "99"}, {"name", "x"}}); }), 404);
}

TEST_F(ServerTest, ASweepIsPutAwayAndRemovedOnceItHasEnded) {
  world.cluster.steps = 100'000;
  const std::string id = submit();
  for (const char* what : {"/v1/remove", "/v1/archive"})
    EXPECT_EQ(status([&] { client->post(what, {{"id", id}}); }), 409) << what;
  EXPECT_EQ(status([&] { client->post("/v1/prune", {{"id", id}, {"keep", "last"}}); }), 409);
  client->post("/v1/cancel", {{"id", id}});
  wait_for_end(id);
  client->post("/v1/archive", {{"id", id}});
  EXPECT_GT(client->get("/v1/sweeps/" + id).at("archived").get<double>(), 0);
  start();
  EXPECT_GT(client->get("/v1/sweeps/" + id).at("archived").get<double>(), 0);
  client->post("/v1/archive", {{"id", id}, {"on", false}});
  EXPECT_EQ(client->get("/v1/sweeps/" + id).at("archived"), 0);
  EXPECT_GT(client->get("/v1/sweeps/" + id + "/size").at("bytes").get<std::int64_t>(), 0);
  const json sizes = client->post("/v1/sizes", {{"ids", {id}}}).at("sizes");
  EXPECT_EQ(sizes, json::array({client->get("/v1/sweeps/" + id + "/size")}));
  EXPECT_EQ(status([&] { client->post("/v1/sizes", {{"ids", {"99"}}}); }), 404);
  EXPECT_EQ(client->post("/v1/remove", {{"id", id}}).at("removing"), true);
  EXPECT_EQ(status([&] { client->get("/v1/sweeps/" + id); }), 404);
  EXPECT_TRUE(client->get("/v1/sweeps").at("sweeps").empty());
  EXPECT_TRUE(test::eventually([&] { return !std::filesystem::exists(world.home().runs() / id); }));
  world.cluster.steps = 4;
  EXPECT_EQ(submit(), "2") << "a number is given once";
}

TEST_F(ServerTest, WeightsThatATrialWaitsForAreNotRemoved) {
  const std::string id = submit();
  wait_for_end(id);
  world.cluster.steps = 100'000;
  const std::string text = "train: {steps: 4, init_from: {trial: \"" + id + ".1\"}}\n";
  const std::string by = client->post("/v1/sweeps", {{"text", text}}).at("id");
  const auto refused = [&](const char* what, json body) {
    body["id"] = id;
    try {
      client->post(what, body);
      return std::string("done");
    } catch (const api::ApiError& error) {
      EXPECT_EQ(error.status(), 409);
      return std::string(error.what());
    }
  };
  EXPECT_THAT(refused("/v1/remove", {}), testing::HasSubstr("trial " + by + ".1 has not ended"));
  EXPECT_THAT(refused("/v1/prune", {{"keep", "none"}}), testing::HasSubstr("--force"));
  EXPECT_EQ(refused("/v1/prune", {{"keep", "last"}}), "done") << "the newest stays";
  EXPECT_EQ(refused("/v1/prune", {{"keep", "none"}, {"force", true}}), "done");
  client->post("/v1/cancel", {{"id", by}});
  wait_for_end(by);
  EXPECT_EQ(refused("/v1/remove", {}), "done");
}

TEST_F(ServerTest, ASweepSaysWhatStaysOfItsCheckpoints) {
  const std::string id =
      client
          ->post("/v1/sweeps",
                 {{"text", std::string(sweep_text) +
                               "description: two rates\nkeep: {checkpoints: best}\n"}})
          .at("id");
  wait_for_end(id);
  EXPECT_TRUE(test::eventually(
      [&] { return client->get("/v1/sweeps/" + id).at("pruned").get<double>() > 0; }));
  const json sweep = client->get("/v1/sweeps/" + id);
  EXPECT_EQ(sweep.at("description"), "two rates");
  EXPECT_THAT(sweep.at("keep").get<std::string>(), testing::HasSubstr("best validation"));
  EXPECT_THAT(sweep.at("notes").dump(), testing::HasSubstr("checkpoints are removed"));
}

TEST_F(ServerTest, CheckpointsArePruned) {
  const std::string id = submit();
  wait_for_end(id);
  const json attempt = client->get("/v1/attempts/" + id + ".1.1");
  const std::filesystem::path folder = attempt.at("folder").get<std::string>();
  std::filesystem::create_directories(folder / "checkpoints");
  const auto fill = [&] {
    for (const char* name : {"step-000000000010.ckpt", "step-000000000020.ckpt",
                             "step-000000000030.ckpt", "step-000000000040.ckpt", "notes.txt"})
      test::write_file(folder / "checkpoints" / name, std::string(9000, 'x'));
  };
  const auto left = [&](const std::string& keep) {
    fill();
    const json answer = client->post("/v1/prune", {{"id", id}, {"keep", keep}});
    EXPECT_GT(answer.at("freed_bytes").get<std::int64_t>(), 8000);
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "checkpoints"))
      names.insert(entry.path().filename().string().substr(0, 17));
    names.erase("notes.txt");
    std::string text;
    for (const auto& name : names)
      text += name.substr(15, 1);
    return text;
  };
  const auto slices_left = [&](const std::string& keep) {
    for (const char* step : {"010", "020", "030", "040", "050"})
      test::write_file(
          folder / "checkpoints" / fmt::format("step-000000000{}.rank-0001-of-0002.ckpt", step),
          "x");
    left(keep);
    std::string text;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "checkpoints"))
      if (const std::string name = entry.path().filename(); name.find(".rank-") != name.npos)
        text += name.substr(15, 1);
    std::sort(text.begin(), text.end());
    return text;
  };
  EXPECT_EQ(slices_left("2"), "34") << "and none of step 50, which has no checkpoint";
  EXPECT_EQ(slices_left("none"), "");
  EXPECT_EQ(left("last"), "4");
  EXPECT_EQ(left("2"), "34");
  EXPECT_EQ(left("best"), "4") << "none is marked";
  EXPECT_EQ(left("none"), "");
  std::ofstream(folder / "journal.jsonl", std::ios::app)
      << R"({"n":99,"t":1,"type":"checkpoint","step":20,"best":true,"file":"x"})"
      << "\n";
  EXPECT_EQ(left("best"), "2");
  EXPECT_EQ(left("last"), "24");
  EXPECT_EQ(status([&] { client->post("/v1/prune", {{"id", id}, {"keep", "some"}}); }), 400);
}

TEST_F(ServerTest, CurvesAreThinned) {
  const std::string id = submit();
  EXPECT_EQ(status([&] { client->post("/v1/prune", {{"id", id}, {"points", 10}}); }), 409);
  wait_for_end(id);
  EXPECT_EQ(status([&] { client->post("/v1/prune", {{"id", id}, {"points", 2}}); }), 400);
  EXPECT_EQ(status([&] { client->post("/v1/prune", {{"id", id}, {"points", "x"}}); }), 400);
  const json answer = client->post("/v1/prune", {{"id", id}, {"points", 10}});
  EXPECT_EQ(answer.at("removed_points"), 0) << "there are fewer";
}

/// As thalweg(1) says: back up, move the run folders, restore, relocate.
TEST_F(ServerTest, AHomeIsMoved) {
  namespace fs = std::filesystem;
  const std::string id = submit();
  wait_for_end(id);
  const fs::path backup = world.dir.path() / "backup.db";
  client->post("/v1/backup", {{"file", backup.string()}});
  const fs::path old_runs = world.home().runs();
  running.reset();

  World moved;
  fs::create_directories(moved.home().directory);
  fs::copy_file(backup, moved.home().database());  // what `thalweg restore` does
  fs::rename(old_runs, moved.home().runs());
  running = std::make_unique<Running>(moved, limits);
  client = std::make_unique<api::Client>(moved.home());
  const auto size = [&] {
    return client->get("/v1/sweeps/" + id + "/size").at("bytes").get<std::int64_t>();
  };
  EXPECT_EQ(size(), 0) << "they are looked for in the old place";
  const json from_to{{"from", old_runs.string()}, {"to", moved.home().runs().string()}};
  EXPECT_EQ(client->post("/v1/relocate", from_to).at("attempts"), 2);
  EXPECT_GT(size(), 0);
  EXPECT_EQ(client->get("/v1/attempts/" + id + ".1.1").at("folder"),
            (moved.home().runs() / id / "1/1").string());
  EXPECT_EQ(client->post("/v1/relocate", from_to).at("attempts"), 0) << "done already";
  EXPECT_EQ(status([&] {
              client->post("/v1/relocate", {{"from", "/x"}, {"to", "/there/is/none"}});
            }),
            400);
  EXPECT_EQ(status([&] { client->post("/v1/relocate", {{"from", "x"}, {"to", "/tmp"}}); }), 400);

  moved.cluster.steps = 100'000;
  const std::string live = submit();
  ASSERT_TRUE(test::eventually(
      [&] { return client->get("/v1/sweeps/" + live).at("counts").at("running") == 2; }));
  EXPECT_EQ(
      status([&] {
        client->post("/v1/relocate", {{"from", moved.home().runs().string()}, {"to", "/tmp"}});
      }),
      409);
  running.reset();
}

TEST_F(ServerTest, OtherRecordsOfTheseRunFoldersAreNamed) {
  const auto runs = world.home().runs();
  std::filesystem::create_directories(runs);
  EXPECT_TRUE(client->get("/v1/homes").at("homes").empty());
  note_home(runs, world.home().directory, 5);  // its own
  EXPECT_TRUE(client->get("/v1/homes").at("homes").empty());
  note_home(runs, world.dir.path() / "gone", 6);  // without a record
  test::write_file(runs / ".homes" / "broken", "{");
  test::write_file(runs / ".homes" / "login9-0",
                   R"({"host":"login9","home":"/var/tmp/ada","started":7})");
  std::filesystem::create_directories(world.dir.path() / "second");
  test::write_file(world.dir.path() / "second" / "thalweg.db", "x");
  note_home(runs, world.dir.path() / "second", 8);
  const json homes = client->get("/v1/homes").at("homes");
  ASSERT_EQ(homes.size(), 2U) << homes;
  EXPECT_EQ(homes[0].at("home"), (world.dir.path() / "second").string());
  EXPECT_EQ(homes[1], (json{{"host", "login9"}, {"home", "/var/tmp/ada"}, {"started", 7.0}}));
}

TEST_F(ServerTest, ABackupOfARunningSweepGoesOn) {
  world.cluster.steps = 60;
  const std::string id = submit();
  ASSERT_TRUE(test::eventually(
      [&] { return client->get("/v1/sweeps/" + id).at("counts").at("running") == 2; }));
  const auto file = world.dir.path() / "backup.db";
  EXPECT_GT(client->post("/v1/backup", {{"file", file.string()}}).at("bytes"), 4096);
  EXPECT_EQ(status([&] {
              client->post("/v1/backup", {{"file", file.string()}});
            }),
            400)
      << "it is there already";
  EXPECT_EQ(status([&] { client->post("/v1/backup", {{"file", "here.db"}}); }), 400);
  EXPECT_EQ(status([&] { client->post("/v1/backup", {{"file", "/nowhere/x.db"}}); }), 400);
  running.reset();
  for (const char* part : {"", "-wal", "-shm"})
    std::filesystem::remove(world.home().database().string() + part);
  std::filesystem::copy_file(file, world.home().database());
  start();
  const json end = wait_for_end(id);
  EXPECT_EQ(end.at("state"), "finished");
  const json curve = client->get("/v1/trials/" + id + ".1/curve?metric=train/loss");
  EXPECT_EQ(curve.at("points").size(), 60u) << "what was measured since is read";
  for (const auto& [handle, job] : world.cluster.jobs)
    EXPECT_EQ(job.runs, 1);
}

TEST_F(ServerTest, ASweepWaitsForOthersByName) {
  const auto with = [&](const std::string& more) -> json {
    return {{"text", std::string(sweep_text) + more}, {"file_name", "s.yaml"}};
  };
  for (const auto& [after, said] : std::map<std::string, const char*>{
           {"nobody", "s.yaml: after: 'nobody' is neither an id nor the name of a sweep"},
           {"7", "s.yaml: after: there is no sweep 7"}}) {
    try {
      client->post("/v1/sweeps", with("after: " + after + "\n"));
      ADD_FAILURE() << after << " was taken";
    } catch (const api::ApiError& error) {
      EXPECT_THAT(error.what(), testing::StartsWith(said));
    }
  }
  world.cluster.steps = 1000000;
  const std::string first = client->post("/v1/sweeps", with("description: runs first\n")).at("id");
  const std::string second = client->post("/v1/sweeps", with("after: [lrs]\n")).at("id");
  json seen;
  client->stream("/v1/watch?id=" + second, [&](const json& event) {
    seen = event.at("trials").at(0).at("progress");
    return seen.value("waiting_for", "").empty();
  });
  EXPECT_EQ(seen.at("waiting_for"), "starts when sweep " + first + " has ended (after)");
  EXPECT_EQ(world.cluster.job_of(second + ".1.1"), nullptr);
  world.cluster.steps = 4;
  EXPECT_EQ(wait_for_end(first).at("state"), "finished");
  EXPECT_EQ(wait_for_end(second).at("state"), "finished");
}

TEST_F(ServerTest, ALaterDeadlineLetsTrialsGoOn) {
  const std::string given = sweep_text;
  try {
    client->post("/v1/sweeps", {{"text", given + "limits: {deadline: 2020-01-01}\n"},
                                {"file_name", "late.yaml"}});
    ADD_FAILURE() << "was taken";
  } catch (const api::ApiError& error) {
    EXPECT_STREQ(error.what(), "late.yaml: limits.deadline has passed, nothing would run");
  }
  const auto ahead = std::make_shared<std::atomic<double>>(0);
  world.options = [ahead](ControllerOptions& options) {
    options.now = [ahead] { return unix_now() + *ahead; };
  };
  start();
  world.cluster.steps = 1000000;
  const auto deadline = static_cast<std::time_t>(unix_now()) + 3600;
  const std::string text =
      given + fmt::format("limits: {{deadline: {:%Y-%m-%dT%H:%M:%SZ}}}\n", fmt::gmtime(deadline));
  const std::string id = client->post("/v1/sweeps", {{"text", text}}).at("id");
  *ahead = 3700;
  json end = wait_for_end(id);
  EXPECT_EQ(end.at("state"), "failed");
  EXPECT_EQ(end.at("trials")[0].at("state"), "cancelled");
  EXPECT_EQ(end.at("trials")[0].at("reason"), "its deadline (limits.deadline) has passed");
  world.cluster.steps = 4;
  const json request{{"id", id},
                     {"text", given + "limits: {deadline: 2100-01-01}\n"},
                     {"changes", {"limits.deadline=2100-01-01"}}};
  EXPECT_EQ(client->post("/v1/extend", request).at("limits_changed"), true);
  EXPECT_EQ(client->post("/v1/extend", request).at("limits_changed"), false);
  client->post("/v1/retry", {{"id", id}, {"states", {"cancelled"}}});
  end = wait_for_end(id);
  EXPECT_EQ(end.at("state"), "finished");
}

TEST_F(ServerTest, FinishedTrialsAreTrainedLonger) {
  const std::string id = submit();
  wait_for_end(id);
  world.cluster.steps = 8;
  std::string text = sweep_text;
  text.replace(text.find("steps: 4"), 8, "steps: 8");
  text += "seeds: 2\n";
  const json request{{"id", id}, {"text", text}, {"steps", 8}, {"changes", {"train.steps=8"}}};
  const json answer = client->post("/v1/extend", request);
  EXPECT_EQ(answer.at("going_on"), 2);
  EXPECT_EQ(answer.at("new_trials").size(), 2u);
  const json end = wait_for_end(id);
  EXPECT_EQ(end.at("state"), "finished");
  EXPECT_EQ(end.at("trials")[0].at("attempts"), 2);
  EXPECT_EQ(end.at("trials")[2].at("attempts"), 1);
  const json trial = client->get("/v1/trials/" + id + ".1");
  EXPECT_EQ(trial.at("train").at("steps"), 8);
  const std::filesystem::path folder = trial.at("attempts").at(1).at("folder").get<std::string>();
  const auto file = jobspec::read_trial(folder / "trial.yaml");
  EXPECT_EQ(file.train.find("steps")->as_int(), 8);

  const auto refused = [&](json change) -> std::string {
    json again = request;
    again.update(change);
    try {
      client->post("/v1/extend", again);
      return "was taken";
    } catch (const api::ApiError& error) {
      EXPECT_EQ(error.status(), 400);
      return error.what();
    }
  };
  EXPECT_THAT(refused({{"steps", 8}}), HasSubstr("has 8 steps already"));
  EXPECT_THAT(refused({{"epochs", 3}, {"steps", nullptr}}), HasSubstr("is not written as epochs"));
  EXPECT_THAT(refused({{"steps", 9}}), HasSubstr("no longer gives trial 1"));
}

TEST_F(ServerTest, AnExtensionKeepsWhatIsThere) {
  const std::string id = submit();
  wait_for_end(id);
  const auto refusal = [&](const std::string& text) -> std::string {
    try {
      client->post("/v1/extend", {{"id", id}, {"text", text}});
      return "was taken";
    } catch (const api::ApiError& error) {
      EXPECT_EQ(error.status(), 400);
      return error.what();
    }
  };
  const std::string text = sweep_text;
  EXPECT_THAT(refusal(text + "seeds: 2\nmetric: {name: val/loss}\n"),
              HasSubstr("metric is one for"));
  std::string longer = text;
  longer.replace(longer.find("steps: 4"), 8, "steps: 8");
  EXPECT_THAT(refusal(longer), HasSubstr("no longer gives trial 1 (nor 1 others)"));
  EXPECT_THAT(refusal(text + "seeds: no\n"), HasSubstr("sweep 1, extended:6: seeds: found"));
  EXPECT_EQ(client->get("/v1/sweeps/" + id).at("trials").size(), 2u);
  EXPECT_EQ(status([&] { client->post("/v1/extend", {{"id", "99"}, {"text", text}}); }), 404);
}

TEST_F(ServerTest, TheRecordHasWhatARerunIsMadeOf) {
  const std::string file =
      "method: grid\nparameters: {optimizer.lr: {values: [0.1, 0.2]}}\nseeds: [7]\n"
      "train: {steps: 4, data: {file: x.npz:X}}\n";
  const std::string id =
      client->post("/v1/sweeps", {{"text", file}, {"directory", "/exp"}, {"file_name", "lrs.yaml"}})
          .at("id");
  const std::string sql =
      "SELECT t.seed, t.train, t.resources, s.text, s.name, s.backend, (SELECT h.resolved FROM "
      "hyperparameters AS h WHERE h.sweep = t.sweep AND h.trial = t.trial AND h.name = "
      "'optimizer.lr') FROM trials AS t JOIN sweeps AS s ON s.sweep = t.sweep WHERE t.sweep = ? "
      "AND t.trial = ?";
  const json row = client->post("/v1/query", {{"sql", sql}, {"parameters", {std::stoi(id), 2}}})
                       .at("rows")
                       .at(0);
  EXPECT_EQ(row.at(0), 7);
  const json train = json::parse(row.at(1).get<std::string>());
  EXPECT_EQ(train.at("optimizer").at("lr"), 0.2) << "its parameters are put in";
  EXPECT_EQ(train.at("data").at("file"), "/exp/x.npz:X") << "its paths are absolute";
  const json resources = json::parse(row.at(2).get<std::string>());
  for (const char* key : {"nodes", "ranks_per_node", "threads_per_rank", "time_limit_s",
                          "memory_mib", "gpus_per_node"})
    EXPECT_TRUE(resources.at(key).is_number_integer()) << key;
  EXPECT_EQ(row.at(3), file);
  EXPECT_EQ(row.at(4), "lrs");
  EXPECT_EQ(row.at(5), "fake");
  EXPECT_EQ(row.at(6), 0.2) << "of an option, what the trial ran with";
  wait_for_end(id);
}

TEST_F(ServerTest, TheSubmittersEnvironmentReachesEveryAttemptAndNobodyElse) {
  std::vector<std::vector<std::string>> seen;
  world.cluster.on_submit = [&](const LaunchRequest& request) {
    seen.push_back(request.environment);
    return SubmitOutcome::accepted;
  };
  const std::string text = "train: {steps: 4}\nenv: {ADDED: \"2\", GONE: null}\n";
  const std::string id =
      client
          ->post("/v1/sweeps",
                 {{"text", text}, {"environment", {"KEY=secret", "GONE=1", "SLURM_JOB_ID=7"}}})
          .at("id");
  wait_for_end(id);
  start();  // another controller over the same record
  client->post("/v1/retry", {{"id", id}, {"states", {"finished"}}});
  wait_for_end(id);
  const std::string curl = submit();  // says nothing
  wait_for_end(curl);
  const std::vector<std::string> expected{"KEY=secret", "ADDED=2"};
  const auto requests = running->there([&] { return seen; });
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests[0], expected);
  EXPECT_EQ(requests[1], expected);
  EXPECT_TRUE(requests[2].empty()) << "the controller's own";

  for (const std::string path :
       {"/v1/sweeps", "/v1/sweeps/1", "/v1/trials/1.1", "/v1/attempts/1.1.1", "/v1/attempts/1.1.2"})
    EXPECT_EQ(client->get(path).dump().find("secret"), std::string::npos) << path;
  for (const std::string view : {"sweeps", "trials", "attempts", "events"}) {
    const json answer = client->post("/v1/query", {{"sql", "SELECT * FROM " + view}});
    EXPECT_EQ(answer.dump().find("secret"), std::string::npos) << view;
  }
  EXPECT_EQ(status([&] {
              client->post("/v1/query", {{"sql", "SELECT * FROM sweep_environment"}});
            }),
            400);
  EXPECT_EQ(status([&] {
              client->post("/v1/sweeps", {{"text", sweep_text}, {"environment", "A=1"}});
            }),
            400);
}

TEST_F(ServerTest, OnlyTheBestTrialsOfASweepWhereTheyAreAskedFor) {
  const json trials{{{"parameters", {{"r", 1}}}},
                    {{"parameters", {{"r", 2}}}},
                    {{"parameters", {{"r", 3}}}},
                    {{"parameters", {{"r", 4}}}}};
  const auto import = [&](const char* metric, const char* goal) {
    return client
        ->post("/v1/import",
               {{"name", "x"},
                {"metric", metric},
                {"goal", goal},
                {"trials", trials},
                {"curves",
                 {{{"trial", 1}, {"metric", "acc"}, {"points", {{1, 0.9, 0}, {2, 0.2, 0}}}},
                  {{"trial", 2}, {"metric", "acc"}, {"points", {{1, 0.1, 0}, {2, 0.3, 0}}}},
                  {{"trial", 4}, {"metric", "acc"}, {"points", {{1, 0.5, 0}}}}}}})
        .at("id")
        .get<std::string>();
  };
  const auto ids_of = [&](const json& sweep) {
    std::vector<std::string> ids;
    for (const json& trial : sweep.at("trials"))
      ids.push_back(trial.at("id"));
    return ids;
  };
  const std::string up = import("acc", "maximize"), down = import("acc", "minimize");
  const json best = client->get("/v1/sweeps/" + up + "?best=2");
  EXPECT_THAT(ids_of(best), testing::ElementsAre(up + ".1", up + ".4"));
  EXPECT_EQ(best.at("reporting"), 3);
  EXPECT_EQ(best.at("trials")[0].at("progress").at("best"), 0.9);
  EXPECT_EQ(best.at("trials")[0].at("parameters"), (json{{"r", 1}}));
  EXPECT_THAT(ids_of(client->get("/v1/sweeps/" + down + "?best=9")),
              testing::ElementsAre(down + ".2", down + ".1", down + ".4"));
  const json all = client->get("/v1/sweeps/" + up);
  EXPECT_EQ(all.at("trials").size(), 4u);
  EXPECT_FALSE(all.contains("reporting"));
}

TEST_F(ServerTest, WhereNoTrialHasTheMetricTheFirstThatReportedAnythingAreTheBest) {
  const std::string id =
      client->post("/v1/sweeps", {{"text", std::string(sweep_text) + "metric: {name: val/loss}\n"}})
          .at("id");
  wait_for_end(id);
  const json sweep = client->get("/v1/sweeps/" + id + "?best=1");
  EXPECT_EQ(sweep.at("reporting"), 2);
  ASSERT_EQ(sweep.at("trials").size(), 1u);
  EXPECT_EQ(sweep.at("trials")[0].at("id"), id + ".1");
}

TEST_F(ServerTest, TheSitesDataFolderIsForThoseWhoNameNone) {
  running->there([&] { running->config().data = "/site"; });
  std::vector<std::string> seen;
  world.cluster.on_submit = [&](const LaunchRequest& request) {
    for (const std::string& entry : request.environment)
      if (entry.starts_with("THALWEG_DATA=")) seen.push_back(entry);
    return SubmitOutcome::accepted;
  };
  const auto submit_with = [&](const json& environment) {
    wait_for_end(
        client->post("/v1/sweeps", {{"text", "train: {steps: 4}\n"}, {"environment", environment}})
            .at("id"));
  };
  submit_with({"A=1"});
  submit_with({"A=1", "THALWEG_DATA=/mine"});
  running->there([&] { running->config().enforced = {"data"}; });
  submit_with({"A=1", "THALWEG_DATA=/mine"});
  EXPECT_THAT(
      seen, testing::ElementsAre("THALWEG_DATA=/site", "THALWEG_DATA=/mine", "THALWEG_DATA=/site"));
}

TEST_F(ServerTest, MistakesInASweepFileComeWithTheirPlaces) {
  try {
    client->post("/v1/sweeps",
                 {{"text", "method: grid\ntrain: {stepz: 4}\n"}, {"file_name", "bad.yaml"}});
    FAIL() << "was taken";
  } catch (const api::ApiError& error) {
    EXPECT_EQ(error.status(), 400);
    const auto diagnostics = api::diagnostics_from(error.body());
    ASSERT_FALSE(diagnostics.empty());
    EXPECT_EQ(diagnostics[0].file, "bad.yaml");
    EXPECT_EQ(diagnostics[0].place.line, 2);
  }
}

/// The engine is told folders, which only the record knows.
TEST_F(ServerTest, ATrialBeginsWithAnotherOnesCheckpoints) {
  namespace fs = std::filesystem;
  const std::string first = client->post("/v1/sweeps", {{"text", "train: {steps: 4}\n"}}).at("id");
  wait_for_end(first);
  const auto folder_of = [&](const std::string& trial) {
    return fs::path(client->get("/v1/trials/" + trial).at("attempts").at(0).at("folder"));
  };
  const fs::path source = folder_of(first + ".1") / "checkpoints";
  fs::create_directories(source);
  const auto text = [](const std::string& trial) {
    return json{{"text", "train:\n  init_from: {trial: \"" + trial + "\"}\n"},
                {"file_name", "tune.yaml"}};
  };
  const std::string second = client->post("/v1/sweeps", text(first + ".1")).at("id");
  wait_for_end(second);
  const jobspec::Trial trial = jobspec::read_trial(folder_of(second + ".1") / "trial.yaml");
  EXPECT_EQ(trial.init_from, std::vector<fs::path>{source});
  EXPECT_TRUE(trial.resume.empty());
  for (const auto& [id, why] : {std::pair{"99.1", "there is no trial 99.1"},
                                {"first", "first is no id of a trial"},
                                {"1", "1 is no id of a trial"}}) {
    try {
      client->post("/v1/sweeps", text(id));
      FAIL() << id << " was taken";
    } catch (const api::ApiError& error) {
      EXPECT_EQ(error.status(), 400);
      const auto diagnostics = api::diagnostics_from(error.body());
      ASSERT_EQ(diagnostics.size(), 1u) << id;
      EXPECT_EQ(diagnostics[0].place.line, 2);
      EXPECT_EQ(diagnostics[0].key, "train.init_from.trial");
      EXPECT_EQ(diagnostics[0].message.substr(0, std::string(why).size()), why);
    }
  }
}

TEST_F(ServerTest, WrongRequestsAreNamed) {
  const std::string id = submit();
  wait_for_end(id);
  const struct {
    const char* path;
    int status;
  } gets[] = {{"/v1/nothing", 404},
              {"/v1/sweeps/99", 404},
              {"/v1/sweeps/x", 400},
              {"/v1/sweeps/1.1", 400},
              {"/v1/trials/1.77", 404},
              {"/v1/trials/1", 400},
              {"/v1/attempts/1.1.9", 404},
              {"/v1/attempts/1.1.1/log?stream=x", 400},
              {"/v1/attempts/1.1.1/log?offset=-1", 400},
              {"/v1/sweeps?limit=no", 400},
              {"/v1/watch?id=99", 404},
              {"/v1/watch", 400},
              {"/v1/%zz", 400},
              {"/v1/sweeps/1/compare?target=x", 400},
              {"/v1/sweeps/1/compare?metric=none", 400},
              {"/v1/sweeps/1/compare?stat=mode", 400},
              {"/v1/sweeps/1/compare?also=99", 404},
              {"/v1/sweeps/1/compare?also=1.2", 400},
              {"/v1/trials/1.1/curve?metric=train/lossy", 404},
              {"/v1/sweeps/1/curves?metric=train/lossy", 404},
              {"/v1/sweeps/1/curves?trials=1,9", 404},
              {"/v1/sweeps/1/curves?trials=x", 400},
              {"/v1/cancel", 405}};
  for (const auto& row : gets)
    EXPECT_EQ(status([&] { client->get(row.path); }), row.status) << row.path;
  const struct {
    const char* path;
    json body;
    int status;
  } posts[] = {{"/v1/cancel", {{"id", "99"}}, 404},
               {"/v1/cancel", {{"id", "1.1.1"}}, 400},
               {"/v1/cancel", json::array(), 400},
               {"/v1/cancel", {{"id", 1}}, 400},
               {"/v1/retry", {{"id", "1"}, {"states", {"running"}}}, 400},
               {"/v1/retry", {{"id", "1"}, {"states", 7}}, 400},
               {"/v1/query", {{"sql", "DROP TABLE trials"}}, 400},
               {"/v1/query", {{"sql", "SELECT 1"}, {"max_rows", 0}}, 400},
               {"/v1/query", {{"sql", "SELECT ?"}, {"parameters", 1}}, 400},
               {"/v1/query", {{"sql", "SELECT ?"}, {"parameters", {json::object()}}}, 400},
               {"/v1/sweeps", {{"text", 1}}, 400},
               {"/v1/sweeps", {{"text", sweep_text}, {"backend", "fakr"}}, 400},
               {"/v1/ping", json::object(), 405}};
  for (const auto& row : posts)
    EXPECT_EQ(status([&] { client->post(row.path, row.body); }), row.status)
        << row.path << row.body;
  EXPECT_TRUE(client->ping());
  try {
    client->stream("/v1/watch?id=99", [](const json&) { return true; });
    FAIL() << "there is something to watch";
  } catch (const api::ApiError& error) {
    EXPECT_STREQ(error.what(), "there is no sweep 99");
  }
}

TEST_F(ServerTest, QueriesReadTheViews) {
  submit();
  const json answer = client->post(
      "/v1/query", {{"sql", "SELECT id, seed FROM trials ORDER BY id"}, {"max_rows", 1}});
  EXPECT_EQ(answer.at("columns"), (json{"id", "seed"}));
  EXPECT_EQ(answer.at("rows"), json::array({json::array({"1.1", 1})}));
  EXPECT_EQ(answer.at("truncated"), true);
}

TEST_F(ServerTest, CancelAndRetry) {
  world.cluster.steps = 1000000;
  const std::string id = submit();
  EXPECT_EQ(client->post("/v1/cancel", {{"id", id}}).at("cancelled"), 2);
  EXPECT_EQ(wait_for_end(id).at("state"), "cancelled");
  running->there([&] {
    world.cluster.steps = 4;
    return 0;
  });
  EXPECT_EQ(client->post("/v1/retry", {{"id", id}}), (json{{"retried", 0}, {"left_cancelled", 2}}));
  EXPECT_EQ(client->post("/v1/retry", {{"id", id}, {"states", {"cancelled"}}}),
            (json{{"retried", 2}, {"left_cancelled", 0}}));
  EXPECT_EQ(wait_for_end(id).at("state"), "finished");
}

}  // namespace
}  // namespace thalweg::daemon
