#include "engine/data/array.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "engine/data/dataset.h"

namespace thalweg::engine {
namespace {

struct Format {
  const char* ending;
  bool named;  ///< holds several arrays by name
  Array (*read)(const std::filesystem::path&, const std::string& name, Extent extent);
  std::vector<std::string> (*names)(const std::filesystem::path&);  ///< where it is `named`
};
const Format kFormats[] = {{".npy", false, read_npy, nullptr},
                           {".npz", true, read_npz, npz_names},
                           {".h5", true, read_hdf5, hdf5_names},
                           {".hdf5", true, read_hdf5, hdf5_names}};

/// IEEE 754 half precision.
double half_value(std::uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  double value = 0;
  if (exponent == 31)
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(fraction, -24);
  else
    value = std::ldexp(1024 + fraction, exponent - 25);
  return h >> 15 != 0 ? -value : value;
}

template <class T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Calls f(T{}) with the C++ type of the numbers; f16 comes as uint16_t with `half` true.
template <class F>
void with_type(NumberType type, const F& f) {
  switch (type) {
    case NumberType::u8:
      return f(std::uint8_t{});
    case NumberType::i8:
      return f(std::int8_t{});
    case NumberType::u16:
    case NumberType::f16:
      return f(std::uint16_t{});
    case NumberType::i16:
      return f(std::int16_t{});
    case NumberType::u32:
      return f(std::uint32_t{});
    case NumberType::i32:
      return f(std::int32_t{});
    case NumberType::u64:
      return f(std::uint64_t{});
    case NumberType::i64:
      return f(std::int64_t{});
    case NumberType::f32:
      return f(float{});
    case NumberType::f64:
      return f(double{});
  }
}

}  // namespace

std::size_t bytes_of(NumberType type) {
  std::size_t bytes = 0;
  with_type(type, [&](auto kind) { bytes = sizeof kind; });
  return bytes;
}

bool is_integer(NumberType type) {
  return type != NumberType::f16 && type != NumberType::f32 && type != NumberType::f64;
}

std::string_view name_of(NumberType type) {
  constexpr std::string_view names[] = {"uint8",  "int8",  "uint16",  "int16",   "uint32", "int32",
                                        "uint64", "int64", "float16", "float32", "float64"};
  return names[static_cast<std::size_t>(type)];
}

std::int64_t Array::count() const {
  std::int64_t n = 1;
  for (const std::int64_t size : shape)
    n *= size;
  return n;
}

void Array::read(std::int64_t first, std::int64_t n, double mean, double deviation,
                 float* out) const {
  with_type(type, [&](auto kind) {
    using T = decltype(kind);
    const std::uint8_t* from = data + static_cast<std::size_t>(first) * sizeof(T);
    const bool half = type == NumberType::f16;
    for (std::int64_t i = 0; i < n; ++i, from += sizeof(T)) {
      const T raw = load<T>(from);
      double x = static_cast<double>(raw);
      if constexpr (std::is_same_v<T, std::uint16_t>)
        if (half) x = half_value(raw);
      out[i] = static_cast<float>((x - mean) / deviation);
    }
  });
}

std::int64_t Array::integer(std::int64_t at) const {
  std::int64_t value = 0;
  with_type(type, [&](auto kind) {
    using T = decltype(kind);
    if constexpr (std::is_integral_v<T>) {
      const T raw = load<T>(data + static_cast<std::size_t>(at) * sizeof(T));
      constexpr auto most = std::numeric_limits<std::int64_t>::max();
      if constexpr (std::is_same_v<T, std::uint64_t>)
        value = static_cast<std::int64_t>(std::min<T>(raw, most));
      else
        value = static_cast<std::int64_t>(raw);
    }
  });
  return value;
}

Array read_array(const std::string& where,
                 const std::function<std::filesystem::path(const std::filesystem::path&)>& localise,
                 Extent extent) {
  const auto local = [&](const std::string& file) -> std::filesystem::path {
    return localise ? localise(file) : std::filesystem::path(file);
  };
  for (const Format& format : kFormats) {
    const std::string ending = format.ending;
    if (!format.named) {
      if (where.ends_with(ending)) return format.read(local(where), "", extent);
      continue;
    }
    if (const std::size_t at = where.find(ending + ":"); at != std::string::npos)
      return format.read(local(where.substr(0, at + ending.size())),
                         where.substr(at + ending.size() + 1), extent);
    if (where.ends_with(ending))
      throw std::invalid_argument("\"" + where + "\" may hold several arrays; say which one: \"" +
                                  where + ":NAME\"");
  }
  throw std::invalid_argument("\"" + where +
                              "\" is no array file; expected FILE.npy, FILE.npz:NAME or "
                              "FILE.h5:NAME");
}

std::vector<Array> array_headers(const std::filesystem::path& file) {
  const auto ending = [&](const Format& format) { return file.string().ends_with(format.ending); };
  const auto format = std::find_if(std::begin(kFormats), std::end(kFormats), ending);
  if (format == std::end(kFormats))
    throw std::invalid_argument(file.string() + " is no array file; expected .npy, .npz or .h5");
  std::vector<Array> arrays;
  for (const std::string& name : format->named ? format->names(file) : std::vector{std::string()}) {
    try {
      arrays.push_back(format->read(file, name, Extent::header));
      arrays.back().name = name;
    } catch (const DataError&) {
      if (!format->named) throw;  // one of several: texts, say, or a single number
    }
  }
  return arrays;
}

}  // namespace thalweg::engine
