// The first stage is one search by Sobol's sequence for each value, in a space of its own: the same
// parameter may have other ranges elsewhere, and no dimension of the sequence is spent on what a
// value does not have. The second stage repeats the best draw of each value with seeds that no draw
// used: the value that won a choice looks better than it is.
#include "jobspec/search/study.h"

#include <fmt/format.h>

#include <algorithm>

#include "jobspec/check.h"
#include "jobspec/option.h"
#include "jobspec/parse.h"
#include "jobspec/search/search.h"
#include "jobspec/search/spaces.h"
#include "jobspec/search/visit.h"

namespace thalweg::jobspec {
namespace {

constexpr std::int64_t max_budget = 100'000, max_final_seeds = 1000, usual_final_seeds = 5;
constexpr const char* spaces_are_for = "optimizer.name";

std::vector<std::uint64_t> listed_seeds(const Value* seeds) {
  std::vector<std::uint64_t> all;
  if (seeds && seeds->is_list()) {
    for (const Value& seed : seeds->as_list())
      all.push_back(static_cast<std::uint64_t>(seed.as_int()));
    return all;
  }
  const std::int64_t count = seeds && seeds->is_int() ? seeds->as_int() : 1;
  for (std::int64_t seed = 1; seed <= count; ++seed)
    all.push_back(static_cast<std::uint64_t>(seed));
  return all;
}

/// The smallest from 1 that are not `used`.
std::vector<std::uint64_t> fresh_seeds(const std::vector<std::uint64_t>& used, std::int64_t count) {
  std::vector<std::uint64_t> fresh;
  for (std::uint64_t seed = 1; static_cast<std::int64_t>(fresh.size()) < count; ++seed)
    if (std::find(used.begin(), used.end(), seed) == used.end()) fresh.push_back(seed);
  return fresh;
}

bool holds(const When& when, const Value& value) {
  return std::any_of(when.values.begin(), when.values.end(),
                     [&](const Value& wanted) { return same(wanted, value); });
}

bool has_axis(const std::vector<Axis>& axes, std::string_view name) {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) { return axis.name == name; });
}

class StudyReader {
 public:
  StudyReader(const Value& block, Parsing& parsing)
      : parsing_(parsing), sweep_(parsing.sweep), fields_(block, "study", parsing.diagnostics) {}

  void read() {
    if (!fields_.is_map()) return;
    const std::size_t before = parsing_.diagnostics.size();
    const bool named = fields_.require("compare", "the parameter whose values are compared") &&
                       fields_.text("compare", study_.compare);
    const bool limited = fields_.require("budget", "how many draws each value gets") &&
                         fields_.integer("budget", study_.budget, {1, max_budget});
    std::int64_t final_seeds = usual_final_seeds;
    fields_.integer("final_seeds", final_seeds, {2, max_final_seeds});
    if (fields_.text("spaces", study_.spaces)) check_spaces();
    fields_.finish();
    study_.final_seeds = fresh_seeds(sweep_.seeds, final_seeds);
    const Axis* const compared = named ? compared_axis() : nullptr;
    refuse_resources();
    if (!compared || !limited || parsing_.diagnostics.size() > before) return;
    // A copy: axes are added below.
    const std::vector<Value> values = *compared->distribution->listed();
    add_published_axes(values);
    for (const Value& value : values)
      add_arm(value);
    if (parsing_.diagnostics.size() > before) return;
    set_plan();
  }

 private:
  void wrong(const std::string& key, const std::string& message, const std::string& hint) {
    const Value* const value = fields_.take(key);
    parsing_.diagnostics.add(value ? value->place : fields_.place(), "study." + key, message, hint);
  }

  void check_spaces() {
    const std::vector<std::string> names = space_names();
    if (std::find(names.begin(), names.end(), study_.spaces) == names.end()) {
      fields_.wrong(*fields_.take("spaces"), "spaces", any_of(names),
                    did_you_mean(study_.spaces, names));
      study_.spaces.clear();
    } else if (parsing_.own || study_.compare != spaces_are_for) {
      wrong("spaces",
            std::string("found search spaces of optimizers, expected compare: ") + spaces_are_for +
                (parsing_.own ? " with Thalweg's own engine" : ""),
            "leave it out and give ranges under parameters");
    }
  }

  /// nullptr after a diagnostic.
  const Axis* compared_axis() {
    const Axis* const axis = find_axis(sweep_, study_.compare);
    if (!axis) {
      if (!parsing_.broken_axes.count(study_.compare))
        wrong("compare", "found '" + study_.compare + "', expected a parameter that has values",
              "add " + study_.compare + ": {values: [...]} under parameters");
      return nullptr;
    }
    const std::vector<Value>* const values = axis->distribution->listed();
    const auto refuse = [&](const std::string& found, const std::string& hint) {
      wrong("compare", "found " + study_.compare + found, hint);
      return nullptr;
    };
    if (!values || !axis->distribution->grid())
      return refuse(" without a plain list of values, expected one", "write values: [...]");
    if (values->size() < 2)
      return refuse(" with one value, expected two or more to compare", "add values to it");
    for (std::size_t i = 0; i < values->size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (same((*values)[i], (*values)[j]))
          return refuse(" with " + (*values)[i].to_text() + " twice, expected each value once",
                        "leave one out");
    for (const When& when : sweep_.when)
      if (when.axis == study_.compare)
        return refuse(" with a condition under when, expected a plain parameter",
                      "leave the condition out");
    for (const auto& group : sweep_.zip)
      if (std::find(group.begin(), group.end(), study_.compare) != group.end())
        return refuse(" in a zipped group, expected a parameter of its own",
                      "give what belongs to a value by when");
    return axis;
  }

  /// What a winner runs on is fixed when the sweep is submitted.
  void refuse_resources() {
    for (const Axis& axis : sweep_.axes)
      if (axis.name != study_.compare && !resource_key(axis.name).empty())
        parsing_.diagnostics.add(axis.place, "parameters." + axis.name,
                                 "found resources to tune, expected parameters of train",
                                 "set them under resources, or compare them");
  }

  /// Whether the file's own axis of this name is there with this value.
  bool applies(const std::string& axis, const Value& value) const {
    return std::all_of(sweep_.when.begin(), sweep_.when.end(), [&](const When& when) {
      return when.axis != axis || when.on != study_.compare || holds(when, value);
    });
  }

  bool says(const PublishedSpace& row, const Value& value) const {
    return !study_.spaces.empty() && row.set == study_.spaces && value.is_string() &&
           row.value == value.as_string();
  }

  /// What the file says of a parameter takes the place of what was published.
  bool is_replaced(const PublishedSpace& row, const Value& value) const {
    const std::string name(row.parameter);
    return (has_axis(own_, name) && applies(name, value)) || sweep_.train.find(name) ||
           parsing_.broken_axes.count(name) > 0;
  }

  Axis published_axis(const PublishedSpace& row) {
    const Value values = read_yaml(row.values, "published space");
    return {std::string(row.parameter), fields_.place(),
            read_distribution(values, "study.spaces", parsing_.diagnostics)};
  }

  /// Every parameter that any value has is an axis of the sweep: all that looks at its trials knows
  /// their order by it.
  void add_published_axes(const std::vector<Value>& values) {
    own_ = sweep_.axes;
    for (const PublishedSpace& row : published_spaces())
      for (const Value& value : values)
        if (says(row, value) && !is_replaced(row, value) && !has_axis(sweep_.axes, row.parameter))
          sweep_.axes.push_back(published_axis(row));
  }

  void add_arm(const Value& value) {
    Arm arm{value, {}};
    std::string from_set;
    for (const Axis& axis : sweep_.axes) {
      if (axis.name == study_.compare) {
        arm.axes.push_back(
            {axis.name, axis.place,
             read_distribution(Map{{"value", value}}, "study", parsing_.diagnostics)});
        continue;
      }
      const auto row = std::find_if(
          published_spaces().begin(), published_spaces().end(), [&](const PublishedSpace& each) {
            return each.parameter == axis.name && says(each, value) && !is_replaced(each, value);
          });
      if (row != published_spaces().end()) {
        arm.axes.push_back(published_axis(*row));
        from_set = row->source;
      } else if (has_axis(own_, axis.name) && applies(axis.name, value)) {
        arm.axes.push_back(axis);
      }
    }
    if (arm.axes.size() == 1) say_untuned(value);
    if (!from_set.empty()) note_spaces(value, arm, from_set);
    study_.arms.push_back(std::move(arm));
  }

  void say_untuned(const Value& value) {
    const std::string name = study_.compare + ": " + value.to_text();
    const bool lacking = !study_.spaces.empty();
    parsing_.diagnostics.add(
        fields_.place(), lacking ? "study.spaces" : "study",
        "found nothing to tune with " + name + ", expected a parameter to draw",
        lacking ? study_.spaces + " has spaces for " + any_of(optimizers_of(study_.spaces)) +
                      "; give others under parameters"
                : "add one under parameters, as optimizer.lr, or spaces: " + any_of(space_names()));
  }

  void note_spaces(const Value& value, const Arm& arm, const std::string& source) {
    std::string names;
    for (const Axis& axis : arm.axes)
      if (!has_axis(own_, axis.name) || !applies(axis.name, value))
        names += (names.empty() ? "" : ", ") + axis.name;
    parsing_.sweep.notes.push_back(fmt::format("study.spaces: {}, {}: {} as in {}", study_.spaces,
                                               value.to_text(), names, source));
  }

  void set_plan() {
    Learning plan;
    plan.method = sweep_.method->name;
    plan.initial = study_.budget * static_cast<std::int64_t>(study_.arms.size());
    plan.parallel = 1;  // nothing is chosen before all draws have ended
    plan.seeds = static_cast<std::int64_t>(sweep_.seeds.size());
    sweep_.learning = plan;
    sweep_.notes.push_back("study: " + describe(study_, sweep_.seeds.size()));
    sweep_.study = std::move(study_);
    check_dimensions();
  }

  void check_dimensions() {
    for (const Sweep& part : draws_of(sweep_)) {
      const std::size_t groups = drawn_groups(part).size();
      if (groups > part.method->max_groups)
        wrong("compare",
              fmt::format("found {} parameters to draw, expected at most {}", groups,
                          part.method->max_groups),
              "give some of them one value, under train");
    }
  }

  Parsing& parsing_;
  Sweep& sweep_;
  Fields fields_;
  TuningStudy study_;
  std::vector<Axis> own_;  ///< of the file
};

std::string range_of(const std::vector<std::uint64_t>& seeds) {
  std::string text = std::to_string(seeds.front());
  const bool in_a_row = seeds.back() - seeds.front() + 1 == seeds.size();
  for (std::size_t i = 1; i < seeds.size() && !in_a_row; ++i)
    text += ", " + std::to_string(seeds[i]);
  return in_a_row ? text + " to " + std::to_string(seeds.back()) : text;
}

}  // namespace

bool StudySeeds::is_final(std::uint64_t seed) const {
  return std::find(final_seeds.begin(), final_seeds.end(), seed) != final_seeds.end();
}

std::optional<StudySeeds> study_seeds(const Value& file) {
  const Value* const study = file.find("study");
  if (!study || !study->is_map()) return std::nullopt;
  const Value* const compare = study->find("compare");
  const Value* const count = study->find("final_seeds");
  if (!compare || !compare->is_string()) return std::nullopt;
  return StudySeeds{compare->as_string(),
                    fresh_seeds(listed_seeds(file.find("seeds")),
                                count && count->is_int() ? count->as_int() : usual_final_seeds)};
}

std::vector<Option> study_options() {
  Option spaces = choice_option(
      "spaces", space_names(),
      "published search spaces of optimizers; the file's entry for a parameter replaces theirs");
  spaces.default_value = Value();
  return {
      string_option("compare", Value(),
                    "the parameter whose values are compared, which are listed under parameters"),
      int_option("budget", Value(), 1, max_budget, "configurations drawn for each value"), spaces,
      int_option("final_seeds", usual_final_seeds, 2, max_final_seeds,
                 "seeds that no draw used, with which the best draw of each value runs")};
}

void parse_study(const Value* block, Parsing& parsing) {
  if (!block) {
    parsing.diagnostics.add({}, "study", "missing, expected what method: study compares",
                            "as study: {compare: optimizer.name, budget: 20, final_seeds: 5}");
    return;
  }
  if (parsing.own && !parsing.sweep.metric_given)
    parsing.diagnostics.add({}, "metric", "missing, expected what the best draw is best by",
                            "add metric: {name: loss, goal: minimize}");
  StudyReader(*block, parsing).read();
}

std::vector<Sweep> draws_of(const Sweep& sweep) {
  const TuningStudy& study = sweep.study.value();
  std::vector<Sweep> parts;
  for (const Arm& arm : study.arms) {
    Sweep part = sweep;
    part.method = &search_methods().at("sobol");
    part.run_cap = study.budget;
    part.study.reset();
    part.learning.reset();
    part.axes = arm.axes;
    const auto gone = [&](const std::string& name) {
      return has_axis(sweep.axes, name) && !has_axis(arm.axes, name);
    };
    // What the value decides is decided.
    std::erase_if(part.when,
                  [&](const When& when) { return when.on == study.compare || gone(when.axis); });
    for (auto& group : part.zip)
      std::erase_if(group, gone);
    std::erase_if(part.zip, [](const auto& group) { return group.size() < 2; });
    std::erase_if(part.constraints, [&](const Constraint& constraint) {
      return std::any_of(constraint.names().begin(), constraint.names().end(), gone);
    });
    // One value takes no dimension of the sequence.
    for (const Axis& axis : part.axes)
      if (const auto* values = axis.distribution->listed(); values && values->size() == 1)
        part.each.push_back(axis.name);
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string describe(const TuningStudy& study, std::size_t seeds) {
  const auto values = static_cast<std::int64_t>(study.arms.size());
  const auto finals = static_cast<std::int64_t>(study.final_seeds.size());
  return fmt::format(
      "{} values of {} with {} draws each: at most {} trials. Then the best draw of each value "
      "runs with {} seeds that no draw used ({}): {} trials, placeholders for now",
      values, study.compare, study.budget, values * study.budget * static_cast<std::int64_t>(seeds),
      finals, range_of(study.final_seeds), values * finals);
}

namespace search {

SearchMethod study() {
  SearchMethod method{
      "study", "as many Sobol points for each value of a parameter, then fresh seeds of the best",
      "tuningstudy tuningprotocol algoperf externaltuning benchmark"};
  method.tunes = true;
  return method;
}

}  // namespace search
}  // namespace thalweg::jobspec
