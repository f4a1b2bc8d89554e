// Which values of a metric are better, by its name alone. A name is read as English has it: the
// last word that is known decides (val/top5_error, reward_loss, loss/accuracy), what comes after
// "per", "to" or "at" only says of what (loss_per_token, time_to_accuracy), and a spread or a
// difference of something good is neither.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "jobspec/metrics.h"

namespace thalweg::jobspec {
namespace {

using Words = std::vector<std::string>;

constexpr std::array larger{
    "accuracy",    "acc",        "auc",        "auroc",     "auprc",   "ap",
    "map",         "f1",         "fbeta",      "precision", "recall",  "sensitivity",
    "specificity", "score",      "iou",        "miou",      "dice",    "jaccard",
    "overlap",     "bleu",       "chrf",       "rouge",     "meteor",  "cider",
    "ndcg",        "mrr",        "hit",        "pass",      "match",   "em",
    "mcc",         "kappa",      "r2",         "rsquared",  "pearson", "spearman",
    "correlation", "psnr",       "ssim",       "snr",       "sdr",     "mos",
    "reward",      "rew",        "return",     "success",   "win",     "elo",
    "elbo",        "likelihood", "loglik",     "fps",       "qps",     "throughput",
    "speed",       "speedup",    "efficiency", "tflops",    "mfu",     "utilization",
    "improvement", "gain",       "lift",       "profit",    "revenue", "sharpe",
    "nmi",         "ari",        "silhouette", "samples",   "fitness", "correct",
    "top1",        "top5"};

constexpr std::array smaller{"loss",         "error",      "err",
                             "perplexity",   "ppl",        "mae",
                             "mse",          "rmse",       "nrmse",
                             "mape",         "smape",      "nll",
                             "bce",          "xent",       "wer",
                             "cer",          "eer",        "fid",
                             "kid",          "lpips",      "bpc",
                             "bpb",          "bpd",        "bits",
                             "crossentropy", "regret",     "divergence",
                             "kl",           "distance",   "cost",
                             "latency",      "time",       "duration",
                             "second",       "seconds",    "sec",
                             "ms",           "runtime",    "brier",
                             "ece",          "deviance",   "residual",
                             "gap",          "penalty",    "violation",
                             "collision",    "failure",    "miss",
                             "mistake",      "inaccuracy", "misclassification",
                             "fpr",          "fnr",        "false",
                             "drawdown",     "memory",     "bytes",
                             "mib",          "gib",        "energy",
                             "power",        "joule"};

/// After a word that is known they make it something of which neither more nor less is better.
constexpr std::array neither{"std",  "stddev",     "var",   "variance", "sem",  "ci",
                             "diff", "difference", "delta", "change",   "norm", "drop"};

/// Ends that are known without a gap before them: valloss, logloss, testacc, bertscore.
constexpr std::array long_ends{"loss",   "error",  "perplexity", "accuracy",   "acc",   "precision",
                               "recall", "reward", "score",      "likelihood", "auroc", "auc"};

template <class List>
bool has(const List& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

/// Of a word of the lists, also as "acc1" or "rewards".
std::optional<Goal> goal_of_listed(std::string word) {
  if (word.ends_with("es") && has(smaller, word.substr(0, word.size() - 2))) return Goal::minimize;
  for (; !word.empty(); word.pop_back()) {
    if (has(smaller, word)) return Goal::minimize;
    if (has(larger, word)) return Goal::maximize;
    if (!is_digit(word.back()) && word.back() != 's') break;
  }
  return {};
}

std::optional<Goal> goal_of_word(const std::string& word) {
  if (const auto goal = goal_of_listed(word)) return goal;
  for (const char* const end : long_ends)
    if (word.ends_with(end)) return goal_of_listed(end);
  return {};
}

/// "F1Score", "meanReward" and "BinaryAUROC" in their parts, where they are not listed as they are.
void add_word(const std::string& word, Words& words) {
  if (word.empty()) return;
  if (goal_of_listed(lower_case(word))) return words.push_back(lower_case(word));
  std::string part;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool begins = i > 0 && is_upper(word[i]) &&
                        (!is_upper(word[i - 1]) || (i + 1 < word.size() && is_lower(word[i + 1])));
    if (begins) words.push_back(lower_case(std::exchange(part, {})));
    part += word[i];
  }
  words.push_back(lower_case(part));
}

bool is_time(std::string_view word) {
  return word == "s" || word == "sec" || word == "second";
}

/// With "per" where a unit ends in "/s".
Words words_of(std::string_view name) {
  Words words;
  std::string word;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (is_lower(c) || is_upper(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80) {
      word += c;
      continue;
    }
    add_word(std::exchange(word, {}), words);
    if (c == '/' && is_time(name.substr(i + 1))) words.emplace_back("per");
  }
  add_word(word, words);
  return words;
}

std::optional<Goal> goal_of(Words words) {
  const auto of = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word == "per" || word == "to" || word == "at" || word == "until";
  });
  const bool rate = of != words.end() && *of == "per" && of + 1 != words.end() && is_time(of[1]);
  words.erase(of, words.end());
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    if (has(neither, *word)) return {};
    if (const auto goal = goal_of_word(*word)) return goal;
    if (*word == "entropy" && word + 1 != words.rend() && word[1] == "cross") return Goal::minimize;
  }
  if (rate) return Goal::maximize;
  return {};
}

}  // namespace

std::optional<Goal> goal_by_name(std::string_view name) {
  Words words = words_of(name);
  if (words == Words{"epoch"}) return Goal::maximize;
  // sklearn's neg_mean_squared_error, and what is negated elsewhere: the best is what was not.
  const auto negated = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word == "neg" || word == "negative" || word == "minus" || word == "inverse" ||
           word == "inv";
  });
  if (negated == words.end()) return goal_of(words);
  const bool first_of_all = *negated == "neg" || *negated == "negative";
  words.erase(words.begin(), negated + 1);
  const auto plain = goal_of(words);
  if (!plain || !first_of_all) return {};
  return *plain == Goal::minimize ? Goal::maximize : Goal::minimize;
}

std::string_view better_values(Goal goal) {
  return goal == Goal::maximize ? "larger" : "smaller";
}

}  // namespace thalweg::jobspec
