// HDF5 data sets through libhdf5. Where the numbers stand contiguous and uncompressed in the
// file, they are mapped; otherwise they are read into memory. The library crashes on some damaged
// files (1.10.8: compressed ones), so it runs in a process of its own: a fork of this one that
// answers with a line of text and leaves the numbers in memory that both have.
#include <fcntl.h>
#include <hdf5.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <system_error>

#include "base/file.h"
#include "engine/data/array.h"
#include "engine/data/dataset.h"
#include "engine/data/mapped_file.h"

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

Descriptor opened(int descriptor) {
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "reading HDF5");
  return Descriptor(descriptor);
}

/// Bytes of a file in memory, shared with the other process.
class SharedMemory {
 public:
  SharedMemory(const Descriptor& file, std::uint64_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { munmap(data_, bytes_); }
  std::uint8_t* data() const { return static_cast<std::uint8_t*>(data_); }

 private:
  void* data_;
  std::uint64_t bytes_;
};

/// The paths of the data sets in a file, "x, group/y": as many as fit into a message.
std::string names_in(hid_t file) {
  std::string names;
  const auto add = [](hid_t object, const char* name, const H5L_info_t*, void* list) -> herr_t {
    constexpr std::size_t kMaxListed = 300;
    auto& text = *static_cast<std::string*>(list);
    const Id set(H5Dopen2(object, name, H5P_DEFAULT), H5Dclose);
    if (set < 0) return 0;  // a group
    text += (text.empty() ? "" : ", ") + std::string(text.size() > kMaxListed ? "..." : name);
    return text.size() > kMaxListed ? 1 : 0;
  };
  H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, add, &names);
  return names.empty() ? "none" : names;
}

/// The data set without its numbers; they are in `memory` unless the array has an offset.
Array read_into(const Descriptor& memory, const std::filesystem::path& file,
                const std::string& name, Extent extent) {
  const auto fail = [&](std::int64_t offset, const std::string& reason) {
    throw DataError(file, offset, reason);
  };
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // we tell it ourselves
  const htri_t is_hdf5 = H5Fis_hdf5(file.c_str());
  if (is_hdf5 == 0) fail(0, "not an HDF5 file");
  const Id opened(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (opened < 0) fail(DataError::kNoOffset, "damaged HDF5 file: " + last_error());
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
  if (ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) throw std::bad_alloc();
  const SharedMemory numbers(memory, bytes);
  if (H5Dread(set, native(array.type), H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()) < 0)
    fail(DataError::kNoOffset, "data set " + name + " cannot be read: " + last_error());
  return array;
}

/// In the forked process: "=TYPE OFFSET SIZE SIZE ..." or "!" and what is wrong. Does not return.
[[noreturn]] void answer(const Descriptor& memory, const Descriptor& out,
                         const std::filesystem::path& file, const std::string& name,
                         Extent extent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    signal(crash, SIG_DFL);
  std::string text;
  try {
    const Array array = read_into(memory, file, name, extent);
    text = "=" + std::to_string(static_cast<int>(array.type)) + " " + std::to_string(array.offset);
    for (const std::int64_t size : array.shape)
      text += " " + std::to_string(size);
  } catch (const std::bad_alloc&) {
    text = "!" + file.string() + ": data set " + name + " does not fit into memory";
  } catch (const std::exception& e) {
    text = std::string("!") + e.what();
  }
  const auto written = write(out.get(), text.data(), text.size());
  _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

/// What the forked process answered; empty where it crashed.
std::string ask(const Descriptor& memory, const std::filesystem::path& file,
                const std::string& name, Extent extent) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) ends[0] = ends[1] = -1;
  const Descriptor in = opened(ends[0]);
  Descriptor out = opened(ends[1]);
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "reading HDF5");
  if (child == 0) answer(memory, out, file, name, extent);
  out = Descriptor();
  std::string text;
  char chunk[512];
  for (ssize_t n; (n = read(in.get(), chunk, sizeof chunk)) > 0 || (n < 0 && errno == EINTR);)
    if (n > 0) text.append(chunk, static_cast<std::size_t>(n));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "";
}

}  // namespace

Array read_hdf5(const std::filesystem::path& file, const std::string& name, Extent extent) {
  const auto mapped = std::make_shared<const MappedFile>(file);  // says what is wrong with the path
  const Descriptor memory(memfd_create("hdf5", MFD_CLOEXEC));
  const std::string text = ask(memory, file, name, extent);
  if (text.empty())
    throw DataError(file, DataError::kNoOffset,
                    "damaged HDF5 file: the library crashed on data set " + name);
  if (text.front() == '!') throw DataError(text.substr(1));
  std::istringstream in(text.substr(1));
  Array array;
  int type = 0;
  in >> type >> array.offset;
  array.type = static_cast<NumberType>(type);
  for (std::int64_t size; in >> size;)
    array.shape.push_back(size);
  array.name = file.string() + ":" + name;
  const auto bytes = static_cast<std::uint64_t>(array.count()) * bytes_of(array.type);
  if (array.offset < 0 && extent == Extent::header) return array;
  if (array.offset < 0) {
    const auto numbers = std::make_shared<const SharedMemory>(memory, bytes);
    array.data = numbers->data();
    array.owner = numbers;
    return array;
  }
  const auto at = static_cast<std::uint64_t>(array.offset);
  if (at > mapped->bytes().size() || mapped->bytes().size() - at < bytes)
    throw DataError(file, static_cast<std::int64_t>(mapped->bytes().size()),
                    "the file ends too early: data set " + name + " needs " +
                        std::to_string(bytes) + " bytes from " + std::to_string(at));
  array.data = mapped->bytes().data() + at;
  array.owner = mapped;
  return array;
}

}  // namespace thalweg::engine
