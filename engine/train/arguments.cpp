// What thalweg-train is asked to do: one action, and what goes with it.
#include "engine/train/arguments.h"

#include <algorithm>
#include <filesystem>

#include "base/command_line.h"

namespace thalweg::engine {
namespace {

constexpr const char* kHelp =
    R"(thalweg-train: trains one trial; one process is one rank

usage: thalweg-train TRIAL.yaml
       thalweg-train --check [--json] [--trial N] TRIAL.yaml | SWEEP.yaml
       thalweg-train --describe [--json] TRIAL.yaml... | SWEEP.yaml | -
       thalweg-train --noise [--json] TRIAL.yaml
       thalweg-train --evaluate [--json] [--checkpoint FILE | --best] TRIAL.yaml
       thalweg-train --export FILE [--checkpoint FILE | --best] TRIAL.yaml
       thalweg-train --flood-fill [--json] [--best] TRIAL.yaml --volume FILE
                     [--truth FILE] [--out FILE]
       thalweg-train --metrics [TRIAL.yaml | SWEEP.yaml]
       thalweg-train --arrays [--json] FILE
       thalweg-train --options [PREFIX]
       thalweg-train --schema | --layers | --manual | --version | --help

  --check       build everything, train nothing: parameters, steps, memory; of a sweep file once for each distinct shape
                of its trials. Mistakes are reported with line and key; the exit code is then 2
  --describe    the same, and layers and FLOPs, without loading data, from headers, file sizes and options alone. What only
                the contents of the data show is listed as unseen. Takes many trial files at once, or trials on standard
                input (-), and prints a line of JSON for each
  --noise       the gradient noise scale over all training samples, from the gradient of each, at the newest
                checkpoint or at the initial weights; threads as resources.threads_per_rank says
  --flood-fill  segment a volume of any size (NPY, NPZ:NAME, H5:NAME; d x h x w, or c x d x h x w) by the newest
                checkpoint of a trial that learns the object at the centre, a part of which is its last channel
                (data cells, predict: object): object numbers into --out (segmentation.npy beside the trial), and
                against the true ones of --truth adapted Rand error, its precision and recall, and IoU
  --evaluate    validation's metrics, and the test's, of the newest checkpoint
  --export      its weights as FILE, which ends with .npz or .safetensors, names as PyTorch's; or the model, as .onnx
  --arrays      the arrays in an NPY, NPZ or HDF5 file, with type and shape
  --options     what `train:` may hold, with ranges and defaults; of one part with PREFIX:
                data, data.arrays, optimizer.adamw, batch.global
  --metrics     all metrics, or those that all trials of a file report
  --schema      what `train:` may hold, and the metrics, as JSON
  --layers      what a model `graph` is made of
  --manual      the same options as a manual page, thalweg-sweep-train(5)

with --evaluate and --export:
  --checkpoint FILE  this one instead of the newest
with --evaluate, --export and --flood-fill:
  --best             that of the best validation, which checkpoint.best keeps

with --check and --describe:
  --trial N      only trial N of the sweep file
  --elsewhere    the trials will run on other machines: missing files, GPUs and CPU features produce only a note
  --seconds S    check no other shape after S seconds (default 10)
  --as NAME      the file is a sweep file, and messages call it NAME
  --directory D  the folder that relative paths count from (default: the sweep file's)
  --max-nodes N  the site's limit of nodes a job (default 64), for sweeps that are clamped
  --gpu-memory M with --elsewhere: MiB of one GPU there, for which models on GPUs are planned

Rank, size and peers come from PMIx: start several ranks with
  srun --mpi=pmix thalweg-train trial.yaml
  thalweg-launch -n 2 -- thalweg-train trial.yaml
Without PMIx there is one rank.

Journal, checkpoints and failure files go into the folder of TRIAL.yaml. SIGTERM, SIGINT and SIGUSR1 stop all ranks
after a checkpoint; a later run in the same folder continues from it.

exit codes: 0 finished, 2 bad input, 3 diverged (loss or gradient not finite), 75 stopped on request after a
checkpoint. 76: another start holds the attempt, or the controller has given it up. Anything else: failed.
)";

using Action = Arguments::Action;

/// An option that only some actions take.
struct GoesWith {
  std::string option;
  std::vector<Action> actions;
  const char* sentence;  ///< what is said with another action
};

class Reader {
 public:
  explicit Reader(Arguments& arguments) : a_(arguments) {
    add_actions();
    value("--checkpoint", "FILE", a_.checkpoint, {Action::evaluate, Action::export_weights},
          "--checkpoint goes with --evaluate and --export");
    add_flag("--best", a_.best, {Action::evaluate, Action::export_weights, Action::flood_fill},
             "--best goes with --evaluate, --export and --flood-fill");
    add_flag("--json", a_.json,
             {Action::check, Action::describe, Action::evaluate, Action::noise, Action::flood_fill,
              Action::arrays},
             "--json goes with --check, --describe, --evaluate, --noise, --flood-fill and "
             "--arrays");
    constexpr const char* flood = "--volume, --truth and --out go with --flood-fill";
    value("--volume", "FILE", a_.flood.volume, {Action::flood_fill}, flood);
    value("--truth", "FILE", a_.flood.truth, {Action::flood_fill}, flood);
    value("--out", "FILE", a_.flood.out, {Action::flood_fill}, flood);
    add_check();
  }

  const std::vector<CommandOption>& rows() const { return rows_; }

  /// Throws where an option does not go with the action.
  void check() const {
    for (const GoesWith& row : given_)
      if (std::find(row.actions.begin(), row.actions.end(), a_.action) == row.actions.end())
        throw UsageError(row.sentence);
  }

 private:
  using Set = std::function<void(const std::string&)>;

  /// --help goes before all others.
  void choose(const std::string& name, Action action) {
    if (a_.action == Action::help || action == a_.action) return;
    if (a_.action != Action::train) throw UsageError(name + ": one action at a time");
    a_.action = action;
  }

  void action(const std::string& name, Action action, const std::string& letter = "") {
    rows_.push_back(
        {name, letter, "", "", "", [=, this](const std::string&) { choose(name, action); }});
  }

  void add(const std::string& name, const std::string& what, std::vector<Action> actions,
           const char* sentence, Set set) {
    rows_.push_back(
        {name, "", what, "", "",
         [=, this, row = GoesWith{name, std::move(actions), sentence}](const std::string& word) {
           given_.push_back(row);
           set(word);
         }});
  }
  void value(const std::string& name, const std::string& what, std::string& target,
             std::vector<Action> actions, const char* sentence) {
    add(name, what, std::move(actions), sentence,
        [&target](const std::string& word) { target = word; });
  }
  void add_flag(const std::string& name, bool& target, std::vector<Action> actions,
                const char* sentence) {
    add(name, "", std::move(actions), sentence, [&target](const std::string&) { target = true; });
  }

  void add_actions() {
    action("--help", Action::help, "-h");
    action("--check", Action::check);
    action("--describe", Action::describe);
    action("--noise", Action::noise);
    action("--evaluate", Action::evaluate);
    rows_.push_back({"--export", "", "FILE", "", "", [this](const std::string& word) {
                       choose("--export", Action::export_weights);
                       a_.exported = word;
                     }});
    action("--flood-fill", Action::flood_fill);
    action("--metrics", Action::metrics);
    action("--arrays", Action::arrays);
    action("--options", Action::options);
    action("--schema", Action::schema);
    action("--layers", Action::layers);
    action("--manual", Action::manual);
    action("--version", Action::version);
  }

  void add_check() {
    constexpr const char* sentence =
        "--trial, --elsewhere, --seconds, --as, --directory, --max-nodes and --gpu-memory go with "
        "--check and --describe";
    const std::vector<Action> only{Action::check, Action::describe};
    SweepCheckOptions& options = a_.check;
    add("--trial", "N", only, sentence, [&options](const std::string& word) {
      options.trial = number<std::int64_t>("--trial", word, 0, kMax);
    });
    add("--seconds", "S", only, sentence, [&options](const std::string& word) {
      options.seconds = number<double>("--seconds", word, 0, kMax);
    });
    add("--max-nodes", "N", only, sentence, [&options](const std::string& word) {
      options.max_nodes = number<int>("--max-nodes", word, 0, kMax);
    });
    add("--gpu-memory", "M", only, sentence, [&options](const std::string& word) {
      options.gpu_memory_mib = number<std::int64_t>("--gpu-memory", word, 0, kMax);
    });
    add("--directory", "D", only, sentence,
        [&options](const std::string& word) { options.directory = word; });
    add("--as", "NAME", only, sentence, [&options](const std::string& word) {
      options.name = word;
      options.is_sweep = true;
    });
    add_flag("--elsewhere", options.elsewhere, only, sentence);
  }

  static constexpr int kMax = 1'000'000'000;
  Arguments& a_;
  std::vector<CommandOption> rows_;
  std::vector<GoesWith> given_;
};

}  // namespace

const char* help_text() {
  return kHelp;
}

Arguments parse(const std::vector<std::string>& words) {
  Arguments a;
  const Reader reader(a);
  const auto files = parse_command_line(reader.rows(), words, Names::anywhere);
  using enum Arguments::Action;
  if (a.action == help) return a;
  a.files = files;
  if (files.size() > 1 && a.action != describe) throw UsageError("one file at a time: " + files[1]);
  if (!files.empty()) a.file = files[0];
  reader.check();
  if (a.best && !a.checkpoint.empty())
    throw UsageError("--best and --checkpoint exclude each other");
  const std::vector<Action> with_file{train,    check,          describe,  noise,
                                      evaluate, export_weights, flood_fill};
  if (a.file.empty() && std::find(with_file.begin(), with_file.end(), a.action) != with_file.end())
    throw UsageError("which trial? Give the path of a trial.yaml, or --help");
  if (a.file.empty() && a.action == arrays) throw UsageError("--arrays: of which file?");
  if (!a.file.empty()) a.check.file = std::filesystem::absolute(a.file);
  if (a.check.name.empty()) a.check.name = a.file;
  return a;
}

}  // namespace thalweg::engine
