// Whether there are enough data for a model: by what published trainings that converged had.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "jobspec/advise/rules.h"

namespace thalweg::jobspec::advise {
namespace {

struct Published {
  const char* name;
  double parameters, samples;
};

/// Trainings that converged (NERSC distributed-training guidelines; Baydin et al.,
/// arXiv:1907.03382; Mathuriya et al., arXiv:1808.04728; He et al., arXiv:1512.03385).
constexpr std::array published{Published{"Etalumis, 171 M parameters", 171e6, 15e6},
                               Published{"Etalumis, 157 M parameters", 156.96e6, 3e6},
                               Published{"CosmoFlow", 7e6, 99'456},
                               Published{"ResNet-50 on ImageNet", 25e6, 1.28e6}};
/// The least of them: CosmoFlow's, 99,456 / 7 M (before it took every volume twice).
constexpr double min_ratio = 0.014;
/// A rule of thumb: augmentation does not make up for data of which so many times as much are
/// needed.
constexpr double many_times = 10;

/// The table is of one answer a sample. Tokens and pixels give many: what counts there is
/// positions.
bool has_table(const Configuration& c) {
  const std::string data = c.text("data.name"), model = c.text("model.name");
  const auto is_one_of = [](const std::string& name, std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* n) { return name == n; });
  };
  return c.samples > 0 && c.parameters > 0 &&
         !is_one_of(data, {"tokens", "text", "copy", "translation", "cells", "quadratic-deep"}) &&
         !is_one_of(model, {"gpt", "bert", "encoder_decoder", "lstm_lm", "unet", "flood_filling"});
}

double ratio_of(const Configuration& c) {
  return c.samples / c.parameters;
}

bool augmented(const Configuration& c) {
  const Value* const moves = c.train.find("augment");
  if (!moves || !moves->is_map()) return false;
  for (const auto& [key, value] : moves->as_map())
    if (key != "mixing_chance" && value.is_number() && value.as_double() > 0) return true;
  return false;
}

const Published& nearest_to(double ratio) {
  const Published* nearest = &published.front();
  const auto distance = [&](const Published& row) {
    return std::abs(std::log(row.samples / row.parameters / ratio));
  };
  for (const Published& row : published)
    if (distance(row) < distance(*nearest)) nearest = &row;
  return *nearest;
}

}  // namespace

std::vector<Finding> advise_dataset_size(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    if (!has_table(c)) return std::nullopt;
    const double ratio = ratio_of(c);
    const Published& nearest = nearest_to(ratio);
    Finding finding;
    finding.basis = Basis::published;
    finding.numbers = {{"samples", plain(c.samples)},
                       {"parameters", plain(c.parameters)},
                       {"samples per parameter", fmt::format("{:.3g}", ratio)}};
    const std::string like =
        fmt::format("nearest published training that converged: {} with {:.3g}", nearest.name,
                    nearest.samples / nearest.parameters);
    if (ratio < min_ratio) {
      finding.verdict = Verdict::warning;
      finding.text = fmt::format("{:.2g} samples per parameter are few; {}", ratio, like);
    } else {
      finding.text = fmt::format("{:.2g} samples per parameter are enough; {}", ratio, like);
    }
    return finding;
  });
}

std::vector<Finding> advise_dataset_growth(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    if (!has_table(c) || ratio_of(c) >= min_ratio) return std::nullopt;
    const double wanted = std::ceil(min_ratio * c.parameters);
    const double times = std::ceil(wanted / c.samples);
    std::string text = fmt::format(
        "grow the data {}-fold, to {} samples: more simulation or "
        "measurement first",
        plain(times), plain(wanted));
    // CosmoFlow's volumes were taken twice; nothing was published of more copies than that.
    const bool duplicated = c.number("data.duplicate") >= 2;
    if (!augmented(c))
      text += fmt::format("; augment: {{flip: 0.5, …}}{} where the data have such symmetries",
                          duplicated ? "" : " with data.duplicate: 2");
    else if (!duplicated)
      text += "; data.duplicate: 2 shows each augmented sample twice an epoch";
    if (times > many_times)
      text +=
          "; so far from enough, a smaller model or one that was trained on other data "
          "(init_from) is the better start";
    return Finding{Verdict::advice,
                   text,
                   Basis::published,
                   {{"samples", plain(c.samples)}, {"wanted", plain(wanted)}}};
  });
}

std::vector<Finding> advise_subset(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    const double fraction = c.number("data.fraction");
    if (fraction <= 0 || fraction >= 1) return std::nullopt;
    return Finding{
        Verdict::advice,
        fmt::format(
            "a subset ({} of the data) is right to develop on; then run the best "
            "configurations unchanged on all of them: thalweg submit --from ID --best --set "
            "train.data.fraction=1",
            plain(fraction)),
        Basis::rule_of_thumb,
        {{"data.fraction", plain(fraction)}, {"samples", plain(c.samples)}}};
  });
}

}  // namespace thalweg::jobspec::advise
