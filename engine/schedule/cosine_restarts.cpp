// cosine-restarts (SGDR): cosines of T, T m, T m^2, ... steps one after another, each from the full
// rate. Loshchilov & Hutter 2017 (arXiv:1608.03983); PyTorch's CosineAnnealingWarmRestarts.
#include <cmath>
#include <numbers>
#include <stdexcept>

#include "engine/schedule/table.h"

namespace thalweg::engine {
namespace {

/// Share of its cycle that has passed at t.
double phase(double t, double first, double growth) {
  if (growth == 1) return std::fmod(t, first) / first;
  double begin = 0, length = first;
  while (t >= begin + length) {
    begin += length;
    length *= growth;
  }
  return (t - begin) / length;
}

}  // namespace

DecayEntry cosine_restarts() {
  std::vector<jobspec::Option> options =
      span_options("restart", "length of the first cycle; one epoch if not set");
  options.push_back(float_option("growth", 1.0, 1, 1000, "each cycle is that much longer"));
  options.push_back(final_option());
  return {"cosine-restarts", "cosines down to `final`, each begins again at the full rate",
          std::move(options), [](const ScheduleOptions& o) {
            const double T = o.steps("restart", o.epoch());
            if (!(T >= 1))
              throw std::invalid_argument(
                  "schedule: decay 'cosine-restarts' needs restart_steps, restart_epochs or "
                  "restart_samples of at least one step");
            return schedule_of([T, growth = o.real("growth"), last = o.real("final")](double t) {
              return last + (1 - last) * (1 + std::cos(std::numbers::pi * phase(t, T, growth))) / 2;
            });
          }};
}

}  // namespace thalweg::engine
