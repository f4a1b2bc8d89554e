// The samples of one shard, and what is checked of them.
#pragma once

#include <cstdint>
#include <vector>

namespace thalweg::engine {

class Meeting;
struct LossPlan;

/// Input of one shard. Images are float, plain (n, c, h, w), or flat (n, features); labels are
/// class numbers, one or more a sample; or there are real targets instead. Tokens are numbers too.
struct Batch {
  const float* inputs = nullptr;
  const std::int32_t* labels = nullptr;
  const float* targets = nullptr;
  int samples = 0;                 ///< training: exactly the shard's batch. Evaluation: at most it
  std::uint64_t seed = 0;          ///< the trial's seed: keys dropout
  std::uint32_t step = 0;          ///< keys dropout
  std::uint64_t first_sample = 0;  ///< position of sample 0 in the global batch: keys dropout
  /// Training: instead of `labels`, draw them from the model's own predictions (Stream::labels).
  bool draw_labels = false;
  /// Calls of an executor with equal numbers see equal parameters, so that what it has made of them
  /// still stands; 0: nobody says.
  std::uint64_t round = 0;
  /// Of blended samples: another label for each of `labels`, and what it weighs in its sample, 0 to
  /// 1 (the own one weighs the rest). Null: there are none. For losses that take them.
  const std::int32_t* labels_b = nullptr;
  const float* shares_b = nullptr;
  /// Training: where this shard meets the others of its step, which are under way in other threads;
  /// null: it stands alone. For layers that take statistics over all shards.
  Meeting* meeting = nullptr;
  int shard = 0;  ///< its number there
};

/// Throws std::invalid_argument where a training batch has not `samples`, or an evaluation one has
/// more.
void check_batch(const Batch& batch, int samples, bool training);

/// Throws std::invalid_argument where a label of the batch is no class, or a token none of
/// `vocabulary` (0: inputs are no tokens).
void check_numbers(const LossPlan& loss, const Batch& batch, std::int64_t inputs, int vocabulary);

/// Labels drawn with the probabilities of the softmax of `outputs`, one for each position of each
/// sample; keyed by the batch's seed, step and the place in the global batch. `labels` grows where
/// it is too small; where the batch has no_label, so have they. Throws std::invalid_argument where
/// the loss is not one of labels.
template <class T>
void draw_labels(const LossPlan& loss, const T* outputs, const Batch& batch,
                 std::vector<std::int32_t>& labels);

/// The sentence for a label that is no class number. Throws std::invalid_argument.
[[noreturn]] void refuse_token(double token, std::int64_t place, std::int64_t tokens);
[[noreturn]] void refuse_label(std::int32_t label, int sample, int classes);

/// Token number i of a shard's inputs. Throws std::invalid_argument where it is none of `tokens`.
template <class T>
std::int64_t token_at(const T* inputs, std::int64_t i, std::int64_t tokens) {
  const auto token = static_cast<std::int64_t>(inputs[i]);
  if (token >= 0 && token < tokens && static_cast<T>(token) == inputs[i]) return token;
  refuse_token(static_cast<double>(inputs[i]), i, tokens);
}

}  // namespace thalweg::engine
