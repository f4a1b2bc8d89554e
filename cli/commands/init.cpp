// thalweg init: a commented sweep file to start from. Asks on a terminal; elsewhere, and with
// --yes, the options and their defaults decide.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <ostream>

#include "base/shell.h"
#include "cli/commands/common.h"
#include "cli/commands/starter_data.h"
#include "cli/commands/sweep_template.h"
#include "cli/commands/table.h"
#include "cli/output/text.h"
#include "jobspec/value.h"

namespace thalweg::cli {
namespace {

struct InitOptions {
  std::string file = "sweep.yaml", kind, data;
  std::vector<std::string> optimizers;
  std::int64_t seeds = 0, epochs = 0, nodes = 0;
  std::string partition;
  bool slurm = false, yes = false, force = false;
};

/// A line that somebody types; `fallback` for an empty one. Throws where the input ends.
std::string ask(Context& context, const std::string& question, const std::string& fallback) {
  context.out << question << (fallback.empty() ? "" : " [" + fallback + "]") << ": " << std::flush;
  std::string line;
  if (!std::getline(std::cin, line))
    throw CommandError(exit_failed, "nothing was written: the input ended");
  const auto first = line.find_first_not_of(" \t"), last = line.find_last_not_of(" \t\r");
  return first == std::string::npos ? fallback : line.substr(first, last - first + 1);
}

int ask_number(Context& context, const std::string& question, int fallback, int most) {
  for (;;) {
    const std::string text = ask(context, question, std::to_string(fallback));
    char* end = nullptr;
    const long number = std::strtol(text.c_str(), &end, 10);
    if (*end == '\0' && number >= 1 && number <= most) return static_cast<int>(number);
    context.out << "a whole number from 1 to " << most << ", please\n";
  }
}

const StarterKind* ask_kind(Context& context) {
  context.out << "What do you train on?\n";
  int number = 0;
  for (const StarterKind& kind : starter_kinds())
    context.out << "  " << ++number << "  " << pad_right(kind.name, 10) << "  " << kind.summary
                << '\n';
  const int chosen = ask_number(context, "number", 1, number);
  return &starter_kinds()[static_cast<std::size_t>(chosen - 1)];
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text)
    if (c == ',' || c == ' ')
      words.emplace_back();
    else
      words.back() += c;
  std::erase(words, "");
  return words;
}

/// Of --kind; nullptr where it says nothing.
const StarterKind* kind_of(const InitOptions& options) {
  if (options.kind.empty()) return nullptr;
  const StarterKind* kind = find_starter_kind(options.kind);
  std::vector<std::string> names;
  for (const StarterKind& known : starter_kinds())
    names.emplace_back(known.name);
  if (kind == nullptr)
    throw CommandError(exit_bad_input, "there is no kind '" + printable(options.kind) + "'",
                       "expected " + join(names, ", "));
  if (*kind->file == '\0' && !options.data.empty())
    throw CommandError(exit_bad_input, "--kind " + options.kind + " takes no --data",
                       "say what the file holds: --kind classes, regression, images or text");
  return kind;
}

/// Where the sweep file will look for it.
std::string data_path(const InitOptions& options, const std::string& data) {
  return options.file == "-" ? data
                             : (std::filesystem::path(options.file).parent_path() / data).string();
}

constexpr const char* usual_answers = "labels";

/// Those of an .npy file with the ones that belong to it, if they are there.
std::vector<ArrayFacts> arrays_of(const std::string& file) {
  std::vector<ArrayFacts> arrays = arrays_in(file);
  if (!file.ends_with(".npy") || arrays.size() != 1) return arrays;
  arrays[0].name = "inputs";
  const std::string beside = answers_beside(file, usual_answers);
  if (access(beside.c_str(), R_OK) != 0) return arrays;
  for (ArrayFacts& array : arrays_in(beside))
    arrays.emplace_back(std::move(array)).name = usual_answers;
  return arrays;
}

/// What a file of data is for, by what is in it. Throws CommandError where that does not tell.
const StarterKind* kind_of_data(const InitOptions& options, const std::string& file) {
  const std::string hint = "give it: --kind classes, regression, images or text";
  if (file.ends_with(".txt")) return find_starter_kind("text");
  if (!is_array_file(file))
    throw CommandError(exit_bad_input,
                       "the name of " + printable(file) + " does not say what it holds", hint);
  const std::vector<ArrayFacts> arrays = arrays_of(data_path(options, file));
  if (const auto data = data_of(arrays)) return find_starter_kind(data->kind);
  std::vector<std::string> names;
  for (const ArrayFacts& array : arrays)
    names.push_back(array.name);
  throw CommandError(
      exit_bad_input,
      "which arrays of " + printable(file) + " are inputs and which are labels or targets?",
      hint + (file.ends_with(".npy") ? "; it has one array, and there is no such file as "
                                       "labels.npy beside it"
              : names.empty()        ? ""
                                     : "; there are: " + printable(join(names, ", "))));
}

/// The names in a file that is there; it may be made later.
void look_up_names(const InitOptions& options, StarterAnswers& answers) {
  const std::string path = data_path(options, answers.file);
  if (answers.file.ends_with(".npy")) {
    const auto beside = std::filesystem::path(answers_beside(path, answers.kind->answers));
    answers.answers_file =
        (std::filesystem::path(answers.file).parent_path() / beside.filename()).string();
    return;
  }
  if (*answers.kind->answers == '\0' || !is_array_file(path) || access(path.c_str(), R_OK) != 0)
    return;
  if (const auto data = data_of(arrays_in(path))) {
    answers.inputs = data->inputs;
    answers.answers = data->answers;
  }
}

/// First of all the data: what is trained follows from them, or is asked where they do not tell.
void ask_data(Context& context, const InitOptions& options, StarterAnswers& answers) {
  const std::string file = ask(
      context, "your data: a file of arrays (.npz, .npy, .h5) or text (empty: Fashion-MNIST)", "");
  if (file.empty()) {
    answers.kind = &starter_kinds()[0];
    return;
  }
  try {
    answers.kind = kind_of_data(options, file);
  } catch (const CommandError& error) {
    context.out << error.what() << '\n';
    answers.kind = ask_kind(context);
  }
  if (*answers.kind->file != '\0') answers.file = file;
  if (!is_array_file(file)) return;
  look_up_names(options, answers);
  if (!answers.answers.empty())
    context.out << "found inputs " << printable(answers.inputs) << " and "
                << printable(answers.answers) << " for them: " << answers.kind->summary << '\n';
}

void ask_all(Context& context, const InitOptions& options, StarterAnswers& answers) {
  context.out << "Return takes what is in brackets; Ctrl-C writes nothing.\n\n";
  if (answers.kind == nullptr) ask_data(context, options, answers);
  if (*answers.kind->file != '\0' && options.data.empty() && answers.file.empty())
    answers.file = ask(context, "file (from the folder of the sweep file)", answers.kind->file);
  if (options.optimizers.empty())
    answers.optimizers =
        words_of(ask(context, "optimizers to compare", join(answers.optimizers, " ")));
  if (options.seeds == 0)
    answers.seeds = ask_number(context, "seeds for each", answers.seeds, 1000);
  if (options.epochs == 0) answers.epochs = ask_number(context, "epochs", answers.epochs, 1000000);
  if (!options.slurm)
    answers.slurm = ask(context, "run on Slurm? y/n", "n").find_first_of("yY") == 0;
  if (answers.slurm && options.nodes == 0)
    answers.nodes = ask_number(context, "nodes for each job", answers.nodes, 64);
  if (answers.slurm && options.partition.empty())
    answers.partition = ask(context, "partition (empty: the cluster's own)", "");
}

StarterAnswers answers_of(Context& context, const InitOptions& options) {
  StarterAnswers answers;
  const bool asks =
      !options.yes && options.file != "-" && context.terminal.is_terminal && isatty(0);
  answers.kind = kind_of(options);
  if (answers.kind == nullptr && !options.data.empty())
    answers.kind = kind_of_data(options, options.data);
  if (answers.kind == nullptr && !asks) answers.kind = &starter_kinds()[0];
  const auto slash = options.file.rfind('/'), start = slash == std::string::npos ? 0 : slash + 1;
  if (const std::string name = options.file.substr(start, options.file.rfind('.') - start);
      options.file != "-" && !name.empty())
    answers.name = name;
  if (!options.optimizers.empty()) answers.optimizers = options.optimizers;
  if (options.seeds > 0) answers.seeds = static_cast<int>(options.seeds);
  if (options.epochs > 0) answers.epochs = static_cast<int>(options.epochs);
  if (options.nodes > 0) answers.nodes = static_cast<int>(options.nodes);
  answers.slurm = options.slurm || options.nodes > 1 || !options.partition.empty();
  answers.partition = options.partition;
  if (asks) ask_all(context, options, answers);
  if (answers.slurm) answers.ranks_per_node = 1;
  if (!options.data.empty()) answers.file = options.data;
  if (answers.file.empty()) answers.file = answers.kind->file;
  look_up_names(options, answers);
  return answers;
}

/// Never over a file that is there, unless asked to.
void write_new(const std::string& file, const std::string& text, bool force) {
  const int fd =
      open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0666);
  if (fd < 0 && errno == EEXIST)
    throw CommandError(exit_bad_input, file + " exists already",
                       "name another file, or overwrite it with --force");
  if (fd < 0) throw CommandError(exit_failed, "cannot write " + file + ": " + std::strerror(errno));
  const bool whole = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int error = errno;
  if (close(fd) != 0 || !whole)
    throw CommandError(exit_failed, "cannot write " + file + ": " + std::strerror(error));
}

int init(Context& context, const InitOptions& options) {
  const StarterAnswers answers = answers_of(context, options);
  const std::string text = sweep_template(answers);
  if (options.file == "-") {
    context.out << text;
    return exit_ok;
  }
  write_new(options.file, text, options.force);
  const std::string word = shell_word(options.file);
  context.out << "wrote " << printable(options.file) << '\n';
  print_next(context, {{"thalweg validate " + word, "check it after every change"},
                       {"thalweg run " + word, "run it, watch it and compare the results"}});
  return exit_ok;
}

}  // namespace

Action make_init(Arguments& arguments) {
  auto options = std::make_shared<InitOptions>();
  Argument& file = arguments.positional("FILE", options->file,
                                        "where to write (default: sweep.yaml; - prints it)");
  file.required = false;
  file.completes = Completes::file;
  std::vector<std::string> names;
  for (const StarterKind& kind : starter_kinds())
    names.emplace_back(kind.name);
  arguments
      .option("--kind", "KIND", options->kind,
              "what is trained (default: from the file of --data, else example)")
      .choices = names;
  arguments
      .option("--data", "FILE", options->data,
              "the data, from the folder of the sweep file; names in it are looked up")
      .completes = Completes::file;
  arguments.option("--optimizers", "A,B", options->optimizers, "what is compared");
  arguments.option("--seeds", "N", options->seeds, "seeds for each configuration (default: 3)");
  arguments.option("--epochs", "N", options->epochs, "how long each trial trains (default: 5)");
  arguments.flag("--slurm", options->slurm, "for a Slurm cluster");
  arguments.option("--nodes", "N", options->nodes, "nodes for each job");
  arguments.option("--partition", "NAME", options->partition, "Slurm's partition");
  arguments.flag("-y,--yes", options->yes, "ask nothing");
  arguments.flag("--force", options->force, "overwrite the file");
  return [options](Context& context) { return init(context, *options); };
}

}  // namespace thalweg::cli
