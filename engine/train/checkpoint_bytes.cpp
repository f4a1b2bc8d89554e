// The checksum is looked at before anything is believed.
#include "engine/train/checkpoint_bytes.h"

#include <bit>
#include <stdexcept>

namespace thalweg::engine {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they are");

constexpr std::string_view kMagic = "THALWEG\n";
constexpr std::size_t kFixedBytes = kMagic.size() + 2 * sizeof(std::uint32_t);
constexpr std::int64_t kMaxRanks = 65536;

}  // namespace

CheckpointWriter::CheckpointWriter(const std::filesystem::path& file, std::uint32_t format,
                                   const jobspec::Value& header)
    : file_(file) {
  const std::string text = header.to_json();
  const auto length = static_cast<std::uint32_t>(text.size());
  put(kMagic.data(), kMagic.size());
  put(&format, sizeof format);
  put(&length, sizeof length);
  put(text.data(), text.size());
}

void CheckpointWriter::put(const void* data, std::size_t bytes) {
  if (bytes == 0) return;  // an empty vector has no address, and for zlib that means "begin anew"
  file_.write(data, bytes);
  sum_ = crc32_z(sum_, static_cast<const Bytef*>(data), bytes);
  bytes_ += static_cast<std::int64_t>(bytes);
}

FileSeal CheckpointWriter::finish() {
  const auto sum = static_cast<std::uint32_t>(sum_);
  file_.write(&sum, sizeof sum);
  file_.commit();
  return {bytes_ + static_cast<std::int64_t>(sizeof sum), sum};
}

CheckpointReader::CheckpointReader(const std::filesystem::path& file)
    : file_(file), bytes_(read_file(file)), rest_(bytes_) {
  if (bytes_.size() < kFixedBytes + sizeof sum_) fail("the file ends too early");
  if (take(kMagic.size()) != kMagic) fail("not a checkpoint");
  const std::uint32_t format = take_number();
  if (format != Checkpoint::format && format != Checkpoint::sliced_format)
    fail("format " + std::to_string(format) + ", this program reads formats " +
         std::to_string(Checkpoint::format) + " and " + std::to_string(Checkpoint::sliced_format));
  const std::size_t body = bytes_.size() - sizeof sum_;
  std::memcpy(&sum_, bytes_.data() + body, sizeof sum_);
  if (crc32_z(0, reinterpret_cast<const Bytef*>(bytes_.data()), body) != sum_)
    fail("the checksum is wrong");
  rest_.remove_suffix(sizeof sum_);
}

void CheckpointReader::fail(const std::string& reason) const {
  throw BadCheckpoint(file_.string() + ": " + reason);
}

std::string_view CheckpointReader::take(std::size_t bytes) {
  if (bytes > rest_.size()) fail("the file ends too early");
  const std::string_view part = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return part;
}

std::uint32_t CheckpointReader::take_number() {
  std::uint32_t n = 0;
  std::memcpy(&n, take(sizeof n).data(), sizeof n);
  return n;
}

jobspec::Value CheckpointReader::take_header() {
  return jobspec::read_yaml(take(take_number()), file_.string());
}

const jobspec::Value& member_of(const jobspec::Value& header, const char* name) {
  if (const jobspec::Value* found = header.find(name)) return *found;
  throw std::runtime_error(std::string(name) + " is missing");
}

std::int64_t whole_number(const jobspec::Value& header, const char* name, std::int64_t least,
                          std::int64_t most) {
  const std::int64_t number = member_of(header, name).as_int();
  if (number >= least && number <= most) return number;
  throw std::runtime_error(std::string(name) + " is " + std::to_string(number) + ", expected " +
                           std::to_string(least) + " to " + std::to_string(most));
}

int small_number(const jobspec::Value& header, const char* name, int least) {
  return static_cast<int>(whole_number(header, name, least, kMaxRanks));
}

jobspec::Map part_header(const CheckpointPart& part) {
  const bool floats = !part.floats.empty();
  const std::size_t ranks = floats ? part.floats.size() : part.doubles.size();
  const std::size_t count = floats ? part.floats[0].size() : part.doubles.at(0).size();
  return {{"name", part.name},
          {"type", floats ? "f32" : "f64"},
          {"ranks", static_cast<std::int64_t>(ranks)},
          {"count", static_cast<std::int64_t>(count)}};
}

void put_part(CheckpointWriter& writer, const CheckpointPart& part) {
  for (const std::vector<float>& rank : part.floats)
    writer.put_numbers(rank);
  for (const std::vector<double>& rank : part.doubles)
    writer.put_numbers(rank);
}

CheckpointPart take_part(CheckpointReader& reader, const jobspec::Value& header) {
  CheckpointPart part;
  part.name = member_of(header, "name").as_string();
  const bool floats = member_of(header, "type").as_string() == "f32";
  const std::int64_t count = member_of(header, "count").as_int();
  for (int i = small_number(header, "ranks", 0); i > 0; --i) {
    if (floats)
      part.floats.push_back(reader.take_numbers<float>(count));
    else
      part.doubles.push_back(reader.take_numbers<double>(count));
  }
  return part;
}

}  // namespace thalweg::engine
