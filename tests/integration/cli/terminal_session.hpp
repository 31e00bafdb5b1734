// A person at a terminal, played by a test.
#pragma once

#include <string>
#include <vector>

#include "common/host/descriptor.hpp"

namespace penstock {

/// The binary with a pseudo terminal as its controlling one. Everything that still runs at the end is killed.
class TerminalSession {
 public:
  /// `environment`: `NAME=value`, before those of this process.
  TerminalSession(const std::vector<std::string>& arguments, const std::vector<std::string>& environment);
  ~TerminalSession();
  TerminalSession(const TerminalSession&) = delete;
  TerminalSession& operator=(const TerminalSession&) = delete;

  void type(const std::string& keys) const;
  /// Waits until `text` is on the screen, after what was seen before; false after 20 s.
  bool sees(const std::string& text);
  /// Waits for its end; the exit code, or -1 after 20 s.
  int wait();
  /// All that was written so far.
  const std::string& screen() const { return screen_; }

 private:
  bool read_more(int patience_ms);

  Descriptor terminal_;
  int process_ = -1;
  std::string screen_;
  std::size_t seen_ = 0;
};

}  // namespace penstock
