// One pass over the training samples, about a value of each channel, so that a large mean does
// not eat up the variance's digits.
#include "engine/data/normalised.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "engine/data/split.h"
#include "engine/data/wrapped.h"

namespace thalweg::engine::data {
namespace {

struct Channels {
  std::size_t count, values;  ///< of channels; of a sample
  bool last;                  ///< the innermost axis

  explicit Channels(const SampleForm& form)
      : count(static_cast<std::size_t>(form.input.size() == 2 ? form.input[1] : form.input[0])),
        values(input_floats(form)),
        last(form.input.size() == 2) {}
  /// Calls each(channel, number of the value), in the values' order.
  template <class Each>
  void for_each(const Each& each) const {
    const std::size_t run = last ? 1 : values / count;
    for (std::size_t i = 0, c = 0; i < values; c = c + 1 == count ? 0 : c + 1)
      for (const std::size_t end = i + run; i < end; ++i)
        each(c, i);
  }
};

struct Moments {
  std::vector<double> mean, deviation;
};

Moments measure(const Dataset& dataset, const Channels& channels,
                std::vector<std::uint32_t> samples) {
  // Copies of a sample (data.duplicate) would be the same again.
  std::sort(samples.begin(), samples.end());
  samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
  std::vector<float> values(channels.values);
  std::vector<double> first(channels.count), sums(channels.count), squares(channels.count);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    dataset.copy(samples[s], values.data());
    if (s == 0)
      channels.for_each(
          [&](std::size_t c, std::size_t i) { first[c] = static_cast<double>(values[i]); });
    channels.for_each([&](std::size_t c, std::size_t i) {
      const double off = static_cast<double>(values[i]) - first[c];
      sums[c] += off;
      squares[c] += off * off;
    });
  }
  const double n =
      static_cast<double>(samples.size()) * static_cast<double>(channels.values / channels.count);
  Moments moments;
  for (std::size_t c = 0; c < channels.count; ++c) {
    const double mean = sums[c] / n, variance = std::max(0.0, squares[c] / n - mean * mean);
    if (!std::isfinite(squares[c]))
      throw DataError("data.mean: auto: " + not_finite_in(dataset, samples));
    moments.mean.push_back(first[c] + mean);
    moments.deviation.push_back(variance > 0 ? std::sqrt(variance) : 1);
  }
  return moments;
}

/// Of one option; nothing where it is auto.
std::optional<std::vector<double>> given(const Options& options, const char* name,
                                         std::size_t channels) {
  if (options.is_auto(name)) return {};
  const jobspec::Value& value = options.value(name);
  if (!value.is_list()) return std::vector<double>(channels, value.as_double());
  std::vector<double> numbers = options.reals(name);
  if (numbers.size() != channels)
    throw std::invalid_argument(std::string("data.") + name + ": " +
                                std::to_string(numbers.size()) + " numbers for " +
                                std::to_string(channels) + " channels");
  return numbers;
}

std::string in_words(const char* name, const std::vector<double>& numbers) {
  constexpr std::size_t kMax = 64;
  std::string text = std::string(name) + ": [";
  for (std::size_t i = 0; i < std::min(kMax, numbers.size()); ++i) {
    char number[32];
    std::snprintf(number, sizeof number, "%.9g", numbers[i]);
    text += (i > 0 ? ", " : "") + std::string(number);
  }
  return text + (numbers.size() > kMax ? ", ...]" : "]");
}

class Normalised final : public Wrapped {
 public:
  Normalised(std::unique_ptr<Dataset> inner, Moments moments, std::string fact)
      : Wrapped(inner->form(), std::move(inner)),
        channels_(form()),
        moments_(std::move(moments)),
        fact_(std::move(fact)) {
    make_tables();
  }
  std::vector<std::string> facts() const override {
    std::vector<std::string> facts = inner().facts();
    if (!fact_.empty()) facts.push_back(fact_);
    return facts;
  }
  void copy(std::size_t index, float* out) const override {
    if (!stored_.values.empty()) return Dataset::copy(index, out);
    inner().copy(index, out);
    channels_.for_each([&](std::size_t c, std::size_t i) { out[i] = scaled(c, out[i]); });
  }
  const StoredForm* stored() const override { return stored_.values.empty() ? nullptr : &stored_; }

 private:
  float scaled(std::size_t channel, float value) const {
    return static_cast<float>((static_cast<double>(value) - moments_.mean[channel]) /
                              moments_.deviation[channel]);
  }
  /// A table for each channel, where there are channels of pixels and the tables are small.
  void make_tables() {
    constexpr std::size_t kMaxFloats = 1 << 20;
    const StoredForm* const raw = inner().stored();
    if (raw == nullptr || form().input.size() < 3 || channels_.count * raw->patterns() > kMaxFloats)
      return;
    stored_.bytes = raw->bytes;
    for (std::size_t c = 0; c < channels_.count; ++c) {
      const std::size_t table = raw->tables() > 1 ? c * raw->patterns() : 0;
      for (std::size_t i = 0; i < raw->patterns(); ++i)
        stored_.values.push_back(scaled(c, raw->values[table + i]));
    }
  }

  Channels channels_;
  Moments moments_;
  std::string fact_;
  StoredForm stored_;
};

}  // namespace

std::unique_ptr<Dataset> normalised(std::unique_ptr<Dataset> dataset, const Options& options,
                                    const jobspec::Value& tree, bool measures) {
  if (options.value("mean").is_number() && options.value("deviation").is_number()) return dataset;
  const Channels channels(dataset->form());
  auto mean = given(options, "mean", channels.count),
       deviation = given(options, "deviation", channels.count);
  std::string fact;
  if (!measures) {
    if (!mean) mean.emplace(channels.count, 0.0);
    if (!deviation) deviation.emplace(channels.count, 1.0);
  } else if (!mean || !deviation) {
    const std::vector<std::uint32_t> training = split_samples(*dataset, tree).training;
    Moments found = measure(*dataset, channels, training);
    if (!mean) mean = std::move(found.mean);
    if (!deviation) deviation = std::move(found.deviation);
    fact = "normalised over the training samples: data.{" + in_words("mean", *mean) + ", " +
           in_words("deviation", *deviation) + "}";
  }
  return std::make_unique<Normalised>(
      std::move(dataset), Moments{std::move(*mean), std::move(*deviation)}, std::move(fact));
}

}  // namespace thalweg::engine::data
