// Journal lines on their way into the database: from the files of live attempts (the truth) and
// from pushes (the speed), each line exactly once by (attempt, n). Lines are collected and
// committed for all attempts in one transaction.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/controller/journal.h"

namespace thalweg::daemon {

/// What is known of one attempt from its journal.
struct JournalReader {
  JournalReader(const Id& attempt, const std::filesystem::path& folder, std::int64_t lines,
                Disk* disk)
      : id(attempt), tail(folder / "journal.jsonl", disk), committed(lines), next(lines + 1) {}

  Id id;
  FileTail tail;
  std::int64_t committed;          ///< lines in the database
  std::int64_t next;               ///< the line expected next, those in `points` counted
  std::vector<db::Point> points;   ///< of the lines committed + 1 .. next - 1
  std::int64_t number = 0;         ///< that the last line of the file had
  std::int64_t place = 0;          ///< that line's place in the file, from 1
  std::optional<JournalLine> odd;  ///< it has another number; what comes next tells why
  bool any_points = false;         ///< some were committed by this controller
  bool reported = false;           ///< about bad or missing lines: once an attempt

  std::optional<JournalStart> start;
  bool start_is_new = false;         ///< not yet in the database
  std::optional<std::string> ranks;  ///< newest line of that type, not yet in the database
  std::optional<EndRecord> end;
  double end_seen = 0;   ///< Unix seconds when the controller read it
  double end_heard = 0;  ///< the same by the clock that only grows
  double grown = 0;      ///< by that clock: when something new was last found in the file
  double started = 0;    ///< time of the first start line, by the engine's clock
  double newest = 0;     ///< of the newest line
  std::int64_t checkpoint_step = 0;
  std::int64_t first_step = 0, last_step = 0;  ///< of metrics read by this controller
  double first_time = 0, last_time = 0;
};

/// One thread. Functions that write throw db::Error.
class Ingest {
 public:
  /// `now`: Unix seconds; `steady`: seconds that only grow, for intervals.
  Ingest(db::Store& store, std::function<double()> now, std::function<double()> steady,
         Disk* disk = nullptr)
      : store_(store), now_(std::move(now)), steady_(std::move(steady)), disk_(disk) {}

  /// Starts with what the database already has; the file is read from its start, known lines are
  /// passed over.
  void add(const db::AttemptRow& attempt);
  /// It has ended. Without an end record of its own its journal is read on as by add_past().
  void remove(const Id& attempt);
  /// Reads on in the journal of an attempt that has ended, until it has been quiet for a while.
  void add_past(const db::AttemptRow& attempt);
  /// Takes the start record, and the newest times of ranks, of one attempt whose journal was read
  /// by a version that did not keep them. False where there is none left to look at.
  bool fill_one();
  JournalReader* find(const Id& attempt);
  const std::map<Id, JournalReader>& readers() const { return readers_; }

  /// Looks once at every file and commits what came; where the disk hangs, what had come before.
  /// Gives the attempts that had news.
  std::vector<Id> tick();
  /// Reads one attempt's file to its present end and commits. Throws DiskHangs.
  void drain(const Id& attempt);

  /// Writes what was read. Where that throws, all of it is kept for the next time.
  void commit();

  struct Pushed {
    std::int64_t next = 1;  ///< the line expected next
    bool waiting = false;   ///< something is to be committed by the next tick
  };
  /// Lines pushed by the engine. Where they start ahead of what is expected they are left out: the
  /// file has them. So are end records: a push cannot end an attempt.
  Pushed push(const Id& attempt, std::string_view lines);

 private:
  bool read_block(JournalReader& reader);
  void read_past();
  void take_from_file(JournalReader& reader, std::string_view line);
  void take_pushed(JournalReader& reader, std::string_view line);
  void settle_odd(JournalReader& reader, const JournalLine* following);
  void accept(JournalReader& reader, JournalLine& line);
  void take_line(JournalReader& reader, JournalLine& line);
  void malformed(JournalReader& reader, std::string_view where, std::string_view line);
  void report_error(JournalReader& reader, const std::string& text);
  void reload(JournalReader& reader);

  db::Store& store_;
  std::function<double()> now_, steady_;
  Disk* disk_;
  std::map<Id, JournalReader> readers_;  ///< of live attempts
  std::map<Id, JournalReader> past_;  ///< of ended ones whose trial goes on from their checkpoint
  std::optional<std::vector<Id>> unfilled_;  ///< what fill_one() has still to look at
  std::vector<db::Event> notes_;             ///< to be committed with the lines
};

}  // namespace thalweg::daemon
