#include "engine/attempt/record.h"

#include <utility>

#include "jobspec/metric_names.h"
#include "jobspec/trial.h"
#include "jobspec/value.h"

namespace thalweg::engine {

namespace metric = jobspec::metric;

Record::Record(const jobspec::Trial& trial, const std::filesystem::path& folder, bool writes,
               std::function<void()> given_up, Journal::Now now) {
  if (!writes) return;
  if (!trial.push.empty() && !trial.push_secret.empty())
    push_ = std::make_unique<Push>(trial.push, trial.push_secret, std::move(given_up));
  Journal::Listener listener;
  if (push_) listener = [push = push_.get()](const std::string& line) { push->add(line); };
  journal_ =
      std::make_unique<Journal>(folder / "journal.jsonl", std::move(listener), std::move(now));
}

void Record::emulated(const std::string& name) {
  if (journal_) journal_->stamp("emulated", name);
}

void Record::start(jobspec::Map fields) {
  if (!journal_) return;
  const std::lock_guard lock(mutex_);
  journal_->write("start", std::move(fields));
  started_ = true;
  for (jobspec::Map& note : early_)
    journal_->write("note", std::move(note));
  early_.clear();
}

void Record::metrics(const std::vector<MetricPoint>& points) {
  if (journal_) journal_->metrics(points);
}

void Record::note(const char* level, const std::string& text) {
  put_note({{"level", level}, {"text", text}});
}

void Record::lost(const std::string& lost, std::int64_t count, const std::string& text) {
  put_note({{"level", "warning"}, {"text", text}, {"lost", lost}, {"count", count}});
}

void Record::put_note(jobspec::Map fields) {
  if (!journal_) return;
  const std::lock_guard lock(mutex_);
  if (started_)
    journal_->write("note", std::move(fields));
  else
    early_.push_back(std::move(fields));
}

void Record::checkpoint(const Saved& saved) {
  if (!journal_) return;
  jobspec::Map fields{{"step", saved.step},
                      {"file", saved.file.string()},
                      {"bytes", static_cast<std::int64_t>(saved.bytes)},
                      {"seconds", saved.seconds},
                      {"write_seconds", saved.write_seconds}};
  if (saved.best) fields.emplace_back("best", true);
  journal_->write("checkpoint", std::move(fields));
  journal_->metrics({{metric::checkpoint_bytes, saved.step, static_cast<double>(saved.bytes)},
                     {metric::checkpoint_ms, saved.step, 1000 * saved.seconds},
                     {metric::checkpoint_write_ms, saved.step, 1000 * saved.write_seconds}});
  checkpoint_ = saved.step;
}

void Record::ranks(std::int64_t step, jobspec::Map fields) {
  if (!journal_) return;
  fields.insert(fields.begin(), {"step", step});
  journal_->write("ranks", std::move(fields));
}

void Record::end(const char* status, std::int64_t step, const std::string& reason) {
  if (!journal_) return;
  journal_->write("end", {{"status", status}, {"step", step}, {"reason", reason}});
  journal_->sync();
}

void Record::end(std::int64_t step, const Failure& failure) {
  if (!journal_) return;
  jobspec::Map fields{{"status", "failed"}, {"step", step}, {"reason", failure.reason}};
  if (failure.code == ExitCode::failed) {
    fields.emplace_back("rank", failure.rank);
    fields.emplace_back("node", failure.node);
  }
  if (failure.program_exit) fields.emplace_back("exit_code", *failure.program_exit);
  if (failure.program_signal) fields.emplace_back("signal", *failure.program_signal);
  journal_->write("end", std::move(fields));
  journal_->sync();
}

void Record::last(const char* status, const std::string& reason) noexcept {
  if (!journal_) return;
  try {
    journal_->write("end", {{"status", status}, {"step", checkpoint_.load()}, {"reason", reason}},
                    true);
    journal_->sync();
  } catch (const std::exception&) {
    // The controller waits until the journal has been quiet.
  }
}

void Record::sync() {
  if (journal_) journal_->sync();
}

}  // namespace thalweg::engine
