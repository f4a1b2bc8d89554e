// thalweg advise: what the rules of the field say of a sweep file before it costs anything.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/process.h"
#include "cli/commands/advice.h"
#include "cli/commands/submission.h"
#include "cli/commands/table.h"
#include "cli/output/text.h"
#include "cli/schema_source.h"
#include "jobspec/diagnostic.h"
#include "jobspec/paths.h"
#include "jobspec/resources.h"

namespace thalweg::cli {
namespace {

namespace advise = jobspec::advise;
namespace api = daemon::api;
using advise::Verdict;

struct AdviseOptions {
  std::string file;
  std::string backend = "auto";
  std::string node_memory, gpu_memory;
  std::optional<double> link_gbit;
  bool all = false;
  Format format;
};

double memory_option(const char* name, const std::string& text) {
  if (text.empty()) return 0;
  constexpr double mib = 1024.0 * 1024;
  const auto size = jobspec::parse_memory(jobspec::Value(text));
  if (!size)
    throw CommandError(exit_bad_input,
                       fmt::format("{} {}: expected a size such as 192G", name, text));
  return static_cast<double>(*size) * mib;
}

/// What is known of trials that cannot run, too: that a model does not fit is when advice on it is
/// wanted. Throws CommandError where the engine gives no answer.
api::EngineCheck plan_of(const AdviseOptions& options, const std::string& text,
                         const jobspec::SiteLimits& limits, const jobspec::Sweep& sweep) {
  api::CheckRequest request;
  request.program = find_program("thalweg-train");
  if (request.program.empty())
    throw CommandError(exit_failed, "advice needs thalweg-train, which is not here");
  request.text = text;
  request.file_name = sweep.file;
  request.directory = sweep.directory;
  request.max_nodes = limits.max_nodes_per_job;
  constexpr double mib = 1024.0 * 1024;
  const double gpu = memory_option("--gpu-memory", options.gpu_memory);
  request.gpu_memory_mib = gpu > 0 ? static_cast<std::int64_t>(gpu / mib) : limits.gpu_memory_mib;
  request.elsewhere = is_for_slurm(options.backend, sweep);
  api::EngineCheck check = api::describe_sweep(request);
  if (!check.failure.empty()) throw CommandError(exit_failed, check.failure);
  return check;
}

Tint tint_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::warning:
      return Tint::red;
    case Verdict::advice:
      return Tint::yellow;
    case Verdict::fits:
      return Tint::green;
    case Verdict::unknown:
      return Tint::dim;
  }
  return Tint::none;
}

void print_lines(Context& context, const std::string& text, Tint tint = Tint::none) {
  constexpr int width = 76;
  for (const std::string& line : wrap(text, width))
    context.out << "    " << context.palette(tint, line) << '\n';
}

void print_one(Context& context, const advise::Advice& advice, std::size_t trials) {
  const advise::Finding& finding = advice.finding;
  const std::string which = which_trials(finding.trials, trials);
  context.out << context.palette(tint_of(finding.verdict), to_text(finding.verdict)) << ": "
              << advice.rule->name << (which.empty() ? "" : ", " + which) << '\n';
  print_lines(context, printable(finding.text));
  std::string why;
  for (const auto& [name, value] : finding.numbers)
    why += fmt::format("{}{} {}", why.empty() ? "" : ", ", name, value);
  why += fmt::format("{}{}. {}.", why.empty() ? "" : "; ", to_text(finding.basis),
                     advice.rule->source);
  print_lines(context, printable(why), Tint::dim);
}

/// Names of rules, each once.
std::string names_of(const std::vector<advise::Advice>& all, Verdict verdict) {
  std::vector<std::string> names;
  for (const advise::Advice& advice : all)
    if (advice.finding.verdict == verdict &&
        std::find(names.begin(), names.end(), advice.rule->name) == names.end())
      names.emplace_back(advice.rule->name);
  return join(names, ", ");
}

void print_text(Context& context, const AdviseOptions& options, const SweepAdvice& advice,
                std::size_t trials, bool own_program) {
  context.out << printable(options.file) << ": "
              << count_of(static_cast<long long>(trials), "trial") << "; "
              << (own_program
                      ? std::string("of a program of your own, of which only the sweep is known")
                  : advice.earlier_runs == 0
                      ? std::string("no earlier run of such a model on such data is known")
                      : count_of(static_cast<long long>(advice.earlier_runs), "earlier run"))
              << "\n\n";
  const auto print_all = [&](Verdict verdict) {
    for (const advise::Advice& each : advice.all)
      if (each.finding.verdict == verdict) print_one(context, each, trials);
  };
  print_all(Verdict::warning);
  print_all(Verdict::advice);
  if (options.all) {
    print_all(Verdict::fits);
    print_all(Verdict::unknown);
    return;
  }
  for (const auto& [verdict, words] : {std::pair{Verdict::fits, "as the rules have it: "},
                                       std::pair{Verdict::unknown, "not known yet: "}})
    if (const std::string names = names_of(advice.all, verdict); !names.empty())
      for (const std::string& line : wrap(words + names + " (--all says more)", 80))
        context.out << line << '\n';
}

Json texts_of(const std::vector<jobspec::Diagnostic>& mistakes) {
  Json list = Json::array();
  for (const jobspec::Diagnostic& mistake : mistakes)
    list.push_back(mistake.to_string());
  return list;
}

int print_mistakes(Context& context, const std::vector<jobspec::Diagnostic>& mistakes) {
  for (const jobspec::Diagnostic& mistake : mistakes)
    context.err << mistake.to_string() << '\n';
  return mistakes.empty() ? exit_ok : exit_bad_input;
}

int run_advise(Context& context, const AdviseOptions& options) {
  const std::string text = read_file(options.file);
  SchemaSource source(context);
  const jobspec::Schema& schema = source.of(text);
  const jobspec::SiteLimits limits = find_limits();
  try {
    jobspec::Sweep sweep = jobspec::parse_sweep(text, options.file, schema, limits);
    sweep.directory = jobspec::directory_of(options.file);
    const jobspec::Expansion expansion = jobspec::expand(sweep, schema);
    api::EngineCheck check;
    if (!sweep.program) check = plan_of(options, text, limits, sweep);
    AdviceSubject subject{sweep, expansion, schema, limits, check.planned};
    subject.slurm = is_for_slurm(options.backend, sweep);
    subject.node_bytes = memory_option("--node-memory", options.node_memory);
    subject.gpu_bytes = memory_option("--gpu-memory", options.gpu_memory);
    constexpr double bytes_of_gbit = 1e9 / 8;
    subject.link_bytes_per_s = options.link_gbit.value_or(0) * bytes_of_gbit;
    const SweepAdvice advice = advise_on(context, subject);
    if (options.format.json)
      print_json(context.out, {{"file", options.file},
                               {"trials", expansion.trials.size()},
                               {"earlier_runs", advice.earlier_runs},
                               {"advice", json_of(advice.all)},
                               {"mistakes", texts_of(check.mistakes)}});
    else
      print_text(context, options, advice, expansion.trials.size(), sweep.program.has_value());
    return print_mistakes(context, check.mistakes);
  } catch (const jobspec::InputError& error) {
    return print_mistakes(context, error.diagnostics());
  }
}

}  // namespace

Action make_advise(Arguments& arguments) {
  auto options = std::make_shared<AdviseOptions>();
  arguments.positional("SWEEP.yaml", options->file, "the sweep file").completes = Completes::file;
  arguments
      .option("--backend", "NAME", options->backend,
              "what is to run it (default: auto, which is slurm where the file has a block slurm)")
      .choices = {"auto", "local", "slurm"};
  arguments.option("--node-memory", "SIZE", options->node_memory,
                   "memory of a node, as 192G (default: resources.memory; this machine's for local "
                   "runs; what earlier jobs' nodes had)");
  arguments.option("--gpu-memory", "SIZE", options->gpu_memory,
                   "memory of a GPU, as 80G (default: gpu_memory in config.yaml)");
  arguments.option(
      "--link", "GBIT", options->link_gbit,
      "speed of a node's network link, in Gbit/s, for the number of parameter servers");
  arguments.flag("--all", options->all, "print also what fits and what is not known");
  add_json(arguments, options->format);
  return [options](Context& context) { return run_advise(context, *options); };
}

}  // namespace thalweg::cli
