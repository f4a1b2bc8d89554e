// powersgd: of each weight matrix M only a product of rank r travels, found by one step of power
// iteration a training step. Vogels et al., arXiv:1905.13727, algorithms 1 and 2:
//   P = sum of M Q;  P = orthonormal(P);  Q = sum of M^T P;  the sum of M is taken as P Q^T
// M is the rank's gradient plus its error; the error becomes what the rank's own product left out.
// Q is where the next step begins (warm start). Tensors that would hardly shrink travel whole.
#include <algorithm>
#include <cstring>

#include "engine/comm/reduction/reduce.h"
#include "engine/sync/compress/matrix.h"
#include "engine/sync/compress/table.h"
#include "engine/tensor/random.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

// PyTorch waits 1000 steps; the runs here are often not much longer than that.
constexpr std::int64_t kStart = 100;
constexpr int kRank = 4;
// As PyTorch: a matrix is only worth the work where its message shrinks to less than half.
constexpr double kMinGain = 2;

/// A weight as a matrix: the outputs by all else.
struct Factored {
  int parameter;
  std::size_t rows, columns, rank;
  std::size_t error;  ///< where its error stands in the memory of all errors (plain layout)
  std::size_t q;      ///< where its Q stands: rank x columns
};

class PowerSgd : public BucketSum {
 public:
  struct Settings {
    std::size_t rank;
    bool feedback, warm_start;
    std::int64_t start;
  };

  PowerSgd(const CompressParts& parts, const Settings& settings)
      : p_(parts), s_(settings), factored_(parts.model.parameters().size(), -1) {
    std::size_t errors = 0, qs = 0;
    for (std::size_t i = 0; i < factored_.size(); ++i) {
      const Shape& shape = parts.model.parameters()[i].shape;
      if (shape.size() < 2) continue;
      const auto rows = static_cast<std::size_t>(shape[0]);
      const std::size_t columns = static_cast<std::size_t>(elements(shape)) / rows;
      const std::size_t rank = std::min({s_.rank, rows, columns});
      if (static_cast<double>((rows + columns) * rank) * kMinGain >=
          static_cast<double>(rows * columns))
        continue;
      factored_[i] = static_cast<int>(matrices_.size());
      matrices_.push_back({static_cast<int>(i), rows, columns, rank, errors, qs});
      errors += rows * columns;
      qs += rank * columns;
    }
    error_.resize(errors);
    q_.resize(qs);
  }

  std::unique_ptr<comm::Request> start(const GradientPart& part, std::int64_t step) override {
    if (step < s_.start)
      return p_.group.start_allreduce(part.leaves[0], part.count, comm::Type::f32, comm::Op::sum,
                                      part.label);
    step_ = step;
    here_.clear();
    first_.clear();
    for (const int number : part.parameters) {
      const int found = factored_[static_cast<std::size_t>(number)];
      if (found >= 0) here_.push_back(&matrices_[static_cast<std::size_t>(found)]);
    }
    for (const Factored* m : here_)
      project(part, *m);
    each_whole(part, [&](float* gradient, std::size_t count) {
      first_.insert(first_.end(), gradient, gradient + count);
    });
    sum(first_, part);
    second_.clear();
    std::size_t at = 0;
    for (const Factored* m : here_)
      at = project_back(*m, at);
    each_whole(part, [&](float* gradient, std::size_t count) {
      std::copy_n(first_.begin() + static_cast<std::ptrdiff_t>(at), count, gradient);
      at += count;
    });
    own_ = second_;
    sum(second_, part);
    rebuild(part);
    return nullptr;
  }

  std::vector<SyncState> states() override {
    std::vector<SyncState> states;
    if (s_.feedback) states.push_back({"error", SyncState::Ranks::summed, error_, {}, false});
    if (s_.warm_start) states.push_back({"q", SyncState::Ranks::equal, q_, {}, false});
    return states;
  }

 private:
  float* error(const Factored& m) { return error_.data() + m.error; }
  float* q(const Factored& m) { return q_.data() + m.q; }
  MatrixView view(const Factored& m) { return {error(m), m.rows, m.columns}; }
  float* gradient(const GradientPart& part, const Factored& m) const {
    return part.leaves[0] +
           (p_.model.parameters()[static_cast<std::size_t>(m.parameter)].offset - part.offset);
  }

  template <class Visit>
  void each_whole(const GradientPart& part, Visit visit) {
    for (const int number : part.parameters) {
      const auto i = static_cast<std::size_t>(number);
      const ParameterInfo& info = p_.model.parameters()[i];
      if (factored_[i] < 0) visit(part.leaves[0] + (info.offset - part.offset), info.count);
    }
  }

  void sum(std::vector<float>& values, const GradientPart& part) {
    p_.group
        .start_allreduce(values.data(), values.size(), comm::Type::f32, comm::Op::sum, part.label)
        ->wait();
  }

  /// M = gradient + error; M Q goes into the first message.
  void project(const GradientPart& part, const Factored& m) {
    plain_.resize(m.rows * m.columns);
    p_.model.to_plain(m.parameter, gradient(part, m), plain_.data());
    if (!s_.feedback) std::fill_n(error(m), plain_.size(), 0.0f);
    comm::add(error(m), plain_.data(), plain_.size());
    for (std::size_t k = 0; k < m.rank; ++k)
      fill_where_empty(m, k);
    const std::size_t at = first_.size();
    first_.resize(at + m.rank * m.rows);
    multiply(view(m), m.rank, q(m), first_.data() + at);
  }

  /// A Q without a direction (at first, without warm start, or lost) gets a random one, the same on
  /// every rank.
  void fill_where_empty(const Factored& m, std::size_t k) {
    float* row = q(m) + k * m.columns;
    if (s_.warm_start && std::any_of(row, row + m.columns, [](float x) { return x != 0; })) return;
    for (std::size_t j = 0; j < m.columns; ++j)
      row[j] = uniform01(philox(p_.seed, Stream::compress, static_cast<std::uint32_t>(step_),
                                m.q + k * m.columns + j)[0]) -
               0.5f;
  }

  /// P is orthonormalised where it stands; M^T P goes into the second message.
  std::size_t project_back(const Factored& m, std::size_t at) {
    float* p = first_.data() + at;
    orthonormalize(m.rank, m.rows, p);
    const std::size_t place = second_.size();
    second_.resize(place + m.rank * m.columns);
    multiply_transposed(view(m), m.rank, p, second_.data() + place);
    return at + m.rank * m.rows;
  }

  /// The gradient becomes P Q^T, the error M - P Q^T with this rank's own Q.
  void rebuild(const GradientPart& part) {
    std::size_t at_p = 0, at_q = 0;
    for (const Factored* m : here_) {
      const float* p = first_.data() + at_p;
      plain_.assign(m->rows * m->columns, 0.0f);
      add_product(1, m->rank, p, m->rows, second_.data() + at_q, m->columns, plain_.data());
      p_.model.from_plain(m->parameter, plain_.data(), gradient(part, *m));
      add_product(-1, m->rank, p, m->rows, own_.data() + at_q, m->columns, error(*m));
      std::copy_n(second_.begin() + static_cast<std::ptrdiff_t>(at_q), m->rank * m->columns, q(*m));
      at_p += m->rank * m->rows;
      at_q += m->rank * m->columns;
    }
  }

  CompressParts p_;
  Settings s_;
  std::vector<Factored> matrices_;
  std::vector<int> factored_;  ///< of each parameter: its number among the matrices, -1: whole
  std::vector<float> error_;   ///< within a step: M
  std::vector<float> q_;
  std::int64_t step_ = 0;
  std::vector<const Factored*> here_;  ///< of the bucket
  std::vector<float> first_, second_;  ///< messages: P and what travels whole; Q
  std::vector<float> own_;             ///< this rank's Q
  std::vector<float> plain_;
};

bool remembers(const jobspec::Options& options) {
  return error_feedback(options) || options.flag("warm_start");
}

std::unique_ptr<BucketSum> make_power_sgd(const jobspec::Options& options,
                                          const CompressParts& parts) {
  return std::make_unique<PowerSgd>(
      parts, PowerSgd::Settings{static_cast<std::size_t>(options.integer("compress_rank")),
                                error_feedback(options), options.flag("warm_start"),
                                options.integer("compress_start")});
}

}  // namespace

CompressRow power_sgd_compression() {
  return {"powersgd",
          "a product of low rank replaces each weight's gradient; biases travel whole",
          {jobspec::int_option("compress_rank", kRank, 1, 1024,
                               "rank of the product that replaces a weight's gradient"),
           jobspec::flag_option("warm_start", true, "begin each step with the last step's factor"),
           error_feedback_option(), compress_start_option(kStart)},
          make_power_sgd,
          remembers};
}

}  // namespace thalweg::engine
