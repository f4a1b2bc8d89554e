#include "tests/end_to_end/sweep_home.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>

namespace thalweg::test {

namespace fs = std::filesystem;
using nlohmann::json;

SweepHome::SweepHome(std::map<std::string, std::string> env) : env_(std::move(env)) {
  env_["THALWEG_HOME"] = home().string();
}

SweepHome::~SweepHome() {
  thalweg({"daemon", "stop"}, milliseconds(20000));
  const std::string mine = "THALWEG_HOME=" + home().string();
  eventually([&] {
    const auto left = processes_with_environment(mine);
    for (const pid_t pid : left)
      kill(pid, SIGKILL);
    return left.empty();
  });
}

Outcome SweepHome::thalweg(std::vector<std::string> arguments, milliseconds deadline,
                           std::map<std::string, std::string> more_env) {
  arguments.insert(arguments.begin(), "thalweg");
  RunOptions options = run_options(deadline);
  for (auto& [key, value] : more_env)
    options.env[key] = value;
  return run(arguments, options);
}

Outcome SweepHome::shell(const std::string& line, milliseconds deadline) {
  return run({"sh", "-c", line}, run_options(deadline));
}

RunOptions SweepHome::run_options(milliseconds deadline) const {
  RunOptions options;
  options.env = env_;
  options.directory = dir_.path();
  options.deadline = deadline;
  return options;
}

json SweepHome::json(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  const Outcome outcome = thalweg(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto parsed = json::parse(outcome.out, nullptr, false);
  EXPECT_FALSE(parsed.is_discarded()) << outcome.out;
  return parsed;
}

json SweepHome::query(const std::string& sql) {
  return json({"query", sql, "--max-rows", "10000000"});
}

std::string SweepHome::submit(const std::string& text, const std::string& backend,
                              std::map<std::string, std::string> more_env) {
  write_file(dir_.path() / "sweep.yaml", text);
  const Outcome outcome = thalweg({"submit", "sweep.yaml", "--backend", backend, "--json"},
                                  milliseconds(60000), std::move(more_env));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  const auto parsed = json::parse(outcome.out, nullptr, false);
  if (outcome.code != 0 || parsed.is_discarded()) return {};
  return parsed["id"];
}

bool SweepHome::wait_for_end(const std::string& sweep, milliseconds deadline) {
  return eventually(
      [&] {
        const Outcome outcome = thalweg({"show", sweep, "--json"});
        const auto shown = json::parse(outcome.out, nullptr, false);
        if (outcome.code != 0 || shown.is_discarded()) return false;
        if (shown["state"] != "active") return true;
        sleep_for(milliseconds(200));
        return false;
      },
      deadline);
}

bool SweepHome::is_active(const std::string& sweep) {
  const auto shown = json::parse(thalweg({"show", sweep, "--json"}).out, nullptr, false);
  return shown.is_discarded() || shown["state"] == "active";
}

Curves SweepHome::curves(const std::string& sweep) {
  // Not by SQL: SQLite reads about one number in 30,000 one unit in the last place off.
  Curves curves;
  const auto names = query("SELECT DISTINCT trial, metric FROM metrics WHERE sweep = " + sweep +
                           " AND metric NOT LIKE 'perf/%'");
  for (const auto& row : names["rows"]) {
    const std::int64_t trial = row[0];
    const std::string metric = row[1];
    const auto answer =
        json({"curve", sweep + "." + std::to_string(trial), metric, "--points", "0"});
    for (const auto& point : answer["points"])
      curves[{trial, metric, point[0].get<std::int64_t>()}] = point[1].dump();
  }
  return curves;
}

pid_t SweepHome::controller() {
  for (const pid_t pid : processes_with_environment("THALWEG_HOME=" + home().string()))
    if (command_line(pid).find("thalwegd") != std::string::npos) return pid;
  return 0;
}

std::vector<pid_t> SweepHome::engines(const std::string& sweep) {
  const std::string runs = (home() / "runs" / sweep).string() + (sweep.empty() ? "" : "/");
  std::vector<pid_t> found;
  for (const char* program : {"thalweg-train", "thalweg-attempt"})
    for (const pid_t pid : processes_named(program))
      if (command_line(pid).find(runs) != std::string::npos) found.push_back(pid);
  return found;
}

bool SweepHome::has_checkpoint(const std::string& sweep) {
  std::error_code gone;  // folders come and go while we look
  for (auto it = fs::recursive_directory_iterator(home() / "runs" / sweep, gone);
       it != fs::recursive_directory_iterator(); it.increment(gone)) {
    if (gone) return false;
    if (it->path().parent_path().filename() == "checkpoints" && it->path().extension() != ".tmp")
      return true;
  }
  return false;
}

fs::path SweepHome::attempt_folder(const std::string& id) {
  return json({"show", id})["folder"].get<std::string>();
}

namespace {

/// Trial, attempt, metric, step, and the value rounded to 12 digits: SQLite's reading of a number
/// may be one unit in the last place off. Equality to the last bit is what curves() is for.
using PointRow = std::tuple<std::int64_t, std::int64_t, std::string, std::int64_t, std::string>;

std::string rounded(const json& value) {
  if (!value.is_number()) return value.dump();
  char text[32];
  std::snprintf(text, sizeof text, "%.12g", value.get<double>());
  return text;
}

/// The points of one journal; checks that its lines count up without gaps and that it started once.
void read_journal(const fs::path& file, std::int64_t trial, std::int64_t attempt,
                  std::multiset<PointRow>& points) {
  std::ifstream in(file);
  std::string text;
  std::int64_t expected = 1;
  int starts = 0;
  while (std::getline(in, text)) {
    if (in.eof()) break;  // no newline: unfinished
    const auto line = json::parse(text, nullptr, false);
    ASSERT_FALSE(line.is_discarded()) << file << ": " << text;
    EXPECT_EQ(line["n"].get<std::int64_t>(), expected++) << file;
    if (line["type"] == "start") ++starts;
    if (line["type"] == "metrics")
      for (const auto& point : line["points"])
        points.insert({trial, attempt, point[0].get<std::string>(), point[1].get<std::int64_t>(),
                       rounded(point[2])});
  }
  EXPECT_LE(starts, 1) << file << ": this attempt ran twice";
}

}  // namespace

void expect_same_curves(const std::string& sweep, const Curves& wanted, const Curves& found) {
  EXPECT_GT(wanted.size(), 100u);
  EXPECT_EQ(found.size(), wanted.size()) << "sweep " << sweep << ": points missing or added";
  for (const auto& [key, value] : wanted) {
    const auto it = found.find(key);
    EXPECT_TRUE(it != found.end() && it->second == value)
        << sweep << "." << std::get<0>(key) << " " << std::get<1>(key) << " at step "
        << std::get<2>(key) << ": " << (it == found.end() ? "missing" : it->second) << " for "
        << value;
    if (it == found.end() || it->second != value) break;  // one says enough
  }
}

void SweepHome::expect_nothing_lost_or_doubled(const std::string& sweep) {
  const auto shown = json({"show", sweep});
  for (const auto& trial : shown["trials"])
    EXPECT_EQ(trial["state"], "finished") << trial.dump(2);
  expect_record_is_the_journals(sweep);
}

void SweepHome::expect_record_is_the_journals(const std::string& sweep) {
  std::multiset<PointRow> in_journals, in_database;
  const auto attempts = query("SELECT trial, attempt, folder FROM attempts WHERE sweep = " + sweep);
  for (const auto& row : attempts["rows"]) {
    const fs::path journal = fs::path(row[2].get<std::string>()) / "journal.jsonl";
    if (fs::exists(journal)) read_journal(journal, row[0], row[1], in_journals);
  }
  const auto stored =
      query("SELECT trial, attempt, metric, step, value FROM metrics WHERE sweep = " + sweep +
            " UNION ALL SELECT trial, attempt, metric, step, value FROM replaced_metrics"
            " WHERE sweep = " +
            sweep);
  for (const auto& row : stored["rows"])
    in_database.insert({row[0].get<std::int64_t>(), row[1].get<std::int64_t>(),
                        row[2].get<std::string>(), row[3].get<std::int64_t>(), rounded(row[4])});
  EXPECT_FALSE(in_journals.empty());
  EXPECT_EQ(in_journals.size(), in_database.size()) << "points lost or doubled";
  EXPECT_TRUE(in_journals == in_database) << "the database differs from the journals";
}

std::string TinySweep::text() const {
  return "name: tiny\n"
         "method: grid\n"
         "metric: {name: val/error, goal: minimize, target: 0.9}\n"
         "seeds: " +
         std::to_string(seeds) +
         "\n"
         "parameters:\n" +
         varied +
         "train:\n"
         "  model: {name: mlp, hidden: [32]}\n"
         "  data: {name: fashion-mnist}\n"
         "  batch: {global: 64}\n"
         "  steps: " +
         std::to_string(steps) +
         "\n"
         "  log: {every: 5}\n"
         "  checkpoint: {every: 10}\n" +
         train + "resources: {nodes: " + std::to_string(nodes) +
         ", ranks_per_node: " + std::to_string(ranks_per_node) + ", time: \"00:05:00\"}\n" + extra;
}

}  // namespace thalweg::test
