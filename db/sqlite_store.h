// The store over SQLite; its functions stand in sweeps.cpp, trials.cpp, attempts.cpp, events.cpp,
// metrics.cpp by what they are about.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "db/sqlite/connection.h"
#include "db/sqlite/reader.h"
#include "db/store.h"

namespace thalweg::db {

struct OpenOptions {
  /// Asked for the folder of the file; tests put their own here.
  std::function<long(const std::filesystem::path&)> filesystem_type;
};

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(const std::filesystem::path& file, const OpenOptions& options = {});

  void transaction(const std::function<void()>& work) override;

  std::int64_t insert_sweep(const SweepRow& row) override;
  void insert_trials(const std::vector<TrialRow>& rows) override;
  void insert_attempt(const AttemptRow& row) override;
  void insert_environment(std::int64_t sweep, const std::string& entries) override;
  void update_sweep(const SweepRow& row) override;
  void update_trial(const TrialRow& row) override;
  void update_attempt(const AttemptRow& row) override;
  std::int64_t append_event(const Event& event) override;
  bool add_points(const Id& attempt, std::int64_t first_line, std::int64_t last_line,
                  const std::vector<Point>& points) override;

  void checkpoint() override;

  std::vector<SweepRow> sweeps() override;
  std::optional<SweepRow> sweep(std::int64_t id) override;
  std::optional<std::string> environment(std::int64_t sweep) override;
  std::vector<TrialRow> trials(std::int64_t sweep) override;
  std::optional<TrialRow> trial(const Id& id) override;
  std::vector<AttemptRow> attempts(std::int64_t sweep) override;
  std::optional<AttemptRow> attempt(const Id& id) override;
  std::optional<AttemptRow> attempt_by_token(const std::string& token) override;
  void events(std::int64_t after, const std::function<void(const Event&)>& each) override;
  std::vector<Event> events_of(const Id& id, std::int64_t after = 0) override;
  std::vector<CurvePoint> curve(const Id& trial, const std::string& metric,
                                std::int64_t max_points = 0) override;
  std::vector<std::string> metric_names(std::int64_t sweep) override;
  std::vector<Latest> latest(std::int64_t sweep) override;

  QueryResult query(const std::string& sql, std::int64_t max_rows, double max_seconds,
                    const std::vector<jobspec::Value>& parameters = {}) override;

  /// For tests that limit or inspect the file.
  sqlite::Connection& connection() { return connection_; }

 private:
  std::int64_t metric_id(const std::string& name);

  sqlite::Connection connection_;
  std::unique_ptr<sqlite::Reader> reader_;  ///< query()'s own connection, opened at its first call
};

}  // namespace thalweg::db
