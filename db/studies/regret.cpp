// What a budget of configurations finds, and how far that is from the best of all. Of
// configurations that were listed or drawn at random any subset could have come first: the best of
// k is a random variable, whose distribution is known exactly (order statistics of draws without
// replacement; Dodge et al. 2019, arXiv:1909.03004, take their mean with replacement). Where the
// order is the method's own (it learns, or fills the space as sobol does) the best so far counts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "base/text.h"
#include "db/analysis/configurations.h"
#include "db/analysis/names.h"
#include "db/store.h"
#include "db/studies/regret.h"
#include "db/studies/study.h"
#include "jobspec/search/search.h"
#include "jobspec/value.h"

namespace thalweg::db {

std::vector<std::size_t> best_of_draws(std::size_t n, std::size_t k, std::vector<double> shares) {
  std::vector<std::size_t> ranks;
  std::sort(shares.begin(), shares.end());
  double none = 1;  // of k draws, that none is among the best i
  std::size_t i = 0;
  for (const double share : shares) {
    while (i < n && 1 - none < share - 1e-12) {
      none *= n - i >= k ? static_cast<double>(n - i - k) / static_cast<double>(n - i) : 0;
      ++i;
    }
    ranks.push_back(std::max<std::size_t>(i, 1) - 1);
  }
  return ranks;
}

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr StudyOption regret_options[] = {
    {"by", StudyOption::Kind::names, "NAME[,NAME]",
     "a curve for each value of these parameters, beside each sweep"},
    {"in_order", StudyOption::Kind::flag, "",
     "take configurations in the order of their numbers, as sobol and methods that learn have "
     "them"},
};

/// That the order of the configurations is the method's own: it learns, or draws each where the
/// earlier ones are not, as sobol does.
bool has_an_order(const std::string& file) {
  try {
    const jobspec::Value tree = jobspec::read_yaml(file, "sweep.yaml");
    if (tree.find("study")) return true;
    const jobspec::Value* const name = tree.find("method");
    const jobspec::SearchMethod* const method =
        name && name->is_string() ? jobspec::search_methods().find(name->as_string()) : nullptr;
    return method && !method->lists() && method->name != "random";
  } catch (const std::exception&) {
    return false;  // of imported runs there is none
  }
}

/// 1, 2, 3, 5, 10, 20, 30, 50, ... and the last.
std::vector<std::size_t> budgets_up_to(std::size_t n) {
  std::vector<std::size_t> budgets;
  for (std::size_t ten = 1; ten <= n; ten *= 10)
    for (const std::size_t times : {1, 2, 3, 5})
      if (ten * times < n) budgets.push_back(ten * times);
  budgets.push_back(n);
  return budgets;
}

/// Smaller is better here; infinite: it has no value.
struct Curve {
  std::int64_t sweep = 0;
  std::vector<jobspec::Value> group;
  bool in_order = false;
  std::vector<double> values{};  ///< of configurations, in the order of their numbers
};

class Reading {
 public:
  Reading(ReadStore& store, const StudyRequest& request)
      : store_(store),
        in_order_(request.flag("in_order")),
        by_(analysis::ParameterNames(store, request.sweeps).all_of(request.names("by"))) {
    for (const std::int64_t sweep : request.sweeps)
      add(sweep);
  }

  DataTable table(bool several) const {
    using Shows = DataColumn::Shows;
    DataTable table;
    if (several) table.columns.push_back({"sweep", "sweep", Shows::integer, "The sweep's number."});
    for (const std::string& name : by_)
      table.columns.push_back(parameter_column(name));
    for (const DataColumn& column :
         {DataColumn{"budget", "budget", Shows::count, "how many configurations were tried"},
          DataColumn{"best", metric_, Shows::number,
                     "the best value found: the median over which configurations come first, or "
                     "the best so far in their order"},
          DataColumn{"low", "10 %", Shows::number, "with luck: a tenth of all orders do better"},
          DataColumn{"high", "90 %", Shows::number, "without luck: a tenth of all do worse"},
          DataColumn{"regret", "regret", Shows::number,
                     "how far that is from the best value of all these sweeps"}})
      table.columns.push_back(column);
    for (const Curve& curve : curves_)
      add_rows(curve, several, table.rows);
    constexpr std::size_t least_rows = 4;
    table.telling = table.rows.size() >= least_rows;
    add_notes(table.notes);
    table.charts = {chart(several)};
    return table;
  }

 private:
  void add(std::int64_t id) {
    const auto row = store_.sweep(id);
    if (!row) throw std::invalid_argument(fmt::format("there is no sweep {}", id));
    const bool maximize = row->goal == jobspec::Goal::maximize;
    if (!metric_.empty() && (metric_ != row->metric || maximize_ != maximize))
      throw std::invalid_argument(
          fmt::format("sweep {} is ranked by a different metric from the others, so their regrets "
                      "differ in kind",
                      id));
    metric_ = row->metric;
    maximize_ = maximize;
    const bool in_order = in_order_ || has_an_order(row->text);
    const analysis::Configurations found = analysis::configurations_of(store_, id, by_);
    open_ += found.open;
    std::map<std::string, Curve> curves;  // by group
    for (const analysis::ConfigurationValue& configuration : found.ended) {
      Curve& curve = curves
                         .try_emplace(analysis::group_name(configuration.group),
                                      Curve{id, configuration.group, in_order})
                         .first->second;
      const double value = maximize ? -configuration.value : configuration.value;
      curve.values.push_back(value);
      if (value == infinity) ++without_;
      max_seeds_ = std::max(max_seeds_, configuration.seeds);
      best_ = std::min(best_, value);
    }
    any_in_order_ = any_in_order_ || (in_order && !curves.empty());
    for (auto& [name, curve] : curves)
      curves_.push_back(std::move(curve));
  }

  Datum shown(double value) const {
    if (value == infinity) return std::monostate();
    return maximize_ ? -value : value;
  }

  struct Best {
    double middle = 0;
    double low = infinity, high = infinity;  ///< of a method's own order none
  };
  static std::vector<std::pair<std::size_t, Best>> best_by_budget(const Curve& curve) {
    std::vector<double> sorted = curve.values;
    if (!curve.in_order) std::sort(sorted.begin(), sorted.end());
    std::vector<std::pair<std::size_t, Best>> found;
    for (const std::size_t budget : budgets_up_to(sorted.size())) {
      if (curve.in_order) {
        const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(budget);
        found.push_back({budget, {*std::min_element(sorted.begin(), end)}});
      } else {
        const auto ranks = best_of_draws(sorted.size(), budget, {0.1, 0.5, 0.9});
        found.push_back({budget, {sorted[ranks[1]], sorted[ranks[0]], sorted[ranks[2]]}});
      }
    }
    return found;
  }

  void add_rows(const Curve& curve, bool several, std::vector<std::vector<Datum>>& rows) const {
    for (const auto& [budget, best] : best_by_budget(curve)) {
      std::vector<Datum> row;
      if (several) row.emplace_back(static_cast<double>(curve.sweep));
      for (const jobspec::Value& value : curve.group)
        row.emplace_back(value.to_text());
      row.emplace_back(static_cast<double>(budget));
      row.insert(row.end(), {shown(best.middle), shown(best.low), shown(best.high)});
      row.push_back(best.middle == infinity ? Datum() : Datum(best.middle - best_));
      rows.push_back(std::move(row));
    }
  }

  DataChart chart(bool several) const {
    DataChart chart{"Best of k configurations", "configurations tried", metric_, true};
    chart.caption = "The best value that a budget of configurations finds.";
    chart.note =
        "The median over which configurations come first; in a method's own order the best so far.";
    for (const Curve& curve : curves_) {
      const std::string name = analysis::group_name(curve.group);
      DataSeries& line = chart.series.emplace_back();
      line.label = several
                       ? fmt::format("sweep {}{}{}", curve.sweep, name.empty() ? "" : ": ", name)
                   : name.empty() ? "best value"
                                  : name;
      for (const auto& [budget, ranked] : best_by_budget(curve)) {
        if (ranked.middle == infinity) continue;
        line.x.push_back(static_cast<double>(budget));
        line.y.push_back(maximize_ ? -ranked.middle : ranked.middle);
      }
    }
    return chart;
  }

  void add_notes(std::vector<std::string>& notes) const {
    if (any_in_order_)
      notes.push_back(
          "in a method's own order the best so far is one run of the method, so it has no range");
    if (max_seeds_ > 1)
      notes.push_back(
          "a configuration's value is the median over its seeds (the better one of two)");
    if (without_ > 0)
      notes.push_back(count_of(static_cast<long long>(without_), "configuration") +
                      " without a value, which count as worse than all others");
    analysis::add_search_notes(metric_, maximize_, open_, notes);
  }

  ReadStore& store_;
  const bool in_order_;
  const std::vector<std::string> by_;
  std::string metric_;
  bool maximize_ = false, any_in_order_ = false;
  std::vector<Curve> curves_;
  std::int64_t open_ = 0, max_seeds_ = 0;
  std::size_t without_ = 0;
  double best_ = infinity;
};

DataTable run_regret(ReadStore& store, const StudyRequest& request) {
  return Reading(store, request).table(request.sweeps.size() > 1);
}

}  // namespace

extern const Study regret_study;
const Study regret_study{
    "regret",
    "the best value that a budget of configurations finds",
    "The best of k configurations for growing k, and how far it is from the best of all. It shows "
    "what a larger search would have gained, and which search method or optimizer needs the "
    "smaller budget. In grid and random search any order of the configurations is as likely. So "
    "the median and a range over all orders are printed. Of other methods it is the best so far in "
    "their own order.",
    "thalweg regret 12\nthalweg regret 12 13\nthalweg regret 12 --by optimizer.name",
    "budget best-of-k incumbent search",
    regret_options,
    "Best of k configurations",
    run_regret};

}  // namespace thalweg::db
