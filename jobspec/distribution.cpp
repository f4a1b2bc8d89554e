// To add a distribution: write its quantile (or a class), add a row to `table`, a case to
// distribution_test.cpp.
#include "jobspec/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jobspec/exact_math.h"
#include "jobspec/reader.h"

namespace thalweg::jobspec {
namespace {

using Pointer = std::shared_ptr<const Distribution>;

/// A grid axis with more values than this is a mistake.
constexpr double max_grid_values = 1e6;
/// exp() of more leaves the range of a double.
constexpr double max_exponent = 700;
/// Whole numbers up to here are exact in a double.
constexpr double max_exact = 9007199254740992;

// --- listed values
// ---------------------------------------------------------------------------------------------------

class Listed : public Distribution {
 public:
  Listed(std::vector<Value> values, std::vector<double> probabilities)
      : values_(std::move(values)), probabilities_(std::move(probabilities)) {}

  Value sample(double u) const override {
    if (probabilities_.empty()) {
      const auto n = static_cast<double>(values_.size());
      return values_[std::min(static_cast<std::size_t>(u * n), values_.size() - 1)];
    }
    double below = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (probabilities_[i] == 0) continue;
      last = i;
      below += probabilities_[i];
      if (u < below) break;
    }
    return values_[last];
  }
  std::optional<std::vector<Value>> grid() const override {
    return probabilities_.empty() ? std::optional(values_) : std::nullopt;
  }
  const std::vector<Value>* listed() const override { return &values_; }

 private:
  std::vector<Value> values_;
  std::vector<double> probabilities_;  // empty = all equal
};

Pointer make_constant(Fields& fields) {
  const Value* value = fields.take("value");
  if (!value) fields.missing("value", "a value");
  fields.finish();
  if (!value) return nullptr;
  return std::make_shared<Listed>(std::vector<Value>{*value}, std::vector<double>{});
}

/// The list behind `values`; empty after a diagnostic.
std::vector<Value> take_values(Fields& fields) {
  const Value* values = fields.take("values");
  if (!values) {
    fields.missing("values", "a list of values");
  } else if (!values->is_list()) {
    const bool leaf = !values->is_map() && !values->is_null();
    fields.wrong(*values, "values", "a list of values",
                 !leaf ? ""
                 : values->to_text().find('(') != std::string::npos
                     ? "nothing is calculated here: list the values, as [1, 2, 3]"
                     : "for one value write 'value: " + values->to_text() + "'");
  } else if (values->as_list().empty()) {
    fields.wrong(*values, "values", "at least one value");
  } else {
    return values->as_list();
  }
  return {};
}

Pointer make_weighted(Fields& fields) {
  std::vector<Value> values = take_values(fields);
  const Value* list = fields.take("probabilities");
  fields.finish();
  const std::string expected = "a list of " + std::to_string(values.size()) + " probabilities";
  if (!list) {
    fields.missing("probabilities", expected);
    return nullptr;
  }
  if (values.empty()) return nullptr;
  std::vector<double> probabilities;
  double sum = 0;
  if (list->is_list()) {
    for (const Value& item : list->as_list()) {
      const bool good = item.is_number() && item.as_double() >= 0 && item.as_double() <= 1;
      probabilities.push_back(good ? item.as_double() : std::nan(""));
      sum += probabilities.back();
    }
  }
  constexpr double rounding = 1e-6;
  if (probabilities.size() != values.size() || !(std::fabs(sum - 1) <= rounding)) {
    fields.wrong(*list, "probabilities", expected + " between 0 and 1, with the sum 1");
    return nullptr;
  }
  return std::make_shared<Listed>(std::move(values), std::move(probabilities));
}

/// With `probabilities`, which tell what is meant, the weighted one.
Pointer make_categorical(Fields& fields) {
  if (fields.take("probabilities")) return make_weighted(fields);
  std::vector<Value> values = take_values(fields);
  fields.finish();
  if (values.empty()) return nullptr;
  return std::make_shared<Listed>(std::move(values), std::vector<double>{});
}

// --- ranges
// ----------------------------------------------------------------------------------------------------------

using Quantile = double (*)(double u, double a, double b);

double uniform_quantile(double u, double a, double b) {
  return std::clamp(a + u * (b - a), a, b);
}
double log_values_quantile(double u, double a, double b) {
  const double log_a = exact_log(a), log_b = exact_log(b);
  return std::clamp(exact_exp(log_a + u * (log_b - log_a)), a, b);
}
double inverse_log_values_quantile(double u, double a, double b) {
  return log_values_quantile(1 - u, a, b);
}
double one_minus_log_values_quantile(double u, double a, double b) {
  return std::clamp(1 - log_values_quantile(1 - u, 1 - b, 1 - a), a, b);
}
double log_quantile(double u, double a, double b) {
  return exact_exp(uniform_quantile(u, a, b));
}
double inverse_log_quantile(double u, double a, double b) {
  return exact_exp(-uniform_quantile(u, a, b));
}
double gauss_quantile(double u, double mu, double sigma) {
  return mu + sigma * normal_quantile(u);
}
double log_gauss_quantile(double u, double mu, double sigma) {
  return exact_exp(std::clamp(gauss_quantile(u, mu, sigma), -max_exponent, max_exponent));
}

class Range : public Distribution {
 public:
  Range(Quantile quantile, double a, double b, std::optional<Value> q, bool bounded, bool whole_min)
      : quantile_(quantile),
        a_(a),
        b_(b),
        q_(std::move(q)),
        bounded_(bounded),
        whole_min_(whole_min) {}

  Value sample(double u) const override { return quantised(quantile_(u, a_, b_)); }

  std::optional<std::vector<Value>> grid() const override {
    if (!q_ || quantile_ != uniform_quantile) return std::nullopt;
    // As numpy's arange: max itself is left out.
    const double q = q_->as_double();
    std::vector<Value> values;
    for (double i = 0; a_ + i * q < b_ && i <= max_grid_values; ++i) {
      const double x = a_ + i * q;
      values.push_back(q_->is_int() && whole_min_ ? Value(static_cast<std::int64_t>(x)) : Value(x));
    }
    return values;
  }

  std::optional<std::pair<Value, Value>> bounds() const override {
    if (!bounded_) return std::nullopt;
    Value low = quantised(quantile_(0, a_, b_)), high = quantised(quantile_(1, a_, b_));
    if (low.as_double() > high.as_double()) std::swap(low, high);
    return std::pair(std::move(low), std::move(high));
  }

  bool whole() const override { return q_ && q_->is_int(); }
  bool continuous() const override { return !q_; }

  bool exponents() const override {
    return quantile_ == log_quantile || quantile_ == inverse_log_quantile;
  }

  std::string caution() const override {
    // Nobody wants a logarithmic scale between 1 and e, or its inverse.
    if (!exponents() || a_ < 0 || b_ > 1) return {};
    const bool inverse = quantile_ == inverse_log_quantile;
    const auto [low, high] = *bounds();
    const auto text = [](double d) { return fmt::format("{:.5g}", d); };
    return "the ends are natural-log exponents: values from " + text(low.as_double()) + " to " +
           text(high.as_double()) + " are drawn (for values from " + text(a_) + " to " + text(b_) +
           " write distribution: " +
           (inverse ? "inv_"
            : q_    ? "q_"
                    : "") +
           "log_uniform_values)";
  }

 private:
  Value quantised(double x) const {
    if (!q_) return x;
    const double q = q_->as_double();
    const double steps = std::nearbyint(x / q) * q;  // half to even, as numpy
    if (q_->is_int() && std::fabs(steps) <= max_exact) return static_cast<std::int64_t>(steps);
    return steps;
  }

  Quantile quantile_;
  double a_, b_;
  std::optional<Value> q_;
  bool bounded_, whole_min_;
};

class IntUniform : public Distribution {
 public:
  IntUniform(std::int64_t min, std::int64_t max) : min_(min), max_(max) {}

  Value sample(double u) const override {
    const auto count = static_cast<double>(max_ - min_ + 1);
    const auto step = static_cast<std::int64_t>(u * count);
    return std::min(min_ + step, max_);
  }
  std::optional<std::vector<Value>> grid() const override {
    std::vector<Value> values;
    for (std::int64_t i = min_; i <= max_; ++i) {
      values.emplace_back(i);
      if (static_cast<double>(values.size()) > max_grid_values) break;
    }
    return values;
  }
  std::optional<std::pair<Value, Value>> bounds() const override {
    return std::pair(Value(min_), Value(max_));
  }
  bool whole() const override { return true; }

 private:
  std::int64_t min_, max_;
};

Pointer make_int_uniform(Fields& fields) {
  constexpr auto most = static_cast<std::int64_t>(max_exact / 4);
  std::int64_t min = 0, max = 0;
  const bool both =
      fields.require("min", "a whole number") & fields.require("max", "a whole number");
  const bool good =
      fields.integer("min", min, {-most, most}) & fields.integer("max", max, {-most, most});
  fields.finish();
  if (!both || !good) return nullptr;
  if (min >= max) {
    fields.wrong(*fields.take("max"), "max", "more than min, which is " + std::to_string(min));
    return nullptr;
  }
  return std::make_shared<IntUniform>(min, max);
}

/// What a row asks of its two numbers.
enum class Ask { min_max, positive_min_max, below_one, exponents, mu_sigma, log_mu_sigma, shape };

bool in_range(Fields& fields, Ask ask, double a, double b) {
  const auto wrong = [&](const char* key, const std::string& expected,
                         const std::string& hint = "") {
    fields.wrong(*fields.take(key), key, expected, hint);
    return false;
  };
  const auto text = [](double d) { return Value(d).to_text(); };
  if (ask == Ask::mu_sigma || ask == Ask::log_mu_sigma) {
    // sigma may be missing, but its default is good.
    if (b <= 0) return wrong("sigma", "a number above 0");
    constexpr double farthest = 9;  // sigmas; beyond every sample
    if (ask == Ask::log_mu_sigma && std::fabs(a) + farthest * b > max_exponent) {
      return wrong(fields.take("sigma") ? "sigma" : "mu", "exp(mu + 9 sigma) to be a double");
    }
    return true;
  }
  if (ask == Ask::shape) {
    // Missing ones are 1, which is good.
    constexpr double most = 1e4;
    if (a <= 0 || a > most) return wrong("a", "a number above 0, at most 10000");
    if (b <= 0 || b > most) return wrong("b", "a number above 0, at most 10000");
    return true;
  }
  if (ask == Ask::positive_min_max && a <= 0)
    return wrong("min", "a number above 0",
                 "a logarithm has no 0: write the smallest value that is meant, as 1.0e-5");
  if (ask == Ask::below_one && a < 0) return wrong("min", "a number of at least 0");
  if (ask == Ask::below_one && b >= 1)
    return wrong("max", "a number below 1",
                 "a logarithm has no 0: write the largest value that is meant, as 0.999");
  if (ask == Ask::exponents && (std::fabs(a) > max_exponent || std::fabs(b) > max_exponent)) {
    return wrong(std::fabs(a) > max_exponent ? "min" : "max", "a natural-log exponent within 700",
                 "for plain values use log_uniform_values");
  }
  if (a >= b) return wrong("max", "more than min, which is " + text(a));
  if (!std::isfinite(b - a)) return wrong("max", "a range that a double can hold");
  return true;
}

Pointer make_range(Fields& fields, Quantile quantile, Ask ask, bool quantised) {
  const bool gauss = ask == Ask::mu_sigma || ask == Ask::log_mu_sigma;
  const bool shape = ask == Ask::shape;
  double a = shape ? 1 : 0, b = 1, step = 1;
  bool good = true;
  if (gauss) {
    good = fields.optional_real("mu", a) & fields.optional_real("sigma", b);
  } else if (shape) {
    good = fields.optional_real("a", a) & fields.optional_real("b", b);
  } else {
    good = fields.require("min", "a number") & fields.require("max", "a number");
    good = good && (fields.real("min", a) & fields.real("max", b));
  }
  std::optional<Value> q;
  if (quantised) {
    good &= fields.optional_real("q", step);
    const Value* given = fields.take("q");
    q = given ? *given : Value(1);
    if (good && step <= 0) {
      fields.wrong(*given, "q", "a number above 0");
      good = false;
    }
  }
  fields.finish();
  if (!good || !in_range(fields, ask, a, b)) return nullptr;
  const Value* min = fields.take("min");
  return std::make_shared<Range>(quantile, a, b, std::move(q), !gauss, min && min->is_int());
}

/// What a grid draws once and then lists.
class Sampled : public Distribution {
 public:
  Sampled(Pointer whole, std::vector<Value> draws)
      : whole_(std::move(whole)), draws_(std::move(draws)) {}

  Value sample(double u) const override { return whole_->sample(u); }
  std::optional<std::vector<Value>> grid() const override { return draws_; }
  std::optional<std::pair<Value, Value>> bounds() const override { return whole_->bounds(); }
  bool whole() const override { return whole_->whole(); }
  bool continuous() const override { return whole_->continuous(); }

 private:
  Pointer whole_;
  std::vector<Value> draws_;
};

struct Row {
  const char* name;
  const char* doc;
  Pointer (*make)(Fields&);
};

template <Quantile quantile, Ask ask, bool quantised = false>
Pointer range(Fields& fields) {
  return make_range(fields, quantile, ask, quantised);
}

const Row table[] = {
    {"constant", "value: always the same", make_constant},
    {"categorical", "values: each as likely; or as probabilities say", make_categorical},
    {"categorical_w_probabilities", "values, probabilities: not for grid", make_weighted},
    {"int_uniform", "min, max: whole numbers, both ends included", make_int_uniform},
    {"uniform", "min, max: reals", range<uniform_quantile, Ask::min_max>},
    {"q_uniform", "min, max, q: multiples of q; a grid leaves max out",
     range<uniform_quantile, Ask::min_max, true>},
    {"log_uniform_values", "min above 0, max: uniform in the logarithm",
     range<log_values_quantile, Ask::positive_min_max>},
    {"q_log_uniform_values", "min above 0, max, q: the same, in multiples of q",
     range<log_values_quantile, Ask::positive_min_max, true>},
    {"inv_log_uniform_values", "min above 0, max: log(1/x) is uniform",
     range<inverse_log_values_quantile, Ask::positive_min_max>},
    {"one_minus_log_uniform_values", "min, max below 1: 1 - x is uniform in the logarithm",
     range<one_minus_log_values_quantile, Ask::below_one>},
    {"log_uniform", "min, max: natural-log exponents", range<log_quantile, Ask::exponents>},
    {"q_log_uniform", "min, max: natural-log exponents; multiples of q",
     range<log_quantile, Ask::exponents, true>},
    {"inv_log_uniform", "min, max: natural-log exponents of 1/x",
     range<inverse_log_quantile, Ask::exponents>},
    {"normal", "mu, sigma", range<gauss_quantile, Ask::mu_sigma>},
    {"q_normal", "mu, sigma, q: multiples of q", range<gauss_quantile, Ask::mu_sigma, true>},
    {"log_normal", "mu, sigma of the logarithm", range<log_gauss_quantile, Ask::log_mu_sigma>},
    {"q_log_normal", "mu, sigma of the logarithm, q: multiples of q",
     range<log_gauss_quantile, Ask::log_mu_sigma, true>},
    {"beta", "a, b: between 0 and 1", range<beta_quantile, Ask::shape>},
    {"q_beta", "a, b, q: multiples of q", range<beta_quantile, Ask::shape, true>},
};

const Row* find_row(const std::string& name) {
  for (const Row& row : table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

/// The distribution that is meant where none is named; nullptr where none can be.
const char* implied(Fields& fields) {
  // take() also makes these names known to finish().
  for (const char* key : {"min", "max", "q", "mu", "sigma", "a", "b", "probabilities"})
    fields.take(key);
  fields.take_quietly("samples");
  const bool constant = fields.take("value"), categorical = fields.take("values");
  const Value* min = fields.take("min");
  const Value* max = fields.take("max");
  if (constant) return "constant";
  if (categorical) return "categorical";
  if (!min && !max) return nullptr;
  return (!min || min->is_int()) && (!max || max->is_int()) ? "int_uniform" : "uniform";
}

}  // namespace

std::shared_ptr<const Distribution> read_distribution(const Value& value, const std::string& path,
                                                      Diagnostics& diagnostics) {
  std::string name;
  {
    Fields fields(value, path, diagnostics);
    if (!fields.is_map()) return nullptr;
    const bool named = fields.take("distribution");
    if (named && !fields.text("distribution", name)) return nullptr;
    if (!named) {
      if (const char* found = implied(fields)) {
        name = found;
      } else {
        // A misspelt key says more than the missing one.
        const std::size_t before = diagnostics.size();
        fields.finish();
        if (diagnostics.size() == before) {
          fields.wrong(value, "", "value, values, or min and max");
        }
        return nullptr;
      }
    }
  }
  Fields fields(value, path, diagnostics);
  fields.take_quietly("samples");
  const Value* given = fields.take("distribution");
  const Row* row = find_row(name);
  if (!row) {
    std::vector<std::string> names;
    for (const Row& known : table)
      names.emplace_back(known.name);
    fields.wrong(*given, "distribution", some_of(names),
                 word_hint(path + ".distribution", name, names));
    return nullptr;
  }
  return row->make(fields);
}

std::shared_ptr<const Distribution> sampled(std::shared_ptr<const Distribution> distribution,
                                            std::vector<Value> draws) {
  return std::make_shared<Sampled>(std::move(distribution), std::move(draws));
}

std::vector<std::pair<std::string, std::string>> distribution_docs() {
  std::vector<std::pair<std::string, std::string>> docs;
  for (const Row& row : table)
    docs.emplace_back(row.name, row.doc);
  return docs;
}

}  // namespace thalweg::jobspec
