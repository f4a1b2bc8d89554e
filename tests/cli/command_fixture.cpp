#include "tests/cli/command_fixture.h"

#include <filesystem>

#include "db/studies/study.h"

namespace thalweg::test {

namespace fs = std::filesystem;

std::string source_file(const std::string& name) {
  return std::string(THALWEG_SOURCE_DIR) + "/tests/cli/" + name;
}

json sample(const std::string& name) {
  return json::parse(read_file(source_file("data/" + name + ".json")));
}

CommandTest::CommandTest() {
  fs::create_directories(folder("bin"));
  fs::create_directories(folder("home"));
  // A link is not enough: the program looks for the others beside its own file.
  const fs::path built = fs::path(THALWEG_BIN_DIR) / "thalweg";
  std::error_code error;
  fs::create_hard_link(built, program(), error);
  if (error) fs::copy_file(built, program());
  script("thalwegd", "[ \"$1\" = --limits ] && exec cat '" + folder("limits.json").string() +
                         "'\necho 'the test has no daemon' >&2; exit 1");
  write_file(folder("limits.json"), "{}");
  answer_check(
      R"('{"format": 1, "shapes": 1, "checked": 1, "notes": [], "metrics": [], "diagnostics": []}')");
}

void CommandTest::script(const std::string& name, const std::string& text) {
  const fs::path file = folder("bin") / name;
  write_file(file, "#!/bin/sh\n" + text + "\n");
  fs::permissions(file, fs::perms::owner_all);
}

void CommandTest::answer_check(const std::string& words) {
  script("thalweg-train", "[ \"$1\" = --schema ] && exec cat '" + source_file("data/schema.json") +
                              "'\necho \"$@\" > '" + folder("asked").string() + "'\necho " + words);
}

RunOptions CommandTest::options() const {
  RunOptions options;
  options.env = {{"THALWEG_HOME", folder("home").string()},
                 {"PATH", folder("bin").string() + ":/usr/bin:/bin"},
                 {"TZ", "UTC"},
                 {"TERM", "xterm-256color"},
                 {"NO_COLOR", ""}};
  options.directory = folder(".");
  return options;
}

FakeController& CommandTest::controller() {
  if (!controller_) {
    controller_ = std::make_unique<FakeController>(folder("home/controller.sock"));
    controller_->answer("GET /v1/ping", sample("ping"));
  }
  return *controller_;
}

Outcome CommandTest::thalweg(std::vector<std::string> words) {
  words.insert(words.begin(), program());
  return run(words, options());
}

json CommandTest::thalweg_json(std::vector<std::string> words) {
  const Outcome outcome = thalweg(std::move(words));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return json::parse(outcome.out);
}

void refuse_studies(FakeController& controller, const std::string& by) {
  const auto refuse = [&](const std::string& path) {
    controller.answer("GET " + path, {{"error", {{"message", "nothing yet"}}}}, 400);
  };
  for (const db::Study* study : db::studies())
    refuse("/v1/studies/" + std::string(study->name) + "?sweeps=12" +
           (study->of == db::Study::Of::workloads ? by : "") + "&chart=1");
}

}  // namespace thalweg::test
