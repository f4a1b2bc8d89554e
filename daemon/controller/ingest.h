// Journal lines on their way into the database: from the files of live attempts (the truth) and
// from pushes (the speed), each line exactly once by (attempt, n). Lines are collected and
// committed for all attempts in one transaction.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/controller/journal.h"

namespace thalweg::daemon {

/// What journals may cost: whoever runs an attempt may write anything into its journal.
struct IngestLimits {
  std::uint64_t turn_bytes = 8 << 20;   ///< read at once of all journals together ...
  std::uint64_t least_bytes = 1 << 16;  ///< ... but so many of each
  std::uint64_t journal_bytes = max_journal_bytes;
  std::int64_t notes = 1000;      ///< of an attempt
  std::size_t note_bytes = 4096;  ///< of a text
};

/// What is known of one attempt from its journal.
struct JournalReader {
  JournalReader(const Id& attempt, const std::filesystem::path& folder, std::int64_t lines,
                Disk* disk, std::uint64_t max_bytes)
      : id(attempt),
        tail(folder / "journal.jsonl", disk, max_bytes),
        committed(lines),
        next(lines + 1) {}

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
  bool behind = false;             ///< there is more to read at once
  bool told_cut = false;           ///< that it is too long

  /// Of what is beyond a limit: how many, and how many were told by a note.
  struct Excess {
    std::int64_t count = 0, told = 0;
  };
  std::optional<std::set<std::string, std::less<>>> metrics;  ///< their names; read when needed
  std::optional<std::int64_t> notes;                          ///< how many; the same
  Excess more_metrics, more_notes;

  std::optional<JournalStart> start;
  bool start_is_new = false;         ///< not yet in the database
  bool resumes = false;              ///< and earlier attempts are to be read again
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
         Disk* disk = nullptr, const IngestLimits& limits = {})
      : store_(store),
        now_(std::move(now)),
        steady_(std::move(steady)),
        disk_(disk),
        limits_(limits) {}

  /// Starts with what the database already has; the file is read from its start, known lines are
  /// passed over.
  void add(const db::AttemptRow& attempt);
  /// It has ended. Without an end record of its own its journal is read on as by add_past().
  void remove(const Id& attempt);
  /// Reads on in the journal of an attempt that has ended, until it has been quiet for a while.
  void add_past(const db::AttemptRow& attempt);
  /// The sweep is removed: what is read of its attempts, and not yet written, has no place any
  /// more.
  void forget(std::int64_t sweep);
  /// Takes the start record, and the newest times of ranks, of one attempt whose journal was read
  /// by a version that did not keep them, or reads on in that journal. False where there is none
  /// left to look at.
  bool fill_one();
  JournalReader* find(const Id& attempt);
  const std::map<Id, JournalReader>& readers() const { return readers_; }

  /// Looks once at every file, reads on within the limits, and commits what came; where the disk
  /// hangs, what had come before. Gives the attempts that had news.
  std::vector<Id> tick();
  /// Reads on in one attempt's file, and in those of the trial's earlier attempts, and commits.
  /// False where their ends have not been reached within the limits: ask again. Throws DiskHangs.
  bool drain(const Id& attempt);

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
  struct Filling;
  using Readers = std::map<Id, JournalReader>;

  std::uint64_t read_block(JournalReader& reader, std::uint64_t most);
  std::uint64_t read_on(JournalReader& reader, std::uint64_t bytes);
  void read_turn(Readers& readers);
  void forget_quiet();
  void take_points(JournalReader& reader, JournalLine& line);
  void take_note(JournalReader& reader, const JournalLine& line);
  bool knows_metric(JournalReader& reader, const std::string& name);
  void exceed(JournalReader& reader, JournalReader::Excess& excess, const std::string& text,
              const std::optional<std::string>& lost);
  void take_from_file(JournalReader& reader, std::string_view line);
  void take_pushed(JournalReader& reader, std::string_view line);
  void settle_odd(JournalReader& reader, const JournalLine* following);
  void accept(JournalReader& reader, JournalLine& line);
  void take_line(JournalReader& reader, JournalLine& line);
  void note_cut(JournalReader& reader);
  void malformed(JournalReader& reader, std::string_view where, std::string_view line);
  void report_error(JournalReader& reader, const std::string& text);
  void reload(JournalReader& reader);

  db::Store& store_;
  std::function<double()> now_, steady_;
  Disk* disk_;
  IngestLimits limits_;
  Readers readers_;  ///< of live attempts
  Readers past_;     ///< of ended ones whose trial goes on from their checkpoint
  std::optional<std::vector<Id>> unfilled_;  ///< what fill_one() has still to look at
  std::shared_ptr<Filling> filling_;         ///< what it looks at
  std::vector<db::Event> notes_;             ///< to be committed with the lines
};

}  // namespace thalweg::daemon
