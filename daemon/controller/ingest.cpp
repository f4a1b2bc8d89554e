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
  feeds_.try_emplace(attempt.id, attempt.id, attempt.folder, attempt.journal_lines, disk_);
}

void Ingest::remove(const Id& attempt) {
  auto removed = feeds_.extract(attempt);
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
      if (glance(text).metrics) return;
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

Feed* Ingest::find(const Id& attempt) {
  const auto it = feeds_.find(attempt);
  return it == feeds_.end() ? nullptr : &it->second;
}

void Ingest::complain(Feed& feed, const std::string& text) {
  if (std::exchange(feed.complained, true)) return;
  log::warning(feed.id.to_string() + ": " + text);
  notes_.push_back(new_event(now_(), feed.id, event::Note{"warning", text}));
}

void Ingest::malformed(Feed& feed, std::string_view where, std::string_view line) {
  complain(feed, fmt::format("a line of the {} is malformed and was left out: {}", where,
                             line.substr(0, 120)));
}

void Ingest::take_line(Feed& feed, JournalLine& line) {
  feed.newest = std::max(feed.newest, line.time);
  switch (line.type) {
    case JournalLine::Type::start:
      feed.start = line.start;
      feed.start_is_new = feed.start_is_new || line.n >= feed.next;
      if (feed.started == 0) feed.started = line.time;
      feed.end.reset();  // it runs again in the same folder
      // What earlier attempts wrote after they had ended: this one stands on it.
      if (line.start.resumed_step > 0)
        for (std::int64_t number = 1; number < feed.id.attempt; ++number)
          if (const auto row = store_.attempt({feed.id.sweep, feed.id.trial, number}))
            add_past(*row);
      break;
    case JournalLine::Type::checkpoint:
      feed.checkpoint_step = std::max(feed.checkpoint_step, line.step);
      break;
    case JournalLine::Type::end:
      feed.end = line.end;
      feed.end_seen = now_();
      feed.end_heard = steady_();
      break;
    case JournalLine::Type::note:
      if (line.n >= feed.next)
        notes_.push_back(new_event(line.time, feed.id, event::Note{line.level, line.text}));
      break;
    case JournalLine::Type::metrics:
      if (line.n < feed.next) break;
      if (!line.points.empty()) {
        feed.last_step = line.points.front().step;
        feed.last_time = line.time;
        if (feed.first_time == 0) {
          feed.first_step = feed.last_step;
          feed.first_time = line.time;
        }
      }
      std::move(line.points.begin(), line.points.end(), std::back_inserter(feed.points));
      break;
    case JournalLine::Type::ranks:
      if (line.n >= feed.next) feed.ranks = std::move(line.ranks);
      break;
    case JournalLine::Type::other:
      break;
  }
  feed.next = std::max(feed.next, line.n + 1);
}

void Ingest::accept(Feed& feed, JournalLine& line) {
  if (line.n > feed.next)
    complain(feed, fmt::format("journal lines {} to {} are missing", feed.next, line.n - 1));
  take_line(feed, line);
}

/// Why a line's number did not follow the one before: lines are missing (then the next one goes on
/// from it), it does not belong there (the next one goes on from the one before), or the number
/// itself is wrong. Nothing is skipped on the word of a single line.
void Ingest::settle_odd(Feed& feed, const JournalLine* following) {
  JournalLine odd = *std::exchange(feed.odd, {});
  if (following != nullptr && following->n == odd.n + 1 && odd.n <= feed.next + largest_gap) {
    feed.number = odd.n;
    accept(feed, odd);
    return;
  }
  if (following != nullptr && following->n == feed.number + 1) {
    complain(feed, fmt::format("a line of the journal calls itself line {} between lines {} and {} "
                               "and was left out",
                               odd.n, feed.number, following->n));
    return;
  }
  feed.number += 1;
  if (feed.number >= feed.next)
    complain(feed, fmt::format("journal line {} calls itself line {}", feed.number, odd.n));
  odd.n = feed.number;
  accept(feed, odd);
}

void Ingest::take_from_file(Feed& feed, std::string_view text) {
  const std::int64_t place = feed.tail.line();
  if (place <= feed.place) {  // the file is read from its start again
    feed.number = feed.place = 0;
    feed.odd.reset();
  }
  feed.number += place - feed.place - 1;  // lines too long to be read had numbers too
  feed.place = place;
  // After a restart, and after pushes, most lines are known: metrics among them need no parsing.
  if (const LineGlance look = glance(text);
      look.metrics && !feed.odd && look.n == feed.number + 1 && look.n < feed.next) {
    feed.number = look.n;
    feed.newest = std::max(feed.newest, look.time);
    return;
  }
  auto line = parse_journal_line(text);
  if (feed.odd) settle_odd(feed, line ? &*line : nullptr);
  if (!line) {
    feed.number += 1;
    if (feed.number >= feed.next) malformed(feed, "journal", text);
  } else if (line->n == feed.number + 1) {
    feed.number = line->n;
    accept(feed, *line);
  } else {
    feed.odd = std::move(line);
  }
}

void Ingest::take_pushed(Feed& feed, std::string_view text) {
  if (const LineGlance look = glance(text); look.n > 0 && look.n != feed.next) return;
  auto line = parse_journal_line(text);
  if (!line) return malformed(feed, "push", text);
  // How an attempt ended is believed only from its folder.
  if (line->n == feed.next && line->type != JournalLine::Type::end) take_line(feed, *line);
}

/// Whatever an attempt's folder holds, it is that attempt's trouble and nobody else's.
bool Ingest::read_block(Feed& feed) {
  try {
    const std::int64_t before = feed.tail.line();
    const auto result = feed.tail.read([&](std::string_view line) { take_from_file(feed, line); });
    if (feed.tail.line() != before) feed.grown = steady_();
    if (result.too_long > 0) complain(feed, "a journal line is too long and was left out");
    return result.more;
  } catch (const db::Error&) {
    throw;
  } catch (const DiskHangs&) {
    throw;
  } catch (const std::exception& error) {
    complain(feed, std::string("the journal cannot be read: ") + error.what());
    return false;
  }
}

Ingest::Pushed Ingest::push(const Id& attempt, std::string_view lines) {
  Feed* feed = find(attempt);
  if (feed == nullptr) return {};
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    if (end == std::string_view::npos) break;  // an unfinished line is not read, as in the file
    if (end > 0) take_pushed(*feed, lines.substr(0, end));
    lines.remove_prefix(end + 1);
  }
  return {feed->next, feed->next > feed->committed + 1};
}

std::vector<Id> Ingest::tick() {
  std::vector<Id> news;
  try {
    for (auto& [id, feed] : feeds_)
      read_block(feed);
    read_past();
  } catch (const DiskHangs&) {
    // The rest is read when it answers again.
  }
  for (const auto& [id, feed] : feeds_)
    if (feed.next > feed.committed + 1) news.push_back(id);
  commit();
  return news;
}

/// To their present ends, before anything of their successors goes on.
void Ingest::read_past() {
  for (auto& [id, feed] : past_)
    while (read_block(feed))
      commit();
  std::erase_if(past_, [&](const auto& past) {
    const Feed& feed = past.second;
    return feed.next == feed.committed + 1 && steady_() - feed.grown > past_quiet_s;
  });
}

void Ingest::drain(const Id& attempt) {
  Feed* feed = find(attempt);
  if (feed == nullptr) return;
  for (bool more = true; more;) {
    more = read_block(*feed);
    if (!more && feed->odd) settle_odd(*feed, nullptr);
    read_past();
    commit();
  }
}

/// The database has another idea of what was read than we have: it is right.
void Ingest::reload(Feed& feed) {
  const auto row = store_.attempt(feed.id);
  log::error(
      fmt::format("{}: journal line {} does not follow line {} of the database; reading again",
                  feed.id.to_string(), feed.committed + 1, row ? row->journal_lines : 0));
  feed.committed = row ? row->journal_lines : 0;
  feed.next = feed.committed + 1;
  feed.tail.rewind();
}

void Ingest::commit() {
  std::vector<Feed*> full;
  bool first = false;
  for (auto* feeds : {&past_, &feeds_})
    for (auto& [id, feed] : *feeds)
      if (feed.next > feed.committed + 1) full.push_back(&feed);
  if (full.empty() && notes_.empty()) return;
  std::vector<bool> taken(full.size());
  store_.transaction([&] {
    for (std::size_t i = 0; i < full.size(); ++i) {
      const Feed& feed = *full[i];
      taken[i] = store_.add_points(feed.id, feed.committed + 1, feed.next - 1, feed.points);
      if (taken[i] && feed.start_is_new) store_.put_start(feed.id, feed.start->record);
      if (taken[i] && feed.ranks) store_.put_ranks(feed.id, *feed.ranks);
      fault::pass("in_ingest");
    }
    for (const auto& note : notes_)
      store_.append_event(note);
  });
  notes_.clear();
  for (std::size_t i = 0; i < full.size(); ++i) {
    Feed& feed = *full[i];
    if (!feed.points.empty()) first = !std::exchange(feed.any_points, true) || first;
    feed.points.clear();
    if (taken[i]) {
      feed.committed = feed.next - 1;
      feed.start_is_new = false;
      feed.ranks.reset();
    } else {
      reload(feed);
    }
  }
  if (first) fault::pass("first_metrics");
}

}  // namespace thalweg::daemon
