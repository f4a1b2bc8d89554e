// A repository is asked rather than walked: git knows what is tracked and what has changed. All
// source files count, since what a script imports is only known when it has run; configuration
// files do not, since the next sweep's are edited while this one runs.
#include "engine/attempt/supervise/program_version.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"

namespace thalweg::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxSource = 64 << 20;  // larger is no program that people edit
constexpr std::size_t kMaxBeside = 256;
constexpr double kPatience = 5;  // seconds for each question to git

bool is_source(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && fs::file_size(file, error) <= kMaxSource && !error;
}

/// What git says; nothing where it is not here, fails, or takes too long.
std::optional<std::string> ask_git(const fs::path& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"git", "--no-optional-locks", "-C", folder.string()});
  try {
    ProgramOutput output = run_program(words, kPatience);
    if (output.code == 0 && !output.timed_out) return std::move(output.out);
  } catch (const std::system_error&) {
  }
  return std::nullopt;
}

/// Of the same suffix.
std::string beside(const fs::path& file) {
  if (!file.has_extension()) return "";
  std::vector<fs::path> sources;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(file.parent_path(), error))
    if (entry.path().extension() == file.extension() && is_source(entry.path()))
      sources.push_back(entry.path());
  if (sources.size() > kMaxBeside) return "";
  std::sort(sources.begin(), sources.end());
  std::string all;
  for (const fs::path& source : sources)
    all += source.filename().string() + "\n" + hash_text(read_file(source)) + "\n";
  return hash_text(all);
}

void add_sources(const fs::path& file, jobspec::Map& version) {
  const fs::path folder = file.parent_path();
  std::vector<std::string> patterns{"--"};
  for (const char* suffix : {".py", ".sh", ".jl", ".R"})
    patterns.push_back(std::string(":(top)*") + suffix);
  if (file.has_extension()) patterns.push_back(":(top)*" + file.extension().string());
  const std::string name = file.filename().string();
  patterns.push_back(":(literal)" + name);
  const auto ask = [&](std::vector<std::string> words) {
    words.insert(words.end(), patterns.begin(), patterns.end());
    return ask_git(folder, std::move(words));
  };
  const auto commit = ask_git(folder, {"rev-parse", "HEAD"});
  const auto tracked = commit ? ask({"ls-files", "-z", "--stage"}) : commit;
  // Of a repository that does not track the file nothing is known.
  const bool knows = tracked && tracked->find("\t" + name + '\0') != tracked->npos;
  const auto changed =
      knows ? ask({"diff", "--no-ext-diff", "--no-textconv", "--no-color"}) : std::nullopt;
  if (!changed) {
    if (std::string sources = beside(file); !sources.empty())
      version.emplace_back("sources", std::move(sources));
    return;
  }
  version.emplace_back("sources", hash_text(*tracked + *changed));
  version.emplace_back("commit", commit->substr(0, commit->find('\n')));
}

}  // namespace

jobspec::Map program_version(const jobspec::Program& program,
                             const std::vector<std::string>& command,
                             const jobspec::Environment& environment) {
  fs::path file = jobspec::program_path(program, environment);
  for (auto word = command.begin(); file.empty() && word != command.end(); ++word)
    if (const fs::path named = *word; named.is_relative() && is_source(program.directory / named))
      file = program.directory / named;
  if (file.empty() || !is_source(file)) return {};
  try {
    jobspec::Map version{{"file", file.string()}, {"hash", hash_text(read_file(file))}};
    add_sources(file, version);
    return version;
  } catch (const std::system_error&) {
    return {};  // it may be executable and not readable
  }
}

}  // namespace thalweg::engine
