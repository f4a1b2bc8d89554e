// Shows a sweep's snapshots as they come: bars that repaint on a terminal, plain lines elsewhere.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include "cli/output/progress.h"
#include "cli/output/terminal.h"

namespace thalweg::cli {

/// Not thread-safe: the caller keeps a lock.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void update(const SweepView& sweep) = 0;
  /// Time has passed or the window has changed.
  virtual void tick() {}
  /// Others have written to the terminal meanwhile (Ctrl-Z and back).
  virtual void resume() {}
  /// Text between the frames: said once, stays above them.
  virtual void say(const std::string& line) = 0;
};

/// Repaints in place; `write` gets each frame as one piece of text.
class LiveWatcher : public Watcher {
 public:
  LiveWatcher(Terminal terminal, Palette palette) : terminal_(terminal), palette_(palette) {}
  void update(const SweepView& sweep) override;
  void tick() override;
  void resume() override;
  void say(const std::string& line) override;

 private:
  void paint(const std::string& above);

  Terminal terminal_;
  Palette palette_;
  SweepView sweep_;
  bool any_ = false;
  std::vector<int> drawn_;  ///< the width of every line on the screen
};

/// Escapes that replace lines of the given widths, drawn before, in a window now `columns` wide.
std::string repaint(const std::vector<int>& drawn, int columns,
                    const std::vector<std::string>& lines);

/// The columns a painted line takes (its colour escapes take none).
int painted_width(std::string_view line);

/// State changes at once, progress of what is running every `interval` seconds.
class PlainWatcher : public Watcher {
 public:
  PlainWatcher(std::ostream& out, double interval = 10) : out_(out), interval_(interval) {}
  void update(const SweepView& sweep) override;
  void say(const std::string& line) override;
  /// As update, at a given time.
  void update_at(const SweepView& sweep, double now);

 private:
  void say_changes(const SweepView& sweep);
  void say_progress(const SweepView& sweep);
  /// Why trials do not run, each reason once.
  void say_waiting(const SweepView& sweep);

  std::ostream& out_;
  double interval_;
  double last_progress_ = 0;
  bool any_ = false;
  SweepView before_;
};

std::unique_ptr<Watcher> make_watcher(const Terminal& terminal, std::ostream& out);

/// Unix seconds.
double now();

}  // namespace thalweg::cli
