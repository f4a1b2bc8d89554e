// Documents stay true: links lead somewhere, the README shows its example word for word, paths that
// CONTRIBUTING names and tests that documents name exist, and words that were replaced by the
// field's own do not come back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/layering/sources.h"

namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kFolders = {"base", "jobspec", "db",        "engine", "daemon",
                                           "cli",  "tests",   "packaging", ".github"};

/// Those under kFolders, and those at the top.
std::vector<fs::path> all_files(const std::vector<std::string>& extensions) {
  std::vector<fs::path> files = files_under(kFolders, extensions);
  for (const auto& entry : fs::directory_iterator(kRoot))
    if (std::find(extensions.begin(), extensions.end(), entry.path().extension()) !=
        extensions.end())
      files.push_back(entry.path());
  return files;
}

/// The text of the first fenced block of this kind.
std::string block_of(const std::string& text, const std::string& kind) {
  const std::string fence = "\n```" + kind + "\n";
  const std::size_t begin = text.find(fence);
  if (begin == std::string::npos) return {};
  const std::size_t first = begin + fence.size();
  return text.substr(first, text.find("\n```\n", first) + 1 - first);
}

TEST(Documents, LinksLeadSomewhere) {
  const std::regex link(R"re(\]\(([^)#: ]+)(#[^)]*)?\))re");
  const std::string menu = text_of(kRoot / "packaging/handbook/mkdocs.yml");
  int seen = 0;
  for (const fs::path& file : all_files({".md"})) {
    const std::string text = text_of(file);
    for (std::sregex_iterator match(text.begin(), text.end(), link), end; match != end; ++match) {
      ++seen;
      // The handbook's reference is made when it is built, which checks these links again.
      const std::string target = (*match)[1];
      const auto made = target.find("reference/");
      EXPECT_TRUE(fs::exists(file.parent_path() / target) ||
                  (made != target.npos && menu.find(": " + target.substr(made)) != menu.npos))
          << file << ": there is no " << target;
    }
  }
  EXPECT_GT(seen, 30);
}

/// Words outside of blocks, tables, pictures and addresses.
std::size_t prose_words(const std::string& text) {
  std::istringstream lines(text);
  std::size_t count = 0;
  bool block = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) block = !block;
    if (block || line.starts_with("|") || line.starts_with("!") || line.starts_with("<")) continue;
    std::istringstream words(std::regex_replace(line, std::regex(R"re(\]\([^)]*\))re"), "]"));
    for (std::string word; words >> word;)
      count +=
          std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isalpha(c); });
  }
  return count;
}

TEST(Documents, TheReadmeIsReadInThreeMinutes) {
  const std::string text = text_of(kRoot / "README.md");
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 120);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 100u) << line;
  EXPECT_LE(prose_words(text), 700u);
  EXPECT_GT(prose_words(text), 200u);
}

TEST(Documents, TheReadmesExampleIsTheFileThatItNames) {
  EXPECT_EQ(block_of(text_of(kRoot / "README.md"), "yaml"),
            text_of(kRoot / "jobspec/examples/optimizers.yaml"));
}

/// Checks the paths that a document names. How many they are.
int check_paths(const fs::path& document) {
  const std::string text = text_of(document);
  const std::regex path(R"re(`((?:jobspec|db|engine|daemon|cli|tests|packaging)/[^` ]+)`)re");
  int seen = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), path), end; match != end; ++match) {
    std::string name = (*match)[1];
    for (const char* open_end : {"{", "NAME"})
      if (const std::size_t at = name.find(open_end); at != std::string::npos) name.resize(at);
    ++seen;
    EXPECT_TRUE(fs::exists(kRoot / name)) << document << " names " << name;
  }
  return seen;
}

TEST(Documents, WhatContributorsAreShownExists) {
  EXPECT_GT(check_paths(kRoot / "CONTRIBUTING.md"), 25);
  for (const fs::path& page : files_under({"packaging/handbook/pages/design"}, {".md"}))
    EXPECT_GE(check_paths(page), 10);
}

TEST(Documents, TestsThatAreNamedExist) {
  std::set<std::string> tests;
  const std::regex definition(R"re(TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))re");
  for (const fs::path& file : files_under({"tests"}, {".cpp"})) {
    const std::string text = text_of(file);
    for (std::sregex_iterator match(text.begin(), text.end(), definition), end; match != end;
         ++match)
      tests.insert((*match)[1].str() + "." + (*match)[2].str());
  }
  const std::regex name(R"re(`([A-Z]\w*\.[A-Z]\w+)`)re"), run_by("<!-- run by (\\S+) -->");
  int seen = 0;
  for (const fs::path& file : files_under({"tests"}, {".txt"})) {
    const std::string text = text_of(file);
    const std::regex added(R"re(add_test\(NAME (\w+\.\w+))re");
    for (std::sregex_iterator match(text.begin(), text.end(), added), end; match != end; ++match)
      tests.insert((*match)[1]);
  }
  std::vector<fs::path> documents = files_under({"packaging/handbook/pages"}, {".md"});
  documents.insert(documents.end(), {kRoot / "README.md", kRoot / "daemon/security.md"});
  for (const fs::path& document : documents) {
    const std::string text = text_of(document);
    for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match) {
      ++seen;
      EXPECT_TRUE(tests.count((*match)[1])) << document << ": there is no " << (*match)[1];
    }
    for (std::sregex_iterator match(text.begin(), text.end(), run_by), end; match != end; ++match)
      EXPECT_TRUE(tests.count((*match)[1]) || fs::exists(kRoot / (*match)[1].str()))
          << document << ": there is no " << (*match)[1];
  }
  EXPECT_GT(seen, 80);
}

/// A word that was replaced, what is said now, and where it may stand all the same (parts of
/// paths). std::regex is slow: it looks only at texts that have one of `hints`.
struct Replaced {
  std::vector<const char*> hints;
  std::regex pattern;
  const char* say;
  std::vector<std::string> except{};
};

const std::vector<Replaced>& replaced_words() {
  static const std::vector<Replaced> words = {
      // Straight lines have slopes; so have leaky_relu and Caffe's sigmoid schedule, as options.
      {{"lope"},
       std::regex(R"re([^"][sS]lope)re"),
       "gradient, or derivative of a function",
       {"layers/activation", "cosmoflow", "schedule/sigmoid", "schedule_free", "gaussian_fields",
        "augment_table", "model_test", "generators_test", "schedule_test"}},
      {{"manieth"}, std::regex(R"re(manieth)re"), "n-th"},
      {{"AsideFile"}, std::regex(R"re(AsideFile)re"), "AtomicFile"},
      {{"ighting"}, std::regex(R"re([sS]ighting)re"), "observation"},
      {{"resting"}, std::regex(R"re(\bresting\b)re"), "awaiting_decision", {"db/store_test"}},
      {{"oll call", "Vigil"},
       std::regex(R"re([rR]oll call|\bVigil\b)re"),
       "liveness probe, watchdog"},
      {{"_option"},
       std::regex(R"re(\b(whole|real|text)_option\b)re"),
       "int_option, float_option, string_option"},
      {{"Complaints", "Misfit"},
       std::regex(R"re(\bComplaints\b|\bMisfit\b)re"),
       "Diagnostics, ValidationError"},
      {{"turned round", "on their own", "over one another"},
       std::regex(
           R"re(convolution( of volumes)? turned round|look on their own|[lL]stms over one another)re"),
       "transposed convolution, attention heads, stacked LSTM layers"},
      {{"Most", "Longest", "Fewest", "Shortest", "most_", "longest_", "fewest_", "shortest_"},
       std::regex(
           R"re(\bk(Most|Longest|Fewest|Shortest)[A-Z]|[^\w"](most|longest|fewest|shortest)_(?!(of|common|node_hours|ranks)\b)\w)re"),
       "kMax..., max_..., kMin..., min_..."},
      {{"iece"},
       std::regex(R"re(\bPieces?\b|kPiece|\bpieces\b)re"),
       "chunk; of a batch: micro-batch",
       {"thalweg.1", "actions_test"}},
      {{"ulprit", "lame"},
       std::regex(R"re([cC]ulprit|\b[bB]lame(s|d)?\b)re"),
       "failed rank, cause"},
      {{"Stretch", "partner_"},
       std::regex(R"re(\bStretch\b|\bpartner_(labels|shares)\b)re"),
       "range, labels_b, shares_b (of mixup and cutmix)"},
      {{"Lane", "lane"},
       std::regex(R"re(Lane\b|\bLane[A-Z]|\blane(s|_pool|_memory)\b)re"),
       "executor, but of vectors and warps",
       {"_native.h", "lane_sum.h", "cuda_on_host", "dropout_mask", "engine/comm", "compress/matrix",
        "optim/norm.h", "cpu_narrow"}},
      {{"Team", "Watched", "Feed", "Desk", "Judgement", "Recording"},
       std::regex(R"re(\bTeam\b|\bWatched\b|\bFeed\b|\bDesk\b|\bJudgement\b|Recording\b)re"),
       "ThreadBlock, TrackedJob, JournalReader, Workspace, EvalResult, CapturedGraph",
       {"tests/", "process_watch"}},
      {{"evaluates_elsewhere", "evaluation_point", "go_back", "rest1", "rest2", "of_g"},
       std::regex(R"re(\b(evaluates_elsewhere|evaluation_point|go_back|rest[12]|of_g)\b)re"),
       "has_eval_weights, eval_weights, backward, one_minus_beta1, g_coefficient"},
      {{"gpu::Queue", "_recording", "extra_"},
       std::regex(R"re(\bgpu::Queue\b|\b(begin|end)_recording\b|\bextra_(loss|squares|stop)\b)re"),
       "gpu::Stream, begin_capture, end_capture, stat_loss"},
      {{"complain"}, std::regex(R"re(\bcomplain(s|ed)?\b)re"), "report_error"},
      {{"partner"}, std::regex(R"re(\bpartners?\b)re"), "sample b, inputs_b"},
      {{"his room", "he rooms", "ach room", "he house"},
       std::regex(R"re(\b([Tt]his room|[Ee]ach room|[Tt]he (rooms|house))\b)re"),
       "component, folder"},
      {{"idle_ends", "end_wish", "BackendSlot", "LineGlance"},
       std::regex(R"re(\bidle_ends\b|\bend_wish\b|\bBackendSlot\b|\bLineGlance\b)re"),
       "no_progress_exits, stop_reason, BackendSetup, LineHeader"},
  };
  return words;
}

TEST(Words, ThoseThatWereReplacedStayAway) {
  int seen = 0;
  for (const fs::path& file : all_files({".h", ".cpp", ".md", ".1", ".5", ".8"})) {
    if (file.filename() == "documents_test.cpp") continue;  // which lists them
    const std::string text = text_of(file), name = fs::relative(file, kRoot).string();
    ++seen;
    for (const Replaced& word : replaced_words()) {
      if (std::none_of(word.hints.begin(), word.hints.end(),
                       [&](const char* hint) { return text.find(hint) != std::string::npos; }))
        continue;
      if (std::any_of(word.except.begin(), word.except.end(), [&](const std::string& part) {
            return name.find(part) != std::string::npos;
          }))
        continue;
      std::smatch match;
      if (!std::regex_search(text, match, word.pattern)) continue;
      const auto line = 1 + std::count(text.begin(), text.begin() + match.position(), '\n');
      ADD_FAILURE() << name << ":" << line << ": '" << match.str() << "': say " << word.say;
    }
  }
  EXPECT_GT(seen, 500);
}

}  // namespace
