// Reads lines from a person, with editing, history and completion.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::cli {

/// Candidates for the last of the words typed so far.
using Completer = std::function<std::vector<std::string>(const std::vector<std::string>& words)>;

/// Reads lines from standard input with libedit; without a terminal it reads them unchanged and shows no prompt. At
/// most one object at a time, on one thread.
class LineEditor {
 public:
  /// `history_path` is read now and written at the end; empty: no history is kept.
  LineEditor(std::string prompt, std::string history_path, Completer completer);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  /// The next line without its end; none at the end of the input.
  std::optional<std::string> read();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::cli
