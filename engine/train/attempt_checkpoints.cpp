// Checkpoints: what is in one is copied, then written behind the training. Where each rank writes
// its own part (checkpoint_slice.h), the ranks tell each other when theirs are on the disk, and
// rank 0 then writes the file that names them.
#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "engine/attempt/failure.h"
#include "engine/train/attempt.h"
#include "engine/train/plain_part.h"
#include "engine/train/sync_states.h"

namespace thalweg::engine {
namespace {

template <class T>
bool is_ready(const std::future<T>& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void remove_slice(const std::filesystem::path& folder, std::int64_t step, int rank, int ranks) {
  std::error_code ignored;
  std::filesystem::remove(folder / slice_name(step, rank, ranks), ignored);
}

/// Not its parents: the folder of an attempt that was removed meanwhile does not come back.
void make_folder(const std::filesystem::path& checkpoints) {
  std::filesystem::create_directory(checkpoints);
}

/// The main file, after its slices. Bytes of all.
std::int64_t write_main(const std::filesystem::path& folder, const Checkpoint& checkpoint) {
  make_folder(folder);
  std::int64_t bytes = write_checkpoint(folder / checkpoint_name(checkpoint.step), checkpoint);
  for (const FileSeal& slice : checkpoint.slices)
    bytes += slice.bytes;
  return bytes;
}

}  // namespace

Attempt::~Attempt() {
  if (!writes_slices()) return;
  writing_->slice.wait();
  remove_slice(in.folder / checkpoints_folder, writing_->step, in.group.rank(), in.group.size());
}

bool Attempt::slices_checkpoints() {
  return in.group.size() > 1 && (replica->part || differ_by_rank(mode->states()));
}

std::int64_t Attempt::samples_of_all() const {
  std::int64_t taken = samples_taken;
  in.group.allreduce(&taken, 1, comm::Type::i64, comm::Op::sum);
  return taken;
}

/// Memory for `count` numbers, whatever is in it.
std::vector<float> Attempt::staging(std::size_t count) {
  if (!staging_.empty()) {
    std::vector<float> kept = std::move(staging_.back());
    staging_.pop_back();
    if (kept.size() == count) return kept;
  }
  return std::vector<float>(count);
}

/// As many as the next checkpoint will ask for; it waits for this one anyway.
void Attempt::keep_staging(Checkpoint& written) {
  staging_ = std::move(written.states);
  staging_.push_back(std::move(written.parameters));
}

Checkpoint Attempt::take_checkpoint(const float* weights, bool sliced, std::int64_t taken) {
  Checkpoint c;
  c.parts = common_parts(mode->states(), *model, sliced);
  c.step = step;
  c.shards = sharding.shards;
  c.micro_batches = micro_batches(settings, sharding.shards);
  c.ranks = in.group.size();
  c.identity = run_identity(resolved_config(), in.trial.seed, plan.length.total_steps);
  c.interval_loss = interval.loss_sum();
  c.interval_steps = interval.steps();
  c.samples = samples_before;
  if (c.samples) *c.samples += taken;
  c.noise = noise.state();
  c.growth = growth.state();
  c.schedule = schedule->state();
  c.stop = stop_rule.state();
  c.best = best.state();
  const auto plain = [&](const float* device) {
    std::vector<float> values = staging(static_cast<std::size_t>(model->parameter_count()));
    model->to_plain(device, values.data());
    return values;
  };
  c.parameters = plain(weights != nullptr ? weights : replica->parameters.floats());
  c.running = replica->running.read();
  c.names = names;
  if (sliced && replica->part)
    c.sliced_states = static_cast<int>(replica->states.size());
  else
    for (const FlatVector& state : replica->states)
      c.states.push_back(plain(state.floats()));
  c.own = replica->own;
  c.scalars = replica->scalars;
  return c;
}

CheckpointSlice Attempt::take_slice() {
  CheckpointSlice slice;
  slice.step = step;
  slice.rank = in.group.rank();
  slice.ranks = in.group.size();
  if (replica->part) take_plain_part(*model, *replica->part, replica->states, slice);
  slice.parts = own_parts(mode->states(), *model);
  return slice;
}

/// Copies all that this rank writes, and begins to.
void Attempt::take_all(Writing& w) {
  w.step = step;
  w.best = best.is(step);
  w.kept = best.step();
  const float* const weights = mode->parameters();
  const bool sliced = slices_checkpoints();
  const std::int64_t taken = samples_of_all();
  if (is_root()) w.main = std::make_shared<Checkpoint>(take_checkpoint(weights, sliced, taken));
  const std::filesystem::path folder = in.folder / checkpoints_folder;
  if (sliced)
    w.slice = std::async(std::launch::async, [folder, slice = take_slice()] {
      make_folder(folder);
      return write_slice(folder, slice);
    });
  else if (is_root())
    write_behind(w);
}

/// No slice remains where the main file cannot be written.
void Attempt::write_behind(Writing& w) {
  const auto work = [this, folder = in.folder / checkpoints_folder, main = w.main] {
    try {
      record.sync();
      return write_main(folder, *main);
    } catch (const std::system_error&) {
      const auto ranks = static_cast<int>(main->slices.size());
      for (int rank = 0; rank < ranks; ++rank)
        remove_slice(folder, main->step, rank, ranks);
      throw;
    }
  };
  w.file = std::async(std::launch::async, work);
}

/// Once this rank's is there, or will be: what rank 0 must know of all. Throws PeerFailed on every
/// rank where one could not be written; none remains.
void Attempt::gather_slices(Writing& w) {
  FileSeal mine;  // of no bytes: there is none
  std::string why;
  try {
    mine = w.slice.get();
  } catch (const std::exception& e) {
    why = e.what();
  }
  std::vector<FileSeal> all(static_cast<std::size_t>(in.group.size()));
  in.group.allgather(&mine, all.data(), sizeof mine);
  const auto failed =
      std::find_if(all.begin(), all.end(), [](const FileSeal& slice) { return slice.bytes == 0; });
  if (failed != all.end()) {
    const auto rank = static_cast<int>(failed - all.begin());
    std::uint64_t length = why.size();
    in.group.broadcast(&length, sizeof length, rank);
    why.resize(length);
    in.group.broadcast(why.data(), length, rank);
    remove_slice(in.folder / checkpoints_folder, w.step, in.group.rank(), in.group.size());
    throw PeerFailed(ExitCode::failed, rank, in.group.node_of(rank),
                     "could not write its part of the checkpoint: " + why);
  }
  if (!is_root()) return;
  w.main->slices = std::move(all);
  write_behind(w);
}

/// Rank 0's file is there, or will be.
void Attempt::tell_written(Writing& w) {
  const std::int64_t bytes = w.file.get();
  record.checkpoint({w.step, checkpoints_folder / checkpoint_name(w.step),
                     static_cast<std::uintmax_t>(bytes), w.waited_s, w.since.ms() / 1000, w.best});
  keep_staging(*w.main);
  prune_checkpoints(in.folder / checkpoints_folder, settings.checkpoints_kept, w.kept);
}

void Attempt::look_at_checkpoint() {
  if (!writing_) return;
  if (writes_slices()) {
    std::int32_t all = is_ready(writing_->slice) ? 1 : 0;
    in.group.allreduce(&all, 1, comm::Type::i32, comm::Op::min);
    if (all == 0) return;
    gather_slices(*writing_);
  }
  if (writing_->file.valid() && !is_ready(writing_->file)) return;
  finish_checkpoint();
}

void Attempt::finish_checkpoint() {
  if (!writing_) return;
  Writing w = std::move(*writing_);
  writing_.reset();
  if (w.slice.valid()) gather_slices(w);
  if (w.file.valid()) tell_written(w);
}

void Attempt::save_checkpoint() {
  const Stopwatch whole;
  finish_checkpoint();
  writing_.emplace();
  take_all(*writing_);
  writing_->waited_s = whole.ms() / 1000;
  spent.checkpoints += writing_->waited_s;
}

void Attempt::save_best() {
  const Stopwatch whole;
  finish_checkpoint();
  char written = 1;
  const auto go_on_without = [&](const std::exception& e) {
    written = 0;
    record.note("warning",
                "the best checkpoint, of step " + std::to_string(step) +
                    ", could not be written, and training continues without it: " + e.what());
  };
  try {
    writing_.emplace();
    take_all(*writing_);
    finish_checkpoint();
  } catch (const PeerFailed& e) {
    go_on_without(e);
  } catch (const std::system_error& e) {
    go_on_without(e);
  }
  // Whether it is the best one is decided for all ranks here, so it is waited for.
  in.group.broadcast(&written, sizeof written, 0);
  if (written == 0) best.give_up_newest();
  spent.checkpoints += whole.ms() / 1000;
}

}  // namespace thalweg::engine
