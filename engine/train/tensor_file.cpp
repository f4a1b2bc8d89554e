// The other direction of export.cpp. NPZ is read as data sets are (engine/data); safetensors is a
// length, a JSON header and the numbers.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "engine/data/array.h"
#include "engine/train/init_from.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;  // as the safetensors library has it

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& reason) {
  throw std::runtime_error(file.string() + ": " + reason);
}

}  // namespace

TensorFile::TensorFile(const std::filesystem::path& file) : file_(file) {
  if (file.extension() == ".npz")
    names_ = npz_names(file);
  else if (file.extension() == ".safetensors")
    read_header();
  else if (!std::filesystem::exists(file))
    throw std::system_error(ENOENT, std::generic_category(), file.string());
  else
    throw std::invalid_argument(
        file.string() +
        ": the name says the format; use a folder of checkpoints, or a file "
        "that ends with .ckpt, .npz or .safetensors");
}

void TensorFile::read_header() {
  std::ifstream in(file_, std::ios::binary | std::ios::ate);
  if (!in) throw std::system_error(errno, std::generic_category(), file_.string());
  const auto size = static_cast<std::uint64_t>(in.tellg());
  std::uint64_t length = 0;
  in.seekg(0);
  if (!in.read(reinterpret_cast<char*>(&length), sizeof length) || length > kMaxHeader ||
      length > size - sizeof length)
    fail(file_, "not a safetensors file");
  std::string text(length, ' ');
  if (!in.read(text.data(), static_cast<std::streamsize>(length))) fail(file_, "it ends too early");
  try {
    const std::uint64_t start = sizeof length + length;
    const jobspec::Value header = jobspec::read_yaml(text, file_.string());
    for (const auto& [name, about] : header.as_map()) {
      if (name == "__metadata__") continue;
      Span span;
      for (const jobspec::Value& n : about.find("shape")->as_list())
        span.shape.push_back(n.as_int());
      span.type = about.find("dtype")->as_string();
      const jobspec::List& offsets = about.find("data_offsets")->as_list();
      span.begin = start + static_cast<std::uint64_t>(offsets.at(0).as_int());
      span.end = start + static_cast<std::uint64_t>(offsets.at(1).as_int());
      if (span.begin > span.end || span.end > size) fail(file_, name + " is outside the file");
      names_.push_back(name);
      spans_.push_back(std::move(span));
    }
  } catch (const std::exception& e) {
    fail(file_, std::string("its header cannot be read: ") + e.what());
  }
}

NamedTensor TensorFile::read(const std::string& name) const {
  NamedTensor tensor{name, {}, {}};
  if (spans_.empty()) {
    const Array array = read_npz(file_, name, Extent::all);
    if (is_integer(array.type)) fail(file_, name + " holds whole numbers, weights are expected");
    tensor.shape = array.shape;
    tensor.values.resize(static_cast<std::size_t>(array.count()));
    array.read(0, array.count(), 0, 1, tensor.values.data());
    return tensor;
  }
  const auto at = std::find(names_.begin(), names_.end(), name) - names_.begin();
  const Span& span = spans_.at(static_cast<std::size_t>(at));
  if (span.type != "F32") fail(file_, name + " is of type " + span.type + ", F32 is expected");
  tensor.shape = span.shape;
  const auto count = static_cast<std::uint64_t>(elements(span.shape));
  if (count > (span.end - span.begin) / sizeof(float) ||
      count * sizeof(float) != span.end - span.begin)
    fail(file_, name + " has not the size of its shape");
  tensor.values.resize(count);
  std::ifstream in(file_, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(span.begin));
  if (!in.read(reinterpret_cast<char*>(tensor.values.data()),
               static_cast<std::streamsize>(count * sizeof(float))))
    fail(file_, "it ends too early");
  return tensor;
}

}  // namespace thalweg::engine
