// bench_predict [json=FILE] [detail=MODEL]: what a training step of each family would take on an
// H100, from what its plan moves and multiplies; needs no GPU. To be compared with what is measured
// there one day: where a row is far off, either the code or an assumption below is wrong.
//
// An operation takes the longer of its arithmetic at the rate of its kind and its bytes (of the
// tensors that it names, each once, of a loss the outputs twice) at that of its kind, and a start
// for each of its kernels; the update moves `update_bytes` a parameter; the batch crosses the bus
// meanwhile. "from" and "to" are the same under the better and the worse assumptions.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/nn/flops.h"
#include "engine/nn/model_table.h"
#include "tests/support/counted_plan.h"
#include "tests/support/models.h"

namespace thalweg::engine::bench {
namespace {

using test::CallWork;
using test::CountedOperation;
using test::CountedPlan;

/// Of an H100 (3.35 TB/s, 989 TFLOP/s of bf16 on paper). Rates in bytes and operations a second.
struct Assumptions {
  double loops, calls;                       ///< bytes of own loops, of libraries' calls
  double products, convolutions, attention;  ///< arithmetic
  double lstm_step;                          ///< seconds; twice that backward
  double start;                              ///< of a kernel that does nothing else, seconds
  double bus;
};
constexpr Assumptions middle{2.15e12, 2.5e12, 560e12, 450e12, 350e12, 5.0e-6, 2.4e-6, 50e9};
constexpr Assumptions better{2.3e12, 2.7e12, 650e12, 560e12, 420e12, 4.0e-6, 1.8e-6, 55e9};
constexpr Assumptions worse{2.0e12, 2.3e12, 480e12, 350e12, 280e12, 6.5e-6, 3.0e-6, 40e9};

// Momentum's one pass by the code (optim/fused.h): gradient, velocity and parameter read (12), the
// last two written (8), the bf16 copy too (2). Beside it the sums of squares are joined, running
// statistics blended, the loss made a float, a number zeroed, two reports copied
// (sync/device/gpu/step.cpp, shards.cpp).
constexpr double update_bytes = 22;
constexpr int update_launches = 7;

/// What PyTorch 2.11 is guessed to take on an H100, torch.compile, bf16, ms: an estimate, as long
/// as nobody has measured it.
struct Peer {
  const char* model;
  double from, to;
};
constexpr Peer peers[] = {{"resnet50", 75, 85},  {"gpt2", 36, 39},   {"bert_large", 44, 47},
                          {"cosmoflow", 20, 30}, {"unet3d", 23, 28}, {"lstm_large", 4.5, 6},
                          {"lenet", 0.20, 0.26}, {"mlp", 0.16, 0.20}};

struct Counts {
  double loop_bytes = 0, call_bytes = 0, update = 0, bus = 0;
  int launches = 0, calls = 0;
};

/// A loss reads what the model puts out twice, and writes its gradient, which may stand in its
/// place.
double loop_bytes(const CountedPlan& counted, const CountedOperation& o) {
  if (o.pass != CountedOperation::Pass::loss || o.launches == 0) return o.bytes;
  const auto count = counted.plan.samples * elements(counted.graph.loss.output);
  double outputs = 0;
  int of_that_size = 0;
  for (const TensorId id : o.operation->tensors) {
    if (id < 0) continue;
    const cuda::Desc& desc = counted.plan.tensors[static_cast<std::size_t>(id)].desc;
    if (desc.count() != count) continue;
    outputs = std::max(outputs, static_cast<double>(desc.bytes()));
    ++of_that_size;
  }
  return o.bytes + (of_that_size == 1 ? 2 : 1) * outputs;
}

double seconds_of(const CountedPlan& counted, const CountedOperation& o, const Assumptions& a) {
  const double starts = o.launches * a.start;
  if (o.call == nullptr) return std::max(starts, 0.4 * starts + loop_bytes(counted, o) / a.loops);
  const CallWork& work = *o.call;
  if (work.kind == CallWork::Kind::lstm)
    return static_cast<double>(work.steps) * a.lstm_step *
           (o.pass == CountedOperation::Pass::backward ? 2 : 1);
  const double rate = work.kind == CallWork::Kind::product       ? a.products
                      : work.kind == CallWork::Kind::convolution ? a.convolutions
                                                                 : a.attention;
  const double busy = std::max(work.flops / rate, o.bytes / a.calls) + work.beside / a.calls;
  return std::max(starts, 0.4 * starts + busy);
}

Counts counts_of(const CountedPlan& counted) {
  Counts c;
  for (const CountedOperation& o : counted.operations) {
    c.launches += o.launches;
    if (o.call == nullptr) {
      c.loop_bytes += loop_bytes(counted, o);
      continue;
    }
    ++c.calls;
    c.call_bytes += o.bytes;
    c.call_bytes += o.call->beside;
  }
  c.launches += update_launches;
  c.update = update_bytes * static_cast<double>(parameter_count(counted.graph));
  c.bus = 4.0 * counted.plan.samples * static_cast<double>(elements(counted.graph.input));
  return c;
}

double step_ms(const CountedPlan& counted, const Assumptions& a) {
  const Counts c = counts_of(counted);
  double seconds = c.update / a.loops + update_launches * a.start;
  for (const CountedOperation& o : counted.operations)
    seconds += seconds_of(counted, o, a);
  return 1e3 * std::max(seconds, c.bus / a.bus);
}

/// What kinds of layers take most, and what in the libraries.
void print_detail(const CountedPlan& counted) {
  struct Sum {
    double seconds = 0, bytes = 0, flops = 0;
    int launches = 0;
  };
  std::map<std::string, Sum> sums;
  for (const CountedOperation& o : counted.operations) {
    const std::string place = place_of(counted, o);
    const std::size_t first = place.find(' '), last = place.rfind(' ');
    Sum& sum = sums[place.substr(0, first) + place.substr(last) +
                    (o.call == nullptr ? ", own" : ", calls")];
    sum.seconds += seconds_of(counted, o, middle);
    sum.bytes += o.call == nullptr ? loop_bytes(counted, o) : o.bytes + o.call->beside;
    sum.flops += o.call == nullptr ? 0 : o.call->flops;
    sum.launches += o.launches;
  }
  std::vector<std::pair<std::string, Sum>> rows(sums.begin(), sums.end());
  std::sort(rows.begin(), rows.end(),
            [](const auto& x, const auto& y) { return x.second.seconds > y.second.seconds; });
  for (const auto& [name, sum] : rows)
    std::printf("  %-36s %8.3f ms %8.2f GB %9.2f TFLOP %5d launches\n", name.c_str(),
                1e3 * sum.seconds, sum.bytes * 1e-9, sum.flops * 1e-12, sum.launches);
}

std::string format(const char* pattern, auto... values) {
  char text[640];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string assumptions_as_json(const char* name, const Assumptions& a) {
  return format(
      "  \"%s\": {\"loops_tb_s\": %.2f, \"calls_tb_s\": %.2f, \"products_tflop_s\": %.0f, "
      "\"convolutions_tflop_s\": %.0f, \"attention_tflop_s\": %.0f, \"lstm_step_us\": %.1f, "
      "\"start_us\": %.1f, \"bus_gb_s\": %.0f}",
      name, a.loops * 1e-12, a.calls * 1e-12, a.products * 1e-12, a.convolutions * 1e-12,
      a.attention * 1e-12, a.lstm_step * 1e6, a.start * 1e6, a.bus * 1e-9);
}

const test::ModelCase& case_named(const std::string& name) {
  for (const auto* cases : {&test::gpu_model_cases(), &test::model_cases()})
    for (const test::ModelCase& c : *cases)
      if (c.name == name) return c;
  throw std::invalid_argument("no model " + name);
}

int run(const std::string& file, const std::string& detail) {
  std::string json =
      "{\n  \"source\": \"estimate: counted by bench_predict from the plans, for an "
      "H100 that was not at hand; PyTorch's numbers are guesses\",\n" +
      assumptions_as_json("assumed", middle) + ",\n" +
      assumptions_as_json("assumed_better", better) + ",\n" +
      assumptions_as_json("assumed_worse", worse) + ",\n" +
      format("  \"update_bytes_a_parameter\": %.0f,\n  \"models\": {\n", update_bytes);
  std::printf("%-11s %5s %8s %8s %8s %8s %6s %8s %17s %15s\n", "model", "batch", "TFLOP",
              "GB loops", "GB calls", "GB upd.", "nodes", "step ms", "better to worse",
              "PyTorch (guess)");
  for (const Peer& peer : peers) {
    const test::ModelCase& c = case_named(peer.model);
    const CountedPlan counted = test::count_plan(build_model_graph(c.model, c.data), c.batch,
                                                 CompileOptions(Precision::bf16));
    const Counts n = counts_of(counted);
    const double tflop = flops_of(counted.graph).training() * c.batch * 1e-12;
    const double ms = step_ms(counted, middle), from = step_ms(counted, better),
                 to = step_ms(counted, worse);
    std::printf("%-11s %5d %8.3f %8.2f %8.2f %8.2f %6d %8.3f %8.3f-%8.3f %7.2f-%7.2f %s\n",
                peer.model, c.batch, tflop, n.loop_bytes * 1e-9, n.call_bytes * 1e-9,
                n.update * 1e-9, n.launches, ms, from, to, peer.from, peer.to,
                ms <= peer.from ? "faster"
                : ms <= peer.to ? "as fast"
                                : "SLOWER");
    if (detail == peer.model || detail == "all") print_detail(counted);
    json += format(
        "    \"%s\": {\"batch\": %d, \"precision\": \"bf16\", \"parameters\": %.0f, \"tflop\": "
        "%.4f, "
        "\"loops_gb\": %.3f, \"calls_gb\": %.3f, \"update_gb\": %.3f, \"bus_gb\": %.4f, \"calls\": "
        "%d, \"launches\": %d, \"step_ms\": %.4f, \"step_ms_better\": %.4f, \"step_ms_worse\": "
        "%.4f, \"pytorch_ms_guess\": [%.2f, %.2f]}%s\n",
        peer.model, c.batch, static_cast<double>(parameter_count(counted.graph)), tflop,
        n.loop_bytes * 1e-9, n.call_bytes * 1e-9, n.update * 1e-9, n.bus * 1e-9, n.calls,
        n.launches, ms, from, to, peer.from, peer.to, &peer == std::end(peers) - 1 ? "" : ",");
  }
  json += "  }\n}\n";
  if (file.empty()) return 0;
  std::ofstream out(file);
  if (!(out << json << std::flush)) throw std::runtime_error("cannot write " + file);
  return 0;
}

}  // namespace
}  // namespace thalweg::engine::bench

int main(int count, char** words) {
  try {
    std::string file, detail;
    for (int i = 1; i < count; ++i) {
      const std::string word = words[i];
      if (word.rfind("json=", 0) == 0) {
        file = word.substr(5);
      } else if (word.rfind("detail=", 0) == 0) {
        detail = word.substr(7);
      } else {
        throw std::invalid_argument("unknown option " + word + ": json=FILE, detail=MODEL or all");
      }
    }
    return thalweg::engine::bench::run(file, detail);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_predict: %s\n", error.what());
    return 1;
  }
}
