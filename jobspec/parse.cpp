// The top level of a sweep file.
#include "jobspec/parse.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "jobspec/check.h"
#include "jobspec/combine.h"
#include "jobspec/enum_names.h"
#include "jobspec/metrics.h"
#include "jobspec/resources.h"
#include "jobspec/search/generations.h"
#include "jobspec/search/search.h"
#include "jobspec/search/visit.h"
#include "jobspec/synonyms.h"

namespace thalweg::jobspec {
namespace {

/// Keys of W&B sweep files that mean nothing here.
constexpr const char* ignored_keys[][2] = {
    {"project", "all sweeps are in one list"},          {"entity", "the owner is who submits"},
    {"apiVersion", "a sweep file has no versions yet"}, {"kind", "every file is a sweep"},
    {"controller", "thalwegd is the controller"},
};

/// Keys that would change which trials run: ignoring them would be wrong.
constexpr const char* refused_keys[][2] = {
    {"metrics", "one metric is supported"},
    {"job", "see program and command"},
    {"image_uri", "see container, with program"},
};

/// The order in which W&B goes through a grid: keys sorted at each level of nesting, the last one
/// fastest. Their sweep files run programs; those of the engine go in file order.
void sort_as_wandb(std::vector<Axis>& axes) {
  const auto keys = [](std::string_view name) {
    std::vector<std::string_view> parts;
    for (std::size_t from = 0; from <= name.size();) {
      const std::size_t dot = std::min(name.find('.', from), name.size());
      parts.push_back(name.substr(from, dot - from));
      from = dot + 1;
    }
    return parts;
  };
  std::stable_sort(axes.begin(), axes.end(),
                   [&](const Axis& a, const Axis& b) { return keys(a.name) < keys(b.name); });
}

/// A value, which stands in the configuration before the names that begin with it.
void put_outer_first(std::vector<Axis>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    for (std::size_t j = i + 1; j < axes.size(); ++j)
      if (axes[i].name.starts_with(axes[j].name + "."))
        std::rotate(axes.begin() + static_cast<std::ptrdiff_t>(i),
                    axes.begin() + static_cast<std::ptrdiff_t>(j),
                    axes.begin() + static_cast<std::ptrdiff_t>(j) + 1);
}

bool one_line(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20; });
}

void parse_name(Fields& top, Parsing& parsing) {
  constexpr std::size_t longest = 200;
  Sweep& sweep = parsing.sweep;
  sweep.name = std::filesystem::path(sweep.file).stem().string();
  const bool given = top.text("name", sweep.name);
  if (given && (sweep.name.empty() || sweep.name.size() > longest || !one_line(sweep.name)))
    top.wrong(*top.take("name"), "name", "one line of at most 200 characters");
  else if (Id::parse(sweep.name))
    parsing.note(given ? top.take("name")->place : Place{}, "name",
                 fmt::format("commands take {} for an id, not for this sweep's name", sweep.name),
                 "choose a name with a letter");
}

void parse_after(Fields& top, Parsing& parsing) {
  const Value* const value = top.take("after");
  if (!value) return;
  const jobspec::List one{*value};
  for (const Value& sweep : value->is_list() ? value->as_list() : one) {
    if (!sweep.is_int() && (!sweep.is_string() || sweep.as_string().empty()))
      return top.wrong(sweep, "after", "a sweep's name or number, or a list of them");
    parsing.sweep.after.push_back(sweep.to_text());
  }
}

void parse_method(Fields& top, Parsing& parsing) {
  const Value* value = top.take("method");
  const std::vector<std::string> names = search_methods().names();
  if (!value) {
    if (top.take("study"))
      parsing.sweep.method = &search_methods().at("study");
    else if (top.take("parameters"))
      top.missing("method", any_of(names));
    return;
  }
  const std::string found = value->is_string() ? value->as_string() : "";
  if (const SearchMethod* method = search_methods().find(found)) {
    parsing.sweep.method = method;
  } else {
    top.wrong(*value, "method", any_of(names), word_hint("method", found, names));
    parsing.method_unknown = true;
  }
}

/// After all that says which parameters are drawn together.
void check_groups(Fields& top, Parsing& parsing) {
  const SearchMethod& method = *parsing.sweep.method;
  const std::size_t groups = drawn_groups(parsing.sweep).size();
  if (method.max_groups == 0 || groups <= method.max_groups) return;
  parsing.diagnostics.add(top.take("method")->place, "method",
                          fmt::format("found {} parameters to draw, expected at most {} with {}",
                                      groups, method.max_groups, in_words(method)),
                          "use method: random");
}

void parse_seeds(Fields& top, Parsing& parsing) {
  Sweep& sweep = parsing.sweep;
  const std::string expected = "a whole number from 1 to " + std::to_string(kMaxSeeds) +
                               ", a list of different seeds, auto, or {start, add, cap}";
  const Value* value = top.take("seeds");
  if (!value) return;
  sweep.places["seeds"] = value->place;
  std::vector<std::uint64_t> seeds;
  if (is_seed_looks(*value)) {
    sweep.seed_looks = parse_seed_looks(*value, parsing);
    seeds.resize(static_cast<std::size_t>(first_look(*sweep.seed_looks)));
    std::iota(seeds.begin(), seeds.end(), 1);
  }
  if (value->is_int() && value->as_int() >= 1 && value->as_int() <= kMaxSeeds) {
    for (std::int64_t seed = 1; seed <= value->as_int(); ++seed) {
      seeds.push_back(static_cast<std::uint64_t>(seed));
    }
  } else if (value->is_list() && value->as_list().size() <= kMaxSeeds) {
    for (const Value& item : value->as_list()) {
      const bool good = item.is_int() && item.as_int() >= 0;
      const auto seed = good ? static_cast<std::uint64_t>(item.as_int()) : 0;
      if (!good) {
        top.wrong(item, "seeds", "a whole number of at least 0");
      } else if (std::find(seeds.begin(), seeds.end(), seed) != seeds.end()) {
        top.wrong(item, "seeds", "every seed once");
      }
      seeds.push_back(seed);
    }
  }
  if (seeds.empty()) {
    top.wrong(*value, "seeds", expected);
    return;
  }
  sweep.seeds = std::move(seeds);
}

/// Two ways to say the same: with both, one would have to be ignored.
void check_length(const Value& train, Diagnostics& diagnostics) {
  const Value* epochs = train.find("epochs");
  const Value* steps = train.find("steps");
  if (!epochs || !steps) return;
  const bool later = steps->place.line >= epochs->place.line;
  diagnostics.add(later ? steps->place : epochs->place, later ? "train.steps" : "train.epochs",
                  "found epochs and steps, expected one of them",
                  "leave out the one that should not count");
}

void parse_train(Fields& top, Parsing& parsing) {
  const Value* train = top.take("train");
  if (!train) {
    top.missing("train", "the section that says what to train",
                "or program, a file of your own to run");
    return;
  }
  if (!train->is_map()) {
    top.wrong(*train, "train", "a map of keys",
              train->is_null() ? "indent what belongs to it by two spaces" : "");
    return;
  }
  std::set<std::string> varied;
  for (const Axis& axis : parsing.sweep.axes) {
    varied.insert(axis.name);
    const bool fixed = train->find(axis.name) && resource_key(axis.name).empty();
    const bool conditional = std::any_of(parsing.sweep.when.begin(), parsing.sweep.when.end(),
                                         [&](const When& when) { return when.axis == axis.name; });
    if (fixed && !conditional) {
      parsing.sweep.notes.push_back("train." + axis.name + ": replaced by parameters." + axis.name);
    }
  }
  varied.insert(parsing.broken_axes.begin(), parsing.broken_axes.end());
  check_length(*train, parsing.diagnostics);
  for (ValidationError& mismatch : check_train(*train, parsing.schema, varied)) {
    report_error(std::move(mismatch), "train.", parsing.diagnostics);
  }
}

/// In a tree a key cannot be a value and hold others: see resolve_train().
void note_nesting(Parsing& parsing) {
  const Sweep& sweep = parsing.sweep;
  for (const Axis& axis : sweep.axes) {
    for (std::size_t dot = axis.name.find('.'); dot != axis.name.npos;
         dot = axis.name.find('.', dot + 1)) {
      const std::string outer = axis.name.substr(0, dot);
      const Value* found = sweep.train.find(outer);
      const bool value = find_axis(sweep, outer) || (found && !found->is_map());
      if (value && resource_key(axis.name).empty())
        parsing.note(
            axis.place, "parameters." + axis.name,
            outer +
                " has a value of its own, so this name is a key beside it, not one inside of it");
    }
  }
}

/// Where the file says nothing of it: of W&B's files the smallest value would be the best, whatever
/// the metric is called.
void note_goal(Fields& top, Parsing& parsing) {
  const Metric& metric = parsing.sweep.metric;
  const Place place = top.take("metric")->place;
  if (parsing.sweep.goal_given) return;
  if (!goal_by_name(metric.name))
    parsing.note(place, "metric.goal",
                 "missing, and the name " + metric.name +
                     " does not say which values are better: smaller ones are assumed to be",
                 "write goal: minimize or goal: maximize");
  else if (metric.goal == Goal::maximize)
    parsing.note(place, "metric.goal",
                 "maximize, as the name " + metric.name +
                     " says (where nothing is said W&B "
                     "minimizes)",
                 "write goal: minimize if smaller values are better");
}

/// A seed that every trial gets stands for that of `seeds`, which then are one run several times.
void note_seed(const Value* config, Parsing& parsing) {
  const Sweep& sweep = parsing.sweep;
  if (sweep.seeds.size() < 2) return;
  for (const std::string& word : sweep.program->command)
    if (word.find("${seed}") != word.npos) return;
  const Axis* axis = find_axis(sweep, "seed");
  const Value* seed = config && config->is_map() ? config->find("seed") : nullptr;
  if (axis == nullptr && seed == nullptr) return;
  parsing.note(axis != nullptr ? axis->place : seed->place,
               axis != nullptr ? "parameters.seed" : "config.seed",
               "it is what trials get as their seed, so the " + std::to_string(sweep.seeds.size()) +
                   " trials of `seeds` repeat one run",
               "leave one of the two out");
}

/// `program` and what belongs to it; `config` is what `train` is to the engine.
void parse_program(Fields& top, Parsing& parsing) {
  Sweep& sweep = parsing.sweep;
  sweep.program = read_program(top, parsing.diagnostics);
  for (const std::string& key : program_keys())
    if (const Value* value = top.take(key)) sweep.places[key] = value->place;
  sweep.program->passes_seed = top.take("seeds") != nullptr || sweep.method->tunes;
  const Value* config = top.take("config");
  if (config && !config->is_map()) {
    top.wrong(*config, "config", "a map of what the program is given beside parameters");
  } else if (config) {
    for (const Axis& axis : sweep.axes)
      if (config->find(axis.name))
        sweep.notes.push_back("config." + axis.name + ": replaced by parameters." + axis.name);
  }
  note_seed(config, parsing);
  note_nesting(parsing);
  if (sweep.metric_given) return note_goal(top, parsing);
  sweep.metric.name = "loss";
  const auto place = sweep.places.find(top.take("program") ? "program" : "command");
  parsing.note(place->second, "metric",
               "missing, so trials are ranked by the smallest loss that the program reports",
               "as metric: {name: val/loss, goal: minimize}");
}

/// Keys of programs beside `train`: the engine trains, as it always did with such files.
void pass_over_program(Fields& top, Parsing& parsing) {
  std::vector<std::string> keys = program_keys();
  keys.emplace_back("config");
  for (const std::string& key : keys) {
    const Value* value = top.take_quietly(key);
    if (!value) continue;
    if (key == "program" || key == "command")
      parsing.sweep.notes.push_back(key + ": ignored, train is there, so Thalweg's engine trains");
    else
      parsing.diagnostics.add(value->place, key, "found train, expected program or command with it",
                              "leave out train, or this");
  }
}

/// `engine: wandb` chooses by `method`, which thalwegd does; others are programs of W&B's.
void parse_scheduler(Fields& top, Parsing& parsing) {
  const Value* scheduler = top.take_quietly("scheduler");
  if (!scheduler) return;
  const Value* engine = scheduler->is_map() ? scheduler->find("engine") : nullptr;
  const bool same = engine && engine->is_string() && engine->as_string() == "wandb";
  if (same && scheduler->as_map().size() == 1)
    parsing.note(scheduler->place, "scheduler", "ignored, thalwegd chooses by method");
  else
    parsing.diagnostics.add(scheduler->place, "scheduler",
                            "found a scheduler of W&B's, expected no such key",
                            "leave it out and write method: " + any_of(search_methods().names()));
}

void parse_other_keys(Fields& top, Parsing& parsing) {
  parse_scheduler(top, parsing);
  for (const auto& [key, reason] : ignored_keys) {
    if (top.take_quietly(key)) {
      parsing.sweep.notes.push_back(std::string(key) + ": ignored, " + reason);
    }
  }
  for (const auto& [key, hint] : refused_keys) {
    if (const Value* value = top.take_quietly(key)) {
      parsing.diagnostics.add(value->place, key, "not supported yet, expected no such key", hint);
    }
  }
}

/// From how many combinations random search draws; nothing where values have no end or go together.
std::optional<double> combinations_to_draw(const Sweep& sweep) {
  if (!sweep.zip.empty() || !sweep.each.empty()) return {};
  double all = 1;
  for (const Axis& axis : sweep.axes) {
    const auto values = axis.distribution ? axis.distribution->grid() : std::nullopt;
    if (!values) return {};
    all *= static_cast<double>(values->size());
  }
  return all;
}

void parse_run_cap(Fields& top, Parsing& parsing) {
  constexpr std::int64_t most = 1'000'000, usual = 50;
  Sweep& sweep = parsing.sweep;
  const bool given = top.integer("run_cap", sweep.run_cap, {1, most});
  if (sweep.method->tunes) {
    if (given)
      parsing.diagnostics.add(top.take("run_cap")->place, "run_cap",
                              "found a number of configurations, expected no such key with study",
                              "study.budget says how many draws each value gets");
    return;
  }
  const bool endless = !sweep.method->lists() && !sweep.axes.empty();
  if (!endless || parsing.method_unknown) return;
  const std::optional<double> all = combinations_to_draw(sweep);
  const auto note_few = [&] {
    if (!sweep.method->learns() && all && *all <= static_cast<double>(sweep.run_cap))
      parsing.note(
          top.take("method")->place, "method",
          fmt::format(
              "{} draws from {} combinations: some are drawn twice and run once, others never",
              sweep.run_cap, *all),
          "method: grid runs each");
  };
  if (given || top.take("run_cap")) {
    if (given && all != 1) note_few();
    return;
  }
  if (sweep.program && all == 1) {
    sweep.run_cap = 1;
  } else if (sweep.program) {
    // W&B's files need none: there a sweep goes on until it is stopped.
    sweep.run_cap = usual;
    parsing.note({}, "run_cap",
                 fmt::format("{} configurations, since the file does not say how many", usual),
                 "thalweg extend ID --set run_cap=N continues");
    note_few();
  } else {
    top.missing("run_cap", "how many configurations to try",
                "such a search does not end by itself");
  }
}

void parse_search(Fields& top, Parsing& parsing) {
  Sweep& sweep = parsing.sweep;
  const SearchMethod& method = *sweep.method;
  for (const SearchMethod& other : search_methods()) {
    const Value* value = other.has_key() ? top.take(other.name) : nullptr;
    if (value && &other != &method && !parsing.method_unknown)
      parsing.diagnostics.add(value->place, std::string(other.name),
                              "found settings of another method, expected none",
                              "write " + in_words(other) + ", or leave it out");
  }
  if (method.tunes && sweep.early_terminate)
    parsing.diagnostics.add(top.take("early_terminate")->place, "early_terminate",
                            "found a rule that ends trials early, expected none with study",
                            "every draw and every final seed trains to its end");
  if (method.pauses()) {
    sweep.promotion = parse_promotion(top.take(method.name), parsing);
    if (!sweep.promotion->rungs.empty())
      sweep.notes.push_back(in_words(method) + ": " + describe(*sweep.promotion));
  }
  if (!method.learns()) return;
  sweep.learning = parse_learning(top.take(method.name), parsing);
  if (sweep.learning->generation && parsing.diagnostics.empty())
    sweep.notes.push_back(in_words(method) + ": " + describe_generations(sweep));
  const std::string plan = describe(*sweep.learning, sweep.run_cap);
  if (sweep.learning->initial < sweep.run_cap)
    sweep.notes.push_back(in_words(method) + ": " + plan);
  else
    parsing.note(top.take("method")->place, "method", plan);
}

/// For messages of those who check more than the file.
void keep_places(Fields& top, Sweep& sweep) {
  for (const char* block : {"metric", "resources", "limits"}) {
    const Value* const value = top.take(block);
    if (!value || !value->is_map()) continue;
    sweep.places[block] = value->place;
    for (const auto& [key, inner] : value->as_map())
      sweep.places[std::string(block) + "." + key] = inner.place;
  }
}

void parse_resources(Fields& top, Parsing& parsing) {
  const Value* resources = top.take("resources");
  const Value* limits = top.take("limits");
  const Value* slurm = top.take("slurm");
  top.boolean("clamp", parsing.sweep.clamp);
  if (resources) {
    parsing.sweep.resources = read_resources(*resources, "resources", parsing.diagnostics);
  }
  if (limits) parse_limits(*limits, parsing);
  parsing.sweep.slurm_given = slurm != nullptr;
  if (slurm) parse_slurm(*slurm, parsing);
  check_nodes(resources, limits, parsing);
  check_signal(slurm, parsing);
  check_pack(slurm, limits, parsing);
}

}  // namespace

bool runs_program(const Value& file) {
  return file.is_map() && !file.find("train") && (file.find("program") || file.find("command"));
}

bool runs_program(std::string_view text) {
  try {
    return runs_program(read_yaml(text, "sweep"));
  } catch (const InputError&) {
    return false;
  }
}

void Parsing::note(Place place, std::string key, std::string message, std::string hint) {
  const Diagnostic note{sweep.file, place, std::move(key), std::move(message), std::move(hint)};
  sweep.notes.push_back(note.to_string());
}

Sweep parse_sweep(std::string_view text, const std::string& file_name, const Schema& engine,
                  const SiteLimits& site) {
  const Value file = read_yaml(text, file_name);
  Diagnostics diagnostics(file_name);
  Sweep sweep;
  const bool own = runs_program(file);
  const Schema& schema = own ? open_schema() : engine;
  Parsing parsing{schema, site, diagnostics, sweep, {}, own};
  diagnostics.bar_meanings([&](const Meaning& meaning) {
    if (own) return meaning.means.starts_with("train.");
    return cannot_be_given(schema, sweep.train, meaning);
  });
  sweep.file = file_name;
  sweep.slurm = site.slurm;
  sweep.limits.max_trials = site.max_trials;
  sweep.limits.max_trials_from =
      site.max_trials_from.empty() ? site.source_of("max_trials") : site.max_trials_from;
  Fields top(file, "", diagnostics);
  if (!top.is_map()) diagnostics.throw_if_any();

  parse_name(top, parsing);
  top.text("description", sweep.description);
  parse_method(top, parsing);
  if (const Value* metric = top.take("metric")) {
    sweep.metric = read_metric(*metric, "metric", diagnostics);
    sweep.metric_given = true;
    sweep.goal_given = metric->is_map() && metric->find("goal") != nullptr;
  }
  std::int64_t seed = 1;
  if (top.integer("seed", seed, {0})) sweep.seed = static_cast<std::uint64_t>(seed);
  parse_seeds(top, parsing);
  parse_after(top, parsing);
  const std::size_t before = diagnostics.size();
  const Value* train = own ? top.take("config") : top.take("train");
  if (train && train->is_map()) sweep.train = *train;
  if (const Value* value = top.take("parameters")) parse_parameters(*value, train, parsing);
  if (own && sweep.method->lists()) sort_as_wandb(sweep.axes);
  if (own) put_outer_first(sweep.axes);
  if (const Value* value = top.take("zip")) parse_zip(*value, parsing);
  if (const Value* value = top.take("each")) parse_each(*value, parsing);
  if (const Value* value = top.take("when")) parse_when(*value, parsing);
  if (const Value* value = top.take("constraint")) parse_constraint(*value, parsing);
  if (sweep.method->tunes) parse_study(top.take("study"), parsing);
  check_groups(top, parsing);
  if (own) {
    parse_program(top, parsing);
  } else {
    pass_over_program(top, parsing);
    parse_train(top, parsing);
  }
  const std::size_t after = diagnostics.size();
  parse_run_cap(top, parsing);
  parse_resources(top, parsing);
  if (const Value* value = top.take("env")) parse_environment(*value, parsing);
  parse_keep(top.take("keep"), parsing);
  sweep.early_terminate = parse_early_terminate(top.take("early_terminate"), parsing);
  if (sweep.early_terminate)
    parsing.note(
        top.take("early_terminate")->place, "early_terminate",
        describe(*sweep.early_terminate, sweep.metric_given ? sweep.metric.name : "") +
            (sweep.method->learns() ? "" : "; trials start in an order that is drawn from `seed`"));
  parse_search(top, parsing);
  check_seed_looks(top, parsing);
  parse_other_keys(top, parsing);
  keep_places(top, sweep);
  pass_over_anchors(text, file, top, parsing);
  top.finish();
  // Configurations of a broken tree would only repeat its mistakes.
  if (before == after) check_configurations(sweep, schema, diagnostics);
  add_advice(parsing);
  diagnostics.throw_if_any();
  return sweep;
}

}  // namespace thalweg::jobspec
