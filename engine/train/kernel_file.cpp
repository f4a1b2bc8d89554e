#include "engine/train/kernel_file.h"

#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "base/file.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;

constexpr int kFormat = 1;

Value to_value(const KernelTimes& times) {
  List calls;
  for (const auto& [key, call] : times) {
    List algorithms;
    for (const AlgorithmTime& algorithm : call.algorithms)
      algorithms.push_back(Map{{"way", algorithm.algorithm},
                               {"name", algorithm.name},
                               {"workspace", static_cast<std::int64_t>(algorithm.workspace)},
                               {"ms", algorithm.ms}});
    calls.push_back(Map{{"key", key}, {"name", call.name}, {"ways", std::move(algorithms)}});
  }
  return calls;
}

const Value& part(const Value& of, const char* key) {
  if (const Value* found = of.find(key)) return *found;
  throw std::invalid_argument("it has no " + std::string(key));
}

/// From 0 on.
template <class Number>
Number at_least_0(const Value& of, const char* key, Number number) {
  if (number >= 0 && std::isfinite(static_cast<double>(number))) return number;
  throw std::invalid_argument(std::string(key) + " is " + part(of, key).to_text());
}
std::size_t bytes(const Value& of, const char* key) {
  return static_cast<std::size_t>(at_least_0(of, key, part(of, key).as_int()));
}

KernelTimes times_from(const Value& calls) {
  KernelTimes times;
  for (const Value& call : calls.as_list()) {
    CallTimes& to = times[part(call, "key").as_string()];
    to.name = part(call, "name").as_string();
    for (const Value& algorithm : part(call, "ways").as_list())
      to.algorithms.push_back(
          {static_cast<int>(at_least_0(algorithm, "way", part(algorithm, "way").as_int())),
           part(algorithm, "name").as_string(), bytes(algorithm, "workspace"),
           at_least_0(algorithm, "ms", part(algorithm, "ms").as_double())});
  }
  return times;
}

}  // namespace

std::string to_text(const std::vector<MeasuredKernels>& kernels) {
  List machines;
  for (const MeasuredKernels& of : kernels)
    machines.push_back(Map{{"machine", of.machine},
                           {"asked", static_cast<std::int64_t>(of.asked)},
                           {"bound", static_cast<std::int64_t>(of.bound)},
                           {"calls", to_value(of.times)}});
  return Value(Map{{"format", kFormat}, {"machines", std::move(machines)}}).to_json() + "\n";
}

std::vector<MeasuredKernels> kernels_from(const std::string& text) {
  const Value all = jobspec::read_yaml(text, "kernels");
  if (!all.is_map()) throw std::invalid_argument("it is no map");
  if (const auto format = part(all, "format").as_int(); format != kFormat)
    throw std::invalid_argument("it has format " + std::to_string(format) + ", not " +
                                std::to_string(kFormat));
  std::vector<MeasuredKernels> kernels;
  for (const Value& of : part(all, "machines").as_list())
    kernels.push_back({part(of, "machine").as_string(), bytes(of, "asked"), bytes(of, "bound"),
                       times_from(part(of, "calls"))});
  return kernels;
}

std::vector<MeasuredKernels> read_kernels(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  return kernels_from(read_file(file));
}

void write_kernels(const std::filesystem::path& file, const std::vector<MeasuredKernels>& kernels) {
  std::filesystem::create_directories(file.parent_path());
  const std::string text = to_text(kernels);
  AtomicFile aside(file);
  aside.write(text.data(), text.size());
  aside.commit();
}

}  // namespace thalweg::engine
