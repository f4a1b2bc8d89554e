// Which optimizer for which batch, and the rate that Adasum wants.
#include <fmt/format.h>

#include <algorithm>

#include "jobspec/advise/rules.h"
#include "jobspec/sweep.h"

namespace thalweg::jobspec::advise {
namespace {

/// Up to here SGD with momentum lost nothing on ImageNet (Goyal et al., arXiv:1706.02677).
constexpr double goyal_batch = 8192;
/// Up to here LARS did not (You et al., arXiv:1708.03888).
constexpr double lars_batch = 32'768;
/// LAMB (You et al., arXiv:1904.00962), Adasum (Maleki et al., arXiv:2006.02924).
constexpr double largest_batch = 65'536;

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* n) { return name == n; });
}

bool scales_layers(const Configuration& c) {
  return is_one_of(c.text("optimizer.name"), {"lars", "lamb"}) ||
         (!c.text("optimizer.larc").empty() && c.text("optimizer.larc") != "none");
}

bool compares_optimizers(const Study& study) {
  return std::any_of(study.sweep.axes.begin(), study.sweep.axes.end(),
                     [](const Axis& axis) { return axis.name == "optimizer.name"; });
}

bool is_adaptive(const std::string& name) {
  return !is_one_of(name, {"sgd", "momentum", "nesterov", "schedule_free_sgd", "lars"});
}

}  // namespace

std::vector<Finding> advise_optimizer(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    const std::string name = c.text("optimizer.name");
    if (name.empty() || c.batch <= 0) return std::nullopt;
    Finding finding;
    finding.basis = Basis::published;
    finding.numbers = {{"optimizer", name}, {"batch", plain(c.batch)}};
    if (c.batch > goyal_batch && !scales_layers(c) && c.text("sync.mode") != "adasum") {
      finding.verdict = Verdict::advice;
      finding.text = fmt::format(
          "batch {} is beyond the {} up to which {} is known to lose nothing: {}", plain(c.batch),
          plain(goyal_batch), is_adaptive(name) ? "the usual rule" : "SGD with momentum",
          is_adaptive(name)       ? "lamb, or optimizer.larc over it, is made for such batches"
          : c.batch <= lars_batch ? "lars, or optimizer.larc: clip, is made for such batches"
                                  : "lars went up to 32,768; lamb and sync.mode: adasum to 65,536");
    } else if (is_one_of(name, {"prodigy", "dadapt_adam"}) && c.number("optimizer.lr") > 0 &&
               c.number("optimizer.lr") != 1) {
      finding.verdict = Verdict::advice;
      finding.numbers.emplace_back("optimizer.lr", plain(c.number("optimizer.lr")));
      finding.text = fmt::format(
          "{} finds its rate itself: optimizer.lr multiplies what it finds and should be 1", name);
    } else if (name == "lars" && c.batch > lars_batch) {
      finding.verdict = Verdict::advice;
      finding.text = "lars went up to 32,768; lamb and sync.mode: adasum to 65,536";
    } else if (c.batch > largest_batch) {
      finding.verdict = Verdict::advice;
      finding.text = fmt::format(
          "batch {} is beyond all that was published (lamb and Adasum went up to 65,536)",
          plain(c.batch));
    } else if (scales_layers(c) && c.batch > goyal_batch) {
      finding.text =
          fmt::format("{} at batch {}: within what was published for it", name, plain(c.batch));
    } else if (name == "sgd" && !compares_optimizers(study)) {
      finding.verdict = Verdict::advice;
      finding.basis = Basis::rule_of_thumb;
      finding.text = "plain sgd: adam is the usual start, and momentum most often ends best";
    } else {
      finding.text = fmt::format("{} at batch {}: the optimizer of a single node still serves",
                                 name, plain(c.batch));
    }
    return finding;
  });
}

std::vector<Finding> advise_adasum_rate(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    if (c.text("sync.mode") != "adasum") return std::nullopt;
    const std::string scaling = c.text("schedule.scaling");
    Finding finding;
    finding.basis = Basis::published;
    finding.numbers = {{"schedule.scaling", scaling}, {"ranks", plain(c.ranks)}};
    if (scaling != "none" && c.ranks > 1) {
      finding.verdict = Verdict::warning;
      finding.text = fmt::format(
          "Adasum scales with the ranks by itself: schedule.scaling: {} does it twice; take none, "
          "and 2 to 2.5 times one rank's best rate",
          scaling);
    } else {
      finding.verdict = Verdict::advice;
      finding.text = "with Adasum 2 to 2.5 times the best rate of one rank is best";
    }
    return finding;
  });
}

}  // namespace thalweg::jobspec::advise
