#include "jobspec/exact_math.h"

#include <cmath>

namespace thalweg::jobspec {
namespace {

// log 2 in two parts; the first has trailing zeros, so that small multiples of it are exact.
constexpr double log2_high = 0x1.62e42feep-1;
constexpr double log2_low = 0x1.a39ef35793c76p-33;
constexpr double inverse_log2 = 0x1.71547652b82fep+0;

/// Horner's rule, highest power first.
template <int n>
double polynomial(const double (&coefficients)[n], double x) {
  double sum = coefficients[0];
  for (int i = 1; i < n; ++i)
    sum = sum * x + coefficients[i];
  return sum;
}

/// log of the gamma function, x > 0: Stirling's series (DLMF 5.11.1), from 10 on.
double log_gamma(double x) {
  double product = 1;
  for (; x < 10; ++x)
    product *= x;
  const double z = 1 / (x * x);
  static constexpr double series[] = {-691.0 / 360360, 1.0 / 1188, -1.0 / 1680,
                                      1.0 / 1260,      -1.0 / 360, 1.0 / 12};
  constexpr double half_log_2_pi = 0.91893853320467274178;
  return (x - 0.5) * exact_log(x) - x + half_log_2_pi + polynomial(series, z) / x -
         exact_log(product);
}

/// Keeps Lentz's quotients away from 0.
double not_zero(double x) {
  constexpr double tiny = 1e-300;
  return std::fabs(x) < tiny ? tiny : x;
}

/// The continued fraction of I_x(a, b), by Lentz's method; fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double x, double a, double b) {
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), product = d;
  constexpr int most = 2000;
  for (int m = 1; m < most; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    product *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    product *= d * c;
    if (std::fabs(d * c - 1) < 1e-15) break;
  }
  return product;
}

/// I_x(a, b), 0 < x < 1; log_beta is log B(a, b).
double incomplete_beta(double x, double a, double b, double log_beta) {
  const double front = exact_exp(a * exact_log(x) + b * exact_log(1 - x) - log_beta);
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(1 - x, b, a) / b;
}

}  // namespace

double exact_exp(double x) {
  const double k = std::floor(x * inverse_log2 + 0.5);
  const double r = (x - k * log2_high) - k * log2_low;  // |r| <= 0.35
  // exp(r) = 1 + (r + r^2 (1/2! + r/3! + ...)): the small terms are added up first.
  constexpr int highest = 14;
  double factorial = 1;
  for (int i = 2; i <= highest; ++i)
    factorial *= i;
  double sum = 0;
  for (int i = highest; i >= 2; --i) {
    sum = sum * r + 1 / factorial;
    factorial /= i;
  }
  return std::ldexp(1 + (r + r * r * sum), static_cast<int>(k));
}

double exact_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // 0.5 <= m < 1
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    exponent -= 1;
  }
  // log m = 2 artanh s = 2 (s + s^3/3 + s^5/5 + ...), |s| < 0.172
  const double f = m - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  double sum = 0;
  for (int k = 25; k >= 3; k -= 2)
    sum = (sum + 1.0 / k) * z;
  // 2 s = f - f s, whose first part is exact.
  const double log_m = f - s * (f - 2 * sum);
  return exponent * log2_high + (log_m + exponent * log2_low);
}

double normal_quantile(double u) {
  static constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                                 -2.759285104469687e+02, 1.383577518672690e+02,
                                 -3.066479806614716e+01, 2.506628277459239e+00};
  static constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                                 -1.556989798598866e+02, 6.680131188771972e+01,
                                 -1.328068155288572e+01, 1.0};
  static constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                                 -2.400758277161838e+00, -2.549732539343734e+00,
                                 4.374664141464968e+00,  2.938163982698783e+00};
  static constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01,
                                 2.445134137142996e+00, 3.754408661907416e+00, 1.0};
  constexpr double tail = 0.02425;
  if (u > 1 - tail) return -normal_quantile(1 - u);
  if (u < tail) {
    const double q = std::sqrt(-2 * exact_log(u));
    return polynomial(c, q) / polynomial(d, q);
  }
  const double q = u - 0.5;
  const double r = q * q;
  return polynomial(a, r) * q / polynomial(b, r);
}

double beta_quantile(double u, double a, double b) {
  if (u <= 0) return 0;
  if (u >= 1) return 1;
  const double log_beta = log_gamma(a) + log_gamma(b) - log_gamma(a + b);
  double low = 0, high = 1;
  constexpr int most = 1100;  // down to the smallest double
  for (int i = 0; i < most; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (incomplete_beta(middle, a, b, log_beta) < u ? low : high) = middle;
  }
  return high;
}

}  // namespace thalweg::jobspec
