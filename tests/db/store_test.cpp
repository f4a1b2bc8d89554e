#include "db/store.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "tests/db/fixture.h"
#include "tests/support/deadline.h"

namespace thalweg::db {
namespace {

using ::testing::HasSubstr;

TEST_F(StoreTest, SweepReadsBackAsWritten) {
  SweepRow row = sample_sweep();
  row.id = store.insert_sweep(row);
  EXPECT_EQ(row.id, 1);
  row.state = SweepPhase::finished;
  row.ended = 1700000999.5;
  store.update_sweep(row);

  const auto found = store.sweep(1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "demo");
  EXPECT_EQ(found->owner, "ada");
  EXPECT_EQ(found->backend, "local");
  EXPECT_EQ(found->file_name, "demo.yaml");
  EXPECT_EQ(found->text, "name: demo\n");
  EXPECT_EQ(found->metric, "val/error");
  EXPECT_EQ(found->goal, jobspec::Goal::minimize);
  EXPECT_EQ(found->target, 0.12);
  EXPECT_EQ(found->state, SweepPhase::finished);
  EXPECT_EQ(found->submitted, 1700000000.25);
  EXPECT_EQ(found->ended, 1700000999.5);
  EXPECT_EQ(found->notes, "[]");
  EXPECT_FALSE(store.sweep(2));
}

TEST_F(StoreTest, AnUnknownWordInTheRecordIsNamed) {
  const auto sweep = store.insert_sweep(sample_sweep());
  store.connection().script("break", "UPDATE sweep SET state = 'resting'");
  try {
    store.sweep(sweep);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "read sweep: 'resting' is no state of a sweep");
  }
}

TEST_F(StoreTest, SweepsComeNewestFirstWithoutText) {
  store.insert_sweep(sample_sweep("a"));
  store.insert_sweep(sample_sweep("b"));
  const auto rows = store.sweeps();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "b");
  EXPECT_EQ(rows[1].name, "a");
  EXPECT_EQ(rows[0].text, "");
}

TEST_F(StoreTest, TrialReadsBackAsWritten) {
  const auto sweep = store.insert_sweep(sample_sweep());
  TrialRow row = sample_trial(sweep, 3, 0xFFFFFFFFFFFFFFFFu);
  store.insert_trials({row});
  row.state = TrialPhase::failed;
  row.attempts = 2;
  row.ended = 1700000100;
  row.reason = "exit code 1";
  store.update_trial(row);

  const auto rows = store.trials(sweep);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].id, (Id{sweep, 3, 0}));
  EXPECT_EQ(rows[0].configuration, 3);
  EXPECT_EQ(rows[0].seed, 0xFFFFFFFFFFFFFFFFu);
  EXPECT_EQ(rows[0].hash, "hash3");
  EXPECT_EQ(rows[0].state, TrialPhase::failed);
  EXPECT_EQ(rows[0].train, row.train);
  EXPECT_EQ(rows[0].parameters, row.parameters);
  EXPECT_EQ(rows[0].resources, row.resources);
  EXPECT_EQ(rows[0].attempts, 2);
  EXPECT_EQ(rows[0].ended, 1700000100);
  EXPECT_EQ(rows[0].reason, "exit code 1");
}

TEST_F(StoreTest, SameConfigurationAndSeedTwiceIsRefusedAsAWhole) {
  const auto sweep = store.insert_sweep(sample_sweep());
  TrialRow twin = sample_trial(sweep, 2);
  twin.hash = "hash1";
  EXPECT_THROW(store.insert_trials({sample_trial(sweep, 1), twin}), Error);
  EXPECT_TRUE(store.trials(sweep).empty());
}

TEST_F(StoreTest, TrialOfNoSweepIsRefused) {
  EXPECT_THROW(store.insert_trials({sample_trial(7, 1)}), Error);
}

TEST_F(StoreTest, AttemptReadsBackAsWritten) {
  const Id id = running_attempt();
  AttemptRow row = sample_attempt(id.sweep, id.trial);
  row.state = AttemptState::failed;
  row.handle = "4711";
  row.eligible = 1700000001.5;
  row.size_reason = "8 -> 3 nodes";
  row.ended = 1700000050.125;
  row.reason = "rank 1 died";
  row.exit_code = 137;
  row.failed_rank = 1;
  row.failed_node = "n2";
  row.journal_lines = 99;  // belongs to add_points, must not be taken
  store.update_attempt(row);

  const auto found = store.attempt(id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, id);
  EXPECT_EQ(found->token, "token-1.1.1");
  EXPECT_EQ(found->state, AttemptState::failed);
  EXPECT_EQ(found->handle, "4711");
  EXPECT_EQ(found->folder, "/runs/1.1.1");
  EXPECT_EQ(found->launched, 1700000001);
  EXPECT_EQ(found->eligible, 1700000001.5);
  EXPECT_EQ(found->size_reason, "8 -> 3 nodes");
  EXPECT_EQ(found->started, 1700000002);
  EXPECT_EQ(found->ended, 1700000050.125);
  EXPECT_EQ(found->nodes, 2);
  EXPECT_EQ(found->ranks, 2);
  EXPECT_EQ(found->node_list, "n1,n2");
  EXPECT_EQ(found->reason, "rank 1 died");
  EXPECT_EQ(found->exit_code, 137);
  EXPECT_EQ(found->failed_rank, 1);
  EXPECT_EQ(found->failed_node, "n2");
  EXPECT_EQ(found->journal_lines, 0);
  ASSERT_TRUE(store.attempt_by_token("token-1.1.1"));
  EXPECT_EQ(store.attempt_by_token("token-1.1.1")->id, id);
  EXPECT_FALSE(store.attempt_by_token("token"));
  EXPECT_FALSE(store.attempt({id.sweep, id.trial, 2}));
}

TEST_F(StoreTest, UnknownExitIsNotZero) {
  const Id id = running_attempt();
  EXPECT_FALSE(store.attempt(id)->exit_code);
  EXPECT_FALSE(store.attempt(id)->failed_rank);
}

TEST_F(StoreTest, TokenIsUnique) {
  const Id id = running_attempt();
  AttemptRow twin = sample_attempt(id.sweep, id.trial, 2);
  twin.token = "token-1.1.1";
  EXPECT_THROW(store.insert_attempt(twin), Error);
}

TEST_F(StoreTest, UpdateOfAMissingRowNamesIt) {
  try {
    store.update_attempt(sample_attempt(4, 5, 6));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "update attempt: there is no attempt 4.5.6");
  }
  EXPECT_THROW(store.update_trial(sample_trial(4, 5)), Error);
  EXPECT_THROW(store.update_sweep(sample_sweep()), Error);
}

TEST_F(StoreTest, EventsComeInOrderAndByWhatTheyAreAbout) {
  const auto first = store.append_event({0, 10.5, "submitted", {1, 0, 0}, R"({"trials":2})"});
  store.append_event({0, 11, "launching", {1, 2, 1}, "{}"});
  store.append_event({0, 12, "launching", {1, 3, 1}, "{}"});
  const auto last = store.append_event({0, 13, "ended", {1, 2, 1}, "{}"});
  EXPECT_EQ(last, first + 3);

  std::vector<std::string> kinds;
  store.events(first, [&](const Event& event) { kinds.push_back(event.kind); });
  EXPECT_EQ(kinds, (std::vector<std::string>{"launching", "launching", "ended"}));

  const auto of_attempt = store.events_of({1, 2, 1});
  ASSERT_EQ(of_attempt.size(), 2u);
  EXPECT_EQ(of_attempt[0].kind, "launching");
  EXPECT_EQ(of_attempt[1].kind, "ended");
  EXPECT_EQ(of_attempt[1].time, 13);
  EXPECT_EQ(store.events_of({1, 0, 0}).size(), 4u);
  EXPECT_EQ(store.events_of({1, 0, 0}, last - 1).size(), 1u);
  EXPECT_EQ(store.events_of({1, 0, 0})[0].data, R"({"trials":2})");
}

TEST_F(StoreTest, EventsMayBeAppendedWhileReading) {
  store.append_event({0, 1, "one", {1, 0, 0}, "{}"});
  int seen = 0;
  store.events(0, [&](const Event&) {
    if (++seen < 3) {
      store.append_event({0, 2, "more", {1, 0, 0}, "{}"});
      store.events(100, [](const Event&) {});  // the same statement inside itself
    }
  });
  EXPECT_EQ(seen, 3);
}

TEST_F(StoreTest, TransactionIsAllOrNothing) {
  EXPECT_THROW(store.transaction([&] {
    store.insert_sweep(sample_sweep());
    store.append_event({0, 1, "submitted", {1, 0, 0}, "{}"});
    throw std::runtime_error("the work failed");
  }),
               std::runtime_error);
  EXPECT_TRUE(store.sweeps().empty());
  EXPECT_TRUE(store.events_of({1, 0, 0}).empty());
  store.transaction([&] { store.insert_sweep(sample_sweep()); });
  EXPECT_EQ(store.sweeps().size(), 1u);
}

TEST_F(StoreTest, AFailedStepInsideATransactionLeavesTheRest) {
  store.transaction([&] {
    const auto sweep = store.insert_sweep(sample_sweep());
    TrialRow twin = sample_trial(sweep, 2);
    twin.hash = "hash1";
    EXPECT_THROW(store.insert_trials({sample_trial(sweep, 1), twin}), Error);
  });
  EXPECT_EQ(store.sweeps().size(), 1u);
  EXPECT_TRUE(store.trials(1).empty());
}

TEST_F(StoreTest, FileIsForItsOwnerOnly) {
  struct stat found {};
  ASSERT_EQ(::stat((folder.path() / "thalweg.db").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST_F(StoreTest, AnotherConnectionSeesWhatWasWritten) {
  running_attempt();
  Store other(folder.path() / "thalweg.db");
  EXPECT_EQ(other.sweeps().size(), 1u);
}

TEST(StoreOpen, ErrorNamesTheFile) {
  test::TempDir folder;
  try {
    Store::open(folder.path() / "missing/thalweg.db");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("missing"));
  }
}

TEST_F(StoreTest, DiskFullLosesNothing) {
  const Id id = running_attempt();
  ASSERT_TRUE(store.add_points(id, 1, 1, {{"train/loss", 1, 0.5, 1700000003}}));
  sqlite::Connection& connection = store.connection();
  connection.script("limit", "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA max_page_count = 1");
  // SQLite raises the limit to the pages there are: nothing can grow any more.
  TrialRow big = sample_trial(id.sweep, 2);
  big.train = std::string(1 << 20, 'x');
  std::string message;
  try {
    store.transaction([&] {
      store.append_event({0, 1, "event", {1, 0, 0}, "{}"});
      store.insert_trials({big});
    });
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_THAT(message, HasSubstr("insert trial: database or disk is full"));
  EXPECT_THAT(message, HasSubstr("nothing recorded before it is lost"));
  EXPECT_TRUE(store.events_of({1, 0, 0}).empty());
  EXPECT_EQ(store.trials(id.sweep).size(), 1u);
  EXPECT_EQ(store.curve(id, "train/loss").size(), 1u);

  connection.script("lift", "PRAGMA max_page_count = 1000000");
  store.insert_trials({big});
  EXPECT_EQ(store.trials(id.sweep).size(), 2u);
}

/// What a quota gives, too: an error of the write, which SQLite calls "disk I/O error".
TEST_F(StoreTest, AnErrorOfTheSystemIsToldInItsWords) {
  running_attempt();
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limit{1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string message;
  try {
    running_attempt();
  } catch (const CannotWrite& error) {
    message = error.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(message, HasSubstr("disk I/O error: File too large (database "));
  EXPECT_THAT(message, HasSubstr("or raise the quota"));
}

TEST_F(StoreTest, ACheckpointPutsTheRecordIntoItsFile) {
  const Id id = running_attempt();
  const auto copy = folder.path() / "copy.db";
  const auto file = store.connection().file();
  const auto reader = Store::open(file);  // has an old look at it all the while
  reader->sweeps();
  store.checkpoint();
  std::filesystem::copy_file(file, copy);  // without the write-ahead log
  EXPECT_TRUE(Store::open(copy)->attempt(id));
}

TEST_F(StoreTest, GivesUpSoonWhereAnotherProgramHoldsTheLock) {
  sqlite::Connection other(folder.path() / "thalweg.db", sqlite::Connection::Mode::write);
  other.script("hold", "BEGIN IMMEDIATE");
  const auto begun = test::MachineClock::now();
  EXPECT_THROW(store.transaction([] {}), CannotWrite);
  EXPECT_LT(test::MachineClock::now() - begun, std::chrono::seconds(5));
  other.script("let go", "ROLLBACK");
  store.transaction([] {});
}

}  // namespace
}  // namespace thalweg::db
