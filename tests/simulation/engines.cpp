// Each engine does one thing at a time, when it is due: a step, a line, a look for `fenced`.
#include "tests/simulation/engines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "base/checkpoint_name.h"
#include "base/file.h"
#include "daemon/controller/folder.h"

namespace thalweg::simulation {

namespace fs = std::filesystem;

namespace {

constexpr double first_word_s = 0.7, look_s = 2;
constexpr int bad_input = 2, stopped = 75, superseded = 76;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

struct File {
  int lines = 0;
  bool ended = false;  ///< its last line is an end record
};

/// The text of a file; a hole of any length is one zero, since a damaged journal may have a
/// gigabyte.
std::string text_of(const fs::path& file) {
  std::string text;
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  const off_t size = ::lseek(fd, 0, SEEK_END);
  for (off_t at = 0; at < size;) {
    off_t begin = ::lseek(fd, at, SEEK_DATA);
    if (begin < 0) begin = errno == ENXIO ? size : at;  // nothing more; or holes are not told
    if (begin > at) text.push_back('\0');
    const off_t hole = begin < size ? ::lseek(fd, begin, SEEK_HOLE) : size;
    const off_t end = hole < 0 ? size : hole;
    const std::size_t known = text.size();
    text.resize(known + static_cast<std::size_t>(end - begin));
    const ssize_t got = ::pread(fd, text.data() + known, text.size() - known, begin);
    text.resize(known + static_cast<std::size_t>(std::max<ssize_t>(0, got)));
    at = end;
  }
  ::close(fd);
  return text;
}

File look_at(const fs::path& file) {
  File result;
  std::istringstream in(text_of(file));
  for (std::string line; std::getline(in, line); ++result.lines)
    result.ended = line.find("\"type\":\"end\"") != std::string::npos;
  return result;
}

/// The furthest checkpoint in these folders, newest first; 0: there is none.
int furthest(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    int step = 0;
    std::error_code error;
    for (fs::directory_iterator file(folder, error), end; !error && file != end;
         file.increment(error))
      if (const auto found = parse_checkpoint_name(file->path().filename().string()))
        step = std::max(step, static_cast<int>(found->step));
    if (step > 0) return step;
  }
  return 0;
}

}  // namespace

void append(const fs::path& file, const std::string& text) {
  // Not by a stream, whose buffer and locale cost more than the write.
  const Descriptor out(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (out && ::write(out.get(), text.data(), text.size()) < 0) return;  // as a full disk does
}

Engines::Engines(Dice dice, int steps, double lag_s) : dice_(dice), steps_(steps), lag_s_(lag_s) {
  for (int i = 1; i <= 4; ++i)
    nodes_.push_back({fmt::format("n{}", i)});
}

Engine& Engines::start(std::uint32_t job, const std::string& token, const fs::path& folder,
                       Node& node, double now) {
  Engine engine;
  engine.start = static_cast<int>(engines_.size()) + 1;
  engine.job = job;
  engine.token = token;
  engine.folder = folder;
  engine.id = daemon::attempt_of_folder(folder).value();
  engine.node = &node;
  engine.began = now;
  engine.next = now + dice_.between(0.1, 2 * first_word_s);
  engines_.push_back(std::move(engine));
  return engines_.back();
}

void Engines::kill(Engine& engine, int signal) {
  if (!engine.alive) return;
  engine.alive = engine.training = false;
  engine.signal = signal;
  engine.how = fmt::format("killed by signal {}", signal);
}

void Engines::heal() {
  for (Node& node : nodes_)
    node = {node.name};
  for (Engine& engine : engines_) {
    engine.deaf = engine.mute = false;
    // One that lingers does until somebody ends it; where its end record cannot be read any more,
    // the job's time limit does.
    if (written_[engine.folder.string()].damaged) engine.lingers = false;
  }
}

void Engines::run(double now, double unix_now) {
  now_ = now;
  unix_now_ = unix_now;
  for (Engine& engine : engines_) {
    if (!engine.alive) continue;
    if (engine.node->dead > now)
      kill(engine, 9);
    else if (engine.killed_at > 0 && engine.killed_at <= now)
      kill(engine, 9);
    else if (engine.node->blind > now)  // the one that looks for a fence comes back later, too
      engine.looks = engine.node->blind + dice_.between(0, look_s);
    else if (engine.next <= now)
      run(engine, now);
  }
  show(now);
}

void Engines::show(double now) {
  while (!late_.empty() && late_.front().at <= now) {
    append(late_.front().file, late_.front().text);
    late_.pop_front();
  }
}

bool Engines::fenced(const Engine& engine) const {
  return fs::exists(engine.folder / "fenced");
}

void Engines::run(Engine& e, double now) {
  if (e.mute) return;
  if (!e.training && !e.done) return begin(e, now);
  e.next = now + dice_.between(0.6, 1.6);
  if (e.done) {  // it lingers until somebody ends it
    if (!e.lingers || (e.told_to_stop && !e.deaf)) e.alive = false;
    return;
  }
  if (now >= e.looks) {
    e.looks = now + look_s;
    if (!fs::exists(e.folder / "claim")) {
      e.alive = e.training = false;
      e.exit = superseded;
      e.how = "its folder is gone";
      return;
    }
    if (fenced(e)) return end(e, "fenced", superseded, "the controller has given it up");
  }
  if (e.step >= steps_) return end(e, "finished", 0, "");  // it was resumed there
  const auto pauses = [&] { return e.pauses_at > 0 && e.step >= e.pauses_at; };
  const auto pause = [&] { end(e, "stopped", stopped, fmt::format("paused at step {}", e.step)); };
  if (pauses()) return pause();  // it was resumed there
  if (e.told_to_stop && !e.deaf) return end(e, "stopped", stopped, "asked to stop");
  if (e.step + 1 == e.fails_at) return end(e, "failed", 1, "out of memory");
  ++e.step;
  line(e,
       fmt::format(R"("type":"metrics","points":[["val/error",{},{}]])", e.step,
                   value(e.id, e.step)),
       e.step);
  if (e.step == steps_) return end(e, "finished", 0, "");
  if (pauses()) return pause();
  if (dice_.chance(0.5)) checkpoint(e);
}

/// The folder is claimed before anything is written; another start takes over only where the first
/// has ended, and never in the same job.
void Engines::begin(Engine& e, double now) {
  const auto leave = [&](int exit, const char* why) {
    e.alive = false;
    e.exit = exit;
    e.how = why;
  };
  if (!fs::exists(e.folder / "trial.yaml")) return leave(bad_input, "no trial.yaml");
  append(e.folder / "stdout.log", "begins\n");
  if (e.node->broken > now) {
    append(e.folder / "failure.launch.json",
           fmt::format(R"({{"time":{},"rank":0,"node":"{}","reason":"CUDA error"}})", unix_now_,
                       e.node->name));
    return leave(1, "its node is broken");
  }
  if (fenced(e)) return leave(superseded, "fenced before it began");
  const File journal = look_at(e.folder / "journal.jsonl");
  const std::string claim = first_line(e.folder / "claim");
  if (!claim.empty() && (!journal.ended || claim == std::to_string(e.job)))
    return leave(superseded, "another start holds the attempt");
  std::ofstream(e.folder / "claim") << e.job << "\n";
  const jobspec::Trial trial = jobspec::read_trial(e.folder / "trial.yaml");
  std::vector<fs::path> folders{e.folder / "checkpoints"};
  folders.insert(folders.end(), trial.resume.begin(), trial.resume.end());
  e.step = e.resumed = furthest(folders);
  e.pauses_at = static_cast<int>(trial.pause_steps);
  e.lines = journal.lines;
  e.training = true;
  e.looks = now + look_s;
  e.next = now + first_word_s;
  Written& known = written_[e.folder.string()];
  known.folder = e.folder.string();
  known.id = e.id;
  if (on_training) on_training(e);
  line(e,
       fmt::format(R"("type":"start","format":1,"steps":{},"resumed_step":{})", steps_, e.resumed));
}

void Engines::checkpoint(Engine& e) {
  std::error_code error;
  fs::create_directory(e.folder / "checkpoints", error);
  append(e.folder / "checkpoints" / checkpoint_name(e.step), "weights");
  line(e, fmt::format(R"("type":"checkpoint","step":{})", e.step));
}

void Engines::end(Engine& e, const std::string& status, int exit, const std::string& reason) {
  if (status != "failed") checkpoint(e);
  line(e, fmt::format(R"("type":"end","status":"{}","step":{},"reason":"{}")", status, e.step,
                      reason));
  if (status == "finished") written_[e.folder.string()].finished = true;
  e.done = true;
  e.training = false;
  e.exit = exit;
  e.how = status;
  if (!e.lingers) e.alive = false;
}

void Engines::line(Engine& e, const std::string& keys, int step) {
  Written& known = written_[e.folder.string()];
  ++e.lines;
  known.step_of_line.resize(static_cast<std::size_t>(e.lines), 0);
  known.step_of_line.back() = step;
  std::string text = fmt::format("{{\"n\":{},\"t\":{:.3f},{}}}\n", e.lines, unix_now_, keys);
  if (lag_s_ > 0)
    late_.push_back({now_ + lag_s_, e.folder / "journal.jsonl", std::move(text)});
  else
    append(e.folder / "journal.jsonl", text);
}

}  // namespace thalweg::simulation
