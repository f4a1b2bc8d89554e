// The keys that say how a program of the user's own runs, at the top of a sweep file and in
// trial.yaml.
#include "jobspec/program.h"

#include <algorithm>
#include <stdexcept>

#include "jobspec/metric_pattern.h"
#include "jobspec/reader.h"
#include "jobspec/resources.h"

namespace thalweg::jobspec {
namespace {

bool is_python(const std::string& file) {
  return file.size() > 3 && file.compare(file.size() - 3, 3, ".py") == 0;
}

/// Python by its interpreter, everything else by itself.
std::vector<std::string> usual_command(const std::string& file, bool interpreted) {
  if (interpreted || is_python(file)) return {"${env}", "${interpreter}", "${program}", "${args}"};
  return {"${program}", "${args}"};
}

void read_launch(Fields& fields, Program& program) {
  std::string launch;
  if (!fields.text("launch", launch)) return;
  if (const auto mode = find_name<LaunchMode>(launch))
    program.launch = *mode;
  else
    fields.wrong(*fields.take("launch"), "launch", "once, per_node or per_rank",
                 word_hint("launch", launch, {"once", "per_node", "per_rank"}));
}

void read_patterns(Fields& fields, Program& program, Diagnostics& diagnostics) {
  if (!fields.texts("metric_pattern", program.metric_pattern)) return;
  const Value& given = *fields.take("metric_pattern");
  for (std::size_t i = 0; i < program.metric_pattern.size(); ++i) {
    const std::string& pattern = program.metric_pattern[i];
    try {
      const MetricPattern checked(pattern);
    } catch (const std::invalid_argument& error) {
      const Place place = given.is_list() ? given.as_list()[i].place : given.place;
      diagnostics.add(place, fields.path_of("metric_pattern"),
                      "\"" + pattern + "\": " + error.what());
    }
  }
}

/// Seconds as a whole number, or "HH:MM:SS".
void read_stall(Fields& fields, Program& program) {
  const Value* value = fields.take("stall");
  if (!value) return;
  if (value->is_int() && value->as_int() > 0) {
    program.stall_s = value->as_int();
  } else if (const auto seconds = value->is_string() ? parse_time(*value) : std::nullopt) {
    program.stall_s = *seconds;
  } else {
    fields.wrong(*value, "stall", "seconds of silence, or \"HH:MM:SS\"");
  }
}

void read_stop(Fields& fields, Program& program, Diagnostics& diagnostics) {
  const Value* value = fields.take("stop");
  if (!value) return;
  Fields stop(*value, fields.path_of("stop"), diagnostics);
  std::string at;
  if (stop.text("at", at)) {
    program.stop_at_target = at == "target";
    program.stop_at_nan = at != "end";
    if (at != "target" && at != "nan" && at != "end")
      stop.wrong(*stop.take("at"), "at", "nan, target or end",
                 word_hint("at", at, {"nan", "target", "end"}));
  }
  stop.integer("patience", program.patience, {1, 1'000'000});
  stop.finish();
}

/// Words; numbers and truth values among them as Python writes them, as W&B takes them.
void read_command(Fields& fields, Program& program) {
  const Value* value = fields.take("command");
  const auto is_word = [](const Value& item) {
    return item.is_string() || item.is_number() || item.is_bool();
  };
  if (!value || !value->is_list() ||
      !std::all_of(value->as_list().begin(), value->as_list().end(), is_word)) {
    fields.texts("command", program.command);
    return;
  }
  for (const Value& item : value->as_list())
    program.command.push_back(python_word(item));
}

}  // namespace

const std::vector<std::string>& program_keys() {
  static const std::vector<std::string> keys{
      "program",   "command",        "interpreter", "launch", "setup", "chdir",
      "container", "metric_pattern", "tensorboard", "stall",  "stop"};
  return keys;
}

Program read_program(Fields& fields, Diagnostics& diagnostics) {
  Program program;
  fields.text("program", program.file);
  const bool interpreted = fields.text("interpreter", program.interpreter);
  read_command(fields, program);
  if (program.command.empty()) {
    if (program.file.empty() && !fields.take("command")) fields.missing("program", "a file to run");
    program.command = usual_command(program.file, interpreted);
  } else if (program.file.empty()) {
    const bool needed =
        std::any_of(program.command.begin(), program.command.end(),
                    [](const std::string& word) { return word.find("${program}") != word.npos; });
    if (needed) fields.missing("program", "the file that ${program} in command stands for");
  }
  read_launch(fields, program);
  fields.texts("setup", program.setup);
  fields.text("chdir", program.chdir);
  fields.text("container", program.container);
  read_patterns(fields, program, diagnostics);
  fields.text("tensorboard", program.tensorboard);
  read_stall(fields, program);
  read_stop(fields, program, diagnostics);
  return program;
}

Value write_program(const Program& program) {
  const Program usual;
  Map map;
  const auto texts = [](const std::vector<std::string>& words) {
    return List(words.begin(), words.end());
  };
  const auto text = [&](const char* key, const std::string& value, const std::string& standard) {
    if (value != standard) map.emplace_back(key, value);
  };
  text("program", program.file, "");
  map.emplace_back("command", texts(program.command));
  text("interpreter", program.interpreter, usual.interpreter);
  text("launch", std::string(name_of(program.launch)), std::string(name_of(usual.launch)));
  if (!program.setup.empty()) map.emplace_back("setup", texts(program.setup));
  text("chdir", program.chdir, "");
  text("container", program.container, "");
  if (!program.metric_pattern.empty())
    map.emplace_back("metric_pattern", texts(program.metric_pattern));
  text("tensorboard", program.tensorboard, "");
  if (program.stall_s > 0) map.emplace_back("stall", program.stall_s);
  Map stop;
  if (program.stop_at_target)
    stop.emplace_back("at", "target");
  else if (!program.stop_at_nan)
    stop.emplace_back("at", "end");
  if (program.patience > 0) stop.emplace_back("patience", program.patience);
  if (!stop.empty()) map.emplace_back("stop", std::move(stop));
  if (program.passes_seed) map.emplace_back("passes_seed", true);
  text("directory", program.directory, "");
  return map;
}

Program read_written_program(const Value& value, const std::string& path,
                             Diagnostics& diagnostics) {
  Fields fields(value, path, diagnostics);
  Program program = read_program(fields, diagnostics);
  fields.boolean("passes_seed", program.passes_seed);
  fields.text("directory", program.directory);
  fields.finish();
  return program;
}

}  // namespace thalweg::jobspec
