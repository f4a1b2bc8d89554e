#include "daemon/controller/ingest.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "daemon/api/messages.h"
#include "daemon/controller/fault.h"
#include "daemon/controller/log.h"
#include "daemon/state/events.h"
#include "jobspec/metric_names.h"

namespace thalweg::daemon {

namespace {

constexpr std::int64_t largest_gap =
    1'000'000;  ///< a number further ahead is a broken line, not a gap
constexpr std::size_t shown_name = 40;
constexpr double past_quiet_s = 120;  ///< the journal of an ended attempt is read on for so long

}  // namespace

void Ingest::add(const db::AttemptRow& attempt) {
  readers_.try_emplace(attempt.id, attempt.id, attempt.folder, attempt.journal_lines, disk_,
                       limits_.journal_bytes);
}

void Ingest::remove(const Id& attempt) {
  auto removed = readers_.extract(attempt);
  if (removed.empty() || removed.mapped().end || removed.mapped().next == 1) return;
  // It ended without a word: should it not have, its lines are taken all the same.
  removed.mapped().grown = steady_();
  past_.insert(std::move(removed));
}

void Ingest::add_past(const db::AttemptRow& attempt) {
  const auto [it, is_new] = past_.try_emplace(attempt.id, attempt.id, attempt.folder,
                                              attempt.journal_lines, disk_, limits_.journal_bytes);
  it->second.grown = steady_();
}

void Ingest::forget(std::int64_t sweep) {
  const auto of_it = [&](const auto& entry) { return entry.first.sweep == sweep; };
  std::erase_if(readers_, of_it);
  std::erase_if(past_, of_it);
  std::erase_if(notes_, [&](const db::Event& note) { return note.id.sweep == sweep; });
}

struct Ingest::Filling {
  FileTail tail;
  std::optional<std::string> start, ranks;
};

bool Ingest::fill_one() {
  if (!unfilled_) unfilled_ = store_.attempts_without_start();
  if (unfilled_->empty()) return false;
  const Id id = unfilled_->back();
  const auto row = store_.attempt(id);
  if (row && find(id) == nullptr) {  // a live one is read anyway
    if (!filling_)
      filling_ = std::make_shared<Filling>(
          Filling{FileTail(row->folder / std::filesystem::path("journal.jsonl"), disk_,
                           limits_.journal_bytes),
                  {},
                  {}});
    const auto take = [&](std::string_view text) {
      if (peek(text).metrics) return;
      const auto line = parse_journal_line(text);
      if (line && line->type == JournalLine::Type::start) filling_->start = line->start.record;
      if (line && line->type == JournalLine::Type::ranks) filling_->ranks = line->ranks;
    };
    if (filling_->tail.read(take, limits_.turn_bytes).more) return true;
    if (filling_->start) store_.put_start(id, *filling_->start);
    if (filling_->ranks) store_.put_ranks(id, *filling_->ranks);
  }
  filling_.reset();
  unfilled_->pop_back();
  return true;
}

JournalReader* Ingest::find(const Id& attempt) {
  const auto it = readers_.find(attempt);
  return it == readers_.end() ? nullptr : &it->second;
}

void Ingest::report_error(JournalReader& reader, const std::string& text) {
  // Of a journal that is too long lines are missing.
  if (reader.tail.cut() || std::exchange(reader.reported, true)) return;
  log::warning(reader.id.to_string() + ": " + text, {.id = reader.id});
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
      reader.resumes = reader.resumes || line.start.resumed_step > 0;
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
      take_note(reader, line);
      break;
    case JournalLine::Type::metrics:
      if (line.n >= reader.next) take_points(reader, line);
      break;
    case JournalLine::Type::ranks:
      if (line.n >= reader.next) reader.ranks = std::move(line.ranks);
      break;
    case JournalLine::Type::other:
      break;
  }
  reader.next = std::max(reader.next, line.n + 1);
}

void Ingest::take_points(JournalReader& reader, JournalLine& line) {
  if (line.points.empty()) return;
  reader.last_step = line.points.front().step;
  reader.last_time = line.time;
  if (reader.first_time == 0) {
    reader.first_step = reader.last_step;
    reader.first_time = line.time;
  }
  for (db::Point& point : line.points)
    if (knows_metric(reader, point.metric)) reader.points.push_back(std::move(point));
}

/// The engine keeps to this for programs; what is in a journal need not be the engine's.
bool Ingest::knows_metric(JournalReader& reader, const std::string& name) {
  if (!reader.metrics) {
    reader.metrics.emplace();
    if (reader.committed > 0)
      for (std::string& known : store_.metric_names(reader.id))
        reader.metrics->insert(std::move(known));
  }
  if (reader.metrics->contains(name)) return true;
  if (reader.metrics->size() < jobspec::max_metrics && jobspec::is_metric_name(name)) {
    reader.metrics->insert(name);
    return true;
  }
  exceed(reader, reader.more_metrics,
         fmt::format("values of {2} are not kept: a metric's name has 1 to {0} bytes and no "
                     "control characters, and only the first {1} metrics count",
                     jobspec::max_metric_name, jobspec::max_metrics, cut_utf8(name, shown_name)),
         "names");
  return false;
}

void Ingest::take_note(JournalReader& reader, const JournalLine& line) {
  if (line.n < reader.next) return;
  if (!reader.notes) {
    reader.notes = 0;
    if (reader.committed > 0)
      for (const db::Event& event : store_.events_of(reader.id))
        if (is<event::Note>(event)) *reader.notes += 1;
  }
  *reader.notes += 1;
  if (*reader.notes > limits_.notes)
    return exceed(reader, reader.more_notes,
                  fmt::format("more than {} notes: the first are kept", limits_.notes), {});
  const auto cut = [&](std::string_view text) {
    return std::string(cut_utf8(text, limits_.note_bytes));
  };
  const auto lost = line.lost ? std::optional(cut(*line.lost)) : std::nullopt;
  notes_.push_back(new_event(line.time, reader.id,
                             event::Note{cut(line.level), cut(line.text), lost, line.count}));
}

/// Told when it first happens, then ever more rarely.
void Ingest::exceed(JournalReader& reader, JournalReader::Excess& excess, const std::string& text,
                    const std::optional<std::string>& lost) {
  constexpr std::int64_t more_rarely = 10;
  excess.count += 1;
  if (excess.told > 0 && excess.count < more_rarely * excess.told) return;
  excess.told = excess.count;
  event::Note note{"warning", fmt::format("{} ({} up to now)", text, excess.count), lost, {}};
  if (lost) note.count = excess.count;
  notes_.push_back(new_event(now_(), reader.id, note));
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
std::uint64_t Ingest::read_block(JournalReader& reader, std::uint64_t most) {
  try {
    const std::int64_t before = reader.tail.line();
    const auto result =
        reader.tail.read([&](std::string_view line) { take_from_file(reader, line); }, most);
    reader.behind = result.more;
    if (reader.tail.line() != before) reader.grown = steady_();
    if (reader.tail.cut() && !std::exchange(reader.told_cut, true)) note_cut(reader);
    if (result.too_long > 0) report_error(reader, "a journal line is too long and was left out");
    return result.bytes;
  } catch (const db::Error&) {
    throw;
  } catch (const DiskHangs&) {
    throw;
  } catch (const std::exception& error) {
    reader.behind = false;
    report_error(reader, std::string("the journal cannot be read: ") + error.what());
    return 0;
  }
}

void Ingest::note_cut(JournalReader& reader) {
  const std::string text = fmt::format(
      "the journal is longer than {} MiB, the limit: from here on only its newest lines "
      "are read now and then",
      limits_.journal_bytes >> 20);
  log::warning(reader.id.to_string() + ": " + text, {.id = reader.id});
  notes_.push_back(new_event(now_(), reader.id, event::Note{"warning", text}));
}

/// Some `bytes` of it, as far as there are.
std::uint64_t Ingest::read_on(JournalReader& reader, std::uint64_t bytes) {
  std::uint64_t done = 0;
  do
    done += read_block(reader, bytes - done);
  while (reader.behind && done < bytes);
  if (std::exchange(reader.resumes, false))
    for (std::int64_t number = 1; number < reader.id.attempt; ++number)
      if (const auto row = store_.attempt({reader.id.sweep, reader.id.trial, number}))
        add_past(*row);
  return done;
}

/// Each gets its part of the turn, and those that have more share what others left.
void Ingest::read_turn(Readers& readers) {
  std::vector<JournalReader*> behind;
  for (auto& [id, reader] : readers)
    behind.push_back(&reader);
  for (std::uint64_t left = limits_.turn_bytes; left > 0 && !behind.empty();) {
    const std::uint64_t part = std::max(limits_.least_bytes, left / behind.size());
    for (JournalReader* reader : behind)
      left -= std::min(left, read_on(*reader, part));
    std::erase_if(behind, [](const JournalReader* reader) { return !reader->behind; });
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
    read_turn(readers_);
    read_turn(past_);
  } catch (const DiskHangs&) {
    // The rest is read when it answers again.
  }
  for (const auto& [id, reader] : readers_)
    if (reader.next > reader.committed + 1) news.push_back(id);
  commit();
  forget_quiet();
  return news;
}

void Ingest::forget_quiet() {
  std::erase_if(past_, [&](const auto& past) {
    const JournalReader& reader = past.second;
    const bool over =
        reader.tail.cut() || (!reader.behind && steady_() - reader.grown > past_quiet_s);
    return reader.next == reader.committed + 1 && over;
  });
}

bool Ingest::drain(const Id& attempt) {
  JournalReader* reader = find(attempt);
  if (reader == nullptr) return true;
  const std::uint64_t part =
      std::max(limits_.least_bytes, limits_.turn_bytes / (readers_.size() + past_.size()));
  read_on(*reader, part);
  bool behind = reader->behind;
  if (!behind && reader->odd) settle_odd(*reader, nullptr);
  for (auto& [id, past] : past_) {
    if (id.sweep != attempt.sweep || id.trial != attempt.trial) continue;
    read_on(past, part);
    behind = behind || past.behind;
  }
  commit();
  return !behind;
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
  const auto write = [&] {
    for (std::size_t i = 0; i < full.size(); ++i) {
      const JournalReader& reader = *full[i];
      taken[i] = store_.add_points(reader.id, reader.committed + 1, reader.next - 1, reader.points);
      if (taken[i] && reader.start_is_new) store_.put_start(reader.id, reader.start->record);
      if (taken[i] && reader.ranks) store_.put_ranks(reader.id, *reader.ranks);
      fault::pass("in_ingest");
    }
    for (const auto& note : notes_)
      store_.append_event(note);
  };
  store_.transaction(write, db::Sync::later);  // the journals have it all
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
