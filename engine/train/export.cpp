// A format is a row: its ending and a function. Both formats here are short enough to write by
// hand: safetensors is a JSON header before the numbers, npz is a ZIP archive (PKWARE's
// APPNOTE.TXT) of NPY files, stored without compression since weights do not become smaller.
#include "engine/train/export.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/file.h"
#include "engine/data/array.h"
#include "engine/device/input_shape.h"
#include "engine/device/layer.h"
#include "engine/layers/onnx.h"
#include "engine/nn/graph.h"
#include "engine/train/checkpoint.h"
#include "engine/train/libraries.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they are");

std::size_t bytes_of(const NamedTensor& tensor) {
  return tensor.values.size() * sizeof(float);
}

template <class T>
void append(std::string& to, T number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  to.append(bytes, sizeof number);
}

/// github.com/huggingface/safetensors: the header's length, the header (padded with spaces to a
/// multiple of 8), the numbers.
void write_safetensors(AtomicFile& file, const std::vector<NamedTensor>& tensors) {
  jobspec::Map header{{"__metadata__", jobspec::Map{{"format", "pt"}}}};
  std::int64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    const auto end = offset + static_cast<std::int64_t>(bytes_of(tensor));
    header.emplace_back(
        tensor.name,
        jobspec::Map{{"dtype", "F32"},
                     {"shape", jobspec::List(tensor.shape.begin(), tensor.shape.end())},
                     {"data_offsets", jobspec::List{offset, end}}});
    offset = end;
  }
  std::string text = jobspec::Value(std::move(header)).to_json();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length;
  append(length, static_cast<std::uint64_t>(text.size()));
  file.write(length.data(), length.size());
  file.write(text.data(), text.size());
  for (const NamedTensor& tensor : tensors)
    file.write(tensor.values.data(), bytes_of(tensor));
}

/// What a member's local header and its place in the directory share; sizes stand in the ZIP64
/// field, as numpy writes them.
std::string zip_entry(const std::string& name, std::uint32_t checksum, bool in_directory,
                      std::uint16_t extra_bytes) {
  constexpr std::uint16_t kVersion = 45, kStored = 0, kNoTime = 0, kFirstDay = 0x21;
  constexpr std::uint32_t kSee64 = 0xffffffff;
  std::string entry;
  append(entry, std::uint32_t{in_directory ? 0x02014b50U : 0x04034b50U});
  if (in_directory) append(entry, kVersion);
  for (const std::uint16_t field : {kVersion, std::uint16_t{0}, kStored, kNoTime, kFirstDay})
    append(entry, field);
  append(entry, checksum);
  append(entry, kSee64);
  append(entry, kSee64);
  append(entry, static_cast<std::uint16_t>(name.size()));
  append(entry, extra_bytes);
  return entry;
}

void write_npz(AtomicFile& file, const std::vector<NamedTensor>& tensors) {
  constexpr std::uint16_t kZip64 = 1;
  std::string directory;
  std::uint64_t at = 0;
  const auto put = [&](const void* data, std::size_t bytes) {
    file.write(data, bytes);
    at += bytes;
  };
  for (const NamedTensor& tensor : tensors) {
    const std::string name = tensor.name + ".npy", header = npy_header("<f4", tensor.shape);
    const std::uint64_t size = header.size() + bytes_of(tensor), start = at;
    uLong sum = crc32_z(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
    if (!tensor.values.empty())
      sum = crc32_z(sum, reinterpret_cast<const Bytef*>(tensor.values.data()), bytes_of(tensor));
    const auto checksum = static_cast<std::uint32_t>(sum);
    std::string extra;  // the sizes twice: nothing is compressed
    append(extra, kZip64);
    append(extra, std::uint16_t{16});
    append(extra, size);
    append(extra, size);
    const std::string local =
        zip_entry(name, checksum, false, static_cast<std::uint16_t>(extra.size())) + name + extra;
    put(local.data(), local.size());
    put(header.data(), header.size());
    put(tensor.values.data(), bytes_of(tensor));
    extra.clear();
    append(extra, kZip64);
    append(extra, std::uint16_t{24});
    for (const std::uint64_t number : {size, size, start})
      append(extra, number);
    directory += zip_entry(name, checksum, true, static_cast<std::uint16_t>(extra.size()));
    for (int i = 0; i < 3; ++i)  // no comment, first disk, no attributes of text
      append(directory, std::uint16_t{0});
    append(directory, std::uint32_t{0600U << 16});
    append(directory, std::uint32_t{0xffffffff});
    directory += name + extra;
  }
  const std::uint64_t directory_at = at, count = tensors.size();
  std::string end;
  append(end, std::uint32_t{0x06064b50});  // ZIP64's end of the directory
  append(end, std::uint64_t{44});
  append(end, std::uint16_t{45});
  append(end, std::uint16_t{45});
  append(end, std::uint64_t{0});  // both disks
  for (const std::uint64_t number : {count, count, std::uint64_t{directory.size()}, directory_at})
    append(end, number);
  append(end, std::uint32_t{0x07064b50});  // where that stands
  append(end, std::uint32_t{0});
  append(end, directory_at + directory.size());
  append(end, std::uint32_t{1});
  append(end, std::uint32_t{0x06054b50});  // the end that all programs look for
  append(end, std::uint32_t{0});
  for (int i = 0; i < 2; ++i)
    append(end, std::uint16_t{0xffff});
  for (int i = 0; i < 2; ++i)
    append(end, std::uint32_t{0xffffffff});
  append(end, std::uint16_t{0});
  put(directory.data(), directory.size());
  put(end.data(), end.size());
}

struct Format {
  const char* ending;
  void (*write)(AtomicFile& file, const std::vector<NamedTensor>& tensors);
};
constexpr Format kFormats[] = {{".npz", write_npz}, {".safetensors", write_safetensors}};

std::vector<NamedTensor> tensors_of(Restored& restored) {
  std::vector<float> plain(static_cast<std::size_t>(restored.model->parameter_count()));
  restored.model->to_plain(restored.weights(), plain.data());
  const Graph graph = restored.factory.graph(input_shape(*restored.dataset));
  std::vector<NamedTensor> tensors;
  for (const WeightName& w : weight_names(graph)) {
    const std::vector<float>& all = w.statistic ? restored.running : plain;
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(w.offset);
    tensors.push_back({w.name, w.shape, {begin, begin + elements(w.shape)}});
  }
  return tensors;
}

/// The whole model, not its weights alone.
constexpr const char* kOnnx = ".onnx";

void write_model(const std::filesystem::path& file, const Restored& restored,
                 const std::vector<NamedTensor>& tensors) {
  std::vector<onnx::Weight> weights;
  for (const NamedTensor& t : tensors)
    weights.push_back({t.name, t.shape, t.values.data()});
  const Graph graph = restored.factory.graph(input_shape(*restored.dataset));
  AtomicFile aside(file);
  aside.write(onnx::write_model(graph, weights, engine_version()));
  aside.commit();
}

}  // namespace

std::vector<std::string> export_endings() {
  std::vector<std::string> endings;
  for (const Format& format : kFormats)
    endings.emplace_back(format.ending);
  endings.emplace_back(kOnnx);
  return endings;
}

void write_tensors(const std::filesystem::path& file, const std::vector<NamedTensor>& tensors) {
  std::string known;
  for (const Format& format : kFormats) {
    known += std::string(known.empty() ? "" : " or ") + format.ending;
    if (file.extension() != format.ending) continue;
    AtomicFile aside(file);
    format.write(aside, tensors);
    aside.commit();
    return;
  }
  throw std::invalid_argument("cannot export to " + file.string() +
                              ": the name says the format; use one that ends with " + known +
                              " or " + kOnnx);
}

std::string export_trial(const std::filesystem::path& trial_file, const WhichCheckpoint& which,
                         const std::filesystem::path& file) {
  const auto endings = export_endings();
  if (std::find(endings.begin(), endings.end(), file.extension().string()) == endings.end())
    write_tensors(file, {});  // says so before anything is loaded
  Restored restored(trial_file, which);
  const std::vector<NamedTensor> tensors = tensors_of(restored);
  if (file.extension() == kOnnx)
    write_model(file, restored, tensors);
  else
    write_tensors(file, tensors);
  return file.string() + ": " + std::to_string(tensors.size()) + " arrays, " +
         std::to_string(restored.model->parameter_count()) + " parameters, of step " +
         std::to_string(restored.step) + " (" + restored.file.string() + ")\n";
}

}  // namespace thalweg::engine
