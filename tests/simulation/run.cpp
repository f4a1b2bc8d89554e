// The loop: whatever is ready runs, then time moves to the next timer, tick or fault.
#include "tests/simulation/run.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sqlite3.h>
#include <sys/epoll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>

#include "daemon/backend/local.h"
#include "daemon/backend/slurm.h"
#include "daemon/controller/fault.h"
#include "db/sqlite/connection.h"

// Asio waits for no descriptor here, and for no real timer: asking the kernel some thousand times
// in a run would be a fifth of its time.
extern "C" {
int timerfd_create(int, int) noexcept {
  errno = ENOSYS;
  return -1;
}
int epoll_ctl(int, int, int, epoll_event*) noexcept {
  return 0;
}
int epoll_wait(int, epoll_event*, int, int) {
  return 0;
}
}

namespace thalweg::simulation {

using daemon::SweepPhase;

namespace {

constexpr double faults_s = 400;  ///< they strike in the first so many seconds
constexpr double tick_s = 0.5;
constexpr double end_limit_s = 600;  ///< everything has ended so long after the last fault
constexpr double quiet_s = 150;      ///< and is looked at once more after this
constexpr double loop_limit_s = 1;   ///< of CPU time: nobody waits longer for the one thread
constexpr int steps = 8;

double cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A record that was brought up to date once for all runs of this process.
const std::string& new_record() {
  static const std::string record = [] {
    const test::TempDir folder;
    const std::filesystem::path file = folder.path() / "record";
    power::begin_with({});
    db::Store::open(file).reset();
    return power::content(file);
  }();
  return record;
}

double lag(Dice& dice) {
  const double lags[] = {0, 0, 0.4, 2, 3.5, 1.8 * file_lag_s};
  return lags[dice.below(6)];
}

}  // namespace

Run::Run(const Plan& plan)
    : dice(plan.seed * 2 + 1),
      engines(Dice(dice.next()), steps, plan.local ? 0 : lag(dice)),
      slurm(Dice(dice.next()), clock, engines),
      plan_(plan),
      tokens_(dice.next()) {
  if (plan.local) machine = std::make_shared<Machine>(Dice(dice.next()), clock, engines);
  power::install();
  // One run in eight begins with an empty home.
  const std::string& record = new_record();
  if (plan.seed % 8 != 0)
    power::begin_with({{daemon::api::Home{home.path()}.database(), record}});
  else
    power::begin_with({});
  engines.on_training = [this](const Engine& began) {
    ++result_.attempts;
    check_training(*this, began);
  };
  Dice draws(dice.next());
  double weights = 0;
  for (const FaultKind& kind : fault_kinds(plan_.local))
    weights += kind.weight;
  for (int i = 0; i < plan.faults; ++i) {
    Fault fault{draws.between(0, faults_s), 0, draws.next()};
    for (double left = draws.between(0, weights);
         left > fault_kinds(plan_.local)[static_cast<std::size_t>(fault.kind)].weight;)
      left -= fault_kinds(plan_.local)[static_cast<std::size_t>(fault.kind++)].weight;
    if (!plan.only || plan.only->count(i) != 0) faults_.push_back(fault);
  }
  std::sort(faults_.begin(), faults_.end(),
            [](const Fault& a, const Fault& b) { return a.at < b.at; });
  daemon::fault::set_handler([this](std::string_view point) { pass(point); });
}

Run::~Run() {
  end_life();
  daemon::fault::set_handler({});
  power::set_trouble(power::Trouble::none);
  power::begin_with({});
}

void Run::note(const std::string& text) {
  const std::string line = fmt::format("{:8.2f}  {}", clock.now(), text);
  result_.faults.push_back(line);
  if (plan_.trace) fmt::print(stderr, "{}\n", line);
}

void Run::pass(std::string_view point) {
  if (dying_) return;
  if (point == "on_disk" && clock.now() < disk_hangs)
    throw daemon::DiskHangs("the filesystem of the run folders does not answer");
  if (passes_until_kill > 0 && --passes_until_kill == 0) {
    note("killed at " + std::string(point));
    kill();
  }
}

void Run::kill() {
  dying_ = true;
  power::set_trouble(power::Trouble::dead);
  throw Killed{};
}

std::unique_ptr<daemon::Backend> Run::slurm_backend(const boost::asio::any_io_executor& executor) {
  daemon::SlurmBackendConfig config;
  config.environment = {"A=b"};
  config.request_timeout_s = 20;
  config.cancel_grace_s = 10;
  return daemon::make_slurm_backend(slurm.agent(executor), config);
}

std::unique_ptr<daemon::Backend> Run::local_backend() {
  daemon::LocalBackendConfig config;
  config.launch_program = config.engine_program = "/bin/true";
  config.cores = 4;
  config.gpus = 0;
  config.memory_mib = 1 << 20;
  config.gpu_locks = home.path();
  config.grace_s = 10;
  config.processes = machine;
  config.threads = daemon::Disk::Threads::none;
  config.before_disk = [] { daemon::fault::pass("on_disk"); };
  return daemon::make_local_backend(config);
}

void Run::begin_life() {
  dying_ = false;
  power::set_trouble(power::Trouble::none);
  ++lives;
  life_ = std::make_unique<Life>();
  const daemon::api::Home at{home.path()};
  life_->store = db::Store::open(at.database());
  daemon::ControllerOptions options;
  options.runs = at.runs();
  options.ingest_s = 2;
  options.linger_s = 30;
  options.policy.first_backoff_s = 1;
  options.policy.max_backoff_s = 10;
  options.threads = daemon::Disk::Threads::none;
  options.token = [this] { return fmt::format("{:016x}{:016x}", tokens_.next(), tokens_.next()); };
  std::vector<daemon::BackendSetup> backends;
  auto executor = life_->io.get_executor();
  if (machine)
    backends.push_back({local_backend(), 1, 1, 60});
  else
    backends.push_back({slurm_backend(executor), 2, file_lag_s, 60, 30});
  life_->controller =
      std::make_unique<daemon::Controller>(executor, *life_->store, options, std::move(backends));
  life_->controller->restart();
  check_record(*this);
  life_->controller->start();
}

/// As kill -9: nothing is told goodbye.
void Run::end_life() {
  if (!life_) return;
  dying_ = true;
  power::set_trouble(power::Trouble::dead);
  if (life_->store)
    sqlite3_db_config(life_->store->connection().handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                      nullptr);
  life_->controller.reset();
  life_.reset();
  if (machine) machine->controller_ended();
  power::set_trouble(power::Trouble::none);
  if (std::exchange(loses_power, false)) {
    note("the controller's machine loses its power");
    power::lose(dice);
  }
}

void Run::work() {
  using RealTime = std::chrono::steady_clock;
  for (;;) {
    clock.forget_timers();
    if (life_->io.stopped()) life_->io.restart();
    const auto began = RealTime::now();
    if (began - asked_cpu_ > std::chrono::milliseconds(10)) {
      asked_cpu_ = began;
      cpu_s_ = cpu_s();
    }
    if (life_->io.poll_one() == 0) return;
    // What took less than that took less CPU time, too, which costs more to ask for.
    const std::chrono::duration<double> elapsed = RealTime::now() - began;
    const double took = elapsed.count() > loop_limit_s ? cpu_s() - cpu_s_ : 0;
    if (took > loop_limit_s)
      throw Broken(fmt::format("the controller was busy for {:.1f} s with one thing", took));
    check_now(*this);
  }
}

void Run::advance() {
  double next = next_tick_;
  if (life_) next = std::min(next, clock.next_timer());
  if (next_fault_ < faults_.size()) next = std::min(next, faults_[next_fault_].at);
  clock.advance(next);
  if (clock.now() < next_tick_) return;
  next_tick_ = clock.now() + tick_s;
  // One machine has one clock.
  engines.run(clock.now(), machine ? clock.unix_s() : clock.cluster_unix_s());
  if (machine)
    machine->run();
  else
    slurm.run();
}

void Run::strike() {
  while (next_fault_ < faults_.size() && faults_[next_fault_].at <= clock.now()) {
    const Fault& fault = faults_[next_fault_++];
    Dice own(fault.seed);
    fault_kinds(plan_.local)[static_cast<std::size_t>(fault.kind)].strike(*this, own);
  }
}

void Run::heal() {
  healed_ = true;
  note("everything is well from now on");
  disk_hangs = record_full = record_fails = down = 0;
  passes_until_kill = 0;
  slurm.heal();
  if (machine) machine->heal();
  engines.heal();
}

bool Run::over() {
  if (!life_ || !healed_) return false;
  for (const auto& [id, sweep] : controller()->state().sweeps)
    if (sweep.phase == SweepPhase::active || sweep.removing) return false;
  return std::none_of(engines.all().begin(), engines.all().end(),
                      [](const Engine& engine) { return engine.alive; });
}

void Run::live() {
  double over_since = 0;
  for (;;) {
    try {
      if (!life_ && clock.now() >= down) begin_life();
      strike();
      if (life_) {
        power::set_trouble(clock.now() < record_full    ? power::Trouble::full
                           : clock.now() < record_fails ? power::Trouble::input_output
                                                        : power::Trouble::none);
        work();
      }
    } catch (const Killed&) {
      end_life();
    }
    if (!healed_ && clock.now() >= faults_s) heal();
    if (!over()) over_since = 0;
    if (over() && over_since == 0) over_since = clock.now();
    if (over_since > 0 && clock.now() - over_since > quiet_s) return;
    if (over_since == 0 && clock.now() > faults_s + end_limit_s)
      throw Broken(
          fmt::format("{:.0f} s after the last fault not everything has ended", end_limit_s));
    advance();
  }
}

std::string Run::events(std::size_t longest) {
  std::string text;
  if (!life_ || !life_->store) return text;
  life_->store->events(0, [&](const db::Event& e) {
    text += fmt::format("{:8.2f}  {} {} {} {}\n", e.time - 1'800'000'000, e.number,
                        e.id.to_string(), e.kind, e.data.substr(0, longest));
  });
  for (const Engine& engine : engines.all())
    text += fmt::format("start {} of job {} on {} at {:.2f} for {}: step {}, {}{}\n", engine.start,
                        engine.job, engine.node->name, engine.began, engine.id.to_string(),
                        engine.step, engine.alive ? "alive " : "", engine.how);
  text += fmt::format("lines of journals are seen after {} s\n", engines.lag_s());
  for (const auto& [number, job] : slurm.jobs())
    text += fmt::format("job {} {} {} {} held {} released {} start {}\n", number, job.name,
                        job.state, job.reason, job.held, job.released, job.start);
  return text;
}

/// FNV-1a of how the run went, with the home's name, which is another each time, left out.
std::uint64_t Run::digest() {
  std::string text = events(std::string::npos);
  const std::string folder = home.path().string();
  for (std::size_t at; (at = text.find(folder)) != std::string::npos;)
    text.erase(at, folder.size());
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

RunResult Run::go() {
  try {
    while (sweeps.empty()) {
      try {
        if (!life_) begin_life();
        Dice own(dice.next());
        submit_sweep(*this, own);
      } catch (const Killed&) {
        end_life();
      }
    }
    live();
    check_end(*this);
    result_.digest = digest();
  } catch (const Killed&) {
    result_.broken = "killed where nobody looks";
  } catch (const std::exception& error) {
    result_.broken = fmt::format("at {:.2f} s: {}", clock.now(), error.what());
    try {
      result_.log = events(200);
    } catch (const std::exception& more) {
      result_.log = more.what();
    }
  }
  result_.controllers = lives;
  result_.promoted = promoted;
  result_.looks = looks;
  result_.simulated_s = clock.now();
  return std::move(result_);
}

RunResult simulate(const Plan& plan) {
  // What one controller gives back the next one takes: not to the kernel and back each time.
  static const bool kept = mallopt(M_TRIM_THRESHOLD, 1 << 30) + mallopt(M_MMAP_THRESHOLD, 1 << 28);
  (void)kept;
  return Run(plan).go();
}

/// Leaves out ever smaller parts as long as the run breaks all the same.
Plan shrunk(const Plan& plan) {
  const auto kind = [](const std::string& broken) {
    std::string text = broken.substr(std::min(broken.size(), broken.find(": ")));
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text.substr(0, 40);
  };
  const std::string wanted = kind(simulate(plan).broken);
  std::vector<int> left;
  for (int i = 0; i < plan.faults; ++i)
    if (!plan.only || plan.only->count(i) != 0) left.push_back(i);
  const auto breaks = [&](const std::vector<int>& some) {
    Plan part = plan;
    part.trace = false;
    part.only = std::set<int>(some.begin(), some.end());
    const std::string broken = simulate(part).broken;
    return !broken.empty() && kind(broken) == wanted;
  };
  for (std::size_t part = left.size() / 2; part > 0; part /= 2)
    for (std::size_t at = 0; at < left.size();) {
      std::vector<int> fewer = left;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at),
                  fewer.begin() + static_cast<std::ptrdiff_t>(std::min(at + part, fewer.size())));
      if (breaks(fewer))
        left = fewer;
      else
        at += part;
    }
  Plan result = plan;
  result.only = std::set<int>(left.begin(), left.end());
  return result;
}

std::string command(const Plan& plan) {
  std::string text = fmt::format("build/release/tests/simulate --seed {}", plan.seed);
  if (plan.local) text += " --local";
  if (plan.looks) text += " --looks";
  if (plan.faults != Plan().faults) text += fmt::format(" --faults {}", plan.faults);
  if (plan.only) text += fmt::format(" --only {}", fmt::join(*plan.only, ","));
  return text;
}

}  // namespace thalweg::simulation
