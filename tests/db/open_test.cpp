// Which files are opened and which are refused: migrations, other programs' files, network
// filesystems.
#include <gmock/gmock.h>

#include "db/filesystem.h"
#include "db/migrate.h"
#include "tests/db/fixture.h"

namespace thalweg::db {
namespace {

using sqlite::Connection;
using ::testing::AllOf;
using ::testing::HasSubstr;

template <class F>
std::string error_of(F work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::int64_t number(Connection& connection, const std::string& sql) {
  const sqlite::Sql statement{"test", sql.c_str()};
  const auto prepared = std::make_unique<sqlite::Sql>(statement);
  Connection fresh(connection.file(), Connection::Mode::read_only);
  sqlite::Run run(fresh, *prepared);
  run.row();
  return run.integer(0);
}

class MigrateTest : public ::testing::Test {
 protected:
  /// Three schemas of a small made-up program.
  static constexpr Migration kAll[] = {
      {1, "0001_a.sql", "CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1), (2);"},
      {2, "0002_b.sql", "ALTER TABLE a ADD COLUMN y INTEGER; UPDATE a SET y = 10 * x;"},
      {3, "0003_c.sql", "CREATE TABLE c AS SELECT x + y AS sum FROM a; DROP TABLE a;"},
  };

  std::filesystem::path file() const { return folder.path() / "test.db"; }

  test::TempDir folder;
};

TEST_F(MigrateTest, EveryOlderSchemaBecomesTheNewest) {
  for (std::size_t start = 0; start <= 3; ++start) {
    std::filesystem::remove(file());
    Connection connection(file(), Connection::Mode::write);
    migrate(connection, std::span(kAll).first(start));
    EXPECT_EQ(number(connection, "PRAGMA user_version"), static_cast<std::int64_t>(start));
    migrate(connection, kAll);
    EXPECT_EQ(number(connection, "PRAGMA user_version"), 3);
    EXPECT_EQ(number(connection, "SELECT sum(sum) FROM c"), 11 + 22);
    migrate(connection, kAll);  // nothing to do
    EXPECT_EQ(number(connection, "SELECT count(*) FROM c"), 2);
  }
}

TEST_F(MigrateTest, AFailedStepLeavesTheSchemaBeforeIt) {
  constexpr Migration kBroken[] = {
      kAll[0],
      {2, "0002_bad.sql", "CREATE TABLE half (x); INSERT INTO missing VALUES (1);"},
  };
  Connection connection(file(), Connection::Mode::write);
  EXPECT_THAT(error_of([&] { migrate(connection, kBroken); }),
              AllOf(HasSubstr("migration 0002_bad.sql"), HasSubstr("no such table: missing")));
  EXPECT_EQ(number(connection, "PRAGMA user_version"), 1);
  EXPECT_EQ(number(connection, "SELECT count(*) FROM sqlite_master"), 1);
  migrate(connection, kAll);
  EXPECT_EQ(number(connection, "PRAGMA user_version"), 3);
}

TEST_F(MigrateTest, ANewerSchemaIsRefusedWithARemedy) {
  Connection connection(file(), Connection::Mode::write);
  migrate(connection, kAll);
  const std::string message = error_of([&] { migrate(connection, std::span(kAll).first(2)); });
  EXPECT_THAT(message, AllOf(HasSubstr(file().string()), HasSubstr("schema 3"),
                             HasSubstr("up to 2"), HasSubstr("THALWEG_HOME")));
}

TEST_F(MigrateTest, AnotherProgramsFileIsRefused) {
  {
    Connection connection(file(), Connection::Mode::write);
    connection.script("other", "CREATE TABLE cookies (x)");
  }
  EXPECT_THAT(error_of([&] { Store::open(file()); }), HasSubstr("database of another program"));
  test::write_file(folder.path() / "text.db", std::string(4096, 'x'));
  EXPECT_THAT(error_of([&] { Store::open(folder.path() / "text.db"); }),
              HasSubstr("file is not a database"));
}

TEST_F(MigrateTest, TheShippedMigrationsAreNumberedFromOne) {
  int expected = 0;
  for (const Migration& step : migrations())
    EXPECT_EQ(step.number, ++expected);
  EXPECT_GE(expected, 1);
  Store store(file());
  EXPECT_EQ(number(store.connection(), "PRAGMA user_version"), expected);
}

TEST_F(MigrateTest, AReaderChangesNothingAndSeesWhatIsCommitted) {
  EXPECT_THAT(error_of([&] { ReadStore::open(file()); }), HasSubstr(file().string()));
  EXPECT_FALSE(std::filesystem::exists(file()));
  Store store(file());
  const auto reader = ReadStore::open(file());
  EXPECT_TRUE(reader->sweeps().empty());
  SweepRow row;
  row.name = "later";
  row.owner = row.backend = row.file_name = row.text = row.metric = "x";
  row.goal = jobspec::Goal::minimize;
  row.state = SweepPhase::active;
  row.notes = "[]";
  store.transaction([&] {
    row.id = store.insert_sweep(row);
    EXPECT_TRUE(reader->sweeps().empty());
  });
  EXPECT_EQ(reader->sweep(row.id)->name, "later");
}

TEST_F(MigrateTest, AReaderRefusesAnotherSchema) {
  const int newest = migrations().back().number;
  Store store(file());
  const auto version = [&](int number) {
    store.connection().script("version", "PRAGMA user_version = " + std::to_string(number));
  };
  version(newest - 1);
  EXPECT_THAT(error_of([&] { ReadStore::open(file()); }),
              HasSubstr("start this version's thalwegd"));
  EXPECT_EQ(number(store.connection(), "PRAGMA user_version"), newest - 1);
  version(newest + 1);
  EXPECT_THAT(error_of([&] { ReadStore::open(file()); }), HasSubstr("a newer Thalweg wrote it"));
  version(newest);
  EXPECT_NO_THROW(ReadStore::open(file()));
}

TEST_F(MigrateTest, TheStoreIsDurable) {
  Store store(file());
  static const sqlite::Sql kSync{"synchronous", "PRAGMA synchronous"};
  static const sqlite::Sql kKeys{"foreign keys", "PRAGMA foreign_keys"};
  sqlite::Run sync(store.connection(), kSync);
  ASSERT_TRUE(sync.row());
  EXPECT_EQ(sync.integer(0), 2);  // FULL
  sqlite::Run keys(store.connection(), kKeys);
  ASSERT_TRUE(keys.row());
  EXPECT_EQ(keys.integer(0), 1);
}

TEST(Filesystem, KnowsNetworkFilesystemsByTheirNumbers) {
  // Numbers from statfs(2) and linux/magic.h.
  EXPECT_EQ(network_filesystem(0x6969), "NFS");
  EXPECT_EQ(network_filesystem(0x0BD00BD0), "Lustre");
  EXPECT_EQ(network_filesystem(0x47504653), "GPFS (Spectrum Scale)");
  EXPECT_EQ(network_filesystem(0x65735546), "FUSE");
  EXPECT_EQ(network_filesystem(0x00C36400), "CephFS");
  EXPECT_EQ(network_filesystem(static_cast<long>(0xFF534D42)), "CIFS");
  EXPECT_EQ(network_filesystem(static_cast<std::int32_t>(0xFF534D42)), "CIFS");  // sign-extended
  EXPECT_EQ(network_filesystem(static_cast<std::int32_t>(0xFE534D42)), "SMB2/SMB3");
  for (const long local :
       {0xEF53L /* ext4 */, 0x58465342L /* xfs */, 0x9123683EL /* btrfs */, 0x01021994L /* tmpfs */,
        0x794C7630L /* overlay */, 0x2FC12FC1L /* zfs */}) {
    EXPECT_FALSE(network_filesystem(local)) << local;
  }
}

TEST(Filesystem, ADatabaseOnANetworkFilesystemIsRefusedBeforeAnythingIsCreated) {
  test::TempDir folder;
  const auto file = folder.path() / "thalweg.db";
  OpenOptions options;
  options.filesystem_type = [](const std::filesystem::path&) { return 0x6969L; };
  EXPECT_THAT(error_of([&] { Store(file, options); }),
              AllOf(HasSubstr(file.string()), HasSubstr("(NFS)"), HasSubstr("THALWEG_HOME")));
  EXPECT_FALSE(std::filesystem::exists(file));
  options.filesystem_type = [](const std::filesystem::path&) { return 0xEF53L; };
  Store(file, options);
  EXPECT_TRUE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace thalweg::db
