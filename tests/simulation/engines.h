// Nodes, and the engines that run on them: what they write into an attempt's folder, as
// engine/attempt/journal.md has it, and how they end. They know nothing of Slurm.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "jobspec/trial.h"
#include "tests/simulation/dice.h"

namespace thalweg::simulation {

using jobspec::Id;

struct Node {
  std::string name;
  double broken = 0;  ///< until then what starts there fails at once
  double dead = 0;    ///< until then it has no power
  double unseen = 0;  ///< until then slurmctld cannot reach it
  double blind = 0;   ///< until then it cannot reach the filesystem
};

/// One start of an attempt's engine.
struct Engine {
  int start = 0;  ///< unique
  std::uint32_t job = 0;
  std::string token;
  std::filesystem::path folder;
  Node* node = nullptr;
  Id id{};
  bool alive = true;
  bool training = false;  ///< it holds the attempt
  double next = 0;        ///< when it does something
  double began = 0;
  double looks = 0;  ///< when it looks for a fence
  int step = 0, resumed = 0;
  int lines = 0;
  bool told_to_stop = false;
  int pauses_at = 0;         ///< 0: it does not
  double killed_at = 0;      ///< SIGKILL is on its way; 0 = none is
  int exit = 0, signal = 0;  ///< once it is not alive
  bool done = false;         ///< it has written its end
  bool deaf = false;         ///< does not stop when it is told to
  bool lingers = false;      ///< does not end when it is done
  bool mute = false;         ///< does nothing at all
  int fails_at = -1;         ///< this step fails
  std::string how;           ///< of its end, for people
};

/// What a simulation has written into a journal.
struct Written {
  std::string folder;
  Id id{};
  std::vector<int> step_of_line;  ///< 0: no metrics
  bool damaged = false;           ///< somebody has changed the file
  bool finished = false;          ///< its end record says so
};

class Engines {
 public:
  Engines(Dice dice, int steps, double lag_s);

  std::vector<Node>& nodes() { return nodes_; }
  std::deque<Engine>& all() { return engines_; }  ///< addresses stay
  Engine& start(std::uint32_t job, const std::string& token, const std::filesystem::path& folder,
                Node& node, double now);
  /// Everything until now; `now` grows.
  void run(double now, double unix_now);
  void kill(Engine& engine, int signal);
  /// Nothing is wrong with any node from now on.
  void heal();

  /// Called when an engine begins to train.
  std::function<void(const Engine&)> on_training;
  std::map<std::string, Written>& written() { return written_; }  ///< by folder
  int steps() const { return steps_; }
  double lag_s() const { return lag_s_; }  ///< until others see a line of a journal
  /// Of the one metric.
  static double value(const Id& trial, int step) {
    return 1.0 / (step + static_cast<double>(trial.trial));
  }

 private:
  void run(Engine& engine, double now);
  void begin(Engine& engine, double now);
  void end(Engine& engine, const std::string& status, int exit, const std::string& reason);
  void checkpoint(Engine& engine);
  void line(Engine& engine, const std::string& keys, int step = 0);
  void show(double now);
  bool fenced(const Engine& engine) const;

  Dice dice_;
  int steps_;
  double lag_s_, now_ = 0, unix_now_ = 0;
  std::vector<Node> nodes_;
  std::deque<Engine> engines_;
  std::map<std::string, Written> written_;
  struct Late {
    double at;
    std::filesystem::path file;
    std::string text;
  };
  std::deque<Late> late_;
};

/// Appends to a file that is there, or whose folder is.
void append(const std::filesystem::path& file, const std::string& text);

}  // namespace thalweg::simulation
