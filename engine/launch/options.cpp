#include "engine/launch/options.h"

#include <charconv>
#include <functional>

namespace thalweg::engine::launch {
namespace {

// On one machine; also keeps the list of ranks below the size at which PMIx compresses it.
constexpr int kMostRanks = 512;

constexpr const char* kUsage = R"(Usage: thalweg-launch [OPTIONS] [--] COMMAND [ARGUMENTS...]

Starts ranks of COMMAND on this machine as their PMIx server. Signals TERM, INT, USR1 and USR2 go on to
every rank; when one rank dies, the others are ended and the dead one is named.

Options:
)";

constexpr const char* kExitCodes = R"(
Exit code: 0 all ranks returned 0; 75 all ranks stopped on request; else that of the first rank that
failed (128 + signal where a signal killed it). 124 time limit, 126/127 COMMAND cannot be run / is not
found, 2 wrong command line, 70 start-up failed, 73 DIR is claimed already.

Example: thalweg-launch -n 4 --threads 1 -- thalweg-train trial.yaml
)";

template <class T>
T number(const std::string& option, const std::string& text, T low, T high) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() ||
      !(value >= low && value <= high)) {
    throw UsageError(option + " takes a number from " + std::to_string(low) + " to " +
                     std::to_string(high) + ", not '" + text + "'");
  }
  return value;
}

std::chrono::milliseconds seconds(const std::string& option, const std::string& text) {
  return std::chrono::milliseconds(
      static_cast<long>(number<double>(option, text, 0.0, 1e8) * 1000.0));
}

struct Row {
  const char* name;
  const char* letter;  ///< "" none
  const char* value;   ///< "" takes none
  const char* help;
  std::function<void(Options&, const std::string&)> set;
};

const std::vector<Row>& rows();

std::string help() {
  std::string text = kUsage;
  for (const auto& row : rows()) {
    std::string left = "  ";
    left += *row.letter ? std::string(row.letter) + ", " : "    ";
    left += std::string(row.name) + (*row.value ? std::string(" ") + row.value : "");
    left.resize(std::max<std::size_t>(left.size() + 1, 28), ' ');
    text += left + row.help + "\n";
  }
  return text + kExitCodes;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"--ranks", "-n", "N", "how many processes (1)",
       [](Options& o, const std::string& v) { o.ranks = number("-n", v, 1, kMostRanks); }},
      {"--threads", "", "T", "OMP_NUM_THREADS of each rank (cores / N where it is not set)",
       [](Options& o, const std::string& v) { o.threads = number("--threads", v, 1, 4096); }},
      {"--no-bind", "", "", "do not divide the cores among the ranks",
       [](Options& o, const std::string&) { o.bind = false; }},
      {"--folder", "", "DIR", "claim DIR and record the run there (launch.json, exit.json)",
       [](Options& o, const std::string& v) { o.folder = v; }},
      {"--token", "", "TEXT", "written into the records",
       [](Options& o, const std::string& v) { o.token = v; }},
      {"--timeout", "", "SECONDS", "after this, TERM, and KILL when the grace is over",
       [](Options& o, const std::string& v) { o.timeout = seconds("--timeout", v); }},
      {"--warning", "", "SECONDS", "USR1 to all ranks this long before the timeout",
       [](Options& o, const std::string& v) { o.warning = seconds("--warning", v); }},
      {"--grace", "", "SECONDS", "between TERM and KILL (5)",
       [](Options& o, const std::string& v) { o.grace = seconds("--grace", v); }},
      {"--help", "-h", "", "print this", [](Options& o, const std::string&) { o.print = help(); }},
      {"--version", "", "", "print the version",
       [](Options& o, const std::string&) { o.print = "thalweg-launch " THALWEG_VERSION "\n"; }},
  };
  return kRows;
}

const Row& find(const std::string& name) {
  for (const auto& row : rows()) {
    if (name == row.name || (*row.letter && name == row.letter)) return row;
  }
  throw UsageError("unknown option " + name);
}

}  // namespace

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  std::size_t at = 0;
  while (at < arguments.size() && arguments[at].size() > 1 && arguments[at][0] == '-') {
    std::string name = arguments[at++];
    if (name == "--") break;
    std::string value;
    const auto equals = name.find('=');
    const bool joined = name.compare(0, 2, "--") == 0 && equals != std::string::npos;
    if (joined) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (name.size() > 2 && name.compare(0, 2, "-n") == 0) {  // -n4
      value = name.substr(2);
      name = "-n";
    }
    const Row& row = find(name);
    if (*row.value && value.empty() && !joined) {
      if (at == arguments.size()) throw UsageError(name + " needs a value: " + row.value);
      value = arguments[at++];
    }
    if (!*row.value && joined) throw UsageError(name + " takes no value");
    row.set(options, value);
    if (!options.print.empty()) return options;
  }
  options.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
  if (options.command.empty()) throw UsageError("there is no command to run");
  return options;
}

}  // namespace thalweg::engine::launch
