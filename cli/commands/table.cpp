#include "cli/commands/table.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "db/studies/study.h"

namespace thalweg::cli {
namespace {

constexpr std::array table{
    Command{"init", "write a commented sweep file to start from",
            "Asks a few questions on a terminal; options answer them beforehand.",
            "thalweg init\nthalweg init --kind regression --data runs.npz --yes my.yaml", make_init,
            "new create template quickstart example"},
    Command{"run", "submit a sweep, watch it to its end and compare the results",
            "Ctrl-C leaves the sweep running: `thalweg watch` looks at it again, `thalweg cancel` "
            "stops it. "
            "The exit code is 0 when all trials have finished, 1 when any has not.",
            "thalweg run sweep.yaml\nthalweg run sweep.yaml --backend slurm", make_run,
            "start train launch execute"},
    Command{"submit", "submit a sweep and return at once",
            "With --dry-run, show what would run: every trial, and the batch script for Slurm. "
            "With --from, submit a trial of another sweep, or its best configuration, as a sweep "
            "of its own, as `thalweg rerun` does. Where the batch changes (--set "
            "train.batch.global, or more nodes with batch.per_rank), the learning rate follows it "
            "by a rule of schedule.scaling, which is printed.",
            "thalweg submit --dry-run sweep.yaml\n"
            "thalweg submit --from 12 --best --set resources.nodes=16 --seeds 3",
            make_submit, "sbatch queue enqueue sweep"},
    Command{"validate", "check sweep files, without a controller",
            "Every mistake is one line: file:line: key: what is wrong (what to do). The exit code "
            "is 2 where there is any.",
            "thalweg validate sweeps/*.yaml", make_validate, "check lint verify test"},
    Command{"advise", "check a sweep file against published rules",
            "Every piece of advice says which rule it comes from, the numbers it was found from, "
            "its source and how sure it is. The model's size, memory and steps are the engine's "
            "own plan; where a controller runs, it is asked what earlier runs of the same model on "
            "the same data measured. Nothing is started, and the exit code is 0 whatever the "
            "advice.",
            "thalweg advise sweep.yaml\nthalweg advise --all --node-memory 192G sweep.yaml",
            make_advise, "recommend suggest hints plan"},
    Command{
        "simulate", "train on many simulated ranks of unequal speed",
        "The real synchronization modes, gradients and updates of each trial run in one process, "
        "on a virtual clock. Ranks, up to 2,048, and the network have the speeds that are given. "
        "The result is seconds to the target, idle shares and staleness, the same each time. Every "
        "pass is computed and every rank has weights of its own, so keep the model small.",
        "thalweg simulate sweep.yaml --ranks 16 --preset compute --target val/error=0.2\n"
        "thalweg simulate sweep.yaml -n 256 --slowdown 1,1,1,4 --jitter 0.1 --points "
        "points.jsonl\n"
        "thalweg import points.jsonl --name simulated",
        make_simulate, "emulate model virtual what-if"},
    Command{"schema", "print the JSON Schema of sweep files, for editors",
            "Editors complete and check sweep files with it. It is installed, too: "
            "share/thalweg/sweep.schema.json. A file names it in its first line: # "
            "yaml-language-server: $schema=PATH",
            "thalweg schema > ~/sweep.schema.json", make_schema, "jsonschema"},
    Command{"ls", "list the sweeps",
            "In a UTF-8 terminal of 100 columns or more the column `best` draws how the ranked "
            "metric of each sweep's best trial went.",
            "thalweg ls\nthalweg ls --tag paper --state finished --since 2w\nthalweg ls --json | "
            "jq '.sweeps[].name'",
            make_ls, "list status sweeps runs ps sq squeue"},
    Command{"show", "show a sweep, a trial or an attempt",
            "A sweep: its trials. A trial: its parameters, metrics and attempts. An attempt: where "
            "it ran, why it "
            "ended, which rank failed on which node, where its logs are, and its events.",
            "thalweg show 12.3", make_show, "info describe get inspect details sacct"},
    Command{"watch", "follow a sweep or a trial to its end",
            "Bars on a terminal, plain lines elsewhere. Ctrl-C stops watching; the sweep "
            "continues. The exit code is 0 when all trials have finished, 1 when any has not.",
            "thalweg watch 12", make_watch, "follow monitor top"},
    Command{"logs", "print the output of an attempt",
            "Standard output first, then standard error, where the engine writes. With -f, a "
            "trial's log continues with its next attempt.",
            "thalweg logs -f 12.3\nthalweg logs 12.3.1 --stderr", make_logs,
            "log output tail cat print"},
    Command{"serve", "show sweeps, reports and trials live in a browser",
            "Prints an address with a random token. Behind it are a list of the sweeps, the "
            "report of each, and pages of trials with the end of their logs, refreshed while the "
            "sweep continues. Sweeps that are ticked in the list are compared on one page. It "
            "listens on 127.0.0.1 only, reads only, and asks the controller "
            "with your own rights. From "
            "another machine: ssh -L PORT:127.0.0.1:PORT HOST. Ctrl-C ends it.",
            "thalweg serve\nthalweg serve --port 8642 --by optimizer.name", make_serve,
            "dashboard web browser live http board"},
    Command{"cancel", "stop a sweep or a trial",
            "Pending trials will not run; running attempts get a chance to write a checkpoint.",
            "thalweg cancel 12", make_cancel, "stop kill abort end scancel terminate"},
    Command{"retry", "run failed trials again",
            "They continue from their last checkpoint where there is one.",
            "thalweg retry 12 --state failed,cancelled", make_retry,
            "resume restart requeue continue"},
    Command{"compare", "compare the configurations of a sweep, best first",
            "Every row is one configuration over its seeds: medians with 95 % intervals, steps and "
            "time to the target, "
            "and what it cost.",
            "thalweg compare 12 --by optimizer.name --target 0.12", make_compare,
            "best results result rank report leaderboard summary"},
    Command{"curve", "plot a metric of one or several trials",
            "The last word is the metric where it is no id. --list names the metrics.",
            "thalweg curve 12.3 train/loss --log\n"
            "thalweg curve 12.3 12.5 val/error\n"
            "thalweg curve 12 --by optimizer.name --svg curves.svg\n"
            "thalweg curve 12 train/loss --by optimizer.name --band quartiles\n"
            "thalweg curve 12 --csv > curves.csv",
            make_curve, "plot graph chart metrics metric history"},
    Command{
        "report", "write one HTML page about a sweep, or about how several compare",
        "Summary, comparison, curves with bands, parallel coordinates, performance profiles, time "
        "against cost, scaling, critical batch, importance, timeline, all configurations and the "
        "sweep file. Each number has a footnote on how it was computed. It is one file that needs "
        "no network, for mail and print. Charts can be zoomed, and curves hidden by the legend. Of "
        "many configurations the best 500 are listed, and the page says so. Of several sweeps the "
        "page compares: a row for each sweep, or for each value of --by.",
        "thalweg report 12 -o report.html\nthalweg report 12 13 -o both.html\nthalweg report 12 "
        "--by optimizer.name --best-over "
        "optimizer.lr",
        make_report, "html summary page publish"},
    Command{"extend", "add seeds, trials or epochs to a sweep; only what is missing runs",
            "The added trials are those that the sweep file would have given from the start, with "
            "that many seeds or draws. A sweep that has ended is open again. With --epochs, "
            "finished trials continue from their last checkpoint. That is refused where the "
            "learning rate depends on the length of the run (cosine, for one): such a run has "
            "other rates from its first step on. What all trials of a "
            "sweep share (train, resources, metric, slurm, env) stays as it is: `thalweg rerun` "
            "and `submit` make another sweep.",
            "thalweg extend 12 --seeds +3\nthalweg extend 12 --trials +20 --dry-run\n"
            "thalweg extend 12 --epochs 10\n"
            "thalweg extend 12 --set 'parameters.optimizer.lr.values=[0.1, 0.2, 0.4]'",
            make_extend, "add more grow enlarge"},
    Command{"rerun", "submit a trial again as a sweep of its own, with changes",
            "The new sweep has one configuration: the trial's train section with its parameters "
            "put in, its resources, and the metric, limits, slurm and env of its sweep file. It "
            "trains from the start, with the trial's seed; `thalweg retry` continues instead. "
            "Files are those of the trial; a path in --set counts from the working directory.",
            "thalweg rerun 12.3 --set train.epochs=20 --seeds 3\n"
            "thalweg rerun 12.3 --set train.optimizer='{name: adamw, lr: 0.001}' --dry-run",
            make_rerun, "again repeat resubmit clone"},
    Command{"reproduce", "train trials again here, and compare every bit",
            "The engine trains on this machine, on any number of ranks, with the recorded seed and "
            "configuration. Every value that the trial reported, but times, is compared with the "
            "recorded one, and then the weights of the last checkpoint that both have. The first "
            "step and metric that differ are named, or the first array, and which versions and "
            "machines are not as recorded. A file of `export --format capsule` needs no "
            "controller. The exit code is 0 where all bits are the same. Modes async, hybrid and "
            "abs and your own programs are refused: their bits depend on time.",
            "thalweg reproduce 12.3\n"
            "thalweg reproduce 12 --ranks 3\n"
            "thalweg export 12.3 --format capsule -o 12.3.capsule\n"
            "thalweg reproduce 12.3.capsule",
            make_reproduce, "replicate verify bitwise determinism capsule"},
    Command{"figure", "the guidelines' figures with your runs in them",
            "1: computing of training runs by year; 2: critical batches against noise scales; 3: "
            "steps to the target against the batch; 4: time against cost to the target; 5: how "
            "good a batch's gradient is. Published points are in each, with their source.",
            "thalweg figure 3 12 13\nthalweg figure 1 --svg compute.svg", make_figure,
            "guidelines published picture"},
    Command{"query", "ask the database in SQL",
            "The views: sweeps, trials, attempts, starts, ranks, hyperparameters, metrics, "
            "replaced_metrics, latest_metrics, events. Read-only.",
            "thalweg query 'select state, count(*) from trials group by state'", make_query,
            "sql select database db"},
    Command{
        "export", "write weights, or curves for other programs",
        "Weights as .npz, .safetensors or .onnx, of the newest checkpoint or the one that is "
        "named: what validation evaluates (a running mean where the optimizer has one), names as "
        "PyTorch's. With --format curves of trials and sweeps with their parameters: jsonl and "
        "csv for scripts, tensorboard as event files, mllog as MLPerf's log lines up to the "
        "target. A capsule holds all that `thalweg reproduce` needs.",
        "thalweg export 12.3 -o model.safetensors\n"
        "thalweg export 12 --format jsonl --metric val/error > points.jsonl\n"
        "thalweg export 12 13.1 --format tensorboard -o logs && tensorboard --logdir logs",
        make_export, "save weights download model tensorboard mllog wandb csv jsonl"},
    Command{"import", "import runs of other programs, to compare them",
            "TensorBoard's event files: each folder that holds some is a run, HParams' values are "
            "its parameters. CSV tables: columns step, perhaps run and time, and one for each "
            "metric, or metric and value in each row; W&B's charts, too. And what export --format "
            "jsonl wrote. Times are Unix seconds, seconds from a start, or as "
            "2026-11-20T12:00:00+01:00. What was understood is said. The result is a sweep that "
            "has finished, on "
            "which everything works that reads; nothing of it can be run.",
            "thalweg import runs/ --metric val/loss --target 0.3\n"
            "thalweg import history.csv --parameters lr,batch --dry-run\n"
            "thalweg compare 12 13",
            make_import, "tensorboard wandb csv load"},
    Command{
        "evaluate", "evaluate a checkpoint on validation and test samples",
        "The newest checkpoint, or the one that is named; on this machine, with the trial's data.",
        "thalweg evaluate 12.3\nthalweg evaluate 12.3 --json", make_evaluate, "eval test score"},
    Command{"share", "let members of a group see a sweep",
            "Where one controller serves a site. They see it as its owner does, with logs, curves "
            "and SQL, and cannot change it; what they may read of its files is the file system's "
            "matter. Without --group and --remove it prints with whom the sweep is shared.",
            "thalweg share 12 --group climate\nthalweg share 12 --remove climate", make_share,
            "group team permission"},
    Command{"tag", "add tags to a sweep or remove them", "`thalweg ls --tag paper` finds them.",
            "thalweg tag 12 paper lamb -draft\nthalweg tag 12 --remove draft", make_tag,
            "label mark"},
    Command{"note", "attach a note: what a sweep is about, what came of it",
            "`thalweg show` prints it. A new note replaces the old one.",
            "thalweg note 12 'adamw diverges above 3e-3'", make_note, "comment annotate"},
    Command{
        "rename", "give a sweep another name",
        "A name stands for the id of its sweep: tiny-gpt, tiny-gpt.3, tiny-gpt.3.1. Commands that "
        "only look take the newest sweep of a name, or the beginning of one name; all others "
        "need the whole name, and ask where several sweeps have it.",
        "thalweg rename 12 tiny-gpt", make_rename, "name mv"},
    Command{"archive", "hide a sweep from the list; nothing is removed",
            "`thalweg ls --archived` still lists it, and every command takes its id.",
            "thalweg archive 12\nthalweg archive 12 --undo", make_archive, "hide"},
    Command{"prune", "remove checkpoints of trials that have ended",
            "The best validation's checkpoint stays with last, a number and best, where trials "
            "mark it (checkpoint.best); `thalweg ls --size` shows the space that sweeps use.",
            "thalweg prune 12 --keep best", make_prune, "clean gc"},
    Command{"rm", "remove a sweep: its record and its run folders",
            "Asks first. It continues in the background, also after a restart of the controller. "
            "Only its events stay.",
            "thalweg rm 12", make_rm, "remove delete del"},
    Command{"backup", "copy the record into a file, also while sweeps run",
            "The record is the database: sweeps, trials, curves. Run folders (logs, checkpoints) "
            "are not in it.",
            "thalweg backup ~/thalweg-$(date +%F).db", make_backup, "dump save-record"},
    Command{"restore", "restore the database from a backup",
            "The controller must be stopped. The record that was there is kept beside it. Sweeps "
            "submitted since the backup are forgotten; their folders stay.",
            "thalweg restore ~/thalweg-2026-11-01.db", make_restore, "load"},
    Command{"relocate", "tell the controller that run folders have moved",
            "Logs, checkpoints and weights of trials are looked for in their new place. Attempts "
            "that run in the old one must have ended.",
            "thalweg relocate /scratch/old/runs /scratch/new/runs", make_relocate, "move"},
    Command{"daemon", "start, stop or look at the controller",
            "One controller per user keeps the sweeps going. Commands that need it start it. "
            "Stopping it does not "
            "stop attempts that run; the next controller takes them up.",
            "thalweg daemon status", make_daemon, "server controller service"},
    Command{
        "admin", "check the installation",
        "Looks at programs, configuration, home, record, run folders and Slurm, with or without "
        "a controller, and changes nothing. What is wrong comes with its remedy. The record is "
        "read whole. The exit code is 1 where something is wrong.",
        "thalweg admin check", make_admin, "doctor diagnose health fsck"},
    Command{"completion", "print a completion script for a shell", "",
            "thalweg completion bash > ~/.local/share/bash-completion/completions/thalweg",
            make_completion, "completions"},
    Command{"version", "print the versions of program and controller", "", "thalweg version --json",
            make_version},
};

/// Each with the command that it begins with; the table above is in this order.
constexpr std::array groups{
    CommandGroup{"Start", "init"},          CommandGroup{"Watch", "ls"},
    CommandGroup{"Compare", "compare"},     CommandGroup{"Study", "batch"},
    CommandGroup{"Share", "export"},        CommandGroup{"Keep", "tag"},
    CommandGroup{"Administrate", "backup"},
};

/// The command before which the rows of db/studies stand.
constexpr std::string_view behind_studies = "figure";

/// Those that only look at sweeps, beside studies; every other command acts.
constexpr std::array only_read{
    "show",  "watch", "compare", "figure",   "report",
    "curve", "logs",  "export",  "evaluate", "reproduce",
};

}  // namespace

bool acts(const Command& command) {
  return !command.study && std::find(only_read.begin(), only_read.end(),
                                     std::string_view(command.name)) == only_read.end();
}

Action declare(const Command& command, Arguments& arguments) {
  if (!command.study) return command.make(arguments);
  if (command.study->of == db::Study::Of::record) return make_predict(*command.study, arguments);
  return make_study(*command.study, arguments);
}

std::span<const Command> commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> rows(table.begin(), table.end());
    const auto at = std::find_if(rows.begin(), rows.end(), [](const Command& command) {
      return std::string_view(command.name) == behind_studies;
    });
    std::vector<Command> studies;
    for (const db::Study* study : db::studies())
      studies.push_back({study->name, study->summary, study->details, study->example, nullptr,
                         study->synonyms, study});
    rows.insert(at, studies.begin(), studies.end());
    return rows;
  }();
  return all;
}

std::span<const CommandGroup> command_groups() {
  return groups;
}

const Command* find_command(const std::string& name) {
  for (const Command& command : commands())
    if (name == command.name) return &command;
  return nullptr;
}

}  // namespace thalweg::cli
