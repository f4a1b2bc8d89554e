// A sweep on a Slurm cluster while everything around it is killed, stopped and misled: every trial
// must end rightly, no attempt may run beside its successor, curves must be those of an undisturbed
// run (where a mode is asynchronous: complete), and nothing may stay behind.
//
// THALWEG_DISTURB_SEED asks for other draws, THALWEG_DISTURB_COUNT says how many disturbances,
// THALWEG_DISTURB_KIND keeps those kinds only whose name holds this text.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "tests/end_to_end/cluster.h"
#include "tests/end_to_end/disturbances.h"
#include "tests/end_to_end/sweep_home.h"

namespace thalweg::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kNodes = 6;
constexpr std::size_t kCount = 60;  ///< disturbances that really happened
constexpr std::size_t kModesCount = 15;
constexpr double kFencedWithin_s = 10;  ///< an attempt may run beside its successor for so long

std::string setting(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : fallback;
}

/// Looks which attempts of which trials have live ranks, a few times a second.
class Watch {
 public:
  explicit Watch(SweepHome& home) : home_(home), thread_([this] { look_on(); }) {}
  ~Watch() {
    end_ = true;
    thread_.join();
  }

  /// Of every pair of attempts that ran at the same time longer than allowed: who, and for how
  /// long.
  std::vector<std::string> overlaps() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> result;
    for (const auto& [who, seconds] : longest_)
      if (seconds > kFencedWithin_s)
        result.push_back(who + " for " + std::to_string(seconds) + " s");
    return result;
  }

 private:
  void look_on() {
    while (!end_) {
      look();
      sleep_for(milliseconds(250));
    }
  }

  void look() {
    std::map<std::string, std::set<std::string>> live;  // trial -> attempts
    for (const pid_t pid : home_.engines()) {
      const std::string line = command_line(pid), runs = (home_.home() / "runs").string() + "/";
      const auto at = line.find(runs);
      if (at == std::string::npos) continue;
      std::istringstream words(line.substr(at + runs.size()));
      std::string sweep, trial, attempt;
      std::getline(words, sweep, '/');
      std::getline(words, trial, '/');
      std::getline(words, attempt, '/');
      live[sweep + "." + trial].insert(attempt);
    }
    const auto now = Clock::now();
    std::set<std::string> seen;
    for (const auto& [trial, attempts] : live) {
      if (attempts.size() < 2) continue;
      std::string who = trial + ":";
      for (const std::string& attempt : attempts)
        who += " " + attempt;
      seen.insert(who);
      since_.try_emplace(who, now);
      const double seconds = std::chrono::duration<double>(now - since_[who]).count();
      const std::lock_guard lock(mutex_);
      longest_[who] = std::max(longest_[who], seconds);
    }
    std::erase_if(since_, [&](const auto& entry) { return !seen.count(entry.first); });
  }

  SweepHome& home_;
  std::map<std::string, Clock::time_point> since_;
  std::map<std::string, double> longest_;
  std::mutex mutex_;
  std::atomic<bool> end_{false};
  std::thread thread_;
};

/// Every kind once in random order, then again.
class Deck {
 public:
  explicit Deck(std::mt19937& random) : random_(random) {
    const std::string only = setting("THALWEG_DISTURB_KIND", "");
    for (const Disturbance& kind : disturbances())
      if (kind.name.find(only) != std::string::npos) kinds_.push_back(&kind);
  }
  bool empty() const { return kinds_.empty(); }
  const Disturbance& draw() {
    if (left_.empty()) {
      left_ = kinds_;
      std::shuffle(left_.begin(), left_.end(), random_);
    }
    const Disturbance* kind = left_.back();
    left_.pop_back();
    return *kind;
  }

 private:
  std::mt19937& random_;
  std::vector<const Disturbance*> kinds_, left_;
};

std::set<std::string> temporary_folders() {
  std::set<std::string> names;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path(), gone))
    if (const auto name = entry.path().filename().string(); name.rfind("thalweg-launch", 0) == 0)
      names.insert(name);
  return names;
}

class Disturbed : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = cluster_.unavailable(); !reason.empty()) GTEST_SKIP() << reason;
    ASSERT_TRUE(cluster_.up(kNodes)) << cluster_.complaint();
  }
  void TearDown() override { cluster_.down(); }

  /// Two nodes a trial, all nodes at work.
  static TinySweep on_all_nodes() {
    TinySweep sweep;
    sweep.nodes = 2;
    sweep.ranks_per_node = 1;
    sweep.steps = 1500;
    sweep.extra =
        "limits: {max_nodes_in_flight: " + std::to_string(kNodes) + ", max_retries: 1000}\n";
    return sweep;
  }

  /// What a person would do who finds the cluster in this state.
  void put_right() {
    const auto node = "NodeName=n[1-" + std::to_string(kNodes) + "]";
    for (int i = 0; i < 3; ++i) {
      cluster_.slurm({"scontrol", "update", node, "State=RESUME"});
      if (cluster_.up(kNodes, milliseconds(90000))) return;
    }
    FAIL() << cluster_.complaint();
  }

  bool is_active(SweepHome& home, const std::string& id) {
    const Outcome shown = home.thalweg({"show", id, "--json"});
    const auto parsed = nlohmann::json::parse(shown.out, nullptr, false);
    return parsed.is_discarded() || parsed["state"] == "active";
  }

  /// Disturbs sweeps of this text, one after the other, and looks how they ended.
  void run(const TinySweep& sweep, std::size_t count);
  void disturb(SweepHome& home, const std::string& text, std::size_t count, std::mt19937& random,
               std::vector<std::string>& sweeps);
  void expect_right_ends(SweepHome& home, const std::string& id, const std::string& reference);
  void expect_complete(SweepHome& home, const std::string& id, std::int64_t trial,
                       const std::string& mode);
  void expect_nothing_left(SweepHome& home, const std::set<std::string>& folders_before);

  Cluster cluster_{"disturbed", {{"THALWEG_CLUSTER_SLURMD_TIMEOUT", "10"}}};
  std::map<std::string_view, int> happened_;
  int by_people_ = 0, cancelled_ = 0;
};

void Disturbed::disturb(SweepHome& home, const std::string& text, std::size_t count,
                        std::mt19937& random, std::vector<std::string>& sweeps) {
  Scene scene{cluster_, home, random};
  Deck deck(random);
  ASSERT_FALSE(deck.empty()) << "THALWEG_DISTURB_KIND fits no kind";
  std::size_t done = 0, tries = 0;
  while (done < count) {
    ASSERT_LT(tries++, 10 * count) << "too little could be disturbed";
    if (sweeps.empty() || !is_active(home, sweeps.back())) {
      sweeps.push_back(home.submit(text, "slurm"));
      ASSERT_FALSE(sweeps.back().empty());
    }
    eventually([&] { return !home.engines().empty(); }, milliseconds(15000));
    sleep_for(milliseconds(std::uniform_int_distribution<int>(0, 2500)(random)));
    const Disturbance& kind = deck.draw();
    const bool did = kind.happen(scene);
    std::cout << (did ? "" : "(nothing to disturb) ") << kind.name << std::endl;
    put_right();
    if (HasFatalFailure()) return;
    if (!did) continue;
    ++done;
    ++happened_[kind.name];
    by_people_ += kind.by_person;
  }
}

void Disturbed::expect_right_ends(SweepHome& home, const std::string& id,
                                  const std::string& reference) {
  std::set<std::int64_t> not_compared;  // cancelled ones, and those whose curves depend on chance
  const auto shown = home.json({"show", id});
  const std::string prefix = id + ".";
  for (const auto& trial : shown["trials"]) {
    const auto number = std::stoll(trial["id"].get<std::string>().substr(prefix.size()));
    const std::string mode = trial["parameters"].value("sync.mode", "sync");
    if (trial["state"] == "cancelled") {
      ++cancelled_;
      not_compared.insert(number);
      continue;
    }
    EXPECT_EQ(trial["state"], "finished") << trial.dump(2);
    if (mode != "async" && mode != "hybrid" && mode != "abs") continue;
    expect_complete(home, id, number, mode);
    not_compared.insert(number);
  }
  home.expect_record_is_the_journals(id);
  Curves wanted = home.curves(reference), found = home.curves(id);
  const auto left_out = [&](const auto& point) {
    return not_compared.count(std::get<0>(point.first)) > 0;
  };
  std::erase_if(wanted, left_out);
  std::erase_if(found, left_out);
  EXPECT_GT(wanted.size(), 100u);
  EXPECT_EQ(found.size(), wanted.size()) << "sweep " << id << ": points missing or added";
  for (const auto& [key, value] : wanted) {
    const auto it = found.find(key);
    EXPECT_TRUE(it != found.end() && it->second == value)
        << id << "." << std::get<0>(key) << " " << std::get<1>(key) << " at step "
        << std::get<2>(key) << ": " << (it == found.end() ? "missing" : it->second) << " for "
        << value;
    if (it == found.end() || it->second != value) break;  // one says enough
  }
}

/// Every step has been made, with finite losses, and the samples are those of as many steps.
void Disturbed::expect_complete(SweepHome& home, const std::string& id, std::int64_t trial,
                                const std::string& mode) {
  const std::string which =
      " FROM metrics WHERE sweep = " + id + " AND trial = " + std::to_string(trial);
  const auto last = home.query("SELECT metric, step, value" + which +
                               " AND metric IN ('val/loss', 'epoch') ORDER BY metric, step DESC");
  ASSERT_FALSE(last["rows"].empty()) << trial;
  const auto steps = static_cast<double>(on_all_nodes().steps);
  std::map<std::string, std::pair<double, double>> ends;  // the first row of each is the last point
  for (const auto& row : last["rows"]) {
    ASSERT_TRUE(row[2].is_number()) << id << "." << trial << ": " << row.dump();
    ends.try_emplace(row[0].get<std::string>(), row[1].get<double>(), row[2].get<double>());
  }
  const auto last_step = ends["val/loss"].first;
  EXPECT_EQ(ends["epoch"].first, last_step) << id << "." << trial;
  if (mode == "abs") {
    // As many samples in fewer, larger updates; the last of them may be larger than what is left.
    EXPECT_LE(last_step, steps) << id << "." << trial;
    EXPECT_GE(ends["epoch"].second, steps / (55000 / 64)) << id << "." << trial;
    return;
  }
  EXPECT_EQ(last_step, steps) << id << "." << trial;
  EXPECT_NEAR(ends["epoch"].second, steps / (55000 / 64), 1e-6) << id << "." << trial;
}

void Disturbed::expect_nothing_left(SweepHome& home, const std::set<std::string>& folders_before) {
  // What died with its whole node's ranks is removed by the next start there.
  TinySweep everywhere;
  everywhere.nodes = kNodes;
  everywhere.ranks_per_node = 1;
  // It takes all nodes; Slurm may drain one a minute after the last disturbance (a step that could
  // not be killed).
  put_right();
  if (HasFatalFailure()) return;
  const std::string id = home.submit(everywhere.text(), "slurm");
  const auto ended = [&] {
    cluster_.resume_drained();
    return home.wait_for_end(id, milliseconds(5000));
  };
  ASSERT_TRUE(eventually(ended, milliseconds(120000)))
      << cluster_.slurm({"sinfo", "-N", "-o", "%N %T %E"}).out << cluster_.slurm({"squeue"}).out;
  EXPECT_TRUE(eventually([&] { return home.engines().empty(); })) << "engines still run";
  for (int node = 1; node <= kNodes; ++node) {
    const auto inside = [&](const std::string& command) {
      return cluster_.command({"on-node", std::to_string(node), "sh", "-c", command}).out;
    };
    EXPECT_EQ(inside("ipcs -m | grep '^0x' || :"), "") << "System V memory on node " << node;
    EXPECT_EQ(inside("ls /dev/shm | grep -E 'thalweg|ucx' || :"), "")
        << "/dev/shm of node " << node;
  }
  std::string left;
  for (const std::string& name : temporary_folders())
    if (!folders_before.count(name)) left += name + " ";
  EXPECT_EQ(left, "") << "temporary folders";
}

void Disturbed::run(const TinySweep& sweep, std::size_t count) {
  const auto seed = static_cast<unsigned>(std::stoul(setting("THALWEG_DISTURB_SEED", "2")));
  std::cout << "THALWEG_DISTURB_SEED=" << seed << std::endl;
  std::mt19937 random(seed);
  const auto folders_before = temporary_folders();
  SweepHome home(cluster_.env());
  fs::create_directories(home.home());
  write_file(home.home() / "config.yaml",
             "retry_backoff: 0.5\nslurm: {poll_interval: 1, file_lag: 2, start_timeout: 60}\n");
  const std::string reference = home.submit(sweep.text(), "local");
  ASSERT_TRUE(home.wait_for_end(reference, milliseconds(240000)));
  home.expect_nothing_lost_or_doubled(reference);

  std::vector<std::string> sweeps;
  {
    Watch watch(home);
    disturb(home, sweep.text(), std::stoul(setting("THALWEG_DISTURB_COUNT", std::to_string(count))),
            random, sweeps);
    if (HasFatalFailure()) return;
    for (const std::string& id : sweeps)
      ASSERT_TRUE(home.wait_for_end(id, milliseconds(300000)))
          << "sweep " << id << " does not end:\n"
          << home.thalweg({"show", id}).out;
    for (const std::string& who : watch.overlaps())
      ADD_FAILURE() << "attempts ran side by side: " << who;
  }
  for (const auto& [name, times] : happened_)
    std::cout << times << " x " << name << std::endl;
  for (const std::string& id : sweeps)
    expect_right_ends(home, id, reference);
  EXPECT_LE(cancelled_, by_people_) << "nobody cancelled so many trials";
  expect_nothing_left(home, folders_before);
}

TEST_F(Disturbed, EveryTrialEndsRightly) {
  TinySweep sweep = on_all_nodes();
  sweep.seeds = 6;
  run(sweep, kCount);
}

TEST_F(Disturbed, EverySyncModeEndsRightly) {
  TinySweep sweep = on_all_nodes();
  sweep.varied =
      "  optimizer.name: {values: [momentum, adamw]}\n"
      "  sync.mode: {values: [lag, local, abs, async, hybrid, adasum]}\n";
  run(sweep, kModesCount);
}

}  // namespace
}  // namespace thalweg::test
