// The engine may crash or hang over a file that only it reads, so it is asked in a process of its
// own, with a deadline, and what comes back is not trusted to be an answer. --describe goes through
// every shape in a moment, since it reads no data; where it finds nothing wrong, --check loads
// them.
#include "daemon/api/engine_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/process.h"
#include "daemon/api/messages.h"
#include "jobspec/sweep.h"

namespace thalweg::daemon::api {
namespace {

using nlohmann::json;

/// The text in a file that only we can read, gone at the end.
class TextFile {
 public:
  explicit TextFile(const std::string& text) {
    path_ = (std::filesystem::temp_directory_path() / "thalweg-check-XXXXXX").string();
    const int fd = mkostemp(path_.data(), 0);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), path_);
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = write(fd, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const int error = errno;
        close(fd);
        unlink(path_.c_str());
        throw std::system_error(error, std::generic_category(), path_);
      }
      done += static_cast<std::size_t>(n);
    }
    close(fd);
  }
  ~TextFile() { unlink(path_.c_str()); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

PlannedShape planned_shape(const json& result) {
  PlannedShape shape;
  for (const json& range : result.at("numbers"))
    shape.trials.emplace_back(range.at(0).get<std::int64_t>(), range.at(1).get<std::int64_t>());
  shape.parameters = result.value("parameters", 0.0);
  if (const auto flops = result.find("flops"); flops != result.end())
    shape.training_flops = flops->value("training", 0.0);
  shape.training_samples = result.value("training_samples", 0.0);
  shape.sample_bytes = result.value("sample_bytes", 0.0);
  shape.batch = result.value("batch", 0.0);
  shape.steps = result.value("steps", 0.0);
  shape.steps_per_epoch = result.value("steps_per_epoch", 0.0);
  shape.ranks = result.value("ranks", 1);
  const auto memory = result.find("memory");
  if (memory == result.end()) return shape;
  shape.on_gpu = memory->value("gpu_bytes_per_rank", 0.0) > 0;
  shape.memory = memory->at("by_kind").get<std::map<std::string, double>>();
  return shape;
}

EngineCheck read_answer(const json& answer) {
  EngineCheck check;
  check.mistakes = diagnostics_from({{"error", {{"diagnostics", answer.at("diagnostics")}}}});
  check.notes = answer.at("notes").get<std::vector<std::string>>();
  check.shapes = answer.at("shapes").get<std::int64_t>();
  check.checked = answer.at("checked").get<std::int64_t>();
  check.metrics = answer.at("metrics").get<std::vector<std::string>>();
  if (const auto metric = answer.find("metric"); metric != answer.end()) {
    check.metric.emplace();
    check.metric->name = metric->at("name").get<std::string>();
    check.metric->goal = metric->at("goal").get<std::string>() == "maximize"
                             ? jobspec::Goal::maximize
                             : jobspec::Goal::minimize;
  }
  for (const json& result : answer.value("results", json::array()))
    if (result.value("ok", false)) check.planned.push_back(planned_shape(result));
  return check;
}

EngineCheck no_answer(std::string why) {
  EngineCheck check;
  check.failure = std::move(why);
  return check;
}

std::string last_line(const std::string& text) {
  constexpr std::size_t most = 500;
  std::string end = text.substr(text.size() > most ? text.size() - most : 0);
  while (!end.empty() && end.back() == '\n')
    end.pop_back();
  return end;
}

/// `action`: --describe or --check.
EngineCheck ask(const CheckRequest& request, const std::string& action) {
  ProgramOutput output;
  try {
    const TextFile file(request.text);
    std::vector<std::string> words;
    for (const std::string& word :
         {request.program.string(), action, std::string("--json"), std::string("--seconds"),
          fmt::format("{}", request.seconds), std::string("--max-nodes"),
          std::to_string(request.max_nodes), std::string("--as"), request.file_name})
      words.push_back(word);
    if (!request.directory.empty()) {
      words.emplace_back("--directory");
      words.push_back(request.directory);
    }
    if (request.elsewhere) words.emplace_back("--elsewhere");
    if (request.gpu_memory_mib > 0) {
      words.emplace_back("--gpu-memory");
      words.push_back(std::to_string(request.gpu_memory_mib));
    }
    words.push_back(file.path());
    // Not as arguments of env: everybody on the machine sees those.
    output = run_program(words, request.seconds + request.grace_s, request.environment);
  } catch (const std::system_error& error) {
    return no_answer(
        fmt::format("{} {} could not be run: {}", request.program.string(), action, error.what()));
  }
  const std::string program = request.program.string() + " " + action;
  if (output.timed_out)
    return no_answer(
        fmt::format("{} did not end within {:.0f} s", program, request.seconds + request.grace_s));
  const json answer = json::parse(output.out, nullptr, false);
  try {
    if (answer.is_object() && answer.at("format") == 1) return read_answer(answer);
  } catch (const json::exception&) {
    // No answer of ours: told below.
  }
  const std::string words = last_line(output.err);
  return no_answer(fmt::format("{} {}{}{}", program,
                               output.code < 0 ? std::string("was killed")
                                               : fmt::format("failed (exit code {})", output.code),
                               words.empty() ? "" : ": ", words));
}

/// What both say, each note once.
EngineCheck joined(EngineCheck described, const EngineCheck& checked) {
  if (!checked.failure.empty()) {
    described.notes.push_back("the contents of the data were not checked: " + checked.failure);
    return described;
  }
  for (const std::string& note : checked.notes)
    if (std::find(described.notes.begin(), described.notes.end(), note) == described.notes.end())
      described.notes.push_back(note);
  described.mistakes = checked.mistakes;
  if (checked.metric) {
    described.metric = checked.metric;
    described.metrics = checked.metrics;
  }
  return described;
}

}  // namespace

EngineCheck describe_sweep(const CheckRequest& request) {
  return ask(request, "--describe");
}

EngineCheck check_sweep(const CheckRequest& request) {
  EngineCheck described = ask(request, "--describe");
  if (!described.mistakes.empty()) return described;
  EngineCheck checked = ask(request, "--check");
  return described.failure.empty() ? joined(std::move(described), checked) : checked;
}

void apply_check(const EngineCheck& check, jobspec::Sweep& sweep) {
  if (!check.mistakes.empty()) throw jobspec::InputError(check.mistakes);
  sweep.notes.insert(sweep.notes.end(), check.notes.begin(), check.notes.end());
  if (!check.failure.empty())
    sweep.notes.push_back("only the keys were checked, not whether the trials can run: " +
                          check.failure);
  else if (check.checked < check.shapes)
    sweep.notes.push_back(
        fmt::format("{} of {} different shapes of trials were checked, spread "
                    "over the sweep: there are too many for all",
                    check.checked, check.shapes));
  if (!check.metric) return;
  sweep.metric.name = check.metric->name;
  sweep.metric.goal = check.metric->goal;
}

json check_json(const EngineCheck& check) {
  json result{{"shapes", check.shapes}, {"checked", check.checked}, {"metrics", check.metrics}};
  if (!check.failure.empty()) result["failure"] = check.failure;
  return result;
}

}  // namespace thalweg::daemon::api
