// tag, note, rename; names of sweeps where something is changed; ls with filters.
#include "tests/cli/command_fixture.h"

namespace thalweg::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class CliLabels : public CommandTest {
 protected:
  CliLabels() {
    const auto sweep = [](int id, const char* name, const char* state, const char* owner,
                          double submitted, json tags, double archived = 0) {
      return json{{"id", std::to_string(id)}, {"name", name},
                  {"state", state},           {"owner", owner},
                  {"submitted", submitted},   {"tags", std::move(tags)},
                  {"archived", archived},     {"counts", {{"finished", 1}}}};
    };
    const double now = static_cast<double>(time(nullptr));
    const json all{{"sweeps",
                    {sweep(14, "tiny-bert", "active", "ada", now - 60, {"paper", "lamb"}),
                     sweep(13, "tiny-gpt", "finished", "ada", now - 3 * 86400, {"paper"}),
                     sweep(12, "old", "finished", "bob", now - 30 * 86400, json::array(), now)}}};
    controller().answer("GET /v1/sweeps?limit=50", all);
    controller().answer("GET /v1/sweeps?limit=100000", all);
    controller().answer("GET /v1/resolve?name=tiny-bert&acts=1", {{"id", "14"}});
    controller().answer(
        "POST /v1/label",
        {{"id", "14"}, {"name", "tiny-bert"}, {"tags", {"lamb", "paper"}}, {"comment", "text"}});
  }
  /// The ids that are listed.
  std::string listed(std::vector<std::string> words) {
    words.insert(words.begin(), "ls");
    words.emplace_back("--csv");
    std::istringstream lines(thalweg(words).out);
    std::string ids;
    for (std::string line; std::getline(lines, line);)
      if (!line.starts_with("id,")) ids += line.substr(0, line.find(',')) + " ";
    return ids;
  }
};

TEST_F(CliLabels, TagsAreAddedAndTakenOff) {
  const Outcome outcome =
      thalweg({"tag", "14", "paper", "+lamb", "-draft", "--remove", "x,y", "--add", "z"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "sweep 14 tiny-bert: tags lamb, paper\n");
  const json asked = controller().requests().back().body;
  EXPECT_EQ(asked["add_tags"], json({"z", "paper", "lamb"}));
  EXPECT_EQ(asked["remove_tags"], json({"x", "y", "draft"}));
  EXPECT_EQ(thalweg({"tag", "14", "-draft", "--json"}).code, 0);
  EXPECT_EQ(controller().requests().back().body["remove_tags"], json({"draft"}));
  EXPECT_EQ(thalweg({"tag", "14.3", "x"}).code, 2);
}

TEST_F(CliLabels, SharedWithGroups) {
  controller().answer("POST /v1/share", {{"id", "14"}, {"groups", {"climate", "hep"}}});
  const Outcome outcome =
      thalweg({"share", "tiny-bert", "--group", "hep,climate", "--remove", "draft"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "sweep 14 is shared with climate, hep\n");
  const json expected{
      {"id", "14"}, {"add_groups", {"hep", "climate"}}, {"remove_groups", {"draft"}}};
  EXPECT_EQ(controller().requests().back().body, expected);
  EXPECT_EQ(thalweg({"share", "14.3", "--group", "hep"}).code, 2);
  controller().answer("GET /v1/sweeps/14",
                      {{"id", "14"}, {"name", "tiny-bert"}, {"groups", {"hep"}}});
  EXPECT_EQ(thalweg({"share", "14"}).out, "sweep 14 is shared with hep\n");
  EXPECT_EQ(json::parse(thalweg({"share", "14", "--json"}).out),
            json({{"id", "14"}, {"groups", {"hep"}}}));
  EXPECT_THAT(thalweg({"show", "14"}).out, HasSubstr("shared with  hep"));
}

TEST_F(CliLabels, NoteAndRename) {
  EXPECT_THAT(thalweg({"note", "14", "text"}).out, HasSubstr("thalweg show 14 prints it"));
  EXPECT_EQ(controller().requests().back().body, json({{"id", "14"}, {"comment", "text"}}));
  EXPECT_EQ(thalweg({"rename", "tiny-bert", "tiny-bert"}).out,
            "sweep 14 is called tiny-bert now\n");
  EXPECT_EQ(controller().requests().back().body, json({{"id", "14"}, {"name", "tiny-bert"}}));
}

/// Every command that takes an id and does more than look, with all that it needs beside the id.
const std::vector<std::vector<std::string>> acting{
    {"cancel", "tiny"},
    {"retry", "tiny"},
    {"extend", "tiny", "--seeds", "+1"},
    {"rm", "tiny", "--yes"},
    {"prune", "tiny"},
    {"archive", "tiny"},
    {"tag", "tiny", "word"},
    {"note", "tiny", "text"},
    {"rename", "tiny", "name"},
    {"share", "tiny", "--group", "hep"},
    {"rerun", "tiny"},
    {"submit", "--from", "tiny", "--best"},
};

TEST_F(CliLabels, WhatActsAsksForWholeNames) {
  controller().answer("GET /v1/resolve?name=tiny&acts=1",
                      {{"id", ""}, {"problem", "which one?"}, {"hint", "14 (tiny-bert)"}});
  for (const auto& words : acting) {
    const Outcome outcome = thalweg(words);
    EXPECT_EQ(outcome.code, 2) << words[0];
    EXPECT_EQ(outcome.err, "thalweg: which one?\n  14 (tiny-bert)\n") << words[0];
  }
  for (const auto& request : controller().requests())
    EXPECT_NE(request.method, "POST") << request.target;
}

TEST_F(CliLabels, LsFilters) {
  EXPECT_EQ(listed({}), "14 13 ") << "12 is archived";
  EXPECT_EQ(listed({"--archived"}), "14 13 12 ");
  EXPECT_EQ(listed({"--tag", "paper"}), "14 13 ");
  EXPECT_EQ(listed({"--tag", "paper,lamb"}), "14 ");
  EXPECT_EQ(listed({"--state", "finished,failed"}), "13 ");
  EXPECT_EQ(listed({"--name", "gpt"}), "13 ");
  EXPECT_EQ(listed({"--since", "2d"}), "14 ");
  EXPECT_EQ(listed({"--since", "2000-01-01", "-n", "1"}), "14 ");
  EXPECT_EQ(listed({"--mine"}), "");
  EXPECT_EQ(thalweg({"ls", "--since", "soon"}).code, 2);
  EXPECT_EQ(thalweg({"ls", "--name", "none"}).out,
            "no sweep matches; thalweg ls lists all but archived ones\n");
  EXPECT_THAT(thalweg({"ls"}).out, HasSubstr("paper lamb"));
}

}  // namespace
}  // namespace thalweg::test
