#include "daemon/api/program_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "jobspec/metric_pattern.h"
#include "jobspec/program.h"

namespace thalweg::daemon::api {

namespace fs = std::filesystem;

namespace {

/// The modules that a Python script imports, without their parts.
std::set<std::string> imports_of(const fs::path& script) {
  std::ifstream in(script);
  std::set<std::string> modules;
  constexpr int max_lines = 2000;
  std::string line;
  for (int i = 0; i < max_lines && std::getline(in, line); ++i) {
    std::istringstream words(line);
    std::string verb, module;
    words >> verb >> module;
    if (verb != "import" && verb != "from") continue;
    modules.insert(module.substr(0, module.find_first_of(".,")));
  }
  return modules;
}

/// And not thalweg, by which it would report itself.
bool imports_wandb_alone(const fs::path& script) {
  const std::set<std::string> modules = imports_of(script);
  return modules.count("wandb") > 0 && modules.count("thalweg") == 0;
}

/// What a program says that asks Thalweg for its parameters, by itself or by the shim.
bool names_thalweg(const std::string& text) {
  for (const char* word : {"thalweg", "THALWEG_", "wandb"})
    if (text.find(word) != text.npos) return true;
  return false;
}

/// Empty where it is no file that a person may have written or compiled.
std::string text_of_file(const fs::path& file) {
  constexpr std::uintmax_t max_bytes = 16 << 20;
  std::error_code error;
  if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > max_bytes || error)
    return "";
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

class ProgramCheck {
 public:
  ProgramCheck(const ProgramCheckRequest& request, jobspec::Sweep& sweep)
      : request_(request), sweep_(sweep), program_(*sweep.program) {
    program_.directory = sweep.directory;
  }

  std::vector<jobspec::Diagnostic> mistakes;

  void look(const jobspec::Expansion& expansion) {
    look_for_program();
    if (!program_.container.empty()) look_for_image();
    for (const std::string& line : program_.setup)
      look_at_setup(line);
    const jobspec::CommandValues values = values_of(expansion);
    const std::vector<std::string> words = jobspec::expand_command(program_, values, environment_);
    look_for_command(words);
    look_for_script(words);
    look_at_metric();
    look_at_imports(words);
    look_at_hydra(words);
    look_at_parameters(words);
    look_for_srun(words);
    if (mistakes.empty())
      show(words, jobspec::working_directory(program_, values, environment_).string());
  }

 private:
  /// A mistake here; a note where the trials run on machines that may see more.
  void report_error(const std::string& key, const std::string& message,
                    const std::string& hint = {}) {
    const jobspec::Diagnostic said{sweep_.file, place_of(key), key, message, hint};
    if (request_.elsewhere)
      sweep_.notes.push_back(said.to_string());
    else
      mistakes.push_back(said);
  }

  void note(const std::string& key, const std::string& message) {
    const jobspec::Diagnostic said{sweep_.file, place_of(key), key, message, ""};
    sweep_.notes.push_back(said.to_string());
  }

  jobspec::Place place_of(const std::string& key) const {
    const auto it = sweep_.places.find(key);
    return it == sweep_.places.end() ? jobspec::Place{} : it->second;
  }

  std::optional<std::string> variable(const std::string& name) const {
    if (request_.environment.empty()) {
      const char* value = std::getenv(name.c_str());
      return value == nullptr ? std::nullopt : std::optional<std::string>(value);
    }
    for (const std::string& entry : request_.environment)
      if (entry.compare(0, name.size() + 1, name + "=") == 0) return entry.substr(name.size() + 1);
    return std::nullopt;
  }

  /// Of a word of the command, which no shell reads.
  fs::path in_folder(const std::string& path) const { return fs::path(program_.directory) / path; }
  fs::path program_path() const { return jobspec::program_path(program_, environment_); }

  /// Of a word of the command: whether it counts from a folder that is made when the trial starts.
  bool counts_from_chdir(const std::string& word) const {
    return !program_.chdir.empty() && fs::path(word).is_relative();
  }

  void look_for_program() {
    if (program_.file.empty()) return;
    const fs::path path = program_path();
    std::error_code error;
    if (!fs::exists(path, error))
      report_error("program",
                   fmt::format("found \"{}\", expected a file: there is no {}", program_.file,
                               path.string()),
                   "it counts from the sweep file's folder");
    else if (fs::is_directory(path, error))
      report_error("program", fmt::format("found the folder {}, expected a file", path.string()));
    else if (access(path.c_str(), R_OK) != 0)
      report_error("program", fmt::format("{} cannot be read", path.string()));
  }

  void look_for_image() {
    std::error_code error;
    const fs::path image = jobspec::path_in_folder(program_, program_.container, environment_);
    if (program_.container.find("://") == std::string::npos && !fs::exists(image, error))
      report_error("container", fmt::format("there is no {}", image.string()));
  }

  /// `source FILE` can be looked at, `module` and `conda` cannot.
  void look_at_setup(const std::string& line) {
    std::istringstream in(line);
    std::string word, file;
    in >> word >> file;
    if (word == "source" || word == ".") {
      std::error_code error;
      const bool plain = file.find_first_of("$*~`\"'") == std::string::npos;
      if (plain && !fs::exists(in_folder(file), error))
        report_error("setup",
                     fmt::format("\"{}\": there is no {}", line, in_folder(file).string()));
      if (plain) return;
    }
    note("setup", fmt::format("\"{}\": only the nodes can show whether it works; where it fails, "
                              "the trial ends as bad input",
                              line));
  }

  jobspec::CommandValues values_of(const jobspec::Expansion& expansion) const {
    jobspec::CommandValues values;
    values.folder = "<attempt>";
    values.config_file = "<attempt>/config.json";
    if (!expansion.trials.empty()) {
      const jobspec::ExpandedTrial& trial = expansion.trials.front();
      values.seed = trial.seed;
      values.config = jobspec::program_config(program_, trial.train, trial.seed);
      values.nodes = trial.resources.nodes;
      values.ranks_per_node = trial.resources.ranks_per_node;
      values.threads_per_rank = trial.resources.threads_per_rank;
    }
    return values;
  }

  bool in_path(const std::string& name) const {
    std::istringstream path(variable("PATH").value_or("/usr/local/bin:/usr/bin:/bin"));
    for (std::string folder; std::getline(path, folder, ':');)
      if (access((fs::path(folder) / name).c_str(), X_OK) == 0) return true;
    return false;
  }

  /// The place of the word that is executed, by env or by itself; nothing where env has options.
  static std::optional<std::size_t> place_of_executed(const std::vector<std::string>& words) {
    if (words[0] != "/usr/bin/env" && words[0] != "env") return 0;
    std::size_t at = 1;
    while (at < words.size() && words[at].find('=') != std::string::npos)
      ++at;
    if (at == words.size() || words[at][0] == '-') return std::nullopt;
    return at;
  }

  /// Where its command is written.
  std::string command_key() const {
    return sweep_.places.count("command") != 0 ? "command" : "program";
  }

  /// The first word, and the one that env executes.
  void look_for_command(const std::vector<std::string>& words) {
    const auto at = place_of_executed(words);
    if (!at) return;
    const std::string& word = words[*at];
    const std::string key = command_key();
    std::error_code error;
    if (word.starts_with('-')) {
      mistakes.push_back({sweep_.file, place_of(key), key,
                          fmt::format("it begins with the argument {}, expected a program", word),
                          "its first words are usually \"${env}\", \"${interpreter}\", "
                          "\"${program}\""});
    } else if (word.find('/') != std::string::npos) {
      if (counts_from_chdir(word)) return;
      const fs::path path = in_folder(word);
      if (!fs::exists(path, error)) {
        if (path != program_path()) report_error(key, fmt::format("there is no {}", path.string()));
      } else if (access(path.c_str(), X_OK) != 0) {
        report_error(key, fmt::format("{} is not executable", path.string()),
                     "chmod +x, or say by which interpreter, as interpreter: bash");
      }
    } else if (program_.setup.empty() && !in_path(word)) {
      report_error(key, fmt::format("there is no {} in PATH", word),
                   "setup can put it there, as setup: [source venv/bin/activate]");
    } else if (!program_.setup.empty() && !in_path(word)) {
      note(key, fmt::format("{} is not in PATH here; setup has to put it there", word));
    }
  }

  /// Steps of Slurm's on a machine of one's own wait for an allocation that never comes.
  void look_for_srun(const std::vector<std::string>& words) {
    if (request_.elsewhere) return;
    const auto at = place_of_executed(words);
    if (!at || fs::path(words[*at]).filename() != "srun") return;
    note(command_key(),
         "srun asks Slurm for nodes, and the backend local has none: resources.ranks_per_node "
         "starts as many processes by itself (launch: per_rank)");
  }

  /// A script that the command names by itself.
  void look_for_script(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      std::error_code error;
      const bool script = word.ends_with(".py") && word[0] != '-' && !counts_from_chdir(word) &&
                          in_folder(word) != program_path();
      if (script && !fs::exists(in_folder(word), error))
        report_error("command", fmt::format("there is no {}", in_folder(word).string()),
                     "it counts from the sweep file's folder");
    }
  }

  /// A pattern's names are known before anything runs.
  void look_at_metric() {
    if (program_.metric_pattern.empty() || !program_.tensorboard.empty()) return;
    std::vector<std::string> names;
    for (const std::string& pattern : program_.metric_pattern) {
      const std::vector<std::string> found = jobspec::MetricPattern(pattern).metrics();
      if (found.empty()) return;  // name and value: any
      names.insert(names.end(), found.begin(), found.end());
    }
    if (std::find(names.begin(), names.end(), sweep_.metric.name) == names.end())
      note("metric_pattern",
           fmt::format("it finds {}, not {}, by which trials are ranked; thalweg.log may report it",
                       fmt::join(names, ", "), sweep_.metric.name));
  }

  /// W&B's own package would report to its service, and nothing comes here.
  void look_at_imports(const std::vector<std::string>& words) {
    const bool told = variable("THALWEG_WANDB") ||
                      std::any_of(sweep_.environment.begin(), sweep_.environment.end(),
                                  [](const auto& entry) { return entry.first == "THALWEG_WANDB"; });
    if (told || !program_.metric_pattern.empty() || !program_.tensorboard.empty()) return;
    for (const std::string& word : words) {
      if (!word.ends_with(".py") || !imports_wandb_alone(in_folder(word))) continue;
      note(sweep_.places.count("program") != 0 ? "program" : "command",
           fmt::format("{} imports wandb: env: {{THALWEG_WANDB: shim}} has its values reported "
                       "here, without it nothing comes",
                       fs::path(word).filename().string()));
      return;
    }
  }

  /// Hydra reads values by a grammar of its own: a,b is a sweep, None a text.
  void look_at_hydra(const std::vector<std::string>& words) {
    const auto& command = program_.command;
    if (std::find(command.begin(), command.end(), "${args_no_hyphens}") == command.end()) return;
    for (const std::string& word : words) {
      if (!word.ends_with(".py") || imports_of(in_folder(word)).count("hydra") == 0) continue;
      note("command", fmt::format("{} imports hydra: ${{args_override_hydra}} quotes values as its "
                                  "grammar requires and writes null, ${{args_no_hyphens}} does not",
                                  fs::path(word).filename().string()));
      return;
    }
  }

  /// Without a macro for them parameters reach only a program that asks for them; all trials of
  /// another one are equal.
  void look_at_parameters(const std::vector<std::string>& words) {
    const bool seeds_only = sweep_.axes.empty();
    if (seeds_only && sweep_.seeds.size() < 2) return;
    const auto gives = [&](const std::string& word) {
      return word.find("${args") != word.npos || (seeds_only && word.find("${seed}") != word.npos);
    };
    const auto asks = [&](const std::string& word) {
      return names_thalweg(word) || names_thalweg(text_of_file(in_folder(word)));
    };
    if (std::any_of(program_.command.begin(), program_.command.end(), gives) ||
        std::any_of(words.begin(), words.end(), asks))
      return;
    note("command",
         "it has no ${args}: parameters reach only a program that reads the file $THALWEG_CONFIG "
         "(as thalweg.init().config does); of another one all trials are equal");
  }

  void show(const std::vector<std::string>& words, const std::string& folder) {
    const char* const often[] = {"once, with the whole allocation", "once on each node",
                                 "once for each rank"};
    std::string text =
        fmt::format("trial 1 starts {}: {}", often[static_cast<std::size_t>(program_.launch)],
                    jobspec::shell_line(words));
    if (!program_.setup.empty())
      text += fmt::format(" (after {})", fmt::join(program_.setup, "; "));
    if (!folder.empty()) text += " in " + folder;
    note(sweep_.places.count("program") != 0 ? "program" : "command", text);
  }

  const ProgramCheckRequest& request_;
  jobspec::Sweep& sweep_;
  jobspec::Program program_;
  const jobspec::Environment environment_ = [this](const std::string& name) {
    return variable(name);
  };
};

}  // namespace

void check_program(const ProgramCheckRequest& request, const jobspec::Expansion& expansion,
                   jobspec::Sweep& sweep) {
  ProgramCheck check(request, sweep);
  check.look(expansion);
  if (!check.mistakes.empty()) throw jobspec::InputError(check.mistakes);
}

}  // namespace thalweg::daemon::api
