#include "engine/train/kernels.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>

#include "engine/gpu/library.h"
#include "engine/train/attempt.h"
#include "engine/train/kernel_file.h"

namespace thalweg::engine {
namespace {

constexpr const char* kFile = "kernels.json";

std::string in_ms(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f ms", ms);
  return text;
}

std::string describe(const std::vector<CallKind>& kinds, const KernelTimes& times,
                     std::size_t bound) {
  int calls = 0;
  for (const CallKind& kind : kinds)
    calls += kind.runs;
  const StepTimes step = step_times(kinds, times, bound);
  return std::to_string(calls) + " library calls of a shard take " + in_ms(step.first) +
         " in their libraries' first algorithms, " + in_ms(step.best) + " in the fastest, " +
         in_ms(step.chosen) + " in those taken within " + in_mebibytes(bound) + " of workspace";
}

/// Ranks that compute on the GPU of this one. Collective.
std::size_t ranks_on_this_gpu(comm::Group& group, const gpu::Info& gpu) {
  constexpr std::size_t kLength = 64;
  const auto ranks = static_cast<std::size_t>(group.size());
  std::string mine = gpu.uuid;
  mine.resize(kLength);
  std::string all(kLength * ranks, '\0');
  group.allgather(mine.data(), all.data(), kLength);
  std::size_t same = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (group.node_of(static_cast<int>(rank)) == group.node_of(group.rank()) &&
        all.compare(rank * kLength, kLength, mine) == 0)
      ++same;
  return same;
}

/// What rank 0 does.
class Leader {
 public:
  Leader(const KernelInput& in, std::string machine, std::size_t room)
      : in_(in), asked_(in.settings.kernels.workspace), room_(room) {
    kernels_.machine = std::move(machine);
    kernels_.asked = kernels_.bound = asked_;
  }

  /// `plain` is built with the trial's own options.
  MeasuredKernels run(const Model& plain, const std::function<void()>& progress) {
    look_for_kept();
    bound_by(in_.needs(plain));
    const std::vector<CallKind> kinds = plain.library_calls();
    const bool all_known = std::all_of(kinds.begin(), kinds.end(), [&](const CallKind& kind) {
      return kernels_.times.contains(kind.key);
    });
    std::string what = "kernels as in " + from_.string();
    if (!all_known && scratch_ > 0) what = measure(plain, kinds, progress);
    make_fit(progress);
    if (!kernels_.times.empty())
      in_.record.note("info",
                      what + "; " + describe(kinds, kernels_.times, kernels_.bound) + left_out_);
    keep();
    return kernels_;
  }

 private:
  KernelOptions options() const {
    return {kernels_.bound, std::make_shared<const KernelTimes>(kernels_.times)};
  }

  /// The first file that knows this machine.
  void look_for_kept() {
    for (const std::filesystem::path& folder : in_.folders) {
      const std::filesystem::path file = folder / kFile;
      std::vector<MeasuredKernels> all;
      try {
        all = read_kernels(file);
      } catch (const std::exception& error) {
        in_.record.note("warning", file.string() + " is passed over: " + error.what());
        continue;
      }
      if (&folder == &in_.folders.front()) others_ = all;
      const auto mine = std::find_if(all.begin(), all.end(), [&](const MeasuredKernels& of) {
        return of.machine == kernels_.machine;
      });
      if (mine != all.end()) {
        kernels_ = *mine;
        from_ = file;
        break;
      }
      if (!all.empty())
        in_.record.note("warning", file.string() + " was measured on " + all.front().machine +
                                       ", this is " + kernels_.machine +
                                       ": other kernels may be taken, and the curve is not "
                                       "bitwise the uninterrupted one");
    }
    std::erase_if(others_,
                  [&](const MeasuredKernels& of) { return of.machine == kernels_.machine; });
    if (kernels_.asked != asked_) kernels_.asked = kernels_.bound = asked_;
  }

  void bound_by(const MemoryNeeds& needs) {
    scratch_ = workspace_within(needs, room_, room_);
    const std::size_t bound = workspace_within(needs, kernels_.bound, room_);
    if (bound < kernels_.bound && !from_.empty())
      in_.record.note("warning",
                      "less GPU memory is free than when kernels were measured (" +
                          in_mebibytes(bound) + " of workspace, not " +
                          in_mebibytes(kernels_.bound) +
                          "): other kernels may be chosen, and the curve is not bitwise the "
                          "uninterrupted one");
    kernels_.bound = bound;
  }

  /// Says what it did.
  std::string measure(const Model& model, const std::vector<CallKind>& kinds,
                      const std::function<void()>& progress) {
    const auto start = std::chrono::steady_clock::now();
    MeasureOptions how;
    how.scratch = scratch_;
    how.seconds = in_.settings.measure_seconds;
    how.known = kernels_.times;
    how.progress = progress;
    how.note = [&](const std::string& text) { left_out_ += "\n" + text; };
    std::size_t measured = 0;
    try {
      for (auto& [key, call] : model.measure_calls(how)) {
        measured += call.algorithms.empty() ? 0 : 1;
        kernels_.times[key] = call;
      }
    } catch (const gpu::GpuError& error) {
      how.note(error.what());
    }
    // What could not be measured stays as it is in later attempts too.
    for (const CallKind& kind : kinds)
      kernels_.times.emplace(kind.key, CallTimes{kind.name, {}});
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    char time[32];
    std::snprintf(time, sizeof time, "%.1f s", seconds.count());
    return "kernels: measured " + std::to_string(measured) + " of " + std::to_string(kinds.size()) +
           " kinds of calls in " + time;
  }

  /// Where memory is short: with other workspaces tensors may lie less densely than they did.
  void make_fit(const std::function<void()>& progress) {
    while (kernels_.bound > 0 && kernels_.bound < asked_) {
      const std::size_t total = in_.needs(*in_.build(options())).total();
      progress();
      if (total <= room_) return;
      kernels_.bound -= std::min(kernels_.bound, total - room_);
    }
  }

  void keep() {
    if (kernels_.times.empty()) return;
    const std::filesystem::path file = in_.folders.front() / kFile;
    std::vector<MeasuredKernels> all = others_;
    all.push_back(kernels_);
    try {
      write_kernels(file, all);
    } catch (const std::exception& error) {
      in_.record.note("warning", std::string(error.what()) +
                                     ": what kernels took is not kept, and a later attempt may "
                                     "take others");
    }
  }

  const KernelInput& in_;
  const std::size_t asked_, room_;
  std::size_t scratch_ = 0;  ///< 0: whoever builds the model says what fits
  std::string left_out_;
  MeasuredKernels kernels_;
  std::vector<MeasuredKernels> others_;  ///< in the file of this attempt, of other machines
  std::filesystem::path from_;           ///< where kernels_ were found
};

/// Rank 0 measures; the others wait for one call at a time, so that nobody seems to have stalled.
std::optional<MeasuredKernels> lead_or_wait(const KernelInput& in, const std::string& machine,
                                            std::size_t room, const Model& plain) {
  std::optional<MeasuredKernels> kernels;
  std::exception_ptr error;
  char going = 1;
  const auto tell = [&] { in.group.broadcast(&going, sizeof going, 0); };
  if (in.group.rank() == 0) {
    try {
      kernels = Leader(in, machine, room).run(plain, tell);
    } catch (const comm::CommError&) {
      throw;
    } catch (...) {
      error = std::current_exception();
    }
    going = 0;
    tell();
  } else {
    while (going != 0)
      tell();
  }
  together(in.group, [&] {
    if (error) std::rethrow_exception(error);
  });
  return kernels;
}

MeasuredKernels shared(const std::optional<MeasuredKernels>& of_rank_0, comm::Group& group) {
  std::string text = of_rank_0 ? to_text({*of_rank_0}) : "";
  std::uint64_t size = text.size();
  group.broadcast(&size, sizeof size, 0);
  text.resize(size);
  group.broadcast(text.data(), text.size(), 0);
  return kernels_from(text).front();
}

/// Ranks on other machines than rank 0's do without its times.
void drop_times_of_another_machine(MeasuredKernels& kernels, const std::string& machine,
                                   const KernelInput& in) {
  const char same = kernels.machine == machine ? 1 : 0;
  std::vector<char> all(static_cast<std::size_t>(in.group.size()));
  in.group.allgather(&same, all.data(), sizeof same);
  if (same == 0) kernels.times.clear();
  if (const auto others = std::count(all.begin(), all.end(), 0); others > 0)
    in.record.note("warning",
                   "kernels: " + std::to_string(others) + " of " + std::to_string(all.size()) +
                       " ranks have another GPU or other libraries than rank 0 (" +
                       kernels.machine + "): they take their libraries' first algorithms");
}

}  // namespace

std::string machine_of(gpu::Gpu& gpu) {
  return gpu.info().name + ", " + std::to_string(gpu.info().multiprocessors) +
         " multiprocessors, " + gpu.stream()->library().versions();
}

bool measures_kernels(const Settings& settings, const gpu::Info& gpu) {
  using enum Settings::Measure;
  return settings.measure == always || (settings.measure == automatic && !gpu.emulated);
}

std::size_t workspace_within(const MemoryNeeds& needs, std::size_t asked, std::size_t room) {
  const std::size_t others = needs.total() - needs.workspace;
  return std::min(asked, room > others ? room - others : 0);
}

KernelOptions choose_kernels(const KernelInput& in) {
  gpu::Gpu& gpu = gpu::chosen_gpu();
  char measures = measures_kernels(in.settings, gpu.info()) ? 1 : 0;
  in.group.broadcast(&measures, sizeof measures, 0);
  if (measures == 0) return in.settings.kernels;
  std::string machine;
  std::unique_ptr<Model> plain;
  together(in.group, [&] {
    machine = in.machine();
    // Rank 0 alone needs it, but takes as long over it as any: nobody seems to have stalled.
    plain = in.build(in.settings.kernels);
  });
  auto room = static_cast<double>(gpu.free_bytes() / ranks_on_this_gpu(in.group, gpu.info()));
  in.group.allreduce(&room, 1, comm::Type::f64, comm::Op::min);
  const auto led = lead_or_wait(in, machine, static_cast<std::size_t>(room), *plain);
  MeasuredKernels kernels = shared(led, in.group);
  drop_times_of_another_machine(kernels, machine, in);
  return {kernels.bound, std::make_shared<const KernelTimes>(std::move(kernels.times))};
}

}  // namespace thalweg::engine
