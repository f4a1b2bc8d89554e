#include "daemon/controller/ingest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/controller/fault.h"
#include "tests/support/fuzz.h"
#include "tests/support/process.h"

namespace thalweg::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string metrics(int n, int step, const std::string& value) {
  return "{\"n\":" + std::to_string(n) +
         ",\"t\":100.5,\"type\":\"metrics\",\"points\":[[\"train/loss\"," + std::to_string(step) +
         "," + value + "]]}";
}

TEST(JournalLine, ReadsEveryType) {
  auto line = parse_journal_line(
      R"({"n":1,"t":5.5,"type":"start","format":1,"ranks":2,"node_list":["a","a","b"],"steps":9,"epochs":2.25,"steps_per_epoch":4,"resumed_step":4})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->start.steps, 9);
  EXPECT_EQ(line->start.epochs, 2.25);
  EXPECT_EQ(line->start.node_list, "a,b");
  EXPECT_EQ(line->start.resumed_step, 4);
  EXPECT_EQ(
      line->start.record,
      R"({"epochs":2.25,"node_list":["a","a","b"],"ranks":2,"resumed_step":4,"steps":9,"steps_per_epoch":4})");

  line = parse_journal_line(
      R"({"n":2,"t":6,"type":"metrics","points":[["a",1,0.5],["b",1,"nan"],["c",1,"-inf"]]})");
  ASSERT_TRUE(line);
  ASSERT_EQ(line->points.size(), 3u);
  EXPECT_EQ(line->points[0].value, 0.5);
  EXPECT_EQ(line->points[0].time, 6);
  EXPECT_TRUE(std::isnan(line->points[1].value));
  EXPECT_EQ(line->points[2].value, -HUGE_VAL);

  line = parse_journal_line(R"({"n":3,"t":6,"type":"checkpoint","step":7,"file":"checkpoints/7"})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->step, 7);

  line =
      parse_journal_line(R"({"n":3,"t":6,"type":"ranks","step":7,"steps":7,"compute_ms":[1.5,2]})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->type, JournalLine::Type::ranks);
  EXPECT_EQ(line->ranks, R"({"compute_ms":[1.5,2],"step":7,"steps":7})");

  line = parse_journal_line(
      R"({"n":4,"t":6,"type":"end","status":"failed","step":8,"reason":"lost","rank":1,"node":"b"})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->end.rank, 1);
  EXPECT_EQ(line->end.node, "b");

  line = parse_journal_line(
      R"({"n":5,"t":6,"type":"end","status":"failed","reason":"x","exit_code":3})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->end.exit_code, 3);
  line = parse_journal_line(R"({"n":5,"t":6,"type":"end","status":"failed","signal":9})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->end.exit_code, 137);
  for (const char* odd : {"-1", "1e300", "99999999999", "\"3\"", "null"}) {
    line = parse_journal_line(
        std::string(R"({"n":5,"t":6,"type":"end","status":"failed","signal":)") + odd + "}");
    ASSERT_TRUE(line) << odd;
    EXPECT_FALSE(line->end.exit_code) << odd;
  }

  line = parse_journal_line(
      R"({"n":5,"t":6,"type":"note","level":"warning","text":"x","lost":"points","count":7})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->lost, "points");
  EXPECT_EQ(line->count, 7);

  line = parse_journal_line(R"({"n":5,"t":6,"type":"of a later version"})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->type, JournalLine::Type::other);
}

TEST(JournalLine, RefusesWhatIsMalformed) {
  for (const char* text : {"", "{", "[]", "7", R"({"n":1,"t":1})", R"({"n":0,"t":1,"type":"note"})",
                           R"({"n":"1","t":1,"type":"note"})", R"({"n":1,"t":1,"type":"metrics"})",
                           R"({"n":1,"t":1,"type":"metrics","points":[["a",1]]})",
                           R"({"n":1,"t":1,"type":"metrics","points":[["a",1,"much"]]})",
                           R"({"n":1,"t":1,"type":"metrics","points":[[1,1,1]]})",
                           R"({"n":1,"t":1,"type":"end"})", "\xff\xfe"})
    EXPECT_FALSE(parse_journal_line(text)) << text;
}

TEST(JournalLine, AGlanceFindsNumberAndMetrics) {
  EXPECT_EQ(peek(metrics(12, 1, "0")).n, 12);
  EXPECT_TRUE(peek(metrics(12, 1, "0")).metrics);
  EXPECT_FALSE(peek(R"({"n":3,"t":1,"type":"note","text":"x"})").metrics);
  EXPECT_EQ(peek("nonsense").n, 0);
}

class FileTailTest : public testing::Test {
 protected:
  test::TempDir dir;
  std::filesystem::path file = dir.path() / "journal.jsonl";
  FileTail tail{file};

  void append(const std::string& text) { std::ofstream(file, std::ios::app) << text; }
  std::vector<std::string> read() {
    std::vector<std::string> lines;
    while (tail.read([&](std::string_view line) { lines.emplace_back(line); }).more) {
    }
    return lines;
  }
};

TEST_F(FileTailTest, GivesCompleteLinesOnce) {
  EXPECT_THAT(read(), IsEmpty()) << "no file yet";
  append("one\ntw");
  EXPECT_THAT(read(), ElementsAre("one"));
  append("o\n");
  EXPECT_THAT(read(), ElementsAre("two"));
  EXPECT_THAT(read(), IsEmpty());
}

TEST_F(FileTailTest, StartsAgainWhereTheFileWasReplaced) {
  append("a long first line\n");
  read();
  std::filesystem::remove(file);
  append("new\n");
  EXPECT_THAT(read(), ElementsAre("new"));
}

TEST_F(FileTailTest, ReadsWhatIsLargerThanOneBlock) {
  const std::string line(3 << 20, 'x');
  append(line + "\n" + line + "\n" + line + "\nend\n");
  const auto lines = read();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2].size(), line.size());
  EXPECT_EQ(lines[3], "end");
}

TEST_F(FileTailTest, PassesOverALineThatNeverEnds) {
  append(std::string(30 << 20, 'x') + "\nnext\n");
  EXPECT_THAT(read(), ElementsAre("next"));
}

/// `truncate -s 1T`: takes no place on the disk and no time to read.
TEST_F(FileTailTest, PassesOverHoles) {
  constexpr std::uintmax_t far = std::uintmax_t{1} << 40;
  append("one\n");
  std::filesystem::resize_file(file, far);
  EXPECT_THAT(read(), ElementsAre("one"));
  append("the rest of that line\ntwo\n");
  EXPECT_THAT(read(), ElementsAre("two"));
  std::filesystem::resize_file(file, far + (std::uintmax_t{1} << 39));
  EXPECT_THAT(read(), IsEmpty());
  EXPECT_THAT(read(), IsEmpty());
}

class IngestTest : public testing::Test {
 protected:
  test::TempDir dir;
  std::unique_ptr<db::Store> store = db::Store::open(dir.path() / "thalweg.db");
  std::unique_ptr<Ingest> ingest;
  const Id id{1, 1, 1};

  void SetUp() override {
    db::SweepRow sweep;
    sweep.name = "x";
    sweep.backend = "fake";
    sweep.metric = "val/error";
    sweep.goal = jobspec::Goal::minimize;
    sweep.state = db::SweepPhase::active;
    sweep.notes = "[]";
    ASSERT_EQ(store->insert_sweep(sweep), 1);
    db::TrialRow trial;
    trial.id = {1, 1, 0};
    trial.configuration = 1;
    trial.hash = "h";
    trial.state = db::TrialPhase::pending;
    trial.train = trial.parameters = "{}";
    trial.resources = "{\"nodes\":1}";
    store->insert_trials({trial});
    db::AttemptRow attempt = row_of(id);
    attempt.folder = dir.path();
    store->insert_attempt(attempt);
    begin();
  }
  std::filesystem::path folder_of(const Id& attempt) const {
    return dir.path() / attempt.to_string();
  }
  db::AttemptRow row_of(const Id& attempt) const {
    db::AttemptRow row;
    row.id = attempt;
    row.token = attempt.to_string();
    row.state = db::AttemptState::running;
    row.backend = "fake";
    row.folder = folder_of(attempt);
    row.launched = 1;
    row.nodes = row.ranks = 1;
    return row;
  }
  /// One more that is read.
  Id add_attempt(const Id& attempt) {
    if (!store->trial({attempt.sweep, attempt.trial, 0})) {
      db::TrialRow trial = *store->trial({1, 1, 0});
      trial.id = {attempt.sweep, attempt.trial, 0};
      trial.configuration = attempt.trial;
      trial.hash = "h" + std::to_string(attempt.trial);
      store->insert_trials({trial});
    }
    std::filesystem::create_directory(folder_of(attempt));
    store->insert_attempt(row_of(attempt));
    ingest->add(*store->attempt(attempt));
    return attempt;
  }

  void TearDown() override { fault::set_handler({}); }

  /// As after a restart of the controller.
  void begin(const IngestLimits& limits = {}) {
    ingest = std::make_unique<Ingest>(
        *store, [] { return 50.0; }, [] { return 50.0; }, nullptr, limits);
    ingest->add(*store->attempt(id));
  }
  void append(const std::string& text) {
    std::ofstream(dir.path() / "journal.jsonl", std::ios::app) << text;
  }
  std::int64_t lines() { return store->attempt(id)->journal_lines; }
  std::vector<double> values() {
    std::vector<double> result;
    for (const auto& p : store->curve({1, 1, 0}, "train/loss"))
      result.push_back(p.value);
    return result;
  }
  std::vector<std::string> notes() {
    std::vector<std::string> result;
    for (const auto& e : store->events_of(id))
      result.push_back(e.data);
    return result;
  }
};

TEST_F(IngestTest, TakesLinesFromTheFile) {
  append(metrics(1, 1, "0.5") + "\n" + metrics(2, 2, "0.25") + "\n");
  EXPECT_THAT(ingest->tick(), ElementsAre(id));
  EXPECT_EQ(lines(), 2);
  EXPECT_THAT(values(), ElementsAre(0.5, 0.25));
  EXPECT_THAT(ingest->tick(), IsEmpty());
}

TEST_F(IngestTest, TheNewestStartIsKeptWithoutTheToken) {
  append(R"({"n":1,"t":8,"type":"start","steps":9,"token":"secret"})"
         "\n");
  ingest->tick();
  EXPECT_EQ(store->start(id), R"({"steps":9})");
  begin();  // known lines change nothing
  ingest->tick();
  append(R"({"n":2,"t":9,"type":"start","steps":9,"resumed_step":3})"
         "\n");
  ingest->tick();
  EXPECT_EQ(store->start(id), R"({"resumed_step":3,"steps":9})");
}

TEST_F(IngestTest, TheNewestTimesOfRanksAreKept) {
  append(R"({"n":1,"t":8,"type":"start","steps":9,"node_list":["a","b"]})"
         "\n"
         R"({"n":2,"t":8,"type":"ranks","step":4,"compute_ms":[1,2]})"
         "\n"
         R"({"n":3,"t":9,"type":"ranks","step":8,"compute_ms":[3,4],"skew_ms":[1,0]})"
         "\n");
  ingest->tick();
  const auto rows = store
                        ->query(
                            "SELECT rank, node, step, compute_ms, skew_ms, data_ms FROM ranks"
                            " WHERE sweep = 1 ORDER BY rank",
                            9, 9)
                        .rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1][0].as_int(), 1);
  EXPECT_EQ(rows[1][1].as_string(), "b");
  EXPECT_EQ(rows[1][2].as_int(), 8);
  EXPECT_EQ(rows[1][3].as_double(), 4);
  EXPECT_EQ(rows[0][4].as_double(), 1);
  EXPECT_TRUE(rows[0][5].is_null());
}

/// A record of a version that kept no start records: the journals still have them.
TEST_F(IngestTest, OldJournalsFillInWhatTheRecordLacks) {
  append(R"({"n":1,"t":8,"type":"start","steps":9})"
         "\n" +
         metrics(2, 1, "0.5") + "\n" + R"({"n":3,"t":8,"type":"ranks","step":4,"compute_ms":[7]})" +
         "\n");
  ASSERT_TRUE(store->add_points(id, 1, 3, {}));  // as that version did
  EXPECT_EQ(store->start(id), std::nullopt);
  ingest->remove(id);
  EXPECT_TRUE(ingest->fill_one());
  EXPECT_EQ(store->start(id), R"({"steps":9})");
  EXPECT_EQ(store->query("SELECT compute_ms FROM ranks", 9, 9).rows.at(0).at(0).as_double(), 7);
  EXPECT_FALSE(ingest->fill_one());
}

TEST_F(IngestTest, AnOldJournalThatIsGoneIsPassedOver) {
  ASSERT_TRUE(store->add_points(id, 1, 3, {}));
  ingest->remove(id);
  EXPECT_TRUE(ingest->fill_one());
  EXPECT_FALSE(ingest->fill_one());
  EXPECT_EQ(store->start(id), std::nullopt);
}

TEST_F(IngestTest, AfterARestartNothingIsTakenTwice) {
  append(metrics(1, 1, "0.5") + "\n");
  ingest->tick();
  append(metrics(2, 2, "0.25") + "\n");
  begin();
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(0.5, 0.25));
  EXPECT_EQ(lines(), 2);
}

TEST_F(IngestTest, PushesAndFileMeetInTheMiddle) {
  append(metrics(1, 1, "1") + "\n");
  EXPECT_EQ(ingest->push(id, metrics(1, 1, "1") + "\n" + metrics(2, 2, "2") + "\n").next, 3);
  append(metrics(2, 2, "2") + "\n" + metrics(3, 3, "3") + "\n");
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1, 2, 3));
  EXPECT_EQ(lines(), 3);
}

TEST_F(IngestTest, APushThatIsAheadIsLeftToTheFile) {
  EXPECT_EQ(ingest->push(id, metrics(3, 3, "3") + "\n").next, 1);
  append(metrics(1, 1, "1") + "\n" + metrics(2, 2, "2") + "\n" + metrics(3, 3, "3") + "\n");
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1, 2, 3));
  EXPECT_THAT(notes(), IsEmpty()) << "nothing was wrong";
}

TEST_F(IngestTest, APushedEndRecordIsLeftToTheFile) {
  const std::string end = R"({"n":2,"t":9,"type":"end","status":"finished","step":6,"reason":""})"
                          "\n";
  EXPECT_EQ(ingest->push(id, metrics(1, 1, "1") + "\n" + end).next, 2);
  EXPECT_FALSE(ingest->find(id)->end);
  append(metrics(1, 1, "1") + "\n" + end);
  ingest->tick();
  EXPECT_TRUE(ingest->find(id)->end);
  EXPECT_EQ(lines(), 2);
}

TEST_F(IngestTest, AnUnfinishedPushedLineIsNotRead) {
  EXPECT_EQ(ingest->push(id, metrics(1, 1, "1")).next, 1);
}

TEST_F(IngestTest, ABadLineIsNotedOnceAndStopsNothing) {
  append(metrics(1, 1, "1") + "\nrubbish\n" + metrics(3, 3, "3") + "\nmore rubbish\n" +
         metrics(5, 5, "5") + "\n");
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1, 3, 5));
  EXPECT_EQ(lines(), 5);
  EXPECT_THAT(notes(), ElementsAre(HasSubstr("malformed")));
}

TEST_F(IngestTest, MissingLinesAreNoted) {
  append(metrics(1, 1, "1") + "\n" + metrics(4, 4, "4") + "\n");
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1)) << "one line's word is not enough";
  append(metrics(5, 5, "5") + "\n");
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1, 4, 5));
  EXPECT_THAT(notes(), ElementsAre(HasSubstr("lines 2 to 3 are missing")));
  begin();
  append(metrics(6, 6, "6") + "\n");
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1, 4, 5, 6));
  EXPECT_EQ(notes().size(), 1u) << "known gaps are not told again";
}

TEST_F(IngestTest, AWrongDigitInALineNumberLosesNothing) {
  append(metrics(1, 1, "1") + "\n" + metrics(9002, 2, "2") + "\n");
  ingest->tick();
  append(metrics(3, 3, "3") + "\n" + metrics(4, 4, "4") + "\n");
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(notes(), ElementsAre(HasSubstr("line 2 calls itself line 9002")));
  begin();
  append(metrics(5, 5, "5") + "\n" + metrics(2, 6, "6") + "\n" + metrics(7, 7, "7") + "\n");
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1, 2, 3, 4, 5, 6, 7)) << "too low a number, too";
}

TEST_F(IngestTest, AnEndRecordWithAWrongNumberIsReadAtTheEnd) {
  append(metrics(1, 1, "1") + "\n" +
         R"({"n":20,"t":9,"type":"end","status":"finished","step":1,"reason":""})" + "\n");
  ingest->tick();
  EXPECT_FALSE(ingest->find(id)->end);
  ingest->drain(id);
  EXPECT_TRUE(ingest->find(id)->end);
}

TEST_F(IngestTest, BytesThatAreNoTextAreNotedAndStopNothing) {
  // Not UTF-8, and a character that the excerpt in the note cuts in two.
  append(metrics(1, 1, "1") + "\n{\"n\":2,\xff\xfe\n" + std::string(119, 'x') + "\u00e9\n" +
         metrics(4, 4, "4") + "\n");
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1, 4));
  EXPECT_THAT(notes(), ElementsAre(HasSubstr("malformed")));
  EXPECT_TRUE(nlohmann::json::accept(notes()[0])) << notes()[0];
  begin();
  EXPECT_NO_THROW(ingest->tick());
}

TEST_F(IngestTest, NumbersOutOfAllReasonAreMalformed) {
  append(R"({"n":1,"t":1e300,"type":"checkpoint","step":1})"
         "\n"
         R"({"n":2,"t":1,"type":"checkpoint","step":9223372036854775807})"
         "\n"
         R"({"n":3,"t":1,"type":"metrics","points":[["a",1e300,1]]})"
         "\n" +
         metrics(4, 4, "4") + "\n");
  ingest->tick();
  EXPECT_EQ(ingest->find(id)->checkpoint_step, 0);
  EXPECT_THAT(values(), ElementsAre(4));
}

TEST_F(IngestTest, WhatIsNoFileHasNoLines) {
  namespace fs = std::filesystem;
  const fs::path file = dir.path() / "journal.jsonl";
  fs::create_directory(file);
  ingest->tick();
  fs::remove(file);
  fs::create_symlink(file, file);
  ingest->tick();
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  ingest->tick();  // and does not wait for a writer
  EXPECT_EQ(lines(), 0);
  fs::remove(file);
  append(metrics(1, 1, "1") + "\n");
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1));
}

TEST_F(IngestTest, AStartAfterAnEndIsNoEnd) {
  append(R"({"n":1,"t":8,"type":"start","steps":9})"
         "\n"
         R"({"n":2,"t":9,"type":"end","status":"stopped","step":6,"reason":""})"
         "\n");
  ingest->tick();
  ASSERT_TRUE(ingest->find(id)->end);
  append(R"({"n":3,"t":10,"type":"start","steps":9,"resumed_step":6})"
         "\n");
  ingest->tick();
  EXPECT_FALSE(ingest->find(id)->end);
}

TEST_F(IngestTest, WhatComesAfterAnEndWithoutAWordIsReadUntilItIsQuiet) {
  double now = 50;
  ingest = std::make_unique<Ingest>(
      *store, [] { return 50.0; }, [&] { return now; });
  ingest->add(*store->attempt(id));
  append(metrics(1, 1, "1") + "\n");
  ingest->tick();
  ingest->remove(id);
  append(metrics(2, 2, "2") + "\n");
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1, 2));
  now += 1000;
  ingest->tick();
  append(metrics(3, 3, "3") + "\n");
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1, 2));
}

// Written after the first attempt was ended: the second one stands on it.
TEST_F(IngestTest, AnEarlierAttemptsLateLinesAreReadWhenALaterOneResumes) {
  append(metrics(1, 1, "1") + "\n" + metrics(2, 2, "2") + "\n");
  ingest->tick();
  ingest = std::make_unique<Ingest>(
      *store, [] { return 50.0; }, [] { return 50.0; });
  append(metrics(3, 3, "3") + "\n" + metrics(4, 4, "4") + "\n");
  db::AttemptRow second = *store->attempt(id);
  second.id.attempt = 2;
  second.token = "t2";
  second.journal_lines = 0;
  second.folder = dir.path() / "second";
  std::filesystem::create_directory(second.folder);
  store->insert_attempt(second);
  ingest->add(*store->attempt(second.id));
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1, 2));
  std::ofstream(dir.path() / "second/journal.jsonl")
      << R"({"n":1,"t":10,"type":"start","steps":9,"resumed_step":4})"
      << "\n"
      << metrics(2, 5, "5") << "\n";
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1, 2, 3, 4, 5));
  append(metrics(5, 6, "6") + "\n");
  ingest->tick();
  EXPECT_EQ(store->reported({1, 1, 0}, "train/loss").size(), 6u) << "read until it is quiet";
  EXPECT_THAT(values(), ElementsAre(1, 2, 3, 4, 5)) << "the second has trained from step 5 on anew";
}

TEST_F(IngestTest, OfARemovedSweepNothingIsWrittenAnyMore) {
  append(metrics(1, 1, "0.5") + "\n");
  ingest->tick();
  ingest->remove(id);  // without an end record: its journal is read on
  append(metrics(2, 2, "0.25") + "\nno line\n");
  store->remove_sweep(1);
  ingest->forget(1);
  EXPECT_THAT(ingest->tick(), IsEmpty());
  store->events(0, [](const db::Event& left) { ADD_FAILURE() << left.data; });
}

TEST_F(IngestTest, ANumberFarAheadIsABadLine) {
  append(metrics(1, 1, "1") + "\n" + metrics(999999999, 2, "2") + "\n" + metrics(2, 3, "3") + "\n");
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1, 3));
}

TEST_F(IngestTest, NotesAndEndAreKept) {
  append(R"({"n":1,"t":7,"type":"note","level":"warning","text":"slow disk"})"
         "\n"
         R"({"n":2,"t":8,"type":"checkpoint","step":6})"
         "\n"
         R"({"n":3,"t":9,"type":"end","status":"finished","step":6,"reason":""})"
         "\n");
  ingest->tick();
  EXPECT_THAT(notes(), ElementsAre(HasSubstr("slow disk")));
  ASSERT_TRUE(ingest->find(id)->end);
  EXPECT_EQ(ingest->find(id)->checkpoint_step, 6);
  begin();
  ingest->tick();
  EXPECT_EQ(notes().size(), 1u) << "a note is taken once, too";
  EXPECT_TRUE(ingest->find(id)->end) << "the end is known again after a restart";
}

/// Journals of many attempts, of all sizes: no turn reads more than its share, each attempt gets
/// some, and in the end all is there, once.
TEST_F(IngestTest, NoTurnReadsMoreThanItsShare) {
  test::fuzz(20, [&](int number, std::mt19937& random) {
    const std::int64_t first = 2 + 100 * number;  // of the trials
    std::vector<Id> ids;
    std::vector<std::uint64_t> sizes;
    IngestLimits limits;
    limits.least_bytes = 64 + random() % 2000;
    limits.turn_bytes = 1 + random() % 20'000;
    begin(limits);
    std::vector<int> counts;
    for (std::size_t i = 0; i < 1 + random() % 6; ++i) {
      ids.push_back(add_attempt({1, first + static_cast<std::int64_t>(i), 1}));
      counts.push_back(static_cast<int>(random() % (random() % 4 == 0 ? 2000 : 20)));
      std::ofstream file(folder_of(ids.back()) / "journal.jsonl");
      for (int n = 1; n <= counts.back(); ++n)
        file << metrics(n, n, std::to_string(n)) + "\n";
    }
    const std::uint64_t most =
        std::max(limits.turn_bytes, limits.least_bytes * (ids.size() + 1)) + limits.least_bytes;
    const std::size_t line = metrics(1, 1, "1").size();
    std::int64_t before = 0, all = 0;
    for (const int count : counts)
      all += count;
    for (int turn = 0; before < all; ++turn) {
      ASSERT_LT(turn, 100'000);
      if (random() % 3 == 0)
        ingest->drain(test::one_of(ids, random));
      else
        ingest->tick();
      std::int64_t now = 0;
      for (const Id& one : ids)
        now += store->attempt(one)->journal_lines;
      ASSERT_LE(static_cast<std::uint64_t>(now - before) * line, most + ids.size() * (line + 10));
      before = now;
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto curve = store->curve({1, ids[i].trial, 0}, "train/loss");
      ASSERT_EQ(curve.size(), static_cast<std::size_t>(counts[i]));
      for (int n = 1; n <= counts[i]; ++n)
        ASSERT_EQ(curve[static_cast<std::size_t>(n - 1)].value, n);
      ASSERT_TRUE(store->events_of(ids[i]).empty());
    }
  });
}

TEST_F(IngestTest, DrainingTellsWhetherTheEndWasReached) {
  IngestLimits limits;
  limits.least_bytes = limits.turn_bytes = 1000;
  begin(limits);
  std::string text;
  for (int n = 1; n <= 50; ++n)
    text += metrics(n, n, "1") + "\n";
  append(text + R"({"n":51,"t":9,"type":"end","status":"finished","step":50,"reason":""})" + "\n");
  int asked = 1;
  for (; !ingest->drain(id); ++asked) {
    ASSERT_LT(asked, 100);
    EXPECT_FALSE(ingest->find(id)->end);
  }
  EXPECT_EQ(asked, static_cast<int>(text.size() / 1000) + 1);
  EXPECT_TRUE(ingest->find(id)->end);
  EXPECT_EQ(lines(), 51);
}

TEST_F(IngestTest, AnEarlierAttemptsJournalIsReadToItsEndBeforeALaterOneEnds) {
  IngestLimits limits;
  limits.least_bytes = limits.turn_bytes = 1000;
  begin(limits);
  ingest->remove(id);
  std::string text;
  for (int n = 1; n <= 50; ++n)
    text += metrics(n, n, "1") + "\n";
  append(text);
  const Id second = add_attempt({1, 1, 2});
  std::ofstream(folder_of(second) / "journal.jsonl")
      << R"({"n":1,"t":10,"type":"start","steps":99,"resumed_step":50})"
      << "\n";
  int asked = 1;
  for (; !ingest->drain(second); ++asked)
    ASSERT_LT(asked, 100);
  EXPECT_GT(asked, 1);
  EXPECT_EQ(lines(), 50);
}

/// Of what nobody would read the end counts.
TEST_F(IngestTest, OfAJournalThatIsTooLongTheEndIsRead) {
  IngestLimits limits;
  limits.journal_bytes = 1 << 20;
  begin(limits);
  std::string text;
  int n = 0;
  const auto grow = [&](std::size_t bytes) {
    text.clear();
    while (text.size() < bytes) {
      ++n;
      text += metrics(n, n, "1") + "\n";
    }
    append(text);
  };
  grow(900'000);
  EXPECT_TRUE(ingest->drain(id));
  EXPECT_EQ(lines(), n);
  EXPECT_THAT(notes(), IsEmpty());
  grow(200'000);
  EXPECT_TRUE(ingest->drain(id));
  EXPECT_EQ(lines(), n) << "what was read is not cut";
  const std::size_t kept = values().size();
  for (int i = 0; i < 3; ++i) {
    grow(1'000'000);
    EXPECT_TRUE(ingest->drain(id));
  }
  EXPECT_THAT(notes(), ElementsAre(HasSubstr("longer than 1 MiB, the limit")));
  EXPECT_LT(values().size(), kept + 3 * (64 << 10) / 70);
  EXPECT_GT(values().size(), kept) << "it is still seen to go on";
  EXPECT_FALSE(ingest->find(id)->end);
  append(fmt::format(R"({{"n":{},"t":9,"type":"end","status":"finished","step":{},"reason":""}})",
                     n + 1, n) +
         "\n");
  EXPECT_TRUE(ingest->drain(id));
  EXPECT_TRUE(ingest->find(id)->end);
  begin(limits);  // a controller that starts again finds the end, too
  for (int asked = 0; !ingest->drain(id); ++asked)
    ASSERT_LT(asked, 100);
  EXPECT_TRUE(ingest->find(id)->end);
}

TEST_F(IngestTest, AFloodOfNamesAndNotesIsCountedNotKept) {
  constexpr int flood = 60'000;
  std::string text;
  int n = 0;
  for (int i = 0; i < flood; ++i) {
    text += fmt::format("{{\"n\":{},\"t\":1,\"type\":\"metrics\",\"points\":[[\"m{}\",1,1]]}}\n",
                        ++n, i);
    text += fmt::format("{{\"n\":{},\"t\":1,\"type\":\"note\",\"text\":\"note {}\"}}\n", ++n, i);
  }
  append(text);
  while (!ingest->drain(id)) {
  }
  EXPECT_EQ(lines(), n);
  EXPECT_EQ(store->metric_names(1).size(), 1000u);
  EXPECT_EQ(store->metric_names(id).size(), 1000u);
  const auto told = store->lost_numbers(1);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].reason, "names");
  EXPECT_GE(told[0].count, 10'000);
  EXPECT_LT(notes().size(), 1000u + 20);
  EXPECT_THAT(notes(), testing::Contains(HasSubstr("more than 1000 notes")));
  // Names that are known are taken, after a restart too, and others still are not.
  const std::size_t events = notes().size();
  begin();
  append(fmt::format(R"({{"n":{},"t":2,"type":"metrics","points":[["m7",2,5],["other",2,5]]}})",
                     n + 1) +
         "\n" + fmt::format(R"({{"n":{},"t":2,"type":"note","text":"more"}})", n + 2) + "\n");
  ingest->tick();
  EXPECT_EQ(store->curve({1, 1, 0}, "m7").size(), 2u);
  EXPECT_EQ(store->metric_names(id).size(), 1000u);
  EXPECT_EQ(notes().size(), events + 2) << "each is told once by each controller";
}

TEST_F(IngestTest, NamesThatAreNoneAndTextsWithoutEndAreNotKept) {
  append("{\"n\":1,\"t\":1,\"type\":\"metrics\",\"points\":[[\"\",1,1],[\"a\\nb\",1,1],[\"" +
         std::string(201, 'x') + "\",1,1],[\"train/loss\",1,0.5]]}\n" +
         "{\"n\":2,\"t\":1,\"type\":\"note\",\"text\":\"" + std::string(1 << 20, 'y') + "\"}\n");
  ingest->tick();
  EXPECT_THAT(store->metric_names(id), ElementsAre("train/loss"));
  std::size_t bytes = 0;
  for (const std::string& note : notes())
    bytes += note.size();
  EXPECT_LT(bytes, 10'000u);
}

TEST_F(IngestTest, ACommitThatFailsLosesAndDoublesNothing) {
  append(metrics(1, 1, "1") + "\n" + metrics(2, 2, "2") + "\n");
  fault::set_handler([](std::string_view point) {
    if (point == "in_ingest") throw 1;
  });
  EXPECT_THROW(ingest->tick(), int);
  EXPECT_EQ(lines(), 0);
  fault::set_handler({});
  begin();
  ingest->tick();
  EXPECT_THAT(values(), ElementsAre(1, 2));
}

}  // namespace
}  // namespace thalweg::daemon
