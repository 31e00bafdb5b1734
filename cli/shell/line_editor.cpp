#include "cli/shell/line_editor.hpp"

#include <histedit.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "cli/shell/words.hpp"

namespace penstock::cli {

namespace {
constexpr int kHistoryLines = 1000;
}  // namespace

struct LineEditor::State {
  std::string prompt;
  std::string history_path;
  Completer completer;
  ::EditLine* editor = nullptr;  // tidy: foreign
  ::History* history = nullptr;
  ::HistEvent event{};

  static const char* show_prompt(::EditLine* editor) {
    State* state = nullptr;
    el_get(editor, EL_CLIENTDATA, &state);
    return state->prompt.c_str();
  }

  static unsigned char complete(::EditLine* editor, int) {
    State* state = nullptr;
    el_get(editor, EL_CLIENTDATA, &state);
    return state->insert_completion();
  }

  // A single candidate is inserted, or the common beginning of several; if that is empty, they are shown.
  unsigned char insert_completion() {
    const ::LineInfo* line = el_line(editor);  // tidy: foreign
    const std::string typed{line->buffer, static_cast<std::size_t>(line->cursor - line->buffer)};
    Result<std::vector<std::string>> words = split_words(typed);
    if (!words) return CC_ERROR;
    if (typed.empty() || typed.back() == ' ') words->emplace_back();
    const std::vector<std::string> candidates = completer(*words);
    if (candidates.empty()) return CC_ERROR;
    std::string common = candidates.front();
    for (const std::string& candidate : candidates)
      while (!candidate.starts_with(common)) common.pop_back();
    std::string rest = common.substr(std::min(common.size(), words->back().size()));
    if (candidates.size() == 1) rest += ' ';
    if (!rest.empty()) return el_insertstr(editor, rest.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
    std::cout << "\n";
    for (const std::string& candidate : candidates) std::cout << candidate << "  ";
    std::cout << std::endl;
    return CC_REDISPLAY;
  }
};

LineEditor::LineEditor(std::string prompt, std::string history_path, Completer completer)
    : state_(std::make_unique<State>()) {
  if (::isatty(STDIN_FILENO) == 0) return;
  State& state = *state_;
  state.prompt = std::move(prompt);
  state.history_path = std::move(history_path);
  state.completer = std::move(completer);
  state.editor = el_init("penstock", stdin, stdout, stderr);
  state.history = history_init();
  ::history(state.history, &state.event, H_SETSIZE, kHistoryLines);
  ::history(state.history, &state.event, H_SETUNIQUE, 1);
  if (!state.history_path.empty()) ::history(state.history, &state.event, H_LOAD, state.history_path.c_str());
  el_set(state.editor, EL_CLIENTDATA, &state);
  el_set(state.editor, EL_PROMPT, &State::show_prompt);
  el_set(state.editor, EL_EDITOR, "emacs");
  el_set(state.editor, EL_SIGNAL, 1);
  el_set(state.editor, EL_HIST, ::history, state.history);
  el_set(state.editor, EL_ADDFN, "penstock-complete", "Complete the word", &State::complete);
  el_set(state.editor, EL_BIND, "^I", "penstock-complete", nullptr);
  el_set(state.editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_source(state.editor, nullptr);
}

LineEditor::~LineEditor() {
  if (state_->editor == nullptr) return;
  if (!state_->history_path.empty()) ::history(state_->history, &state_->event, H_SAVE, state_->history_path.c_str());
  history_end(state_->history);
  el_end(state_->editor);
}

std::optional<std::string> LineEditor::read() {
  if (state_->editor == nullptr) {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
  // libedit shows its prompt before it takes the terminal: a Ctrl-D typed between the two would be lost.
  el_set(state_->editor, EL_PREP_TERM, 1);
  int count = 0;
  const char* line = el_gets(state_->editor, &count);
  if (line == nullptr || count <= 0) return std::nullopt;
  std::string text{line, static_cast<std::size_t>(count)};
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (!text.empty()) ::history(state_->history, &state_->event, H_ENTER, text.c_str());
  return text;
}

}  // namespace penstock::cli
