#include "tests/engine/train/support.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <thread>

#include "engine/sync/emulate.h"
#include "engine/train/checkpoint.h"
#include "engine/train/describe_failure.h"
#include "engine/train/options.h"
#include "jobspec/complete.h"
#include "jobspec/schema.h"
#include "tests/support/memory_transport.h"

namespace thalweg::engine {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;

jobspec::Trial tiny_trial() {
  jobspec::Trial trial;
  trial.seed = 7;
  trial.train = Map{
      {"model", Map{{"name", "mlp"}, {"hidden", List{12}}, {"batch_norm", true}, {"dropout", 0.2}}},
      {"data", Map{{"name", "synthetic"}, {"samples", 528}, {"validation", 48}, {"noise", 1.5}}},
      {"batch", Map{{"global", 24}}},
      {"epochs", 3},
      {"optimizer", Map{{"name", "adamw"}, {"lr", 0.01}}},
      {"schedule", Map{{"decay", "cosine"}}},
      {"log", Map{{"every", 6}}},
      {"device", "reference"}};
  return trial;
}

std::vector<RankEnd> run_ranks(const jobspec::Trial& trial, const std::filesystem::path& folder,
                               int ranks, const StopFlag& stop,
                               const std::function<void(int rank)>& prepare) {
  std::filesystem::create_directories(folder);
  const Value config = complete_for(trial.train, ranks, train_schema(), "trial.yaml");
  auto transports = comm::memory_transports(ranks);
  std::vector<RankEnd> ends(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      const auto r = static_cast<std::size_t>(rank);
      try {
        if (prepare) prepare(rank);
        comm::GroupOptions options = group_options(*config.find("sync"));
        options.links = read_emulation(*config.find("emulate")).links(ranks);
        comm::Group group(std::move(transports[r]), std::move(options));
        ends[r].outcome = run_attempt({trial, config, folder, group, stop});
      } catch (...) {
        ends[r].threw = true;
        ends[r].failure = describe_failure(std::current_exception(), rank, "here");
      }
    });
  for (std::thread& t : threads)
    t.join();
  return ends;
}

void run_to_end(const jobspec::Trial& trial, const std::filesystem::path& folder, int ranks) {
  const StopFlag never;
  for (const RankEnd& end : run_ranks(trial, folder, ranks, never)) {
    EXPECT_FALSE(end.threw) << end.failure.reason;
    EXPECT_EQ(end.outcome.code, ExitCode::finished) << end.outcome.reason;
  }
}

void keep_only(const std::filesystem::path& folder, std::int64_t step) {
  const std::string kept = checkpoint_name(step).stem().string() + ".";  // its slices too
  for (const auto& entry : std::filesystem::directory_iterator(folder / "checkpoints"))
    if (!entry.path().filename().string().starts_with(kept)) std::filesystem::remove(entry.path());
}

std::vector<Value> read_journal(const std::filesystem::path& folder) {
  std::vector<Value> lines;
  std::ifstream in(folder / "journal.jsonl");
  for (std::string line; std::getline(in, line);)
    lines.push_back(jobspec::read_yaml(line, "journal.jsonl"));
  return lines;
}

std::vector<Value> lines_of(const std::vector<Value>& journal, const char* type) {
  std::vector<Value> found;
  for (const Value& line : journal)
    if (line.find("type")->as_string() == type) found.push_back(line);
  return found;
}

std::vector<std::string> curve(const std::vector<std::filesystem::path>& folders) {
  std::map<std::pair<std::string, std::int64_t>, std::string> points;
  for (const auto& folder : folders)
    for (const Value& line : lines_of(read_journal(folder), "metrics"))
      for (const Value& point : line.find("points")->as_list()) {
        const List& p = point.as_list();
        if (p[0].as_string().starts_with("perf/")) continue;
        points[{p[0].as_string(), p[1].as_int()}] = p[2].to_json();
      }
  std::vector<std::string> lines;
  for (const auto& [key, value] : points)
    lines.push_back(key.first + " " + std::to_string(key.second) + " " + value);
  return lines;
}

std::string complaint(const std::filesystem::path& file) {
  try {
    read_checkpoint(file);
  } catch (const BadCheckpoint& e) {
    return e.what();
  }
  return "accepted";
}

std::vector<std::string> without_rounds(std::vector<std::string> points) {
  std::erase_if(points, [](const std::string& point) {
    return point.starts_with("sync/") || point.starts_with("batch/") || point.starts_with("noise/");
  });
  return points;
}

}  // namespace thalweg::engine
