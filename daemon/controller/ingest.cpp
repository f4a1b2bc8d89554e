#include "daemon/controller/ingest.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/api/messages.h"
#include "daemon/controller/fault.h"
#include "daemon/controller/log.h"
#include "daemon/state/events.h"

namespace thalweg::daemon {

namespace {

constexpr std::int64_t largest_gap =
    1'000'000;                        ///< a number further ahead is a broken line, not a gap
constexpr double past_quiet_s = 120;  ///< the journal of an ended attempt is read on for so long

}  // namespace

void Ingest::add(const db::AttemptRow& attempt) {
  readers_.try_emplace(attempt.id, attempt.id, attempt.folder, attempt.journal_lines, disk_);
}

void Ingest::remove(const Id& attempt) {
  auto removed = readers_.extract(attempt);
  if (removed.empty() || removed.mapped().end || removed.mapped().next == 1) return;
  // It ended without a word: should it not have, its lines are taken all the same.
  removed.mapped().grown = steady_();
  past_.insert(std::move(removed));
}

void Ingest::add_past(const db::AttemptRow& attempt) {
  const auto [it, is_new] =
      past_.try_emplace(attempt.id, attempt.id, attempt.folder, attempt.journal_lines, disk_);
  it->second.grown = steady_();
}

bool Ingest::fill_one() {
  if (!unfilled_) unfilled_ = store_.attempts_without_start();
  if (unfilled_->empty()) return false;
  const Id id = unfilled_->back();
  const auto row = store_.attempt(id);
  std::optional<std::string> start, ranks;
  if (row && find(id) == nullptr) {  // a live one is read anyway
    FileTail tail(row->folder / std::filesystem::path("journal.jsonl"), disk_);
    const auto take = [&](std::string_view text) {
      if (peek(text).metrics) return;
      const auto line = parse_journal_line(text);
      if (line && line->type == JournalLine::Type::start) start = line->start.record;
      if (line && line->type == JournalLine::Type::ranks) ranks = line->ranks;
    };
    while (tail.read(take).more) {
    }
  }
  if (start) store_.put_start(id, *start);
  if (ranks) store_.put_ranks(id, *ranks);
  unfilled_->pop_back();
  return true;
}

JournalReader* Ingest::find(const Id& attempt) {
  const auto it = readers_.find(attempt);
  return it == readers_.end() ? nullptr : &it->second;
}

void Ingest::report_error(JournalReader& reader, const std::string& text) {
  if (std::exchange(reader.reported, true)) return;
  log::warning(reader.id.to_string() + ": " + text);
  notes_.push_back(new_event(now_(), reader.id, event::Note{"warning", text}));
}

void Ingest::malformed(JournalReader& reader, std::string_view where, std::string_view line) {
  report_error(reader, fmt::format("a line of the {} is malformed and was left out: {}", where,
                                   line.substr(0, 120)));
}

void Ingest::take_line(JournalReader& reader, JournalLine& line) {
  reader.newest = std::max(reader.newest, line.time);
  switch (line.type) {
    case JournalLine::Type::start:
      reader.start = line.start;
      reader.start_is_new = reader.start_is_new || line.n >= reader.next;
      if (reader.started == 0) reader.started = line.time;
      reader.end.reset();  // it runs again in the same folder
      // What earlier attempts wrote after they had ended: this one stands on it.
      if (line.start.resumed_step > 0)
        for (std::int64_t number = 1; number < reader.id.attempt; ++number)
          if (const auto row = store_.attempt({reader.id.sweep, reader.id.trial, number}))
            add_past(*row);
      break;
    case JournalLine::Type::checkpoint:
      reader.checkpoint_step = std::max(reader.checkpoint_step, line.step);
      break;
    case JournalLine::Type::end:
      reader.end = line.end;
      reader.end_seen = now_();
      reader.end_heard = steady_();
      break;
    case JournalLine::Type::note:
      if (line.n >= reader.next)
        notes_.push_back(new_event(line.time, reader.id,
                                   event::Note{line.level, line.text, line.lost, line.count}));
      break;
    case JournalLine::Type::metrics:
      if (line.n < reader.next) break;
      if (!line.points.empty()) {
        reader.last_step = line.points.front().step;
        reader.last_time = line.time;
        if (reader.first_time == 0) {
          reader.first_step = reader.last_step;
          reader.first_time = line.time;
        }
      }
      std::move(line.points.begin(), line.points.end(), std::back_inserter(reader.points));
      break;
    case JournalLine::Type::ranks:
      if (line.n >= reader.next) reader.ranks = std::move(line.ranks);
      break;
    case JournalLine::Type::other:
      break;
  }
  reader.next = std::max(reader.next, line.n + 1);
}

void Ingest::accept(JournalReader& reader, JournalLine& line) {
  if (line.n > reader.next)
    report_error(reader,
                 fmt::format("journal lines {} to {} are missing", reader.next, line.n - 1));
  take_line(reader, line);
}

/// Why a line's number did not follow the one before: lines are missing (then the next one goes on
/// from it), it does not belong there (the next one goes on from the one before), or the number
/// itself is wrong. Nothing is skipped on the word of a single line.
void Ingest::settle_odd(JournalReader& reader, const JournalLine* following) {
  JournalLine odd = *std::exchange(reader.odd, {});
  if (following != nullptr && following->n == odd.n + 1 && odd.n <= reader.next + largest_gap) {
    reader.number = odd.n;
    accept(reader, odd);
    return;
  }
  if (following != nullptr && following->n == reader.number + 1) {
    report_error(reader,
                 fmt::format("a line of the journal calls itself line {} between lines {} and {} "
                             "and was left out",
                             odd.n, reader.number, following->n));
    return;
  }
  reader.number += 1;
  if (reader.number >= reader.next)
    report_error(reader, fmt::format("journal line {} calls itself line {}", reader.number, odd.n));
  odd.n = reader.number;
  accept(reader, odd);
}

void Ingest::take_from_file(JournalReader& reader, std::string_view text) {
  const std::int64_t place = reader.tail.line();
  if (place <= reader.place) {  // the file is read from its start again
    reader.number = reader.place = 0;
    reader.odd.reset();
  }
  reader.number += place - reader.place - 1;  // lines too long to be read had numbers too
  reader.place = place;
  // After a restart, and after pushes, most lines are known: metrics among them need no parsing.
  if (const LineHeader look = peek(text);
      look.metrics && !reader.odd && look.n == reader.number + 1 && look.n < reader.next) {
    reader.number = look.n;
    reader.newest = std::max(reader.newest, look.time);
    return;
  }
  auto line = parse_journal_line(text);
  if (reader.odd) settle_odd(reader, line ? &*line : nullptr);
  if (!line) {
    reader.number += 1;
    if (reader.number >= reader.next) malformed(reader, "journal", text);
  } else if (line->n == reader.number + 1) {
    reader.number = line->n;
    accept(reader, *line);
  } else {
    reader.odd = std::move(line);
  }
}

void Ingest::take_pushed(JournalReader& reader, std::string_view text) {
  if (const LineHeader look = peek(text); look.n > 0 && look.n != reader.next) return;
  auto line = parse_journal_line(text);
  if (!line) return malformed(reader, "push", text);
  // How an attempt ended is believed only from its folder.
  if (line->n == reader.next && line->type != JournalLine::Type::end) take_line(reader, *line);
}

/// Whatever an attempt's folder holds, it is that attempt's trouble and nobody else's.
bool Ingest::read_block(JournalReader& reader) {
  try {
    const std::int64_t before = reader.tail.line();
    const auto result =
        reader.tail.read([&](std::string_view line) { take_from_file(reader, line); });
    if (reader.tail.line() != before) reader.grown = steady_();
    if (result.too_long > 0) report_error(reader, "a journal line is too long and was left out");
    return result.more;
  } catch (const db::Error&) {
    throw;
  } catch (const DiskHangs&) {
    throw;
  } catch (const std::exception& error) {
    report_error(reader, std::string("the journal cannot be read: ") + error.what());
    return false;
  }
}

Ingest::Pushed Ingest::push(const Id& attempt, std::string_view lines) {
  JournalReader* reader = find(attempt);
  if (reader == nullptr) return {};
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    if (end == std::string_view::npos) break;  // an unfinished line is not read, as in the file
    if (end > 0) take_pushed(*reader, lines.substr(0, end));
    lines.remove_prefix(end + 1);
  }
  return {reader->next, reader->next > reader->committed + 1};
}

std::vector<Id> Ingest::tick() {
  std::vector<Id> news;
  try {
    for (auto& [id, reader] : readers_)
      read_block(reader);
    read_past();
  } catch (const DiskHangs&) {
    // The rest is read when it answers again.
  }
  for (const auto& [id, reader] : readers_)
    if (reader.next > reader.committed + 1) news.push_back(id);
  commit();
  return news;
}

/// To their present ends, before anything of their successors goes on.
void Ingest::read_past() {
  for (auto& [id, reader] : past_)
    while (read_block(reader))
      commit();
  std::erase_if(past_, [&](const auto& past) {
    const JournalReader& reader = past.second;
    return reader.next == reader.committed + 1 && steady_() - reader.grown > past_quiet_s;
  });
}

void Ingest::drain(const Id& attempt) {
  JournalReader* reader = find(attempt);
  if (reader == nullptr) return;
  for (bool more = true; more;) {
    more = read_block(*reader);
    if (!more && reader->odd) settle_odd(*reader, nullptr);
    read_past();
    commit();
  }
}

/// The database has another idea of what was read than we have: it is right.
void Ingest::reload(JournalReader& reader) {
  const auto row = store_.attempt(reader.id);
  log::error(
      fmt::format("{}: journal line {} does not follow line {} of the database; reading again",
                  reader.id.to_string(), reader.committed + 1, row ? row->journal_lines : 0));
  reader.committed = row ? row->journal_lines : 0;
  reader.next = reader.committed + 1;
  reader.tail.rewind();
}

void Ingest::commit() {
  std::vector<JournalReader*> full;
  bool first = false;
  for (auto* readers : {&past_, &readers_})
    for (auto& [id, reader] : *readers)
      if (reader.next > reader.committed + 1) full.push_back(&reader);
  if (full.empty() && notes_.empty()) return;
  std::vector<bool> taken(full.size());
  store_.transaction([&] {
    for (std::size_t i = 0; i < full.size(); ++i) {
      const JournalReader& reader = *full[i];
      taken[i] = store_.add_points(reader.id, reader.committed + 1, reader.next - 1, reader.points);
      if (taken[i] && reader.start_is_new) store_.put_start(reader.id, reader.start->record);
      if (taken[i] && reader.ranks) store_.put_ranks(reader.id, *reader.ranks);
      fault::pass("in_ingest");
    }
    for (const auto& note : notes_)
      store_.append_event(note);
  });
  notes_.clear();
  for (std::size_t i = 0; i < full.size(); ++i) {
    JournalReader& reader = *full[i];
    if (!reader.points.empty()) first = !std::exchange(reader.any_points, true) || first;
    reader.points.clear();
    if (taken[i]) {
      reader.committed = reader.next - 1;
      reader.start_is_new = false;
      reader.ranks.reset();
    } else {
      reload(reader);
    }
  }
  if (first) fault::pass("first_metrics");
}

}  // namespace thalweg::daemon
