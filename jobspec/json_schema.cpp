#include "jobspec/json_schema.h"

#include <algorithm>
#include <cmath>

#include "jobspec/check.h"
#include "jobspec/distribution.h"
#include "jobspec/early/rule.h"
#include "jobspec/search/search.h"
#include "jobspec/slurm_options.h"

namespace thalweg::jobspec {
namespace {

constexpr const char* text = R"({"type": "string"})";
constexpr const char* flag = R"({"type": "boolean"})";
constexpr const char* anything = "{}";
constexpr const char* list_of_texts =
    R"({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})";

Value parsed(const std::string& json) {
  return read_yaml(json, "schema");
}

/// A map that may hold these keys only.
Value object(const std::string& doc, Map properties) {
  Map map{{"type", "object"}};
  if (!doc.empty()) map.emplace_back("description", doc);
  map.emplace_back("properties", std::move(properties));
  map.emplace_back("additionalProperties", false);
  return map;
}

/// What fits the option, without its meaning and default.
Value fitting(const Option& option) {
  Map map;
  const auto bounds = [&] {
    if (std::isfinite(option.min))
      map.emplace_back(option.above_min ? "exclusiveMinimum" : "minimum", option.min);
    if (std::isfinite(option.max)) map.emplace_back("maximum", option.max);
  };
  switch (option.type) {
    case OptionType::boolean:
      map.emplace_back("type", "boolean");
      break;
    case OptionType::integer:
      map.emplace_back("type", "integer");
      bounds();
      break;
    case OptionType::real:
      map.emplace_back("type", "number");
      bounds();
      break;
    case OptionType::text:
      map.emplace_back("type", "string");
      if (!option.choices.empty())
        map.emplace_back("enum", List(option.choices.begin(), option.choices.end()));
      break;
    case OptionType::list:
      map.emplace_back("type", "array");
      break;
    case OptionType::map:
      map.emplace_back("type", "object");
      break;
  }
  if (!option.or_auto && !option.or_list) return map;
  List any{map};
  if (option.or_list)
    any.push_back(Map{{"type", "array"}, {"items", std::move(map)}, {"minItems", 1}});
  if (option.or_auto) any.push_back(Map{{"const", "auto"}});
  return Map{{"anyOf", std::move(any)}};
}

Value names_of(const std::vector<Variant>& variants) {
  List names;
  for (const Variant& variant : variants)
    names.emplace_back(variant.name);
  return names;
}

/// The keys of one map of `train`, gathered over its sections and their alternatives.
class Keys {
 public:
  void add(const std::string& name, const Value& fits, const std::string& doc,
           const Value& default_value) {
    Entry& entry = entry_of(name);
    const auto same = [&](const Value& other) { return other == fits; };
    if (std::none_of(entry.fits.begin(), entry.fits.end(), same)) entry.fits.push_back(fits);
    if (entry.doc.empty()) entry.doc = doc;
    if (entry.default_value.is_null()) entry.default_value = default_value;
  }
  void add(const Option& option) {
    add(option.name, fitting(option), option.doc, option.default_value);
  }

  Map properties() const {
    Map map;
    for (const Entry& entry : entries_) {
      Map one = entry.fits.size() == 1 ? entry.fits.front().as_map()
                                       : Map{{"anyOf", List(entry.fits.begin(), entry.fits.end())}};
      if (!entry.doc.empty()) one.emplace_back("description", entry.doc);
      if (!entry.default_value.is_null()) one.emplace_back("default", entry.default_value);
      map.emplace_back(entry.name, std::move(one));
    }
    return map;
  }

 private:
  struct Entry {
    std::string name;
    std::vector<Value> fits;
    std::string doc;
    Value default_value;
  };
  Entry& entry_of(const std::string& name) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.name == name; });
    if (found != entries_.end()) return *found;
    entries_.push_back({name, {}, {}, {}});
    return entries_.back();
  }
  std::vector<Entry> entries_;
};

/// Where a section picks a variant, the options of the others may not stand beside it.
void forbid_others(const Section& section, List& rules) {
  for (const Variant& variant : section.variants) {
    Map forbidden;
    for (const Variant& other : section.variants) {
      for (const Option& option : other.options) {
        const bool own =
            find_option(variant.options, option.name) || find_option(section.options, option.name);
        const bool told = std::any_of(forbidden.begin(), forbidden.end(), [&](const auto& entry) {
          return entry.first == option.name;
        });
        if (!own && !told) forbidden.emplace_back(option.name, false);
      }
    }
    if (forbidden.empty()) continue;
    const Map picked{{"properties", Map{{section.selector, Map{{"const", variant.name}}}}},
                     {"required", List{section.selector}}};
    rules.push_back(Map{{"if", picked}, {"then", Map{{"properties", std::move(forbidden)}}}});
  }
}

Value train_section(const Schema& schema, const std::string& path) {
  Keys keys;
  List rules;
  std::string doc;
  for (const Section& section : schema.sections) {
    if (section.path != path) continue;
    doc += (doc.empty() ? "" : "; ") + section.doc;
    if (!section.variants.empty()) {
      std::string meaning = "one of the alternatives";
      for (const Variant& variant : section.variants)
        meaning += "\n" + variant.name + ": " + variant.doc;
      keys.add(section.selector, Map{{"enum", names_of(section.variants)}}, meaning,
               section.default_value.empty() ? Value() : Value(section.default_value));
    }
    for (const Option& option : section.options)
      keys.add(option);
    for (const Variant& variant : section.variants) {
      for (const Option& option : variant.options)
        keys.add(option);
    }
    forbid_others(section, rules);
  }
  Map properties = keys.properties();
  if (path.empty()) {
    for (const Section& section : schema.sections) {
      const bool told = std::any_of(properties.begin(), properties.end(),
                                    [&](const auto& entry) { return entry.first == section.path; });
      if (!section.path.empty() && !told)
        properties.emplace_back(section.path, train_section(schema, section.path));
    }
  }
  Value value = object(doc, std::move(properties));
  if (!rules.empty()) value.as_map().emplace_back("allOf", std::move(rules));
  return value;
}

/// {value: ...}, {values: [...]}, {min: ..., max: ...} with what fits the option.
Value parameter(const Value& fits, const std::string& doc) {
  const Value values = Map{{"type", "array"}, {"minItems", 1}, {"items", fits}};
  Map map{{"allOf", List{Map{{"$ref", "#/definitions/parameter"}},
                         Map{{"properties", Map{{"value", fits}, {"values", values}}}}}}};
  if (!doc.empty()) map.emplace_back("description", doc);
  return map;
}

Value parameters(const Schema& schema) {
  Map properties;
  const auto add = [&](const std::string& name, const Value& fits, const std::string& doc) {
    const bool told = std::any_of(properties.begin(), properties.end(),
                                  [&](const auto& entry) { return entry.first == name; });
    if (!told) properties.emplace_back(name, parameter(fits, doc));
  };
  std::vector<std::string> done;
  for (const Section& section : schema.sections) {
    if (std::find(done.begin(), done.end(), section.path) != done.end()) continue;
    done.push_back(section.path);
    const Value train = train_section(schema, section.path);
    const Value all = *train.find("properties");
    for (const auto& [name, one] : all.as_map()) {
      if (section.path.empty() && one.find("properties")) continue;  // a section, not an option
      Map fits;
      std::string doc;
      for (const auto& [key, value] : one.as_map()) {
        if (key == "description") doc = value.as_string();
        if (key != "description" && key != "default") fits.emplace_back(key, value);
      }
      add(joined(section.path, name), fits, doc);
    }
  }
  for (const FileKey& key : file_keys()) {
    if (key.section == "resources") add("resources." + key.name, parsed(key.schema), key.doc);
  }
  Value value = Map{{"type", "object"},
                    {"description", "what varies, by the path of the option"},
                    {"minProperties", 1},
                    {"properties", std::move(properties)},
                    {"additionalProperties", Map{{"$ref", "#/definitions/parameter"}}}};
  return value;
}

/// What may vary where the engine trains: its options, and the sections that hold them.
List parameter_names(const Schema& schema, const Value& parameters) {
  List names;
  for (const auto& [name, fits] : parameters.find("properties")->as_map())
    names.emplace_back(name);
  for (const Section& section : schema.sections) {
    const bool told = std::find(names.begin(), names.end(), Value(section.path)) != names.end();
    if (!section.path.empty() && !told) names.emplace_back(section.path);
  }
  names.emplace_back("resources");
  return names;
}

Value definitions() {
  List names;
  for (const auto& [name, doc] : distribution_docs())
    names.emplace_back(name);
  const Value number = Map{{"type", "number"}};
  const Value group = Map{{"$ref", "#/definitions/group"}};
  Value one = object("values to try, or a range to draw from",
                     Map{{"distribution", Map{{"enum", names}}},
                         {"value", Map{}},
                         {"values", Map{{"type", "array"}, {"minItems", 1}}},
                         {"probabilities", Map{{"type", "array"}, {"items", number}}},
                         {"min", number},
                         {"max", number},
                         {"q", number},
                         {"mu", number},
                         {"sigma", number},
                         {"a", number},
                         {"b", number},
                         {"samples", Map{{"type", "integer"}, {"minimum", 1}}},
                         {"parameters", Map{{"type", "object"}, {"additionalProperties", group}}}});
  Map plain = one.as_map();
  plain.erase(std::remove_if(plain.begin(), plain.end(),
                             [](const auto& entry) { return entry.first == "description"; }),
              plain.end());
  return Map{{"parameter", std::move(one)}, {"group", std::move(plain)}};
}

/// One option of sbatch. Slurm's own forms of times, sizes and words are left to `thalweg
/// validate`.
Value sbatch_option(const SlurmOption& option) {
  Map map;
  if (option.type == SlurmType::flag && option.words.empty()) map.emplace_back("type", "boolean");
  if (option.type == SlurmType::flag && !option.words.empty()) {
    List words{true, false};
    words.insert(words.end(), option.words.begin(), option.words.end());
    map.emplace_back("enum", std::move(words));
  }
  if (option.type == SlurmType::count) {
    map = {{"type", "integer"}, {"minimum", option.min}, {"maximum", option.max}};
  }
  if (option.type == SlurmType::text) map.emplace_back("type", "string");
  if (!option.doc.empty()) map.emplace_back("description", std::string(option.doc));
  return map;
}

/// `slurm`: the keys of its own in `properties`, and what sbatch knows.
Value slurm_block(Map properties) {
  Map all;
  for (const SlurmOption& option : slurm_options()) {
    if (!option.free()) continue;
    const std::string name(option.name);
    all.emplace_back(name, sbatch_option(option));
    if (option.use == SlurmUse::key) properties.emplace_back(name, sbatch_option(option));
  }
  properties.emplace_back("sbatch", object("any other option of sbatch", std::move(all)));
  return object("what goes to Slurm", std::move(properties));
}

}  // namespace

namespace {

/// One of the words, as JSON Schema text.
std::string one_of(const std::vector<std::string>& words) {
  return Value(Map{{"enum", List(words.begin(), words.end())}}).to_json();
}

std::string about_options(const SearchMethod& method) {
  if (method.tunes) return ": what is compared, and how many draws each value gets";
  return method.pauses() ? ": how long every trial trains, and how many continue"
                         : ": how many configurations are drawn, how many trials run at once";
}

/// The keys of the methods that have options.
std::vector<FileKey> method_keys() {
  std::vector<FileKey> keys;
  for (const SearchMethod& method : search_methods()) {
    if (!method.has_key()) continue;
    std::vector<Option> options = method.tunes      ? study_options()
                                  : method.pauses() ? promotion_options()
                                                    : learning_options();
    options.insert(options.end(), method.options.begin(), method.options.end());
    Map properties;
    for (const Option& option : options) {
      Map one = fitting(option).as_map();
      one.emplace_back("description", option.doc);
      if (!option.default_value.is_null() && option.name != "initial")
        one.emplace_back("default", option.default_value);
      properties.emplace_back(option.name, std::move(one));
    }
    keys.push_back({"", std::string(method.name), object("", std::move(properties)).to_json(),
                    "of " + in_words(method) + about_options(method)});
  }
  return keys;
}

/// Any of the rules.
std::string early_schema() {
  std::string text;
  for (const EarlyRule& rule : early_rules()) {
    text += text.empty() ? R"({"anyOf": [)" : ", ";
    text.append(R"({"allOf": [)").append(rule.also);
    text.append(R"(], "type": "object", "additionalProperties": false, "required": ["type"], )");
    text.append(R"("properties": {"type": {"const": ")").append(rule.name).append(R"("}, )");
    text.append(rule.properties).append("}}");
  }
  return text + "]}";
}

std::string about_methods() {
  std::string text;
  for (const SearchMethod& method : search_methods())
    text.append(text.empty() ? "" : "\n").append(method.name).append(": ").append(method.about);
  return text;
}

std::vector<FileKey> all_keys() {
  static const std::string count = R"({"type": "integer", "minimum": 1})";
  static const std::string time =
      R"({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}]})";
  std::vector<FileKey> keys = {
      {"", "name", text, "one line; default: the name of the file"},
      {"", "description", text, "free text"},
      {"", "after",
       R"({"anyOf": [{"type": ["integer", "string"]},
           {"type": "array", "items": {"type": ["integer", "string"]}}]})",
       "sweeps, by name or number, that end before this one starts"},
      {"", "method", one_of(search_methods().names()), about_methods()},
      {"", "seeds",
       R"({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 10000}, {"type": "array", "minItems": 1,
           "uniqueItems": true, "items": {"type": "integer", "minimum": 0}}, {"const": "auto"},
           {"type": "object", "additionalProperties": false, "properties": {
             "start": {"type": "integer", "minimum": 2, "maximum": 10000},
             "add": {"type": "integer", "minimum": 1, "maximum": 10000},
             "cap": {"type": "integer", "minimum": 3, "maximum": 10000}}}]})",
       "N for the seeds 1 to N, or a list; every configuration runs once with each. auto, or "
       "{start: "
       "6, add: 5, cap: 16}: after each look only those that may still be the best get more"},
      {"", "seed", R"({"type": "integer", "minimum": 0})", "what configurations are drawn from"},
      {"", "run_cap", count, "configurations at most; every method but grid needs it"},
      {"", "zip", R"({"type": "array", "minItems": 1})",
       "parameters that advance together: [[a, b]]"},
      {"", "each",
       R"({"anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}]})",
       "of methods that draw: every draw meets every value of these: [a]"},
      {"", "when", R"({"type": "object"})", "conditions of parameters: {a: {b: [x, y]}}"},
      {"", "constraint",
       R"({"anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}]})",
       "combinations of which these conditions do not hold are left out: optimizer.lr * "
       "batch.global <= 64"},
      {"", "env", R"({"type": "object", "additionalProperties": {"type": ["string", "null"]}})",
       "variables of the attempts' environment; null removes one"},
      {"", "early_terminate", early_schema(),
       "end trials that are far behind the others: {type: hyperband, min_iter: 3}"},
      {"", "keep",
       R"({"anyOf": [{"enum": ["all", "last", "best", "none"]}, {"type": "object", "additionalProperties": false,
           "properties": {"checkpoints": {"enum": ["all", "last", "best", "none"]},
                          "trials": {"type": "integer", "minimum": 0},
                          "points": {"anyOf": [{"const": 0}, {"type": "integer", "minimum": 10}]}}}]})",
       "which checkpoints stay when the sweep has ended, of how many of the best trials, and about "
       "how many points of each curve; default all"},
      {"", "clamp", flag, "take the most nodes allowed where more are asked for"},
      {"", "program", text, "a file of your own to run instead of Thalweg's engine"},
      {"", "command",
       R"({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "number", "boolean"]}}]})",
       "what to execute, with macros as ${program} and ${args}; default: the program with ${args}"},
      {"", "config", R"({"type": "object"})",
       "with program: what it is given beside the parameters"},
      {"", "interpreter", text, "with program: what ${interpreter} is; default python3"},
      {"", "launch", R"({"enum": ["once", "per_node", "per_rank"]})",
       "with program: how many processes are started; default per_rank"},
      {"", "setup", list_of_texts,
       "with program: shell lines before it on every node, as source venv/bin/activate"},
      {"", "chdir", text,
       "with program: the folder in which it runs, as ${folder}, each attempt's own"},
      {"", "container", text, "with program: an image that apptainer exec runs it in"},
      {"", "metric_pattern", list_of_texts,
       "with program: regular expressions with named groups that find metrics in its output"},
      {"", "tensorboard", text, "with program: folder of its TensorBoard event files"},
      {"", "stall", time, "with program: seconds of silence after which it is ended"},
      {"", "stop",
       R"({"type": "object", "additionalProperties": false, "properties": {"at": {"enum": ["nan", "target", "end"]},
           "patience": {"type": "integer", "minimum": 1}}})",
       "with program: when it is asked to stop early; default {at: nan}"},
      {"", "project", anything, "of W&B sweep files: ignored"},
      {"", "entity", anything, "of W&B sweep files: ignored"},
      {"", "apiVersion", anything, "of W&B sweep files: ignored"},
      {"", "kind", anything, "of W&B sweep files: ignored"},
      {"", "controller", anything, "of W&B sweep files: ignored"},
      {"", "scheduler", R"({"type": "object", "additionalProperties": false, "required": ["engine"],
           "properties": {"engine": {"const": "wandb"}}})",
       "of W&B sweep files: ignored"},
      {"metric", "name", text, "what trials are compared by, such as val/error"},
      {"metric", "goal", R"({"enum": ["minimize", "maximize"]})",
       "default: from the metric's name, else minimize"},
      {"metric", "target", R"({"type": "number"})", "the value that counts as the target"},
      {"metric", "impute", R"({"enum": ["worst", "best", "latest"]})",
       "what a failed trial counts as for methods that learn: the worst result of all, or the best "
       "or "
       "newest value of its own; default worst"},
      {"metric", "impute_while_running", R"({"enum": [false, "false", "worst", "best", "latest"]})",
       "the same of a trial that runs; default false: what the results let expect"},
      {"metric", "targets",
       R"({"type": "array", "items": {"type": "number"}, "uniqueItems": true})",
       "several such values; trials are ranked by the hardest"},
      {"resources", "nodes",
       R"({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "object",
           "properties": {"min": {"type": "integer", "minimum": 1},
                          "max": {"type": "integer", "minimum": 1}},
           "required": ["min", "max"], "additionalProperties": false}]})",
       "of one trial; a range {min, max}: an attempt takes as many as there are; default 1"},
      {"resources", "ranks_per_node", count, "processes on each node; default 1"},
      {"resources", "threads_per_rank", count, "cores of each process; default 1"},
      {"resources", "time", time, "\"HH:MM:SS\", \"D-HH:MM:SS\" or minutes; default one hour"},
      {"resources", "memory",
       R"({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]})",
       "of each node: 64G, 512M, or MiB"},
      {"resources", "gpus_per_node", R"({"type": "integer", "minimum": 0})", "default 0"},
      {"limits", "max_nodes_per_job", count, "nodes of one trial at most"},
      {"limits", "max_nodes_in_flight", count, "nodes of all running trials together; default 64"},
      {"limits", "node_hours", R"({"type": "number", "exclusiveMinimum": 0})",
       "budget of the sweep"},
      {"limits", "deadline", text,
       "when the sweep ends, as 2027-01-31T18:00 (local time) or with an offset from UTC"},
      {"limits", "max_retries", R"({"type": "integer", "minimum": 0})",
       "attempts after the first, of a trial that fails; default 2"},
      {"limits", "clamp", flag, "as at the top"},
      {"slurm", "srun", list_of_texts, "options for srun, as --cpu-bind=cores"},
      {"slurm", "mpi", text, "srun --mpi: pmix or one of its versions"},
      {"slurm", "setup", list_of_texts, "shell lines before srun, as module load ucx"},
      {"slurm", "signal_before_end_s", R"({"type": "integer", "minimum": 0})",
       "seconds before the time limit at which a checkpoint is written; default 60"},
      {"slurm", "pack",
       R"({"anyOf": [{"type": "integer", "minimum": 0, "maximum": 10000},
           {"type": "object", "additionalProperties": false, "required": ["trials"], "properties": {
             "trials": {"type": "integer", "minimum": 1, "maximum": 10000},
             "jobs": {"type": "integer", "minimum": 1, "maximum": 1000},
             "time_limit": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}]}}}]})",
       "trials that share a job at once, each as a step of its own; default 0, a job for each"},
  };
  const auto after = std::find_if(keys.begin(), keys.end(),
                                  [](const FileKey& key) { return key.name == "early_terminate"; });
  const std::vector<FileKey> methods = method_keys();
  keys.insert(after, methods.begin(), methods.end());
  return keys;
}

}  // namespace

const std::vector<FileKey>& file_keys() {
  static const std::vector<FileKey> keys = all_keys();
  return keys;
}

std::string json_schema(const Schema& schema) {
  Map top;
  const auto of_section = [&](const std::string& section) {
    Map properties;
    for (const FileKey& key : file_keys()) {
      if (key.section != section) continue;
      Value value = parsed(key.schema);
      if (value.is_null()) value = Map{};
      value.as_map().emplace_back("description", key.doc);
      properties.emplace_back(key.name, std::move(value));
    }
    return properties;
  };
  top = of_section("");
  Value metric = object("what trials are compared by", of_section("metric"));
  metric.as_map().emplace_back("required", List{"name"});
  top.emplace_back("metric", std::move(metric));
  top.emplace_back("resources", object("what one trial runs on", of_section("resources")));
  top.emplace_back("limits", object("what the sweep may take", of_section("limits")));
  top.emplace_back("slurm", slurm_block(of_section("slurm")));
  Value varied = parameters(schema);
  Map engine_only{{"propertyNames", Map{{"enum", parameter_names(schema, varied)}}}};
  top.emplace_back("parameters", std::move(varied));
  top.emplace_back("train", train_section(schema, ""));
  Map map{{"$schema", "http://json-schema.org/draft-07/schema#"},
          {"title", "Thalweg sweep file"},
          {"type", "object"},
          {"properties", std::move(top)},
          {"anyOf", List{Map{{"required", List{"train"}}}, Map{{"required", List{"program"}}},
                         Map{{"required", List{"command"}}}}},
          {"if", Map{{"required", List{"train"}}}},
          {"then", Map{{"properties", Map{{"parameters", std::move(engine_only)}}}}},
          {"patternProperties", Map{{"^x-", true}}},
          {"additionalProperties", false},
          {"definitions", definitions()}};
  return Value(std::move(map)).to_json();
}

}  // namespace thalweg::jobspec
