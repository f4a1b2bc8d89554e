// bench_loader: samples a second that a rank's loader prepares, augmented on the host and raw for a
// GPU that augments them. By turns in one run; medians.
//   bench_loader [workers=N] [rounds=N]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "engine/data/loader.h"
#include "engine/tensor/random.h"
#include "jobspec/value.h"

namespace thalweg::engine::bench {
namespace {

using jobspec::Map;
using jobspec::Value;
using Clock = std::chrono::steady_clock;

/// Coloured images in bytes, normalised by colour.
class Images final : public Dataset {
 public:
  Images(std::int64_t size, std::size_t samples)
      : Dataset({.input = {3, size, size}, .classes = 10}),
        each_(input_floats(form())),
        bytes_(each_ * samples) {
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      bytes_[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
    for (std::size_t i = 0; i < 3 * stored_.patterns(); ++i)
      stored_.values.push_back(static_cast<float>(i % 256) / 58 - 2);
  }
  std::size_t size() const override { return bytes_.size() / each_; }
  const StoredForm* stored() const override { return &stored_; }
  const std::uint8_t* stored_sample(std::size_t index) const override {
    return bytes_.data() + index * each_;
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    *out = static_cast<std::int32_t>(index % 10);
  }

 private:
  std::size_t each_;
  std::vector<std::uint8_t> bytes_;
  StoredForm stored_;
};

struct Case {
  const char* name;
  std::int64_t size;
  std::size_t samples, batch;
  Value augment;
};

/// Of a loader from whom batches are taken as fast as they come.
double samples_a_second(const Dataset& dataset, const Case& c, int workers, bool raw) {
  constexpr double kSeconds = 0.7;
  const Augmenter augmenter(c.augment, dataset.form());
  const Mixer mixer(c.augment, dataset.form());
  LoaderPlan plan;
  plan.global_batch = plan.positions = c.batch;
  plan.end_step = 1 << 30;
  plan.workers = workers;
  if (!augmenter.idle()) plan.augmenter = &augmenter;
  if (!mixer.idle()) plan.mixer = &mixer;
  if (raw) plan.form = gpu_batches(dataset, plan.augmenter, plan.mixer, 1, c.batch, 64);
  std::vector<std::uint32_t> all(dataset.size());
  std::iota(all.begin(), all.end(), 0u);
  Loader loader(dataset, all, plan);
  for (int i = 0; i < plan.ahead + 2; ++i)
    loader.next();
  const auto start = Clock::now();
  double taken = 0, seconds = 0;
  while (seconds < kSeconds) {
    loader.next();
    taken += static_cast<double>(c.batch);
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return taken / seconds;
}

double median(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

int option(int count, char** arguments, const std::string& name, int value) {
  for (int i = 1; i < count; ++i)
    if (const std::string given = arguments[i]; given.starts_with(name + "="))
      value = std::stoi(given.substr(name.size() + 1));
  return value;
}

void run(int workers, int rounds) {
  const Value crop_and_flip = Map{{"flip", 0.5}, {"crop", 4.0}};
  const Value turned = Map{{"flip", 0.5}, {"crop", 4.0}, {"rotate", 15.0}};
  const Value colours = Map{
      {"flip", 0.5}, {"crop", 4.0}, {"brightness", 0.2}, {"contrast", 0.2}, {"saturation", 0.2}};
  const Value mixed = Map{{"flip", 0.5}, {"crop", 4.0}, {"mixup", 0.2}, {"cutmix", 1.0}};
  const Case cases[] = {{"224x224 as they are", 224, 512, 64, Map{}},
                        {"224x224 crop, flip", 224, 512, 64, crop_and_flip},
                        {"224x224 and colours", 224, 512, 64, colours},
                        {"224x224 and rotate", 224, 512, 64, turned},
                        {"224x224 and mixed", 224, 512, 64, mixed},
                        {"32x32 crop, flip", 32, 20000, 256, crop_and_flip},
                        {"32x32 and mixed", 32, 20000, 256, mixed}};
  std::printf("%-22s %12s %12s %8s   samples/s, %d worker%s\n", "", "host", "raw", "ratio", workers,
              workers == 1 ? "" : "s");
  for (const Case& c : cases) {
    const Images images(c.size, c.samples);
    std::vector<double> host, raw, ratio;
    for (int round = 0; round < rounds; ++round) {
      host.push_back(samples_a_second(images, c, workers, false));
      raw.push_back(samples_a_second(images, c, workers, true));
      ratio.push_back(raw.back() / host.back());
    }
    std::printf("%-22s %12.0f %12.0f %8.1f\n", c.name, median(host), median(raw), median(ratio));
  }
}

}  // namespace
}  // namespace thalweg::engine::bench

int main(int count, char** arguments) {
  try {
    using namespace thalweg::engine::bench;
    run(option(count, arguments, "workers", 1), option(count, arguments, "rounds", 3));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_loader: %s\n", error.what());
    return 1;
  }
}
