// Opening the store; transactions.
#include "db/store.h"

#include "db/filesystem.h"
#include "db/migrate.h"
#include "db/sqlite/reader.h"
#include "db/sqlite/transaction.h"

namespace thalweg::db {
namespace {

// WAL: readers never wait for the writer. FULL: an intent must survive a power cut, or an attempt
// could be launched twice; NORMAL would lose the last commits. The cache is in KiB;
// journal_size_limit gives a burst's WAL back.
constexpr const char* kSettings =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA foreign_keys = ON;"
    "PRAGMA cache_size = -65536;"
    "PRAGMA secure_delete = OFF;"        // Debian's default overwrites what an update frees
    "PRAGMA wal_autocheckpoint = 4000;"  // 16 MiB of pages: a point's page is often written again
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA journal_size_limit = 67108864;";

/// The controller's only thread writes, and answers everybody.
constexpr double writing_patience_s = 0.25;

const sqlite::Sql kJournalMode{"read journal mode", "PRAGMA journal_mode"};

/// Before anything is created. Returns the file unchanged, so that it can stand in the initializer
/// list.
const std::filesystem::path& on_local_disk(const std::filesystem::path& file,
                                           const OpenOptions& options) {
  std::filesystem::path folder = file.parent_path();
  if (folder.empty()) folder = ".";
  const long type =
      options.filesystem_type ? options.filesystem_type(folder) : filesystem_type(folder);
  if (const auto name = network_filesystem(type)) {
    throw Error("the database " + file.string() + " would be on a network filesystem (" + *name +
                "), where SQLite can lose records. Set THALWEG_HOME to a folder on a local disk, "
                "for example /var/tmp/thalweg-$USER, and `runs` in its config.yaml to a network "
                "folder that compute nodes see");
  }
  return file;
}

/// Of the transactions while it lives. SQLite takes it when the pragma is prepared, so that no
/// prepared statement can be kept.
class Level {
 public:
  Level(sqlite::Connection& connection, Sync sync)
      : connection_(sync == Sync::later ? &connection : nullptr) {
    if (connection_ != nullptr) connection_->script("sync later", "PRAGMA synchronous = NORMAL");
  }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
  ~Level() {
    if (connection_ == nullptr) return;
    try {
      connection_->script("sync now", "PRAGMA synchronous = FULL");
    } catch (const Error&) {
      // A transaction that could not even be rolled back: nothing is written from here on.
    }
  }

 private:
  sqlite::Connection* connection_;
};

}  // namespace

ReadStore::ReadStore(std::unique_ptr<sqlite::Connection> connection)
    : connection_(std::move(connection)) {}

ReadStore::~ReadStore() = default;

std::unique_ptr<ReadStore> ReadStore::open(const std::filesystem::path& file) {
  auto connection = std::make_unique<sqlite::Connection>(file, sqlite::Connection::Mode::read_only);
  connection->script("set up the connection",
                     std::string(sqlite::reader_settings) + "PRAGMA temp_store = MEMORY;");
  check_schema(*connection, migrations());
  return std::unique_ptr<ReadStore>(new ReadStore(std::move(connection)));
}

ReadStore::Snapshot::Snapshot(ReadStore& store) : store_(store) {
  static const sqlite::Sql kBegin{"begin to read", "BEGIN"};
  store_.connection_->run(kBegin);
  store_.in_snapshot_ = true;
}

ReadStore::Snapshot::~Snapshot() {
  static const sqlite::Sql kEnd{"end to read", "COMMIT"};
  store_.in_snapshot_ = false;
  try {
    store_.connection_->run(kEnd);
  } catch (const Error&) {
    // An error while reading has ended the transaction.
  }
}

Store::Store(const std::filesystem::path& file, const OpenOptions& options)
    : ReadStore(std::make_unique<sqlite::Connection>(on_local_disk(file, options),
                                                     sqlite::Connection::Mode::write)) {
  connection_->script("set up the connection", kSettings);
  {
    sqlite::Run mode(*connection_, kJournalMode);
    mode.row();
    if (mode.view(0) != "wal") {
      throw Error("the database " + file.string() + " cannot use a write-ahead log (mode is " +
                  mode.text(0) +
                  "): its filesystem gives no shared memory; set THALWEG_HOME to a folder on a "
                  "local disk");
    }
  }
  migrate(*connection_, migrations());
  settle_points();
  // What writes from here on serves others meanwhile, and tries again.
  connection_->be_patient(writing_patience_s);
}

std::unique_ptr<Store> Store::open(const std::filesystem::path& file) {
  return std::make_unique<Store>(file);
}

void Store::transaction(const std::function<void()>& work, Sync sync) {
  const Level level(*connection_, sync);
  sqlite::Transaction transaction(*connection_);
  work();
  transaction.commit();
}

void Store::remove_sweep(std::int64_t sweep) {
  static const sqlite::Sql kAttempts{"remove attempts", "DELETE FROM attempt WHERE sweep = ?"};
  static const sqlite::Sql kTrials{"remove trials", "DELETE FROM trial WHERE sweep = ?"};
  static const sqlite::Sql kSweep{"remove sweep", "DELETE FROM sweep WHERE id = ?"};
  sqlite::Transaction transaction(*connection_);
  remove_points_of_sweep(sweep);
  for (const sqlite::Sql* each : {&kAttempts, &kTrials, &kSweep})
    connection_->run(*each, sweep);  // start records and environment go with their rows
  transaction.commit();
}

std::vector<std::string> ReadStore::problems() {
  static const sqlite::Sql kCheck{"check", "PRAGMA quick_check(10)"};
  std::vector<std::string> found;
  sqlite::Run run(*connection_, kCheck);
  while (run.row())
    if (const std::string text = run.text(0); text != "ok") found.push_back(text);
  return found;
}

void ReadStore::backup(const std::filesystem::path& file) {
  std::string quoted;
  for (const char c : file.string())
    quoted += c == '\'' ? "''" : std::string(1, c);
  connection_->script("back up", "VACUUM INTO '" + quoted + "'");
}

void Store::checkpoint() {
  static const sqlite::Sql kCheckpoint{"checkpoint", "PRAGMA wal_checkpoint(PASSIVE)"};
  sqlite::Run run(*connection_, kCheckpoint);
  run.row();
}

QueryResult ReadStore::query(const std::string& sql, std::int64_t max_rows, double max_seconds,
                             const std::vector<jobspec::Value>& parameters,
                             const std::function<bool()>& stop) {
  using sqlite::Reader;
  auto& reader = only_ ? confined_reader_ : reader_;
  if (!reader)
    reader = std::make_unique<Reader>(connection_->file(),
                                      only_ ? Reader::Rows::chosen : Reader::Rows::all);
  if (only_) reader->choose(*only_);
  return reader->query(sql, max_rows, max_seconds, parameters, stop);
}

void ReadStore::confine_queries(std::optional<std::vector<std::int64_t>> sweeps) {
  if (only_ != sweeps) kept_.clear();
  only_ = std::move(sweeps);
}

void ReadStore::forget_what_is_old() {
  // Changes with every commit of another connection, as far as this one's snapshot sees it.
  static const sqlite::Sql kVersion{"read version of the record", "PRAGMA data_version"};
  sqlite::Run run(*connection_, kVersion);
  run.row();
  const std::pair version{run.integer(0), connection_->total_changes()};
  if (version != kept_of_ || !in_snapshot_) kept_.clear();
  kept_of_ = version;
}

ReadStore::Kept& ReadStore::kept_by_configurations(std::int64_t sweep) {
  static const sqlite::Sql kVersion{"read version of configurations",
                                    "SELECT configurations_version FROM sweep WHERE id = ?"};
  constexpr std::size_t most = 4;  // each may hold a text for every trial
  sqlite::Run run(*connection_, kVersion);
  run.bind(sweep);
  OfSweep now{sweep, run.row() ? run.integer(0) : -1, {}};
  const auto found = std::find_if(kept_of_sweeps_.begin(), kept_of_sweeps_.end(),
                                  [&](const OfSweep& each) { return each.sweep == sweep; });
  if (found != kept_of_sweeps_.end()) {
    if (found->version == now.version) now.kept = std::move(found->kept);
    kept_of_sweeps_.erase(found);
  }
  if (kept_of_sweeps_.size() == most) kept_of_sweeps_.erase(kept_of_sweeps_.begin());
  kept_of_sweeps_.push_back(std::move(now));
  return kept_of_sweeps_.back().kept;
}

}  // namespace thalweg::db
