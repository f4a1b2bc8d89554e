// How a sweep comes by its configurations: one row of a table per `method`, one file per row. A
// method lists every combination, draws some, or draws the first and chooses the others by results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobspec/relations.h"
#include "jobspec/schema.h"
#include "jobspec/search_space.h"
#include "jobspec/sweep.h"
#include "jobspec/table.h"

namespace thalweg::jobspec {

/// A trial whose configuration is known, and what came of it up to now.
struct Observed {
  enum class State { running, ended, failed };
  Value parameters;  ///< as ExpandedTrial::parameters
  State state = State::ended;
  std::optional<double> value;  ///< the best one of the metric
  std::optional<double> latest{};
  std::int64_t configuration = 0;  ///< from 1; 0: counted by suggest()
};

/// What a learning method knows when it chooses one configuration. Values: smaller is better,
/// whatever the goal of the metric.
struct History {
  const Sweep& sweep;
  SearchSpace& space;
  std::vector<Observed> ended;    ///< in order, one or more; each has a value
  std::vector<Observed> running;  ///< nothing stands for their results
  std::int64_t configuration;     ///< that is chosen, from 1
  std::uint64_t seed;             ///< of this choice alone; fits in an int64

  /// "loss 0.12" of such a value, as the metric has it.
  double shown(double value) const;
  /// Of the method's own options.
  double number(std::string_view option) const;
};

/// Takes the next best proposal and why it is one; false: that one runs, no more are needed.
using Offer = std::function<bool(const Chosen& values, const std::string& reason)>;

/// A number between 0 and 1, both excluded, for each group of axes that is drawn, in the order that
/// the function was made with: of draw `number`, from 0. Pure.
using Draw = std::function<double(std::uint64_t number, std::size_t group)>;

/// Whether trials pause at rungs, and when the best of a rung go on (search/promotion.h).
enum class Promotes { no, at_once, together };

struct SearchMethod {
  std::string_view name;      ///< what `method:` says, and of learning methods the key of options
  std::string_view about;     ///< one line
  std::string_view synonyms;  ///< squashed words that people bring for it, between blanks
  /// Of a method that draws, also of one that learns: how. `groups`: those that are drawn. nullptr:
  /// every combination is listed.
  Draw (*draw)(const Sweep& sweep, const Groups& groups) = nullptr;
  std::size_t max_groups = 0;  ///< that `draw` can do; 0 = any number
  /// Of a method that learns: offers proposals, the best first, until they are refused or none is
  /// left. Pure: the same history, the same proposals. May throw BadConstraint.
  void (*propose)(const History& history, const Offer& offer) = nullptr;
  std::vector<Option>
      options{};  ///< of a method that learns, its own: numbers, which have defaults
  Promotes promotes = Promotes::no;
  /// Of a method that learns: the option that says how many configurations are a generation. None
  /// is chosen before all of the one before have ended. Empty: it has no generations.
  std::string_view generation{};
  /// The configuration from whose checkpoint the chosen one goes on; 0 = none. Pure.
  std::int64_t (*parent)(const History& history) = nullptr;
  /// It draws for each value of one parameter, then runs the best of each with fresh seeds
  /// (search/study.h).
  bool tunes = false;
  bool pauses() const { return promotes != Promotes::no; }
  /// Its options stand in the sweep file under a key of its name.
  bool has_key() const { return learns() || pauses() || tunes; }

  /// Every combination is visited, in order.
  bool lists() const { return draw == nullptr && !tunes; }
  /// Later configurations are chosen by results.
  bool learns() const { return propose != nullptr; }
};

/// The first is the default. "grid" and "random" are always there.
const Table<SearchMethod>& search_methods();
/// "tpe or bayes": the methods that learn, or those that only draw, in the order of the table.
std::string names_of_methods(bool learning);
/// "method: bayes", for messages.
std::string in_words(const SearchMethod& method);

}  // namespace thalweg::jobspec
