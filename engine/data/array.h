// Arrays of numbers in files: NPY, NPZ and HDF5 behind one door.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::engine {

enum class NumberType { u8, i8, u16, i16, u32, i32, u64, i64, f16, f32, f64 };
std::size_t bytes_of(NumberType type);
bool is_integer(NumberType type);
/// As NumPy calls it: "float32".
std::string_view name_of(NumberType type);

/// Row-major, little-endian; immutable.
struct Array {
  std::vector<std::int64_t> shape;  ///< at least one dimension, all sizes above 0
  NumberType type = NumberType::f32;
  const std::uint8_t* data = nullptr;
  std::shared_ptr<const void> owner;  ///< of the data: a mapped file or memory
  std::string name;                   ///< "FILE" or "FILE:NAME", for messages
  std::int64_t offset = -1;           ///< of the data in the file; -1 = not as they stand there

  std::int64_t count() const;  ///< of all numbers
  /// Numbers [first, first + n) as floats, (x - mean) / deviation in double.
  void read(std::int64_t first, std::int64_t n, double mean, double deviation, float* out) const;
  /// One number of an integer array; above 2^63 - 1 as 2^63 - 1.
  std::int64_t integer(std::int64_t at) const;
};

/// How much of an array is wanted.
enum class Extent {
  all,
  header  ///< type and shape: `data` may be null, what it points to is not checked
};

/// `where` is "x.npy", "data.npz:name" or "data.h5:path/name" (.hdf5 too). Throws DataError on a
/// missing or broken file, std::invalid_argument where `where` is none of these.
/// `localise` (may be empty) says which file to read instead of one.
Array read_array(
    const std::string& where,
    const std::function<std::filesystem::path(const std::filesystem::path&)>& localise = {},
    Extent extent = Extent::all);

/// Of every array in an NPY, NPZ or HDF5 file; `name` is the array's own, empty of an NPY file.
/// What holds no numbers is left out. Throws as read_array.
std::vector<Array> array_headers(const std::filesystem::path& file);

// The formats, one file each.
Array read_npy(const std::filesystem::path& file, const std::string& name, Extent extent);
Array read_npz(const std::filesystem::path& file, const std::string& name, Extent extent);
/// Of the arrays in it, without ".npy". Throws DataError.
std::vector<std::string> npz_names(const std::filesystem::path& file);
/// The paths of the data sets in it. Throws DataError.
std::vector<std::string> hdf5_names(const std::filesystem::path& file);
Array read_hdf5(const std::filesystem::path& file, const std::string& name, Extent extent);

/// What stands before an NPY file's numbers (version 1.0), row-major. `type` as numpy.dtype.str:
/// "<f4".
std::string npy_header(std::string_view type, const std::vector<std::int64_t>& shape);

/// An NPY file as bytes, whatever it stood in: `offset` is that of its first byte in the file (for
/// messages), or none where it was unpacked. Of `size` bytes only the first `known` need be in
/// memory; where these are not all, the array has no data.
Array parse_npy(const std::filesystem::path& file, const std::string& name,
                const std::uint8_t* bytes, std::size_t size, std::optional<std::int64_t> offset,
                std::shared_ptr<const void> owner, std::optional<std::size_t> known = {});

}  // namespace thalweg::engine
