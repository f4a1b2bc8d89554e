// Reads questions line by line and lets a few workers answer them.
#include "daemon/slurm_agent/agent.h"

#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

#include "daemon/slurm_agent/attempt_folder.h"
#include "daemon/slurm_agent/verbs.h"

namespace thalweg::slurm_agent {
namespace {

// Two submissions at once already use most of what slurmctld gives (1670 of 1900 per second); the
// others keep a poll and a cancellation from waiting behind slow submissions.
constexpr int worker_count = 4;
// Longer than any batch script Slurm takes (4 MB by default), escaped.
constexpr std::size_t max_line = 32u << 20;

/// Lines that wait for a worker.
class Queue {
 public:
  void push(std::string line) {
    std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    wake_.notify_one();
  }
  std::string pop() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return !lines_.empty(); });
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::string> lines_;
};

/// Where answers go. Nobody listening any more is no error: the input will end too.
class Output {
 public:
  explicit Output(int fd) : fd_(fd) {}
  void write(const std::string& text) {
    std::lock_guard lock(mutex_);
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return;
      done += static_cast<std::size_t>(n);
    }
  }

 private:
  std::mutex mutex_;
  int fd_;
};

std::string answer_with(Verbs& verbs, const std::string& line) {
  return answer_line(line, [&](const nlohmann::json& asked) { return verbs.answer(asked); });
}

// False at the end of the input.
bool read_more(int in, std::string& buffer) {
  char block[65536];
  for (;;) {
    const ssize_t n = ::read(in, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    buffer.append(block, static_cast<std::size_t>(n));
    return true;
  }
}

}  // namespace

int serve(int in, int out) {
  // None is ever destroyed: at the end of the input a worker may be inside a call for ten
  // seconds more, and nobody waits for its answer.
  static Verbs* const verbs = new Verbs;
  static Output* const output = new Output(out);
  static Queue* const queue = new Queue;
  for (int i = 0; i < worker_count; ++i) {
    std::thread([] {
      for (;;)
        output->write(answer_with(*verbs, queue->pop()));
    }).detach();
  }
  std::string buffer;
  while (read_more(in, buffer)) {
    std::size_t begin = 0;
    for (std::size_t end; (end = buffer.find('\n', begin)) != std::string::npos; begin = end + 1) {
      if (end > begin) queue->push(buffer.substr(begin, end - begin));
    }
    buffer.erase(0, begin);
    if (buffer.size() > max_line) {
      std::fprintf(stderr, "slurm agent: a line of more than %zu bytes\n", max_line);
      return 2;
    }
  }
  return 0;
}

int serve_once(int in, int out) {
  std::string line;
  while (line.size() <= max_line && read_more(in, line)) {
  }
  if (line.size() > max_line) return 2;
  Verbs verbs;
  Output(out).write(answer_line(line, [&](const nlohmann::json& asked) {
    // The one question of a site's that is answered by a program of its own, as the user.
    if (asked.is_object() && asked.value("verb", nlohmann::json()) == Remove::verb)
      return answer_json(empty_attempts(read_question<Remove>(asked)));
    return verbs.answer(asked);
  }));
  return 0;
}

}  // namespace thalweg::slurm_agent
