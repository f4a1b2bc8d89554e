#include "db/chunk.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "db/store.h"

namespace thalweg::db {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
void put(std::string& text, T number) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  text.append(buffer, end);
}

void put_value(std::string& text, double value) {
  if (std::isnan(value)) {
    text += "null";
  } else if (std::isinf(value)) {
    text += value > 0 ? "9e999" : "-9e999";
  } else {
    put(text, value);
  }
}

class Reader {
 public:
  explicit Reader(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  bool done() const { return at_ == end_; }
  bool take(char wanted) {
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }
  void need(char wanted) {
    if (!take(wanted)) bad();
  }
  std::int64_t integer() {
    std::int64_t number = 0;
    const auto [next, code] = std::from_chars(at_, end_, number);
    if (code != std::errc{}) bad();
    at_ = next;
    return number;
  }
  double value() {
    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with("null")) {
      at_ += 4;
      return kNan;
    }
    if (done()) bad();
    double number = 0;
    const bool negative = *at_ == '-';
    const auto [next, code] = std::from_chars(at_, end_, number);
    if (code == std::errc::result_out_of_range) number = negative ? -kInfinity : kInfinity;
    if (code == std::errc::invalid_argument) bad();
    at_ = next;
    return number;
  }
  [[noreturn]] static void bad() { throw Error("a metric chunk holds text that is no chunk"); }

 private:
  const char* at_;
  const char* end_;
};

}  // namespace

Chunk::Chunk() : min(kNan), max(kNan) {}

void Chunk::append(const ChunkPoint& point) {
  const auto [step, value, time] = point;
  data.pop_back();
  if (points > 0) data += ',';
  data += '[';
  put(data, step);
  data += ',';
  put_value(data, value);
  data += ',';
  put(data, time);
  data += "]]";
  if (points == 0) first_step = step;
  last_step = step;
  if (std::isfinite(value)) {     // an infinity is no best value
    min = std::fmin(min, value);  // passes over NaN
    max = std::fmax(max, value);
  }
  ++points;
}

void Chunk::append(const Chunk& later) {
  if (later.points == 0) return;
  if (points == 0) {
    const std::int64_t own = number;
    *this = later;
    number = own;
    return;
  }
  data.back() = ',';
  data.append(later.data, 1);
  last_step = later.last_step;
  min = std::fmin(min, later.min);
  max = std::fmax(max, later.max);
  points += later.points;
}

void read_points(
    std::string_view data,
    const std::function<void(std::int64_t step, double value, std::int64_t time)>& each) {
  Reader reader(data);
  reader.need('[');
  if (reader.take(']')) return;
  do {
    reader.need('[');
    const std::int64_t step = reader.integer();
    reader.need(',');
    const double value = reader.value();
    reader.need(',');
    const std::int64_t time = reader.integer();
    reader.need(']');
    each(step, value, time);
  } while (reader.take(','));
  reader.need(']');
  if (!reader.done()) Reader::bad();
}

}  // namespace thalweg::db
