// A program of the user's own that a sweep runs instead of the engine: how it is started, how it
// reports, when it is stopped.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobspec/enum_names.h"
#include "jobspec/fwd.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {

class Fields;

enum class LaunchMode {
  once,      ///< one process, to which the whole allocation is handed over
  per_node,  ///< one process on each node
  per_rank   ///< one process for each rank
};

template <>
struct EnumNames<LaunchMode> {
  static constexpr std::string_view what = "launch mode";
  static constexpr std::array<std::string_view, 3> names = {"once", "per_node", "per_rank"};
};

struct Program {
  std::string file;                  ///< `program`: what ${program} stands for; may be empty
  std::vector<std::string> command;  ///< with macros, see expand_command(); never empty
  std::string interpreter = "python3";
  LaunchMode launch = LaunchMode::per_rank;
  std::vector<std::string> setup;  ///< shell lines (bash) before it, on every node
  std::string chdir;               ///< where it runs, with macros; empty: in `directory`
  std::string container;           ///< image that `apptainer exec` runs it in; empty = none
  std::vector<std::string> metric_pattern;  ///< of lines of its stdout, see metric_pattern.h
  std::string tensorboard;      ///< folder of its event files, from the attempt's folder
  std::int64_t stall_s = 0;     ///< ended where nothing comes from it for so long; 0 = never
  bool stop_at_target = false;  ///< asked to stop once the metric has reached the target
  bool stop_at_nan = true;      ///< asked to stop once the metric is no finite number
  std::int64_t patience = 0;    ///< asked to stop after so many reports of the metric without
                                ///< a better one; 0 = never
  bool passes_seed = false;     ///< the seed is one of its arguments
  std::string directory;        ///< that relative paths count from: the sweep file's folder
};

/// One word of a command as Python's str() writes the value: 0.0005, True, None.
std::string python_word(const Value& value);

/// Keys of the sweep file that say these things, `program` first.
const std::vector<std::string>& program_keys();

/// Takes those keys. Mistakes become diagnostics. Call it where `program` or `command` is there.
Program read_program(Fields& fields, Diagnostics& diagnostics);
/// A map with those keys, and with `passes_seed` and `directory`; what is a default is left out.
Value write_program(const Program& program);
/// The inverse, of a map at `path`.
Program read_written_program(const Value& value, const std::string& path, Diagnostics& diagnostics);

/// What the macros of a command stand for.
struct CommandValues {
  Value config = Map{};  ///< program_config() of the trial
  std::uint64_t seed = 1;
  std::string config_file;  ///< ${args_json_file}
  std::string folder;       ///< ${folder}: the attempt's
  int nodes = 1, ranks_per_node = 1, threads_per_rank = 1;
};

/// The trial's configuration as the program gets it: `seed` is put in first where the sweep file
/// has `seeds` and the configuration has no `seed` of its own.
Value program_config(const Program& program, const Value& train, std::uint64_t seed);

/// Answers for the name of a variable.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// The words to execute, container included. An element that is a macro as a whole may become
/// several words: ${env} (/usr/bin/env), ${interpreter}, ${program}, ${args} (--key=value),
/// ${args_no_equals} (--key value), ${args_no_hyphens} (key=value), ${args_no_boolean_flags}
/// (--key where it is true, nothing for false and null), ${args_append_hydra} (+key=value),
/// ${args_override_hydra} (++key=value; of both, values as Hydra's grammar reads them),
/// ${args_json}, ${args_json_file}. Inside of an element: ${program}, ${interpreter},
/// ${args_json_file}, ${seed}, ${folder}, ${nodes}, ${ranks}, ${ranks_per_node},
/// ${threads_per_rank}, ${envvar:NAME}. Others stay as they are. Nested keys are joined by dots;
/// values are spelled as Python does it (True, None, 0.0005). `environment` answers for NAME.
std::vector<std::string> expand_command(const Program& program, const CommandValues& values,
                                        const Environment& environment);

/// Where it runs: `chdir` with the macros that are put in inside of an element, from the sweep
/// file's folder.
std::filesystem::path working_directory(
    const Program& program, const CommandValues& values,
    const std::function<std::optional<std::string>(const std::string& name)>& environment);

/// One line for a shell that would start the same: words in quotes where they need them.
std::string shell_line(const std::vector<std::string>& words);

/// The path of `program`, "~/" as $HOME; empty where the sweep has a command only.
std::filesystem::path program_path(const Program& program, const Environment& environment);
/// Another one that the file names: it counts from the sweep file's folder, "~/" is $HOME.
std::filesystem::path path_in_folder(const Program& program, const std::string& path,
                                     const Environment& environment);

}  // namespace thalweg::jobspec
