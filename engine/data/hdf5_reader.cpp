// thalweg-hdf5-reader: reads one data set of an HDF5 file for a program of Thalweg, which starts
// it. libhdf5 crashes on some damaged files (1.10.8: compressed ones), and it and the 40 libraries
// that it needs are 7 MiB that most trainings have no use for: hence a program of its own.
//
//   thalweg-hdf5-reader FILE DATASET all|header
//   thalweg-hdf5-reader FILE "" names
//
// Standard input is a file in memory, which gets the numbers where they are not as they stand in
// FILE; standard output gets "=TYPE OFFSET SIZE SIZE ...", or "=" and a name a line, or "!" and
// what is wrong.
#include <hdf5.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "engine/data/array.h"
#include "engine/data/dataset.h"

namespace thalweg::engine {
namespace {

/// One HDF5 identifier.
class Id {
 public:
  Id(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;
  ~Id() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

herr_t keep_first(unsigned n, const H5E_error2_t* error, void* text) {
  if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

/// The innermost reason of the last failure.
std::string last_error() {
  std::string text = "unknown reason";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  return text;
}

NumberType number_type(hid_t type, const std::filesystem::path& file, const std::string& name) {
  const H5T_class_t kind = H5Tget_class(type);
  const std::size_t size = H5Tget_size(type);
  if (kind == H5T_INTEGER) {
    const bool sign = H5Tget_sign(type) == H5T_SGN_2;
    if (size == 1) return sign ? NumberType::i8 : NumberType::u8;
    if (size == 2) return sign ? NumberType::i16 : NumberType::u16;
    if (size == 4) return sign ? NumberType::i32 : NumberType::u32;
    if (size == 8) return sign ? NumberType::i64 : NumberType::u64;
  }
  // Half precision has no native type in the library: it converts to float.
  if (kind == H5T_FLOAT && size <= 4) return NumberType::f32;
  if (kind == H5T_FLOAT && size == 8) return NumberType::f64;
  throw DataError(file, DataError::kNoOffset,
                  "data set " + name + " holds neither integers nor real numbers");
}

hid_t native(NumberType type) {
  switch (type) {
    case NumberType::u8:
      return H5T_NATIVE_UINT8;
    case NumberType::i8:
      return H5T_NATIVE_INT8;
    case NumberType::u16:
      return H5T_NATIVE_UINT16;
    case NumberType::i16:
      return H5T_NATIVE_INT16;
    case NumberType::u32:
      return H5T_NATIVE_UINT32;
    case NumberType::i32:
      return H5T_NATIVE_INT32;
    case NumberType::u64:
      return H5T_NATIVE_UINT64;
    case NumberType::i64:
      return H5T_NATIVE_INT64;
    case NumberType::f64:
      return H5T_NATIVE_DOUBLE;
    case NumberType::f16:
    case NumberType::f32:
      break;
  }
  return H5T_NATIVE_FLOAT;
}

std::vector<std::int64_t> shape_of(hid_t space, const std::filesystem::path& file,
                                   const std::string& name) {
  const auto fail = [&](const std::string& reason) {
    throw DataError(file, DataError::kNoOffset, "data set " + name + ": " + reason);
  };
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 1) fail("a single value, expected an array");
  std::vector<hsize_t> sizes(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
  std::vector<std::int64_t> shape;
  std::uint64_t total = 1;
  for (const hsize_t size : sizes) {
    if (size == 0) fail("a dimension has size 0");
    if (total > (std::uint64_t{1} << 44) / size) fail("the dimensions have an impossible size");
    total *= size;
    shape.push_back(static_cast<std::int64_t>(size));
  }
  return shape;
}

/// The paths of the data sets in a file: "x", "group/y".
std::vector<std::string> data_sets_of(hid_t file) {
  std::vector<std::string> names;
  const auto add = [](hid_t object, const char* name, const H5L_info_t*, void* list) -> herr_t {
    constexpr std::size_t kMaxListed = 1000;
    auto& all = *static_cast<std::vector<std::string>*>(list);
    const Id set(H5Dopen2(object, name, H5P_DEFAULT), H5Dclose);
    if (set >= 0) all.emplace_back(name);  // else a group
    return all.size() < kMaxListed ? 0 : 1;
  };
  H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, add, &names);
  return names;
}

/// As many of them as fit into a message.
std::string names_in(hid_t file) {
  constexpr std::size_t kMaxListed = 300;
  std::string text;
  for (const std::string& name : data_sets_of(file)) {
    const bool fits = text.size() <= kMaxListed;
    text += (text.empty() ? "" : ", ") + (fits ? name : "...");
    if (!fits) break;
  }
  return text.empty() ? "none" : text;
}

/// The file, open; throws DataError where it is none of HDF5.
hid_t open_file(const std::filesystem::path& file) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // we tell it ourselves
  if (H5Fis_hdf5(file.c_str()) == 0) throw DataError(file, 0, "not an HDF5 file");
  const hid_t opened = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (opened < 0) throw DataError(file, DataError::kNoOffset, "damaged HDF5 file: " + last_error());
  return opened;
}

/// The data set without its numbers; `memory` holds them unless the array has an offset.
Array read_into(int memory, const std::filesystem::path& file, const std::string& name,
                Extent extent) {
  const auto fail = [&](std::int64_t offset, const std::string& reason) {
    throw DataError(file, offset, reason);
  };
  const Id opened(open_file(file), H5Fclose);
  const Id set(H5Dopen2(opened, name.c_str(), H5P_DEFAULT), H5Dclose);
  if (set < 0)
    fail(DataError::kNoOffset, "no data set " + name + "; there are: " + names_in(opened));
  const Id type(H5Dget_type(set), H5Tclose), space(H5Dget_space(set), H5Sclose);
  Array array;
  array.type = number_type(type, file, name);
  array.shape = shape_of(space, file, name);
  const haddr_t at = H5Dget_offset(set);
  if (at != HADDR_UNDEF && H5Tequal(type, native(array.type)) > 0) {
    array.offset = static_cast<std::int64_t>(std::min<haddr_t>(at, INT64_MAX));
    return array;
  }
  if (extent == Extent::header) return array;
  const auto bytes = static_cast<std::uint64_t>(array.count()) * bytes_of(array.type);
  // No filter packs more than that; a header alone must not ask for terabytes.
  constexpr std::uint64_t kMaxGrowth = 1100, kSmall = 1 << 20;
  if (bytes > kSmall && bytes / kMaxGrowth > H5Dget_storage_size(set))
    fail(DataError::kNoOffset, "data set " + name + " has an impossible size");
  if (ftruncate(memory, static_cast<off_t>(bytes)) != 0) throw std::bad_alloc();
  void* const numbers = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (numbers == MAP_FAILED) throw std::bad_alloc();
  if (H5Dread(set, native(array.type), H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) < 0)
    fail(DataError::kNoOffset, "data set " + name + " cannot be read: " + last_error());
  return array;
}

std::string answer(const std::filesystem::path& file, const std::string& name,
                   const std::string& what) {
  try {
    if (what == "names") {
      const Id opened(open_file(file), H5Fclose);
      std::string text = "=";
      for (const std::string& set : data_sets_of(opened))
        text += set + "\n";
      return text;
    }
    const Extent extent = what == "all" ? Extent::all : Extent::header;
    const Array array = read_into(STDIN_FILENO, file, name, extent);
    std::string text =
        "=" + std::to_string(static_cast<int>(array.type)) + " " + std::to_string(array.offset);
    for (const std::int64_t size : array.shape)
      text += " " + std::to_string(size);
    return text;
  } catch (const std::bad_alloc&) {
    return "!" + file.string() + ": data set " + name + " does not fit into memory";
  } catch (const std::exception& e) {
    return std::string("!") + e.what();
  }
}

}  // namespace
}  // namespace thalweg::engine

int main(int count, char** arguments) {
  const std::string what = count == 4 ? arguments[3] : "";
  if (what != "all" && what != "header" && what != "names") {
    std::fputs("thalweg-hdf5-reader is started by programs of Thalweg that read HDF5 files\n",
               stderr);
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  using namespace thalweg::engine;
  const std::string text = answer(arguments[1], arguments[2], what);
  const auto written = write(STDOUT_FILENO, text.data(), text.size());
  // Not through the exit handlers: the library may crash there on what was damaged.
  _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
}
