// embedding and positions. The gradient of an embedding's table is a sum over the places of each
// token, always in the order of the places: they are sorted by token, a block adds those of a tile
// of the sorted places, and what a token has in tiles after its first one is added by a second
// pass.
#include <algorithm>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/reductions.h"
#include "engine/device/cuda/rows.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

/// A place of the shard (a position of a sample) and what stands there.
struct Place {
  std::int32_t token, number;
};

template <class T>
struct Embed {
  const float* tokens;
  const T* table;
  T* y;
  std::int64_t width;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t place) const {
    const T* row = table + static_cast<std::int64_t>(tokens[place]) * width;
    for (std::int64_t i = block.rank(); i < width; i += block.size())
      y[place * width + i] = row[i];
  }
};

/// Sorts runs of `run` places by counting those that stand before each.
struct SortRuns {
  const float* tokens;
  Place* sorted;
  std::int64_t places, run;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t first = i / run * run;
    const std::int64_t end = first + run < places ? first + run : places;
    const float token = tokens[i];
    std::int64_t at = first;
    for (std::int64_t j = first; j < i; ++j)
      at += tokens[j] <= token ? 1 : 0;
    for (std::int64_t j = i + 1; j < end; ++j)
      at += tokens[j] < token ? 1 : 0;
    sorted[at] = {static_cast<std::int32_t>(token), static_cast<std::int32_t>(i)};
  }
};

/// Joins every two neighbouring sorted runs; of equal tokens those of the first run come first.
struct MergeRuns {
  const Place* from;
  Place* to;
  std::int64_t places, run;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t mine = i / run * run;
    const bool is_first = i / run % 2 == 0;
    const std::int64_t other = is_first ? mine + run : mine - run;
    const Place place = from[i];
    // How many of the other run come before this one.
    std::int64_t low = other < places ? other : places;
    std::int64_t high = other + run < places ? other + run : places;
    const std::int64_t start = low;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      const std::int32_t token = from[middle].token;
      if (token < place.token || (token == place.token && !is_first))
        low = middle + 1;
      else
        high = middle;
    }
    to[(is_first ? mine : other) + (i - mine) + (low - start)] = place;
  }
};

/// A block adds the gradients of a tile's places, token by token. What belongs to a token that
/// began in an earlier tile goes to the tile's row of `parts`.
template <class T>
struct AddTile {
  const Place* sorted;
  const T* dy;
  float* table;
  float* parts;  ///< (tiles, width)
  std::int64_t places, tile, width;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t number) const {
    const std::int64_t first = number * tile;
    const std::int64_t end = first + tile < places ? first + tile : places;
    const std::int32_t earlier = first > 0 ? sorted[first - 1].token : -1;
    for (std::int64_t i = block.rank(); i < width; i += block.size()) {
      float sum = 0;
      for (std::int64_t at = first; at < end; ++at) {
        const Place place = sorted[at];
        sum += gpu::load(dy[place.number * width + i]);
        if (at + 1 < end && sorted[at + 1].token == place.token) continue;
        float* row = place.token == earlier ? parts + number * width : table + place.token * width;
        row[i] = sum;
        sum = 0;
      }
    }
  }
};

/// A block for each tile whose last token begins in it: adds that token's parts of later tiles.
struct AddParts {
  const Place* sorted;
  const float* parts;
  float* table;
  std::int64_t places, tile, width;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t number) const {
    const std::int64_t first = number * tile, after = first + tile;
    if (after >= places) return;
    const std::int32_t token = sorted[after - 1].token;
    const bool began_earlier = first > 0 && sorted[first - 1].token == token;
    if (sorted[after].token != token || began_earlier) return;
    std::int64_t end = number + 1;
    while (end * tile < places && sorted[end * tile].token == token)
      ++end;
    for (std::int64_t i = block.rank(); i < width; i += block.size()) {
      float sum = table[token * width + i];
      for (std::int64_t t = number + 1; t < end; ++t)
        sum += parts[t * width + i];
      table[token * width + i] = sum;
    }
  }
};

/// The places of the shard in the order of their tokens, in backward.
TensorId sort_places(Builder& b, TensorId tokens, std::int64_t places) {
  constexpr std::int64_t shortest = 256;
  TensorId sorted = b.scratch(places, sizeof(Place)), other = b.scratch(places, sizeof(Place));
  b.kernel(Builder::Pass::backward, {tokens, sorted}, [=](const Frame& frame) {
    gpu::for_each(frame.stream, places,
                  SortRuns{frame.floats(tokens), frame.as<Place>(sorted), places, shortest});
  });
  for (std::int64_t run = shortest; run < places; run *= 2) {
    b.kernel(Builder::Pass::backward, {sorted, other}, [=](const Frame& frame) {
      gpu::for_each(frame.stream, places,
                    MergeRuns{frame.as<Place>(sorted), frame.as<Place>(other), places, run});
    });
    std::swap(sorted, other);
  }
  return sorted;
}

void add_table_gradients(Builder& b, TensorId tokens, TensorId dy, TensorId table,
                         std::int64_t width) {
  constexpr std::int64_t tile = 32;
  const std::int64_t places = b.desc(dy).count() / width, tiles = (places + tile - 1) / tile;
  const TensorId sorted = sort_places(b, tokens, places);
  const TensorId parts = b.scratch(tiles * width, sizeof(float));
  const Desc gradients = b.desc(dy);
  const std::size_t bytes = b.desc(table).bytes();
  b.kernel(Builder::Pass::backward, {sorted, dy, table, parts}, [=](const Frame& frame) {
    const auto* places_of = frame.as<Place>(sorted);
    frame.stream.zero(frame.as<void>(table), bytes);
    gpu::with_type(gradients.type, [&](auto t) {
      using T = decltype(t);
      gpu::for_each_row(frame.stream, tiles, team_for(width),
                        AddTile<T>{places_of, frame.as<T>(dy), frame.floats(table),
                                   frame.floats(parts), places, tile, width});
    });
    gpu::for_each_row(
        frame.stream, tiles, team_for(width),
        AddParts{places_of, frame.floats(parts), frame.floats(table), places, tile, width});
  });
}

template <class T>
struct AddPosition {
  const T* x;
  const T* table;
  T* y;
  std::int64_t positions, features;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t row) const {
    const T* position = table + row % positions * features;
    for (std::int64_t i = row * features + block.rank(); i < (row + 1) * features;
         i += block.size())
      y[i] = gpu::store<T>(gpu::load(x[i]) + gpu::load(position[i - row * features]));
  }
};

}  // namespace

TensorId embedding(Builder& b, const Node& node, TensorId x) {
  const std::int64_t samples = b.samples(), positions = node.layer->in[0],
                     width = node.layer->out[1];
  const int number = node.first_parameter;
  const Type type = b.type();
  b.parameter(number);
  const TensorId table = b.weights(number), y = b.activation({samples, positions, width}, type);
  b.kernel(Builder::Pass::both, {x, table, y}, [=](const Frame& frame) {
    gpu::with_type(type, [&](auto t) {
      using T = decltype(t);
      gpu::for_each_row(frame.stream, samples * positions, team_for(width),
                        Embed<T>{frame.floats(x), frame.as<T>(table), frame.as<T>(y), width});
    });
  });
  b.on_backward([=, &b](TensorId dy) {
    add_table_gradients(b, x, dy, b.gradient(number), width);
    b.ready(number);
    return dy;
  });
  return y;
}

TensorId positions(Builder& b, const Node& node, TensorId given) {
  const std::int64_t samples = b.samples(), positions = node.layer->in[0],
                     features = node.layer->in[1];
  const int number = node.first_parameter;
  const Type type = b.type();
  b.parameter(number);
  const TensorId table = b.weights(number), x = b.in_type(Builder::Pass::both, given, type);
  const TensorId y = b.may_overwrite(x) ? x : b.like(x);
  b.kernel(Builder::Pass::both, {x, table, y}, [=](const Frame& frame) {
    gpu::with_type(type, [&](auto t) {
      using T = decltype(t);
      gpu::for_each_row(
          frame.stream, samples * positions, team_for(features),
          AddPosition<T>{frame.as<T>(x), frame.as<T>(table), frame.as<T>(y), positions, features});
    });
  });
  b.on_backward([=, &b](TensorId dy) {
    sum_rows(b, dy, samples, positions * features, b.gradient(number));
    b.ready(number);
    return dy;
  });
  return y;
}

}  // namespace thalweg::engine::cuda
