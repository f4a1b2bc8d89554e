#include "engine/perf/options.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/text.h"
#include "engine/comm/algorithms/choice.h"
#include "engine/perf/completions.h"
#include "engine/perf/subjects.h"

namespace thalweg::engine::perf {
namespace {

constexpr const char* kHelpHead = R"(Usage: thalweg-perf [OPTIONS] [COLLECTIVE...]

Measures collectives between ranks: latency and bandwidth by size, in the manner of the OSU micro-benchmarks.
One process is one rank; start several with
  thalweg-launch -n 4 -- thalweg-perf
  srun -N 2 --ntasks-per-node 2 --mpi=pmix thalweg-perf --svg allreduce.svg

Collectives (allreduce where none is named; all):
)";

constexpr const char* kNotes = R"(
Sizes are bytes, K, M and G are powers of 1024: of the whole vector on each rank; for allgather and all_to_all of
what a rank has at the end. A row's times are those of the slowest rank, call by call. "algbw" is size / p50, "busbw"
what the busiest link carries: comparable between collectives and rank counts. The algorithm is the one that ran.

Exit code: 0 all results were right; 1 a result was wrong, or a rank was lost; 2 wrong command line; 75 stopped on
request (Ctrl-C, SIGTERM) after writing what had been measured.
)";

std::size_t bytes(const char* option, const std::string& text) {
  constexpr std::size_t kMax = std::size_t{1} << 40U;
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const std::size_t at = std::string("KMG").find(unit);
  const bool known = unit.empty() || (unit.size() == 1 && at != std::string::npos);
  if (error == std::errc{} && known) {
    const auto shift = unit.empty() ? 0U : 10U * (static_cast<unsigned>(at) + 1U);
    if (value >= 1 && value <= kMax >> shift) return value << shift;
  }
  throw UsageError(std::string(option) + " takes a size such as 4, 64K or 1G, not '" + text + "'");
}

template <class T>
T one_of(const char* option, const std::string& text, std::initializer_list<T> all) {
  std::string names;
  for (const T value : all) {
    if (text == comm::name_of(value)) return value;
    names += std::string(names.empty() ? "" : ", ") + comm::name_of(value);
  }
  throw UsageError(std::string(option) + " takes one of " + names + ", not '" + text + "'");
}

comm::Type type_named(const std::string& text) {
  using comm::Type;
  return one_of("--type", text,
                {Type::f64, Type::f32, Type::f16, Type::bf16, Type::i32, Type::i64});
}

comm::Op op_named(const std::string& text) {
  using comm::Op;
  return one_of("--op", text, {Op::sum, Op::average, Op::min, Op::max});
}

bool is_group(const std::string& text) {
  if (text == "group" || text == "ordinary") return text == "group";
  throw UsageError("--memory takes group or ordinary, not '" + text + "'");
}

std::string help(Options& options) {
  std::string text = kHelpHead;
  for (const auto& subject : subjects()) {
    text += left_column(std::string("  ") + subject.name) + subject.summary + "\n";
  }
  return in_columns(text + "\nOptions:\n" + option_lines(option_rows(options)) + kNotes);
}

void add_collective(Options& options, const std::string& name) {
  const auto known = subject_names();
  if (name == "all") {
    options.collectives = known;
    options.everything = true;
    return;
  }
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    std::string names;
    for (const auto& other : known) {
      names += other + ", ";
    }
    throw UsageError("unknown collective '" + name + "'; there are: " + names + "all");
  }
  options.collectives.push_back(name);
}

/// What can be told without knowing the ranks.
void check(const Options& options) {
  if (options.from > options.to) throw UsageError("--from is larger than --to");
  const bool whole = options.type == comm::Type::i32 || options.type == comm::Type::i64;
  if (whole && options.op == comm::Op::average) throw UsageError("there is no average of integers");
  if (options.algorithms.empty() || options.algorithms.front() == "all") return;
  for (const auto& name : options.collectives) {
    const auto& collective = find_subject(name).collective;
    if (!collective) throw UsageError(name + " has no choice of --algorithm");
    for (const auto& algorithm : options.algorithms) {
      try {
        comm::Choice::parse(*collective, algorithm);
      } catch (const std::invalid_argument& error) {
        throw UsageError(std::string("--algorithm: ") + error.what());
      }
    }
  }
}

}  // namespace

std::vector<CommandOption> option_rows(Options& o) {
  using S = std::string;
  return {
      {"--algorithm", "-a", "NAME",
       "auto, all, a name, or names by size; several times: each (auto)", "auto all",
       [&o](const S& v) { o.algorithms.push_back(v); }},
      {"--type", "-t", "TYPE", "f64, f32, f16, bf16, i32 or i64 (f32)", "f64 f32 f16 bf16 i32 i64",
       [&o](const S& v) { o.type = type_named(v); }},
      {"--op", "-o", "OP", "sum, average, min or max (sum)", "sum average min max",
       [&o](const S& v) { o.op = op_named(v); }},
      {"--from", "-b", "SIZE", "the smallest size (4)", "",
       [&o](const S& v) { o.from = bytes("--from", v); }},
      {"--to", "-e", "SIZE", "the largest size (64M)", "",
       [&o](const S& v) { o.to = bytes("--to", v); }},
      {"--factor", "-f", "N", "from one size to the next (4)", "",
       [&o](const S& v) { o.factor = number<std::size_t>("--factor", v, 2, 1024); }},
      {"--memory", "-m", "KIND", "group: that peers on a node reach directly; ordinary (group)",
       "group ordinary", [&o](const S& v) { o.group_memory = is_group(v); }},
      {"--touch", "", "", "rewrite the buffers before each call, as training does", "",
       [&o](const S&) { o.touch = true; }},
      {"--wire", "", "TYPE", "of allreduce_as: f16 or bf16 (bf16)", "f16 bf16",
       [&o](const S& v) {
         o.wire = one_of("--wire", v, {comm::Type::f16, comm::Type::bf16});
       }},
      {"--shards", "", "N", "logical shards of shard_sum (one a rank)", "",
       [&o](const S& v) { o.shards = number("--shards", v, 1, 65536); }},
      {"--root", "", "RANK", "of broadcast (0)", "",
       [&o](const S& v) { o.root = number("--root", v, 0, INT32_MAX); }},
      {"--seconds", "-s", "S", "to measure one row (0.3)", "",
       [&o](const S& v) { o.seconds = number("--seconds", v, 0.001, 86400.0); }},
      {"--iterations", "-i", "N", "calls a row, instead of --seconds", "",
       [&o](const S& v) { o.iterations = number("--iterations", v, 1, 10'000'000); }},
      {"--warmup", "-w", "N", "calls before those that count (a tenth of the time)", "",
       [&o](const S& v) { o.warmup = number("--warmup", v, 0, 10'000'000); }},
      {"--no-check", "", "", "do not check the results", "", [&o](const S&) { o.check = false; }},
      {"--stall-timeout", "", "S", "an error after so long without progress (60)", "",
       [&o](const S& v) {
         o.stall_timeout = std::chrono::milliseconds(
             static_cast<long>(number("--stall-timeout", v, 0.1, 86400.0) * 1000));
       }},
      {"--plot", "-p", "", "draw latency and bandwidth below the table", "",
       [&o](const S&) { o.plot = true; }},
      {"--json", "", "FILE", "write the results there", "FILE", [&o](const S& v) { o.json = v; }},
      {"--svg", "", "FILE", "draw latency and bandwidth there", "FILE",
       [&o](const S& v) { o.svg = v; }},
      {"--completion", "", "SHELL", "print a completion script for bash, zsh or fish",
       "bash zsh fish", [&o](const S& v) { o.print = completion_script(v); }},
      {"--help", "-h", "", "print this", "", [&o](const S&) { o.print = help(o); }},
      {"--version", "", "", "print the version", "",
       [&o](const S&) { o.print = "thalweg-perf " THALWEG_VERSION "\n"; }},
  };
}

std::vector<std::size_t> Options::sizes() const {
  std::vector<std::size_t> all;
  for (std::size_t size = from; size <= to; size *= factor) {
    all.push_back(size);
  }
  return all;
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  const auto names = parse_command_line(option_rows(options), arguments, Names::anywhere);
  if (!options.print.empty()) return options;
  for (const std::string& name : names)
    add_collective(options, name);
  if (options.collectives.empty()) options.collectives = {"allreduce"};
  check(options);
  if (options.algorithms.empty()) options.algorithms = {"auto"};
  return options;
}

}  // namespace thalweg::engine::perf
