// A part begins and ends in the middle of a parameter, and the device may have that one's numbers
// in another order (blocks of channels). Ones where the part is, put into the plain order, say
// which numbers they are.
#include "engine/train/plain_part.h"

#include <algorithm>
#include <utility>

#include "engine/tensor/buffer.h"

namespace thalweg::engine {
namespace {

/// A parameter of which some is in the part.
struct ParameterSlice {
  int parameter = 0;
  std::vector<PlainRun> runs;  ///< from the parameter's first number on
};

/// The runs of the numbers at `mine`.
std::vector<PlainRun> runs_of(const std::vector<float>& mine) {
  std::vector<PlainRun> runs;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine[i] == 0) continue;
    if (i == 0 || mine[i - 1] == 0) runs.push_back({static_cast<std::int64_t>(i), 0});
    ++runs.back().count;
  }
  return runs;
}

ParameterSlice slice_of(const Model& model, int parameter, const comm::Group::Segment& part) {
  const ParameterInfo& info = model.parameters()[static_cast<std::size_t>(parameter)];
  const auto size = static_cast<std::size_t>(elements(info.shape));
  const std::size_t begin = std::max(part.begin, info.offset);
  const std::size_t end = std::min(part.begin + part.count, info.offset + info.count);
  if (begin >= end) return {};
  if (end - begin == info.count) return {parameter, {{0, static_cast<std::int64_t>(size)}}};
  Buffer marks = Buffer::of_floats(info.count);
  std::fill(marks.floats() + (begin - info.offset), marks.floats() + (end - info.offset), 1.0f);
  std::vector<float> mine(size);
  model.to_plain(parameter, marks.floats(), mine.data());
  return {parameter, runs_of(mine)};
}

void append(std::vector<PlainRun>& runs, PlainRun run) {
  if (!runs.empty() && runs.back().begin + runs.back().count == run.begin)
    runs.back().count += run.count;
  else
    runs.push_back(run);
}

}  // namespace

void take_plain_part(const Model& model, const comm::Group::Segment& part,
                     const std::vector<FlatVector>& states, CheckpointSlice& slice) {
  std::vector<ParameterSlice> slices;
  std::int64_t first = 0;
  for (std::size_t p = 0; p < model.parameters().size(); ++p) {
    ParameterSlice own = slice_of(model, static_cast<int>(p), part);
    for (const PlainRun& run : own.runs)
      append(slice.runs, {first + run.begin, run.count});
    if (!own.runs.empty()) slices.push_back(std::move(own));
    first += elements(model.parameters()[p].shape);
  }
  std::size_t count = 0;
  for (const PlainRun& run : slice.runs)
    count += static_cast<std::size_t>(run.count);
  std::vector<float> plain;
  for (const FlatVector& state : states) {
    std::vector<float>& numbers = slice.states.emplace_back();
    numbers.reserve(count);
    for (const ParameterSlice& own : slices) {
      const ParameterInfo& info = model.parameters()[static_cast<std::size_t>(own.parameter)];
      plain.resize(static_cast<std::size_t>(elements(info.shape)));
      model.to_plain(own.parameter, state.floats() + info.offset, plain.data());
      for (const PlainRun& run : own.runs) {
        const auto from = plain.begin() + run.begin;
        numbers.insert(numbers.end(), from, from + run.count);
      }
    }
  }
}

}  // namespace thalweg::engine
