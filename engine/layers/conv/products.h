// The products that convolutions sum: which pixel meets which pixel by which weight.
#pragma once

#include "engine/device/window.h"

namespace thalweg::engine::reference {

/// Calls visit(index) for the places of a block of these sizes.
template <class Visit>
void for_each_place(const Window::Sizes& sizes, Visit visit) {
  for (std::int64_t d = 0; d < sizes[0]; ++d)
    for (std::int64_t h = 0; h < sizes[1]; ++h)
      for (std::int64_t w = 0; w < sizes[2]; ++w)
        visit(Window::Sizes{d, h, w});
}

inline std::int64_t place(const Window::Sizes& sizes, const Window::Sizes& at) {
  return (at[0] * sizes[1] + at[1]) * sizes[2] + at[2];
}

/// A window slides over images of w.channels channels and gives images of `outs` channels. Calls
/// visit(index in the images it gives, index in the images it slides over, index of the weight
/// (outs, w.channels, kernel...)) for every pair that meets.
template <class Visit>
void for_each_product(const Window& w, std::int64_t outs, int samples, Visit visit) {
  const std::int64_t outputs = Window::volume(w.out), inputs = Window::volume(w.in),
                     taps = Window::volume(w.kernel);
  for (int n = 0; n < samples; ++n)
    for (std::int64_t o = 0; o < outs; ++o)
      for_each_place(w.out, [&](const Window::Sizes& p) {
        for (std::int64_t c = 0; c < w.channels; ++c)
          for_each_place(w.kernel, [&](const Window::Sizes& r) {
            Window::Sizes at;
            for (std::size_t d = 0; d < 3; ++d) {
              at[d] = p[d] * w.stride[d] + r[d] - w.padding[d];
              if (at[d] < 0 || at[d] >= w.in[d]) return;
            }
            visit((n * outs + o) * outputs + place(w.out, p),
                  (n * w.channels + c) * inputs + place(w.in, at),
                  (o * w.channels + c) * taps + place(w.kernel, r));
          });
      });
}

}  // namespace thalweg::engine::reference
