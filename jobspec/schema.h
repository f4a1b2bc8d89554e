// What the `train:` tree of a sweep file may contain. The engine's tables of models, optimizers,
// schedules and so on say it (`thalweg-train --schema` prints it as JSON); jobspec checks against
// it.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobspec/value.h"

namespace thalweg::jobspec {

enum class OptionType { boolean, integer, real, text, list, map };

/// One key of a section.
struct Option {
  std::string name{};
  OptionType type = OptionType::text;
  std::string doc{};      ///< one line
  Value default_value{};  ///< the default; null = none (see `required`)
  bool required = false;
  double min = -std::numeric_limits<double>::infinity();  ///< inclusive
  double max = std::numeric_limits<double>::infinity();   ///< inclusive
  bool above_min = false;                                 ///< min itself is refused
  std::vector<std::string> choices{};  ///< for text: the only values allowed, if not empty
  bool or_auto = false;                ///< the text "auto" is allowed beside the type
  /// Dotted path of a whole number that must be a multiple of this one, where both are numbers
  /// (batch.shards divides batch.global); empty = none.
  std::string divides{};
  /// Words that are no choice, and the choice that they mean: {"gpu", "cuda"}. For hints only.
  std::vector<std::pair<std::string, std::string>> synonyms{};
  /// A text (or each text of a list) that names a file or folder, perhaps followed by ":MEMBER":
  /// a relative one counts from the sweep file's folder (paths.h).
  bool path = false;
  bool or_list = false;              ///< a list of such values (at least one) is allowed, too
  std::vector<std::string> words{};  ///< texts that name no path, though the option is one
};

/// A named alternative of a section, e.g. optimizer `adamw` with its own options.
struct Variant {
  std::string name{};
  std::string doc{};
  std::vector<Option> options{};
  /// The length (of `<it>_steps`, `<it>_epochs`, `<it>_samples`) that is the run's own where it is
  /// not set; "*": the run's own in any case; empty: none is.
  std::string run_length{};
};

/// One map under `train:`, addressed by its dotted path ("optimizer", "schedule"); path "" is
/// `train` itself. Where there are variants, the key `selector` (usually "name") picks one of them,
/// and only its options and the common ones are allowed.
struct Section {
  std::string path{};
  std::string doc{};
  std::vector<Option> options{};  ///< common to every variant
  std::string selector = "name";
  std::vector<Variant> variants{};
  std::string
      default_value{};  ///< the variant where the selector is missing; empty = it must be given
  /// A section may have several selectors (schedule: decay, warmup): each is a Section of its own
  /// with the same path; their options join.
};

struct Schema {
  std::string version;  ///< of the engine that printed it
  std::vector<Section> sections;
  bool open = false;  ///< every option there may be is known, and takes any value

  std::string to_json() const;
  /// Throws InputError where it is not what to_json writes.
  static Schema from_json(std::string_view json);
};

/// What the configuration of a program of the user's own is checked against: nothing is unknown.
const Schema& open_schema();

/// What would be right, in words ("a whole number of at least 1"); empty where the value fits the
/// option. NaN and infinity never fit. `hint` is set to a remedy, or left alone where there is
/// none.
std::string mismatch(const Option& option, const Value& value, std::string* hint);
std::string expected_of(const Option& option);

}  // namespace thalweg::jobspec
