// The arrows between the components, read from the #include lines: an upward arrow fails here with
// file and line.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/layering/sources.h"

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

struct Include {
  std::string file;  // relative to the root
  int line = 0;
  std::string target;  // as written
  bool quoted = false;
};

std::vector<Include> includes_under(const std::string& folder) {
  std::vector<Include> found;
  const std::regex pattern(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"])re");
  for (const fs::path& file : files_under({folder}, {".h", ".cpp", ".cu"})) {
    std::ifstream in(file);
    std::string text;
    for (int line = 1; std::getline(in, text); ++line) {
      std::smatch match;
      if (std::regex_search(text, match, pattern))
        found.push_back(
            {fs::relative(file, kRoot).string(), line, match[2].str(), match[1].str() == "\""});
    }
  }
  return found;
}

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

/// A name that begins with '!' excludes what the others allow.
bool allowed(const std::string& text, const Names& names) {
  bool found = false;
  for (const std::string& name : names) {
    if (name[0] != '!')
      found = found || starts_with(text, name);
    else if (starts_with(text, name.substr(1)))
      return false;
  }
  return found;
}

bool any_prefix(const std::string& text, const Names& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& p) { return starts_with(text, p); });
}

const Names kSync = {"engine/sync/",
                     "engine/comm/",
                     "!engine/comm/transport/",
                     "!engine/comm/liveness/",
                     "!engine/device/cpu/",
                     "!engine/device/cuda/",
                     "!engine/device/reference/",
                     "engine/optim/",
                     "engine/schedule/",
                     "engine/nn/",
                     "engine/data/",
                     "engine/tensor/",
                     "engine/threads/",
                     "jobspec/"};

Names with(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

/// For each folder (or file), the longest matching row counts: what files in it may include of this
/// project besides base/, see allowed().
const std::map<std::string, Names> kMayInclude = {
    {"base/", {"base/"}},
    {"jobspec/", {"jobspec/"}},
    {"db/", {"db/", "jobspec/"}},
    {"engine/threads/", {"engine/threads/"}},
    {"engine/tensor/", {"engine/tensor/", "engine/half.h", "engine/simd.h", "jobspec/"}},
    {"engine/gpu/", {"engine/gpu/"}},
    // Below the devices is what they have in common; they know nothing of each other. The host's
    // losses are the reference's.
    {"engine/device/",
     {"engine/device/", "!engine/device/cpu/", "!engine/device/cuda/", "!engine/device/reference/",
      "engine/gpu/", "engine/tensor/", "jobspec/"}},
    {"engine/device/cpu/", {"engine/device/", "!engine/device/cuda/", "engine/tensor/"}},
    {"engine/device/cuda/",
     {"engine/device/", "!engine/device/cpu/", "!engine/device/reference/", "engine/gpu/",
      "engine/tensor/"}},
    {"engine/device/reference/",
     {"engine/device/", "!engine/device/cpu/", "!engine/device/cuda/", "engine/tensor/"}},
    {"engine/device/kernels.cpp", {"engine/device/kernels.h", "engine/device/cuda/"}},
    // A layer's or loss's files for one device: see kFormMayNot.
    {"engine/layers/",
     {"engine/layers/", "engine/device/", "engine/gpu/", "engine/tensor/", "jobspec/"}},
    {"engine/losses/",
     {"engine/losses/", "engine/device/", "engine/gpu/", "engine/tensor/", "jobspec/"}},
    {"engine/nn/",
     {"engine/nn/", "engine/layers/", "engine/losses/", "engine/device/", "engine/gpu/",
      "engine/tensor/", "jobspec/"}},
    {"engine/optim/", {"engine/optim/", "engine/gpu/", "engine/tensor/", "jobspec/"}},
    {"engine/schedule/", {"engine/schedule/", "engine/tensor/", "jobspec/"}},
    {"engine/data/", {"engine/data/", "engine/tensor/", "jobspec/"}},
    // reduction, transport < liveness, algorithms < group, wireup.
    {"engine/comm/reduction/", {"engine/comm/reduction/", "engine/half.h", "engine/simd.h"}},
    {"engine/comm/transport/", {"engine/comm/transport/"}},
    {"engine/comm/transport/ucx/",
     {"engine/comm/transport/", "!engine/comm/transport/socket/", "!engine/comm/transport/shared/",
      "!engine/comm/transport/routed.h"}},
    {"engine/comm/transport/socket/",
     {"engine/comm/transport/", "!engine/comm/transport/ucx/", "!engine/comm/transport/shared/",
      "!engine/comm/transport/routed.h"}},
    {"engine/comm/transport/shared/",
     {"engine/comm/transport/", "!engine/comm/transport/ucx/", "!engine/comm/transport/socket/",
      "!engine/comm/transport/routed.h"}},
    {"engine/comm/liveness/", {"engine/comm/liveness/", "engine/comm/transport/transport.h"}},
    {"engine/comm/algorithms/",
     {"engine/comm/algorithms/", "!engine/comm/algorithms/shared/", "engine/comm/reduction/",
      "engine/comm/transport/transport.h", "engine/simd.h"}},
    {"engine/comm/algorithms/shared/",
     {"engine/comm/algorithms/", "!engine/comm/algorithms/table.h", "engine/comm/reduction/",
      "engine/comm/transport/transport.h", "engine/simd.h"}},
    {"engine/comm/algorithms/table.cpp", {"engine/comm/algorithms/"}},
    {"engine/comm/group.h",
     {"engine/comm/algorithms/sum_elsewhere.h", "engine/comm/reduction/types.h",
      "engine/comm/transport/limited.h", "engine/comm/transport/transport.h"}},
    {"engine/comm/mailbox.h", {"engine/comm/group.h"}},
    {"engine/comm/group/",
     {"engine/comm/group.h", "engine/comm/mailbox.h", "engine/comm/group/",
      "engine/comm/algorithms/", "engine/comm/liveness/", "engine/comm/reduction/",
      "engine/comm/transport/transport.h"}},
    {"engine/comm/wireup/",
     {"engine/comm/wireup/", "engine/comm/liveness/", "engine/comm/transport/",
      "!engine/comm/transport/ucx/", "!engine/comm/transport/socket/",
      "!engine/comm/transport/shared/"}},
    {"engine/launch/",
     {"engine/launch/", "engine/comm/transport/leftovers.h", "engine/comm/wireup/sanitizers.h"}},
    {"engine/perf/",
     {"engine/perf/", "engine/comm/", "!engine/comm/transport/", "!engine/comm/liveness/"}},
    // What compresses and exchanges gradients serves the modes and knows none of them.
    {"engine/sync/compress/",
     {"engine/sync/compress/", "engine/sync/bucket_sum.h", "engine/comm/group.h",
      "engine/comm/reduction/", "engine/nn/", "engine/tensor/", "jobspec/"}},
    {"engine/sync/device/gpu/exchange/",
     {"engine/sync/device/gpu/exchange/", "engine/sync/bucket_reducer.h",
      "engine/sync/bucket_sum.h", "engine/sync/device/gpu/shards.h", "engine/sync/options.h",
      "engine/comm/group.h", "engine/comm/reduction/", "engine/gpu/"}},
    // Modes know no device: what does is below them.
    {"engine/sync/",
     with(kSync, {"!engine/gpu/", "!engine/sync/device/host/", "!engine/sync/device/gpu/"})},
    {"engine/sync/options.cpp", with(kSync, {"!engine/gpu/"})},  // names of exchanges
    {"engine/sync/device/",
     with(kSync, {"engine/gpu/", "!engine/sync/device/host/", "!engine/sync/device/gpu/"})},
    {"engine/sync/device/evaluation.h", with(kSync, {"engine/gpu/"})},
    {"engine/sync/device/evaluation.cpp", with(kSync, {"engine/gpu/"})},
    {"engine/sync/device/host/", with(kSync, {"!engine/gpu/", "!engine/sync/device/gpu/"})},
    {"engine/sync/device/gpu/", with(kSync, {"engine/gpu/", "!engine/sync/device/host/"})},
    // Its network is a transport.
    {"engine/simulate/",
     {"engine/simulate/", "engine/attempt/", "!engine/attempt/supervise/", "engine/train/",
      "engine/sync/emulate.h", "engine/comm/group.h", "engine/comm/transport/transport.h",
      "engine/nn/", "engine/threads/", "jobspec/"}},
    // On nodes without the engine.
    {"engine/attempt/", {"engine/attempt/", "jobspec/"}},
    {"engine/train/",
     {"engine/", "!engine/attempt/supervise/", "!engine/comm/transport/", "!engine/comm/liveness/",
      "!engine/device/cpu/", "!engine/device/cuda/", "!engine/device/reference/",
      "!engine/sync/device/host/", "!engine/sync/device/gpu/", "jobspec/"}},
    {"daemon/", {"daemon/", "db/", "jobspec/"}},
    {"daemon/auth/", {"daemon/auth/"}},
    // Nothing that is linked: how structs are written as JSON is a header alone.
    {"daemon/slurm_agent/", {"daemon/slurm_agent/", "daemon/auth/"}},
    {"daemon/slurm_agent/messages.h", {"daemon/api/fields.h"}},
    // Of the record only what can be asked.
    {"cli/", {"cli/", "daemon/api/", "daemon/auth/", "db/studies/study.h", "jobspec/"}},
};

/// What a file of engine/layers or engine/losses may not include, by the device that its name
/// begins with: devices know nothing of each other, and kernels see no untyped options. The host's
/// losses are the reference's.
const std::map<std::string, Names> kFormMayNot = {
    {"reference", {"engine/device/cpu/", "engine/device/cuda/", "engine/gpu/", "/cpu", "/cuda"}},
    {"cpu", {"engine/device/cuda/", "engine/gpu/", "/cuda", "jobspec/", "/row.h"}},
    {"cuda",
     {"engine/device/cpu/", "engine/device/reference/", "/cpu", "/reference", "jobspec/",
      "/row.h"}},
};

/// The engine knows of jobspec only these.
const std::set<std::string> kJobspecForEngine = {
    "jobspec/value.h",           "jobspec/trial.h",    "jobspec/metric_names.h",
    "jobspec/advise/formulas.h", "jobspec/schema.h",   "jobspec/option.h",
    "jobspec/diagnostic.h",      "jobspec/fwd.h",      "jobspec/table.h",
    "jobspec/options.h",         "jobspec/complete.h", "jobspec/program.h",
    "jobspec/metric_pattern.h"};

/// Sweeps only where a whole sweep file is checked.
const std::map<std::string, std::set<std::string>> kJobspecForOneFile = {
    {"engine/train/sweep_trials.h", {"jobspec/sweep.h", "jobspec/metrics.h", "jobspec/paths.h"}}};

/// A C library is touched in one place.
const std::map<std::string, Names> kOnlyIn = {
    {"sqlite3", {"db/sqlite/"}},
    {"slurm/", {"daemon/slurm_agent/"}},
    {"munge", {"daemon/auth/"}},
    {"ucp/", {"engine/comm/transport/ucx/"}},
    {"ucs/", {"engine/comm/transport/ucx/"}},
    {"pmix", {"engine/comm/wireup/", "engine/launch/"}},
    {"dnnl", {"engine/device/cpu/", "engine/optim/large_product.cpp"}},
    {"oneapi/dnnl", {"engine/device/cpu/"}},
    {"cuda", {"engine/gpu/"}},
    {"cublas", {"engine/gpu/"}},
    {"cudnn", {"engine/gpu/"}},
    {"nccl", {"engine/gpu/"}},
    {"yaml-cpp", {"jobspec/"}},
    {"CLI/", {"base/", "cli/"}},
    {"boost/asio", {"daemon/"}},
    {"boost/beast", {"daemon/"}},
    {"boost/math", {"db/analysis/"}},
};

const Names kComponents = {"base", "jobspec", "db", "engine", "daemon", "cli"};

TEST(Layering, NoUpwardArrow) {
  int seen = 0;
  for (const std::string& component : kComponents)
    for (const Include& include : includes_under(component)) {
      if (!include.quoted) continue;
      ++seen;
      if (starts_with(include.target, "base/")) continue;  // below everything
      const std::string* rule = nullptr;
      const Names* names = nullptr;
      for (const auto& [folder, row] : kMayInclude)
        if (starts_with(include.file, folder) && (!rule || folder.size() > rule->size())) {
          rule = &folder;
          names = &row;
        }
      ASSERT_NE(rule, nullptr) << include.file << " is in no component";
      EXPECT_TRUE(allowed(include.target, *names))
          << include.file << ":" << include.line << " includes " << include.target << ", which "
          << *rule << " may not";
      EXPECT_TRUE(fs::exists(kRoot / include.target) || include.target.ends_with(".inc"))
          << include.file << ":" << include.line << ": includes start at the root, and there is no "
          << include.target;
      if (starts_with(include.file, "engine/") && starts_with(include.target, "jobspec/")) {
        const auto own = kJobspecForOneFile.find(include.file);
        const bool allowed_here =
            own != kJobspecForOneFile.end() && own->second.count(include.target) > 0;
        EXPECT_TRUE(allowed_here || kJobspecForEngine.count(include.target))
            << include.file << ":" << include.line << ": the engine knows no " << include.target;
      }
    }
  EXPECT_GT(seen, 100) << "the test found too few includes to be believed";
}

TEST(Layering, DevicesOfALayerKnowNothingOfEachOther) {
  std::map<std::string, int> seen;
  for (const char* component : {"engine/layers", "engine/losses"})
    for (const Include& include : includes_under(component))
      for (const auto& [device, names] : kFormMayNot) {
        if (!include.quoted || !starts_with(fs::path(include.file).filename(), device)) continue;
        ++seen[device];
        for (const std::string& name : names)
          EXPECT_EQ(include.target.find(name), std::string::npos)
              << include.file << ":" << include.line << " is of " << device << " and includes "
              << include.target;
      }
  for (const auto& [device, names] : kFormMayNot)
    EXPECT_GT(seen[device], 20) << device;
}

TEST(Layering, EachLibraryInItsOwnFolder) {
  for (const std::string& component : kComponents)
    for (const Include& include : includes_under(component)) {
      if (include.quoted) continue;
      for (const auto& [library, folders] : kOnlyIn) {
        if (!starts_with(include.target, library)) continue;
        EXPECT_TRUE(any_prefix(include.file, folders))
            << include.file << ":" << include.line << " includes <" << include.target
            << ">, which belongs to " << folders.front();
      }
    }
}

/// What stands in `text` (C++) where a value is put into an SQL text instead of being bound to a
/// `?`: a string literal that begins like a statement (PRAGMA takes no parameters and is not
/// looked at) and stands beside `+` or `<<`, or in a call of format; one line each.
Names sql_put_together(const std::string& text) {
  static const std::regex statement(
      R"re(((?:format\(|\+|<<)?)\s*)re"
      R"re("((?:WITH|SELECT|INSERT INTO|INSERT OR|UPDATE|DELETE FROM)\b(?:[^"\\\n]|\\.)*)")re"
      R"re(((?:\s*"(?:[^"\\\n]|\\.)*")*)\s*(\+(?!\+)|<<)?)re");
  Names found;
  for (std::sregex_iterator match(text.begin(), text.end(), statement), end; match != end; ++match)
    if ((*match)[1].length() > 0 || (*match)[4].length() > 0) found.push_back((*match)[2].str());
  return found;
}

TEST(Layering, SqlIsNotPutTogetherFromValues) {
  EXPECT_EQ(sql_put_together(R"(ask("SELECT a FROM t WHERE b = " + quoted(b));)").size(), 1u);
  EXPECT_EQ(sql_put_together("ask(\"SELECT a\"\n  \" FROM t WHERE b = \" +\n b);").size(), 1u);
  EXPECT_EQ(sql_put_together(R"(fmt::format("DELETE FROM t WHERE b = {}", b))").size(), 1u);
  EXPECT_EQ(sql_put_together(R"(text << "UPDATE t SET a = " << a;)").size(), 1u);
  EXPECT_EQ(sql_put_together("Sql k{\"n\", \"SELECT \" COLUMNS\n \" FROM t WHERE b = ?\"};").size(),
            0u);
  int seen = 0;
  for (const fs::path& file : files_under({"db", "daemon", "cli"}, {".h", ".cpp"})) {
    ++seen;
    for (const std::string& sql : sql_put_together(text_of(file)))
      ADD_FAILURE() << file << ": bind the values of \"" << sql << "\" to ?";
  }
  EXPECT_GT(seen, 100);
}

// What the engine writes and others read by name would not be found again under a name that was
// changed on one side only.
TEST(Layering, MetricNamesAreSpelledInOneHeader) {
  const fs::path header = kRoot / "jobspec/metric_names.h";
  const std::string names = text_of(header);
  const std::regex pattern(R"re("\w+/\w+")re");
  Names spelled;  // with their quotes
  for (std::sregex_iterator name(names.begin(), names.end(), pattern), end; name != end; ++name)
    spelled.push_back(name->str());
  EXPECT_GT(spelled.size(), 8u);
  for (const fs::path& file : files_under(kComponents, {".h", ".cpp"})) {
    if (file == header) continue;
    const std::string text = text_of(file);
    for (const std::string& name : spelled)
      EXPECT_EQ(text.find(name), std::string::npos)
          << file << " spells " << name << ": use jobspec/metric_names.h";
  }
}

TEST(Layering, TopLevelHoldsNothingElse) {
  const std::set<std::string> known = {"CMakeLists.txt",
                                       "CMakePresets.json",
                                       "README.md",
                                       "LICENSE",
                                       "CHANGELOG.md",
                                       "CONTRIBUTING.md",
                                       "CITATION.cff",
                                       "base",
                                       "daemon",
                                       "engine",
                                       "jobspec",
                                       "cli",
                                       "db",
                                       "tests",
                                       "packaging",
                                       "build"};
  for (const auto& entry : fs::directory_iterator(kRoot)) {
    const std::string name = entry.path().filename().string();
    if (name[0] == '.') continue;
    EXPECT_TRUE(known.count(name)) << name << " does not belong at the top level";
  }
}

// A program of one's own would not compile: what thalweg-devel installs of comm (base is installed
// whole) includes nothing that it leaves out.
TEST(Layering, InstalledHeadersIncludeOnlyEachOther) {
  const std::string rules = text_of(kRoot / "packaging/CMakeLists.txt");
  std::smatch list;
  ASSERT_TRUE(std::regex_search(rules, list, std::regex(R"(foreach\(header IN ITEMS ([^)]*)\))")));
  std::istringstream names(list[1].str());
  std::set<std::string> installed;
  for (std::string name; names >> name;)
    installed.insert("engine/comm/" + name);
  EXPECT_GT(installed.size(), 5u);
  size_t seen = 0;
  for (const Include& include : includes_under("engine/comm")) {
    if (!include.quoted || !installed.count(include.file)) continue;
    ++seen;
    EXPECT_TRUE(starts_with(include.target, "base/") || installed.count(include.target))
        << include.file << ":" << include.line << " includes " << include.target
        << ": install it in packaging/CMakeLists.txt, too";
  }
  EXPECT_GT(seen, 3u);
}

TEST(Layering, EveryComponentSaysWhatItIs) {
  for (const char* component :
       {"base", "jobspec", "db", "engine", "daemon", "cli", "tests", "packaging"}) {
    const fs::path readme = kRoot / component / "README.md";
    ASSERT_TRUE(fs::exists(readme)) << readme;
    const std::string text = text_of(readme);
    const auto lines = std::count(text.begin(), text.end(), '\n');
    EXPECT_GT(lines, 5) << readme;
    EXPECT_LE(lines, 80) << readme << " is longer than a screen or so";
  }
}

}  // namespace
