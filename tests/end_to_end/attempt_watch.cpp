// Processes are found by their command lines, which name the attempt's folder; progress is what the
// journal says beside notes, since a warning of a stall is none.
#include "tests/end_to_end/attempt_watch.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace thalweg::test {

namespace fs = std::filesystem;

namespace {

bool is_stopped(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(in, text);
  const auto state = text.rfind(") ");
  return state != std::string::npos && state + 2 < text.size() && text[state + 2] == 'T';
}

}  // namespace

AttemptWatch::AttemptWatch(SweepHome& home, const Cluster& cluster)
    : home_(home), cluster_(cluster), thread_([this] {
        while (!end_) {
          look();
          sleep_for(milliseconds(250));
        }
      }) {}

AttemptWatch::~AttemptWatch() {
  end_ = true;
  thread_.join();
}

std::vector<std::string> AttemptWatch::overlaps(double seconds) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> result;
  for (const auto& [who, time] : together_)
    if (time > seconds) result.push_back(who + " for " + std::to_string(time) + " s");
  return result;
}

std::vector<Silence> AttemptWatch::silences() {
  const std::lock_guard lock(mutex_);
  std::vector<Silence> result;
  for (const auto& [attempt, silence] : silences_)
    result.push_back(silence);
  return result;
}

void AttemptWatch::look() {
  const Attempts live = live_attempts();
  look_for_overlaps(live);
  look_for_progress(live);
}

AttemptWatch::Attempts AttemptWatch::live_attempts() {
  Attempts live;
  const std::string runs = (home_.home() / "runs").string() + "/";
  for (const pid_t pid : home_.engines()) {
    const std::string line = command_line(pid);
    const auto at = line.find(runs);
    if (at == std::string::npos) continue;
    std::istringstream words(line.substr(at + runs.size()));
    std::string sweep, trial, attempt;
    std::getline(words, sweep, '/');
    std::getline(words, trial, '/');
    std::getline(words, attempt, '/');
    live[sweep + "/" + trial + "/" + attempt].push_back(pid);
  }
  return live;
}

void AttemptWatch::look_for_overlaps(const Attempts& live) {
  std::map<std::string, std::vector<std::string>> trials;
  for (const auto& [attempt, ranks] : live)
    trials[attempt.substr(0, attempt.rfind('/'))].push_back(attempt);
  const auto now = Clock::now();
  std::set<std::string> seen;
  for (const auto& [trial, attempts] : trials) {
    if (attempts.size() < 2) continue;
    std::string who;
    for (const std::string& attempt : attempts)
      who += (who.empty() ? "" : " beside ") + attempt;
    seen.insert(who);
    since_.try_emplace(who, now);
    const double seconds = std::chrono::duration<double>(now - since_[who]).count();
    const std::lock_guard lock(mutex_);
    together_[who] = std::max(together_[who], seconds);
  }
  std::erase_if(since_, [&](const auto& entry) { return !seen.count(entry.first); });
}

void AttemptWatch::look_for_progress(const Attempts& live) {
  const auto now = Clock::now();
  const auto wall = std::chrono::steady_clock::now();
  const std::set<pid_t> cut = cut_off();
  for (const auto& [attempt, ranks] : live) {
    const auto [it, is_new] = seen_.try_emplace(attempt);
    Seen& seen = it->second;
    const bool disturbed = std::any_of(ranks.begin(), ranks.end(), [&](pid_t rank) {
      return cut.count(rank) > 0 || is_stopped(rank);
    });
    if (is_new) seen.looked = now, seen.looked_wall = wall;
    const bool starts = seen.silence.after.empty() && ranks.size() > seen.ranks;
    if (goes_on(attempt, seen) || starts) seen.silence.seconds = seen.silence.wall_s = 0;
    if (!disturbed && !seen.disturbed) {
      seen.silence.seconds += std::chrono::duration<double>(now - seen.looked).count();
      seen.silence.wall_s += std::chrono::duration<double>(wall - seen.looked_wall).count();
    }
    seen.silence.attempt = attempt;
    seen.ranks = ranks.size();
    seen.disturbed = disturbed;
    seen.looked = now;
    seen.looked_wall = wall;
    const std::lock_guard lock(mutex_);
    Silence& longest = silences_[attempt];
    if (seen.silence.seconds >= longest.seconds) longest = seen.silence;
  }
  std::erase_if(seen_, [&](const auto& entry) { return !live.count(entry.first); });
}

std::set<pid_t> AttemptWatch::cut_off() const {
  std::set<pid_t> ranks;
  for (int node = 1; node <= cluster_.nodes(); ++node)
    if (!cluster_.has_link(node))
      for (const pid_t pid : cluster_.processes("thalweg-train", node))
        ranks.insert(pid);
  return ranks;
}

fs::path AttemptWatch::journal_of(const std::string& attempt) const {
  return home_.home() / "runs" / attempt / "journal.jsonl";
}

bool AttemptWatch::goes_on(const std::string& attempt, Seen& seen) const {
  std::ifstream in(journal_of(attempt));
  in.seekg(seen.read);
  bool result = false;
  std::string text;
  while (std::getline(in, text) && !in.eof()) {  // no newline: unfinished
    seen.read += static_cast<std::streamoff>(text.size() + 1);
    const auto line = nlohmann::json::parse(text, nullptr, false);
    const std::string type = line.is_object() ? line.value("type", "") : "";
    if (type == "note") continue;
    seen.silence.after = type;
    result = true;
  }
  return result;
}

}  // namespace thalweg::test
