// Figure 1: how much computing the training of a model takes, and that it has doubled every few
// months. Published: OpenAI, "AI and Compute" (2018), whose appendix tells how each number was
// estimated ("correct within a factor of 2 to 3").
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands/figures.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

constexpr const char* source = "OpenAI, AI and Compute (2018), appendix";
constexpr double doubling_months = 3.43;  // the same, line of best fit

struct Published {
  const char* name;
  double year;  ///< of the paper
  double pfs_days;
};
constexpr Published published[] = {
    {"Dropout", 2012.50, 0.0021},
    {"AlexNet", 2012.92, 0.0058},
    {"Visualizing and Understanding Conv Nets", 2013.83, 0.0062},
    {"DQN", 2013.96, 2.7e-5},
    {"VGG", 2014.67, 0.098},
    {"Seq2Seq", 2014.69, 0.085},
    {"ResNet-152", 2015.94, 0.117},
    {"DeepSpeech2", 2015.94, 0.30},
    {"Neural Machine Translation", 2016.73, 79},
    {"Xception", 2016.76, 5.0},
    {"Neural Architecture Search", 2016.84, 22},
    {"AlphaGo Zero", 2017.80, 300'000 * 0.0058},  // 300,000 times AlexNet
};

FigureSeries papers() {
  FigureSeries series{"published", source};
  for (const Published& each : published) {
    series.points.push_back({each.year, each.pfs_days});
    series.names.emplace_back(each.name);
  }
  return series;
}

/// Through AlexNet.
FigureSeries trend() {
  FigureSeries series{"doubling every 3.4 months", source};
  series.scattered = false;
  for (const double year : {2012.5, 2018.0})
    series.points.push_back({year, 0.0058 * std::exp2((year - 2012.92) * 12 / doubling_months)});
  return series;
}

void add_own(Context& context, const FigureRuns& runs, Figure& figure) {
  std::set<std::int64_t> wanted;
  for (const jobspec::Id& id : runs.sweeps)
    wanted.insert(id.sweep);
  FigureSeries own{"your runs"};
  const Json answer = context.controller().get("/v1/measurements?of=compute");
  for (const Json& point : list_at(answer, "points")) {
    const std::string trial = text_at(point, "trial");
    if (!wanted.empty() && wanted.count(parse_id(trial).sweep) == 0) continue;
    own.points.push_back({number_at(point, "x").value_or(0), number_at(point, "y").value_or(0)});
    own.names.push_back(trial);
  }
  if (own.points.empty())
    figure.notes.emplace_back("no recorded run reports its floating point operations");
  else
    figure.series.push_back(std::move(own));
}

Figure make_compute_figure(Context& context, const FigureRuns& runs) {
  Figure figure{"Computing that a training run took", "year", "petaflop/s-days"};
  figure.log_x = false;
  figure.series = {trend(), papers()};
  if (runs.own) add_own(context, runs, figure);
  return figure;
}

}  // namespace

FigureRow compute_figure() {
  return {"1", "compute of training runs by year, which doubled every few months",
          make_compute_figure};
}

}  // namespace thalweg::cli
