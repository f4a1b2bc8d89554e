// Trials end at once here: only the order of choices and results is the controller's.
#include "tests/jobspec/search_problems.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "jobspec/schema.h"
#include "jobspec/suggest.h"

namespace thalweg::jobspec {
namespace {

double branin(const std::vector<double>& x) {
  constexpr double pi = std::numbers::pi;
  const double bend = x[1] - 5.1 / (4 * pi * pi) * x[0] * x[0] + 5 / pi * x[0] - 6;
  return bend * bend + 10 * (1 - 1 / (8 * pi)) * std::cos(x[0]) + 10;
}

double hartmann(const std::vector<double>& x) {
  constexpr std::array height{1.0, 1.2, 3.0, 3.2};
  constexpr double steepness[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                      {.05, 10, 17, .1, 8, 14},
                                      {3, 3.5, 1.7, 10, 17, 8},
                                      {17, 8, .05, 10, .1, 14}};
  constexpr double centre[4][6] = {{.1312, .1696, .5569, .0124, .8283, .5886},
                                   {.2329, .4135, .8307, .3736, .1004, .9991},
                                   {.2348, .1451, .3522, .2883, .3047, .6650},
                                   {.4047, .8828, .8732, .5743, .1091, .0381}};
  double sum = 0;
  for (std::size_t i = 0; i < height.size(); ++i) {
    double squared = 0;
    for (std::size_t j = 0; j < 6; ++j)
      squared += steepness[i][j] * (x[j] - centre[i][j]) * (x[j] - centre[i][j]);
    sum -= height[i] * std::exp(-squared);
  }
  return sum;
}

/// A learning rate: the larger the better, until the training diverges.
double cliff(const std::vector<double>& x) {
  const double rate = std::log10(x[0]);
  return rate > -2 ? 1e9 : 0.1 + std::abs(rate + 2.05) / 2;
}

/// Mean square of what a polynomial misses of the sine, at 101 places.
double sine(const std::vector<double>& coefficients) {
  constexpr int places = 101;
  double sum = 0;
  for (int i = 0; i < places; ++i) {
    const double x = std::numbers::pi * (2.0 * i / (places - 1) - 1);
    double fit = 0;
    for (std::size_t power = coefficients.size(); power-- > 0;)
      fit = fit * x + coefficients[power];
    sum += (fit - std::sin(x)) * (fit - std::sin(x));
  }
  return sum / places;
}

std::string box(int size, const std::string& range) {
  std::string text;
  for (int i = 1; i <= size; ++i)
    text += "  x" + std::to_string(i) + ": {distribution: uniform, " + range + "}\n";
  return text;
}

std::vector<double> coordinates(const Value& parameters) {
  std::vector<double> x;
  while (const Value* next = parameters.find("x" + std::to_string(x.size() + 1)))
    x.push_back(next->as_double());
  return x;
}

/// Beyond `edge` 1e9 and another order of magnitude for each 1 that the value grows.
std::function<double(const std::vector<double>&)> exploding(
    double (*value)(const std::vector<double>&), double edge) {
  return [=](const std::vector<double>& x) {
    const double plain = value(x);
    return plain > edge ? 1e9 * std::pow(10, std::min(plain - edge, 30.0)) : plain;
  };
}

}  // namespace

const std::vector<SearchProblem>& search_problems() {
  static const std::string plane =
      "  x1: {distribution: uniform, min: -5.0, max: 10.0}\n"
      "  x2: {distribution: uniform, min: 0.0, max: 15.0}\n";
  static const std::string rate =
      "  x1: {distribution: log_uniform_values, min: 0.00001, max: 1.0}\n";
  static const std::string cube = box(6, "min: 0.0, max: 1.0");
  static const std::vector<SearchProblem> problems{
      {"branin", plane, 0.39788735772973816, branin},
      {"hartmann6", cube, -3.322368011391339, hartmann},
      {"branin that explodes", plane, 0.39788735772973816, exploding(branin, 20)},
      {"cliff", rate, 0.1, cliff},
      {"sine", box(7, "min: -1.0, max: 1.0"), 2.074201011897084e-05, sine, 130},
      {"hartmann6 that explodes", cube, -3.322368011391339, exploding(hartmann, -0.5)},
  };
  return problems;
}

const SearchProblem& search_problem(const std::string& name) {
  for (const SearchProblem& each : search_problems())
    if (each.name == name) return each;
  throw std::invalid_argument("no such problem: " + name);
}

double regret(const SearchProblem& problem, std::uint64_t seed, int parallel,
              const std::string& method) {
  Sweep sweep = parse_sweep("program: f\nmethod: " + method + "\nmetric: {name: loss}\nrun_cap: " +
                                std::to_string(problem.configurations) + "\nparameters:\n" +
                                problem.parameters,
                            "sweep.yaml", Schema());
  sweep.seed = seed;
  std::vector<Observed> observed;
  std::set<std::string> taken;
  double best = std::numeric_limits<double>::infinity();
  for (const ExpandedTrial& trial : expand(sweep, Schema()).trials) {
    ExpandedTrial next = trial;
    if (parallel > 0 && sweep.learning && trial.number > sweep.learning->drawn_trials()) {
      std::vector<Observed> known = observed;
      for (std::size_t i = 1; i < static_cast<std::size_t>(parallel); ++i)
        known[known.size() - i].state = Observed::State::running;
      next = suggest(sweep, Schema(), known, taken, trial.configuration)->trial;
    }
    taken.insert(next.hash);
    const double value = problem.value(coordinates(next.parameters));
    best = std::min(best, value);
    observed.push_back({next.parameters, Observed::State::ended, value});
  }
  return best - problem.least;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace thalweg::jobspec
