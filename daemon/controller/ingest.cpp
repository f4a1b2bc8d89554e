#include "daemon/controller/ingest.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "daemon/controller/fault.h"
#include "daemon/controller/log.h"
#include "daemon/state/events.h"

namespace thalweg::daemon {

namespace {

constexpr std::int64_t largest_gap =
    1'000'000;  ///< a number further ahead is a broken line, not a gap

}  // namespace

void Ingest::add(const db::AttemptRow& attempt) {
  feeds_.try_emplace(attempt.id, attempt.id, attempt.folder, attempt.journal_lines, disk_);
}

void Ingest::remove(const Id& attempt) {
  feeds_.erase(attempt);
}

Feed* Ingest::find(const Id& attempt) {
  const auto it = feeds_.find(attempt);
  return it == feeds_.end() ? nullptr : &it->second;
}

void Ingest::complain(Feed& feed, const std::string& text) {
  if (std::exchange(feed.complained, true)) return;
  log::warning(feed.id.to_string() + ": " + text);
  notes_.push_back({0, now_(), std::string(kind::note), feed.id,
                    nlohmann::json{{"level", "warning"}, {"text", text}}.dump()});
}

void Ingest::take_line(Feed& feed, JournalLine& line) {
  switch (line.type) {
    case JournalLine::Type::start:
      feed.start = line.start;
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
        notes_.push_back({0, line.time, std::string(kind::note), feed.id,
                          nlohmann::json{{"level", line.level}, {"text", line.text}}.dump(
                              -1, ' ', false, nlohmann::json::error_handler_t::replace)});
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
    case JournalLine::Type::other:
      break;
  }
  feed.next = std::max(feed.next, line.n + 1);
}

void Ingest::take(Feed& feed, std::string_view text, bool from_file) {
  // After a restart, and after pushes, most lines are known: metrics among them need no parsing.
  if (const LineGlance look = glance(text); look.metrics && look.n > 0 && look.n < feed.next)
    return;
  auto line = parse_journal_line(text);
  if (!line || line->n > feed.next + largest_gap) {
    complain(feed, fmt::format("a line of the {} is malformed and was left out: {}",
                               from_file ? "journal" : "push", text.substr(0, 120)));
    return;
  }
  // How an attempt ended is believed only from its folder.
  if (!from_file && line->type == JournalLine::Type::end) return;
  if (line->n > feed.next) {
    if (!from_file) return;
    complain(feed, fmt::format("journal lines {} to {} are missing", feed.next, line->n - 1));
  }
  take_line(feed, *line);
}

bool Ingest::read_block(Feed& feed) {
  const auto result = feed.tail.read([&](std::string_view line) { take(feed, line, true); });
  if (result.too_long > 0) complain(feed, "a journal line is too long and was left out");
  return result.more;
}

Ingest::Pushed Ingest::push(const Id& attempt, std::string_view lines) {
  Feed* feed = find(attempt);
  if (feed == nullptr) return {};
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    if (end == std::string_view::npos) break;  // an unfinished line is not read, as in the file
    if (end > 0) take(*feed, lines.substr(0, end), false);
    lines.remove_prefix(end + 1);
  }
  return {feed->next, feed->next > feed->committed + 1};
}

std::vector<Id> Ingest::tick() {
  std::vector<Id> news;
  try {
    for (auto& [id, feed] : feeds_)
      read_block(feed);
  } catch (const DiskHangs&) {
    // The rest is read when it answers again.
  }
  for (const auto& [id, feed] : feeds_)
    if (feed.next > feed.committed + 1) news.push_back(id);
  commit();
  return news;
}

void Ingest::drain(const Id& attempt) {
  Feed* feed = find(attempt);
  if (feed == nullptr) return;
  while (read_block(*feed))
    commit();
  commit();
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
  for (auto& [id, feed] : feeds_)
    if (feed.next > feed.committed + 1) full.push_back(&feed);
  if (full.empty() && notes_.empty()) return;
  std::vector<bool> taken(full.size());
  store_.transaction([&] {
    for (std::size_t i = 0; i < full.size(); ++i) {
      const Feed& feed = *full[i];
      taken[i] = store_.add_points(feed.id, feed.committed + 1, feed.next - 1, feed.points);
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
    if (taken[i])
      feed.committed = feed.next - 1;
    else
      reload(feed);
  }
  if (first) fault::pass("first_metrics");
}

}  // namespace thalweg::daemon
