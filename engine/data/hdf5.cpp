// HDF5 data sets. Where the numbers stand contiguous and uncompressed in the file, they are mapped;
// otherwise thalweg-hdf5-reader, which also says what is in the file, leaves them in memory that
// both have: what libhdf5 costs and where it crashes is its own affair.
#include <sys/mman.h>

#include <cerrno>
#include <sstream>
#include <system_error>

#include "base/file.h"
#include "base/process.h"
#include "engine/data/array.h"
#include "engine/data/dataset.h"
#include "engine/data/mapped_file.h"

namespace thalweg::engine {
namespace {

constexpr const char* kReader = "libexec/thalweg/thalweg-hdf5-reader";
/// Seconds: large compressed data sets take as long as they take.
constexpr double kNoLimit = 1e6;

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

ProgramOutput ask(int memory, const std::filesystem::path& file, const std::string& name,
                  const char* what) {
  const std::filesystem::path program = find_in_prefix(kReader);
  if (program.empty())
    throw DataError(file, DataError::kNoOffset,
                    std::string("an HDF5 file, and there is no ") + kReader +
                        " beside the folder of this program: install all of Thalweg's engine");
  return run_program({program, file, name, what}, kNoLimit, {}, memory);
}

/// The reader's answer, without its "=".
std::string checked(const ProgramOutput& told, const std::filesystem::path& file,
                    const std::string& where) {
  if (told.code != 0 || told.out.empty())
    throw DataError(file, DataError::kNoOffset,
                    "damaged HDF5 file: the library crashed" + where +
                        (told.err.empty() ? "" : ": " + told.err));
  if (told.out.front() == '!') throw DataError(told.out.substr(1));
  return told.out.substr(1);
}

}  // namespace

std::vector<std::string> hdf5_names(const std::filesystem::path& file) {
  const MappedFile there(file);  // says what is wrong with the path
  std::istringstream in(checked(ask(-1, file, "", "names"), file, ""));
  std::vector<std::string> names;
  for (std::string name; std::getline(in, name);)
    names.push_back(name);
  return names;
}

Array read_hdf5(const std::filesystem::path& file, const std::string& name, Extent extent) {
  const auto mapped = std::make_shared<const MappedFile>(file);  // says what is wrong with the path
  const Descriptor memory(memfd_create("hdf5", MFD_CLOEXEC));
  if (!memory) throw std::system_error(errno, std::generic_category(), "reading HDF5");
  const ProgramOutput told =
      ask(memory.get(), file, name, extent == Extent::all ? "all" : "header");
  std::istringstream in(checked(told, file, " on data set " + name));
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
