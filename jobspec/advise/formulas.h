// The arithmetic behind the rules: pure, each with the source of its formula.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thalweg::jobspec::advise {

enum class Parallelism { data, model, model_and_data };

/// Which kind of parallelism training needs, from bytes: data-parallel where the model fits into a
/// node's memory, model-parallel where only the data do, both where neither does. What is as large
/// as the node fits. (NERSC, Distributed training: data, model and hybrid parallelism.)
Parallelism parallelism_for(double model_bytes, double data_bytes, double node_bytes);

/// floor(sqrt(samples)), which global batches usually stay below (NERSC distributed-training
/// guidelines; advice, not a limit: ImageNet is trained at 8k to 32k, Etalumis' 15 M traces at
/// 128k).
std::int64_t usual_batch_limit(double samples);

/// Steps to a target at this batch, in units of the fewest that any batch needs: 1 + B_crit / B.
/// (McCandlish et al., arXiv:1812.06162, eq. 2.11.)
double relative_steps(double batch, double critical_batch);
/// Samples to a target, in units of the fewest that any batch needs: 1 + B / B_crit.
double relative_samples(double batch, double critical_batch);

/// The largest rate, as a share of that without lag, at which SGD with gradients of `lag` steps ago
/// is stable on a quadratic: sin(pi / (2 (2 lag + 1))), for 0: 1. (Characteristic roots of
/// w[t+1] = w[t] - a w[t-lag]: the limit of a is 2 sin(pi / (2 (2 lag + 1))).)
double stable_rate_share(int lag);

/// The momentum that `workers` asynchronous ones bring of themselves: 1 - 1/workers (Mitliagkas et
/// al., arXiv:1605.09774).
double implicit_momentum(int workers);

/// Efficiency of `workers` where each step's compute has an overhead of `overhead` times its own
/// length: (1 + R) / (1 + G R). (Zou et al., arXiv:1709.06622, lemma on the number of GPUs.)
double overhead_efficiency(double overhead, int workers);
/// The largest overhead at which `workers` still reach this efficiency: (1 - a) / (a G - 1);
/// infinite where any does.
double overhead_for_efficiency(double efficiency, int workers);

/// Parameter servers that hide the traffic behind the computation: ceil(2 S N / (B T)), of the
/// parameters' bytes, workers, a server's bytes per second and seconds of computation a step. (Zou
/// et al., lemma on parameter servers.)
std::int64_t parameter_servers(double parameter_bytes, double workers, double bytes_per_s,
                               double compute_s);

/// Seconds of work between two checkpoints that lose the least: sqrt(2 C M) for checkpoints of C
/// seconds and one failure in M seconds (J. W. Young, CACM 17(9), 1974), and M from C = M / 2 on,
/// where Young's interval reaches it. (J. T. Daly, Future Generation Computer Systems 22(3), 2006,
/// takes M only from C = 2 M on, and in between a series that corrects Young's, which ends a little
/// below M.)
double checkpoint_interval(double checkpoint_s, double failures_s);

/// The fewest seeds of each of `rows` configurations with which an exact two-sided rank-sum test
/// can tell two apart at 5 % after correction for all pairs: 2 / C(2n, n) <= 0.05 / (pairs looks).
int seeds_for_verdict(std::int64_t rows, std::int64_t looks = 1);

/// A local batch and the samples per second that a rank made of it.
struct Throughput {
  double local_batch = 0;
  double samples_per_s = 0;
};
/// The smallest local batch with at least `share` of the best throughput; 0 where fewer than two
/// different batches are known. Of a batch that is there several times the median counts.
double throughput_knee(std::vector<Throughput> measured, double share = 0.9);

struct Speed {
  double ranks = 1;
  double samples_per_s = 0;  ///< of all of them
};
/// One-sided at 95 % of Student's t distribution; of 0 degrees of freedom infinite.
double t_quantile_95(std::size_t freedom);
/// Two-sided at 95 %: what one-sided is 97.5 %.
double t_quantile_975(std::size_t freedom);

struct Interval {
  double middle = 0;
  double low = 0, high = 0;  ///< 95 %; of fewer than two values from 0 to infinity
};
/// The geometric mean of values above 0; the interval is Student's of their logarithms. 0 of none.
Interval geometric_mean(const std::vector<double>& values);

struct NoisePoint {
  double step = 0, scale = 0;
};
/// What a run says of its noise scale: the geometric mean of the later half of its points, by
/// ascending steps. 0 where they end before the running means of the measurement, of which the past
/// weighs `beta` and which take a value every `every` steps, are their own: after 3 / (1 - beta)
/// values the start weighs 5 %.
double settled_noise(const std::vector<NoisePoint>& points, double beta, double every);

/// The largest power of two up to this, 0 below 1.
std::int64_t power_of_two_below(double value);

}  // namespace thalweg::jobspec::advise
