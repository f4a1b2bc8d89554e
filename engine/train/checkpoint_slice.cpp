// The main file is written when all slices are on the disk, and names their sizes and checksums: a
// set that was given up has no main file, and one that was tampered with has another sum.
#include "engine/train/checkpoint_slice.h"

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "engine/train/checkpoint_bytes.h"

namespace thalweg::engine {
namespace {

using jobspec::Value;

std::vector<PlainRun> take_runs(CheckpointReader& reader, std::int64_t count) {
  std::vector<PlainRun> runs;
  const auto numbers = reader.take_numbers<std::int64_t>(count < 0 ? -1 : 2 * count);
  for (std::size_t i = 0; i < numbers.size(); i += 2)
    runs.push_back({numbers[i], numbers[i + 1]});
  return runs;
}

/// How many numbers; throws where they are not all among `parameters` in ascending order.
std::int64_t numbers_in(const std::vector<PlainRun>& runs, std::int64_t parameters) {
  std::int64_t end = 0, sum = 0;
  for (const PlainRun& run : runs) {
    if (run.begin < end || run.count < 1 || run.count > parameters - run.begin)
      throw std::runtime_error("its runs are not those of the parameters");
    end = run.begin + run.count;
    sum += run.count;
  }
  return sum;
}

CheckpointSlice read_slice(const std::filesystem::path& file, const FileSeal& seal,
                           std::int64_t parameters) {
  CheckpointReader reader(file);
  if (!(reader.seal() == seal)) reader.fail("it is of another checkpoint of that step");
  try {
    const Value h = reader.take_header();
    CheckpointSlice slice;
    slice.step = whole_number(h, "step", 0, kMaxSteps);
    slice.rank = small_number(h, "rank", 0);
    slice.ranks = small_number(h, "ranks", 1);
    slice.runs = take_runs(reader, member_of(h, "runs").as_int());
    const std::int64_t count = numbers_in(slice.runs, parameters);
    for (int i = small_number(h, "states", 0); i > 0; --i)
      slice.states.push_back(reader.take_numbers<float>(count));
    for (const Value& part : member_of(h, "parts").as_list())
      slice.parts.push_back(take_part(reader, part));
    return slice;
  } catch (const BadCheckpoint&) {
    throw;
  } catch (const std::exception& e) {
    reader.fail(std::string("its header cannot be read: ") + e.what());
  }
}

std::filesystem::path file_of(const Checkpoint& c, const std::filesystem::path& file,
                              std::size_t rank) {
  return file.parent_path() /
         slice_name(c.step, static_cast<int>(rank), static_cast<int>(c.slices.size()));
}

/// Throws where a file is missing or of another size, before any is read and memory is taken for
/// what they hold.
void require_sizes(const Checkpoint& c, const std::filesystem::path& file) {
  std::uintmax_t sum = 0;
  for (std::size_t rank = 0; rank < c.slices.size(); ++rank) {
    const std::filesystem::path of_rank = file_of(c, file, rank);
    std::error_code missing;
    const std::uintmax_t size = std::filesystem::file_size(of_rank, missing);
    if (missing)
      throw BadCheckpoint(file.string() + ": a rank's part of it is missing: " + of_rank.string() +
                          ": " + missing.message());
    if (std::cmp_not_equal(size, c.slices[rank].bytes))
      throw BadCheckpoint(of_rank.string() + ": it has " + std::to_string(size) + " bytes, not " +
                          std::to_string(c.slices[rank].bytes) + " as " + file.filename().string() +
                          " says");
    sum += size;
  }
  if (static_cast<std::uintmax_t>(c.sliced_states) * c.parameters.size() > sum / sizeof(float))
    throw BadCheckpoint(file.string() + ": its ranks' parts together are not all of it");
}

void put_states(const CheckpointSlice& slice, std::vector<std::vector<float>>& states) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    auto from = slice.states[i].begin();
    for (const PlainRun& run : slice.runs) {
      std::copy_n(from, run.count, states[i].begin() + run.begin);
      from += run.count;
    }
  }
}

void put_parts(CheckpointSlice& slice, const std::vector<CheckpointPart*>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::vector<float>& vector : slice.parts[i].floats)
      parts[i]->floats.push_back(std::move(vector));
    for (std::vector<double>& vector : slice.parts[i].doubles)
      parts[i]->doubles.push_back(std::move(vector));
  }
}

/// Whether each of `count` numbers is in one run.
bool covers(std::vector<PlainRun> runs, std::int64_t count) {
  std::sort(runs.begin(), runs.end(),
            [](const PlainRun& a, const PlainRun& b) { return a.begin < b.begin; });
  std::int64_t end = 0;
  for (const PlainRun& run : runs) {
    if (run.begin != end) return false;
    end += run.count;
  }
  return end == count;
}

}  // namespace

FileSeal write_slice(const std::filesystem::path& folder, const CheckpointSlice& slice) {
  jobspec::List parts;
  for (const CheckpointPart& part : slice.parts)
    parts.push_back(part_header(part));
  CheckpointWriter writer(folder / slice_name(slice.step, slice.rank, slice.ranks),
                          Checkpoint::sliced_format,
                          jobspec::Map{{"step", slice.step},
                                       {"rank", slice.rank},
                                       {"ranks", slice.ranks},
                                       {"runs", static_cast<std::int64_t>(slice.runs.size())},
                                       {"states", static_cast<std::int64_t>(slice.states.size())},
                                       {"parts", std::move(parts)}});
  static_assert(sizeof(PlainRun) == 2 * sizeof(std::int64_t), "a run is written as two numbers");
  writer.put_numbers(slice.runs);
  for (const std::vector<float>& state : slice.states)
    writer.put_numbers(state);
  for (const CheckpointPart& part : slice.parts)
    put_part(writer, part);
  return writer.finish();
}

void take_slices(Checkpoint& c, const std::filesystem::path& file) {
  require_sizes(c, file);
  const auto count = static_cast<std::int64_t>(c.parameters.size());
  std::vector<std::vector<float>> states(static_cast<std::size_t>(c.sliced_states),
                                         std::vector<float>(c.parameters.size()));
  std::vector<CheckpointPart*> parts;
  for (CheckpointPart& part : c.parts)
    if (std::exchange(part.sliced, false)) parts.push_back(&part);
  std::vector<PlainRun> runs;
  for (std::size_t rank = 0; rank < c.slices.size(); ++rank) {
    const std::filesystem::path of_rank = file_of(c, file, rank);
    CheckpointSlice slice = read_slice(of_rank, c.slices[rank], count);
    if (slice.states.size() != states.size() || slice.parts.size() != parts.size())
      throw BadCheckpoint(of_rank.string() + ": it holds other things than " +
                          file.filename().string() + " says");
    put_states(slice, states);
    put_parts(slice, parts);
    runs.insert(runs.end(), slice.runs.begin(), slice.runs.end());
  }
  if (!states.empty() && !covers(std::move(runs), count))
    throw BadCheckpoint(file.string() + ": its ranks' parts together are not all of it");
  for (std::vector<float>& state : states)
    c.states.push_back(std::move(state));
  c.sliced_states = 0;
  c.slices.clear();
}

}  // namespace thalweg::engine
