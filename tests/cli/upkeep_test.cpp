// rm, archive, prune, backup, restore; sizes in ls and show.
#include <filesystem>

#include "tests/cli/command_fixture.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CliUpkeep : public CommandTest {
 protected:
  CliUpkeep() {
    sweep("finished");
    controller().answer("GET /v1/sweeps/12/size",
                        {{"id", "12"}, {"bytes", 187'300'000}, {"checkpoint_bytes", 9'460'000}});
    controller().answer("POST /v1/remove", {{"id", "12"}, {"removing", true}});
  }
  void sweep(const char* state) {
    controller().answer("GET /v1/sweeps/12", {{"id", "12"},
                                              {"name", "tiny"},
                                              {"state", state},
                                              {"metric", "val/error"},
                                              {"trials", {json{{"id", "12.1"}}}}});
  }
};

TEST_F(CliUpkeep, RmSaysWhatItFrees) {
  const Outcome outcome = thalweg({"rm", "12", "--yes"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "sweep 12 tiny: 1 trial, 187 MB in run folders: is removed in the background\n");
  EXPECT_EQ(controller().requests().back().body, json({{"id", "12"}}));
}

TEST_F(CliUpkeep, RmAsksAndRefusesWhatRuns) {
  const Outcome unasked = thalweg({"rm", "12"});
  EXPECT_EQ(unasked.code, 2);
  EXPECT_THAT(unasked.err, HasSubstr("--yes does it unasked"));
  EXPECT_FALSE(controller().was_asked("POST /v1/remove"));
  sweep("active");
  const Outcome active = thalweg({"rm", "12", "--yes"});
  EXPECT_EQ(active.code, 1);
  EXPECT_THAT(active.err, HasSubstr("thalweg cancel 12 ends it"));
  EXPECT_FALSE(controller().was_asked("POST /v1/remove"));
  EXPECT_EQ(thalweg({"rm", "12.3", "--yes"}).code, 2);
}

TEST_F(CliUpkeep, ArchiveAndPrune) {
  controller().answer("POST /v1/archive", {{"id", "12"}, {"archived", true}});
  EXPECT_THAT(thalweg({"archive", "12"}).out, HasSubstr("nothing was removed"));
  EXPECT_EQ(controller().requests().back().body, json({{"id", "12"}, {"on", true}}));
  EXPECT_EQ(thalweg({"archive", "12", "--undo"}).out, "sweep 12 is listed again\n");
  EXPECT_EQ(controller().requests().back().body["on"], false);
  controller().answer("POST /v1/prune", {{"id", "12"}, {"freed_bytes", 9'460'000}});
  EXPECT_EQ(thalweg({"prune", "12", "--keep", "best"}).out,
            "9.5 MB of checkpoints of 12 freed (kept: best)\n");
  EXPECT_EQ(controller().requests().back().body, json({{"id", "12"}, {"keep", "best"}}));
}

TEST_F(CliUpkeep, ForceIsPassedOn) {
  controller().answer("POST /v1/prune", {{"id", "12"}, {"removed_points", 1200}});
  EXPECT_EQ(thalweg({"prune", "12", "--points", "1000"}).out,
            "1200 points of curves of 12 removed; those of validation and of the sweep's metric "
            "stayed\n");
  EXPECT_EQ(controller().requests().back().body, json({{"id", "12"}, {"points", 1000}}));
  controller().answer("POST /v1/prune", {{"id", "12"}, {"freed_bytes", 1}});
  EXPECT_EQ(thalweg({"prune", "12", "--force"}).code, 0);
  EXPECT_EQ(controller().requests().back().body["force"], true);
  EXPECT_EQ(thalweg({"rm", "12", "--yes", "--force"}).code, 0);
  EXPECT_EQ(controller().requests().back().body["force"], true);
}

TEST_F(CliUpkeep, SizesAreShownWhereTheyAreAskedFor) {
  controller().answer("GET /v1/sweeps?limit=50",
                      {{"sweeps", {json{{"id", "12"}, {"name", "tiny"}, {"state", "finished"}}}}});
  EXPECT_THAT(thalweg({"ls"}).out, Not(HasSubstr("MB")));
  controller().answer("POST /v1/sizes", {{"sizes", {json{{"id", "12"}, {"bytes", 187'300'000}}}}});
  EXPECT_THAT(thalweg({"ls", "--size"}).out, HasSubstr("187 MB"));
  EXPECT_EQ(controller().requests().back().body, json({{"ids", {"12"}}})) << "one question for all";
  EXPECT_THAT(thalweg({"show", "12", "--size"}).out,
              HasSubstr("187 MB, of them checkpoints 9.5 MB"));
}

TEST_F(CliUpkeep, ShowSaysWhatStaysAndWhatATrialBeginsWith) {
  controller().answer("GET /v1/sweeps/12", {{"id", "12"},
                                            {"name", "tiny"},
                                            {"state", "finished"},
                                            {"metric", "val/error"},
                                            {"description", "with warm-up"},
                                            {"keep", "of each finished trial no checkpoint"},
                                            {"pruned", 1'760'000'084},
                                            {"freed_bytes", 9'460'000},
                                            {"trials", {json{{"id", "12.1"}}}}});
  const std::string sweep = thalweg({"show", "12"}).out;
  EXPECT_THAT(sweep, HasSubstr("with warm-up"));
  EXPECT_THAT(sweep, HasSubstr("at its end there stay of each finished trial no checkpoint"));
  EXPECT_THAT(sweep, HasSubstr("9.5 MB freed"));
  const json from{{"init_from", {{"trial", "7.2"}, {"checkpoint", "best"}}}};
  controller().answer("GET /v1/trials/12.1",
                      {{"id", "12.1"}, {"state", "pending"}, {"train", from}});
  EXPECT_THAT(thalweg({"show", "12.1"}).out,
              HasSubstr("the weights of trial 7.2 (best checkpoint)"));
}

TEST_F(CliUpkeep, BackupNamesTheFileForTheController) {
  controller().answer("POST /v1/backup", {{"file", "/x"}, {"bytes", 4096}});
  const Outcome outcome = thalweg({"backup", "my.db"});
  EXPECT_THAT(outcome.out, HasSubstr("my.db (4.1 kB); run folders are not in it"));
  EXPECT_EQ(controller().requests().back().body["file"],
            (fs::canonical(options().directory) / "my.db").string());
}

TEST_F(CliUpkeep, RelocateNamesWholeFolders) {
  controller().answer("POST /v1/relocate", {{"attempts", 3}});
  EXPECT_EQ(thalweg({"relocate", "/old/runs/", "/new/x/../runs"}).out,
            "folders of 3 attempts are looked for in /new/runs now\n");
  EXPECT_EQ(controller().requests().back().body,
            json({{"from", "/old/runs"}, {"to", "/new/runs"}}));
}

TEST_F(CliUpkeep, AnEmptyRecordNamesTheOthers) {
  controller().answer("GET /v1/sweeps?limit=50", {{"sweeps", json::array()}});
  EXPECT_THAT(thalweg({"ls"}).out, HasSubstr("no sweeps yet"));
  controller().answer("GET /v1/homes", {{"host", "login2"},
                                        {"homes",
                                         {json{{"host", "login1"}, {"home", "/var/tmp/ada"}},
                                          json{{"host", "login2"}, {"home", "/var/tmp/b"}}}}});
  EXPECT_THAT(thalweg({"ls"}).out,
              AllOf(HasSubstr("this is login2; your record on login1 (/var/tmp/ada) has the same "
                              "run folders: ssh login1 thalweg ls\n"),
                    HasSubstr("THALWEG_HOME=/var/tmp/b thalweg ls\n")));
  // So does what was not found, and the controller's own status.
  EXPECT_THAT(thalweg({"show", "99"}).err,
              HasSubstr("\n  this is login2; your record on login1 (/var/tmp/ada) has the same"));
  EXPECT_THAT(thalweg({"daemon", "status"}).out,
              HasSubstr("elsewhere      this is login2; your record on login1"));
}

class CliRestore : public CommandTest {
 protected:
  /// A file with the header that a record has.
  static std::string record(char filled) {
    std::string bytes(4096, filled);
    bytes.replace(0, 16, std::string("SQLite format 3\0", 16));
    bytes.replace(68, 4, "Thwg");
    return bytes;
  }
};

TEST_F(CliRestore, PutsTheBackupInTheRecordsPlace) {
  RunOptions with = options();
  const fs::path home = fs::canonical(with.directory) / "another home";
  with.env["THALWEG_HOME"] = home.string();
  fs::create_directories(home);
  write_file(home / "thalweg.db", record('o'));
  write_file(home / "thalweg.db-wal", "log");
  const fs::path file = home / "backup.db";
  write_file(file, record('n'));
  const Outcome outcome = run({program(), "restore", file.string()}, with);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(read_file(home / "thalweg.db"), record('n'));
  EXPECT_FALSE(fs::exists(home / "thalweg.db-wal")) << "it is the old one's";
  EXPECT_TRUE(fs::exists(file));
  int kept = 0;
  for (const auto& entry : fs::directory_iterator(home))
    if (entry.path().filename().string().starts_with("thalweg.db.before-")) ++kept;
  EXPECT_EQ(kept, 2) << "the record and its log";
  EXPECT_THAT(outcome.out, HasSubstr("the one before is kept as"));

  write_file(file, "no record");
  const Outcome wrong = run({program(), "restore", file.string()}, with);
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("is no record of Thalweg"));
  EXPECT_EQ(read_file(home / "thalweg.db"), record('n'));
}

}  // namespace
}  // namespace thalweg::test
