#include "cli/shell/words.hpp"

namespace penstock::cli {

Result<std::vector<std::string>> split_words(std::string_view line) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (quote == '\0' && blank) {
      in_word = false;
      continue;
    }
    if (quote == '\0' && !in_word && c == '#') break;
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote != '\0' && c == quote)
      quote = '\0';
    else if (quote == '\0' && (c == '"' || c == '\''))
      quote = c;
    else if (c == '\\' && quote != '\'' && i + 1 < line.size())
      words.back() += line[++i];
    else
      words.back() += c;
  }
  if (quote != '\0')
    return Error{ErrorCode::InvalidArgument, std::string{line.substr(0, line.find('\n'))},
                 "has a quote that is not closed", "close it, or write a backslash before it"};
  return words;
}

}  // namespace penstock::cli
