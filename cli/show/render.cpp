#include "cli/show/render.hpp"

#include <algorithm>
#include <vector>

#include "cli/jobfile/amounts.hpp"

namespace penstock::cli {
namespace {

constexpr std::uint32_t kCellDepthMax = 3;
constexpr std::size_t kCellColumnsMin = 6;
constexpr std::size_t kReasonColumnsMin = 20;  // With fewer columns, sentences are cut rather than wrapped.
constexpr int kNumberDigitsMax = 6;

std::string cell_text(const Value& value, std::uint32_t depth = 0) {
  if (depth > kCellDepthMax) return "...";
  if (const bool* boolean = value.boolean()) return *boolean ? "yes" : "no";
  if (const std::int64_t* integer = value.integer()) return std::to_string(*integer);
  if (const double* number = value.number()) return show_rounded(*number, kNumberDigitsMax);
  if (const std::string* text = value.text()) return harmless(*text);
  std::string made;
  if (const Value::List* list = value.list())
    for (const Value& item : *list) made += (made.empty() ? "" : ", ") + cell_text(item, depth + 1);
  else if (const Value::Record* record = value.record())
    for (const auto& [name, field] : *record)
      made += (made.empty() ? "" : " ") + harmless(name) + "=" + cell_text(field, depth + 1);
  return made.empty() ? "-" : made;
}

bool is_table(const Value& value) {
  const Value::List* list = value.list();
  if (list == nullptr || list->empty()) return false;
  return std::all_of(list->begin(), list->end(), [](const Value& item) { return item.record() != nullptr; });
}

struct Column {
  std::string name;
  std::vector<std::string> cells;
  bool numeric = true;
  std::size_t width = 0;
};

// The fields of all rows, in the order of their first appearance.
std::vector<Column> columns_of_rows(const Value::List& rows) {
  std::vector<Column> columns;
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (const auto& [name, field] : *rows[row].record()) {
      auto at = std::find_if(columns.begin(), columns.end(),
                             [&wanted = name](const Column& column) { return column.name == wanted; });
      if (at == columns.end()) at = columns.insert(columns.end(), Column{name, {}, true, 0});
      at->cells.resize(row, "-");
      at->cells.push_back(cell_text(field));
      at->numeric = at->numeric && (field.is_null() || field.integer() != nullptr || field.number() != nullptr);
    }
  for (Column& column : columns) {
    column.cells.resize(rows.size(), "-");
    column.name = harmless(column.name);
    column.width = columns_of(column.name);
    for (const std::string& cell : column.cells) column.width = std::max(column.width, columns_of(cell));
  }
  return columns;
}

// Shrinks the widest column until the line fits; numbers are never cut.
void fit_columns(std::vector<Column>& columns, std::size_t limit) {
  std::size_t total = columns.empty() ? 0 : (columns.size() - 1) * 2;
  for (const Column& column : columns) total += column.width;
  while (total > limit) {
    Column* widest = nullptr;
    for (Column& column : columns)
      if (!column.numeric && column.width > kCellColumnsMin && (widest == nullptr || column.width > widest->width))
        widest = &column;
    if (widest == nullptr) return;
    const std::size_t less = std::min(total - limit, widest->width - kCellColumnsMin);
    // At most to the width of the next one, so that all wide columns shrink alike.
    std::size_t next = kCellColumnsMin;
    for (const Column& column : columns)
      if (&column != widest && !column.numeric) next = std::max(next, std::min(column.width, widest->width - 1));
    const std::size_t step = std::min(less, std::max<std::size_t>(widest->width - next, 1));
    widest->width -= step;
    total -= step;
  }
}

void append_padded(std::string& line, const std::string& cell, const Column& column) {
  const std::string cut = cut_to(cell, column.width);
  const std::size_t blanks = column.width - std::min(column.width, columns_of(cut));
  if (column.numeric) line.append(blanks, ' ');
  line += cut;
  if (!column.numeric) line.append(blanks, ' ');
}

std::string rows_text(const Value::List& rows, const TableOptions& options) {
  std::vector<Column> columns = columns_of_rows(rows);
  if (options.columns > 0) fit_columns(columns, options.columns);
  std::string text;
  const auto add_line = [&](auto&& cell_of) {
    std::string line;
    for (const Column& column : columns) {
      if (&column != &columns.front()) line += "  ";
      append_padded(line, cell_of(column), column);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([](const Column& column) { return column.name; });
  for (std::size_t row = 0; row < rows.size(); ++row) add_line([&](const Column& column) { return column.cells[row]; });
  return text;
}

/// Wraps a text into lines of at most `columns` columns, each but the first indented by `indent` blanks.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string made;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (used > 0 && used + 1 + columns_of(word) > columns) {
      made += "\n" + std::string(indent, ' ');
      used = 0;
    } else if (used > 0) {
      made += ' ';
      ++used;
    }
    made += word;
    used += columns_of(word);
  }
  return made;
}

/// A table within a record: the last column has sentences and continues in further lines.
std::string reasons_text(const Value::List& rows, const TableOptions& options) {
  const std::vector<Column> columns = columns_of_rows(rows);
  std::size_t before = 0;
  for (const Column& column : columns)
    if (&column != &columns.back()) before += column.width + 2;
  if (columns.size() < 2 || columns.back().numeric || options.columns < before + kReasonColumnsMin)
    return rows_text(rows, options);
  std::string text;
  for (std::size_t row = 0; row <= rows.size(); ++row) {
    std::string line;
    for (const Column& column : columns) {
      const std::string& cell = row == 0 ? column.name : column.cells[row - 1];
      if (&column == &columns.back()) {
        line += wrapped(cell, options.columns - before, before);
        continue;
      }
      append_padded(line, cell, column);
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string record_text(const Value::Record& record, const TableOptions& options) {
  std::size_t width = 0;
  for (const auto& [name, field] : record)
    if (!is_table(field)) width = std::max(width, columns_of(name));
  std::string text;
  for (const auto& [name, field] : record) {
    if (is_table(field)) continue;
    std::string line = harmless(name);
    line.append(width + 2 - columns_of(name), ' ');
    const bool wraps = options.columns >= width + 2 + kReasonColumnsMin;
    line += wraps ? wrapped(cell_text(field), options.columns - width - 2, width + 2) : cell_text(field);
    text += (options.columns > 0 && !wraps ? cut_to(line, options.columns) : line) + "\n";
  }
  for (const auto& [name, field] : record)
    if (is_table(field))
      text += (text.empty() ? "" : "\n") + harmless(name) + ":\n" + reasons_text(*field.list(), options);
  return text;
}

}  // namespace

std::string harmless(std::string_view text, std::string_view kept) {
  std::string made{text};
  for (char& c : made)
    if ((static_cast<unsigned char>(c) < 0x20 || c == 0x7f) && kept.find(c) == std::string_view::npos) c = '?';
  return made;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

std::string cut_to(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string{text};
  if (columns == 0) return {};
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end)
    if ((static_cast<unsigned char>(text[end]) & 0xc0U) != 0x80 && ++seen == columns) break;
  return std::string{text.substr(0, end)} + "…";
}

std::string to_table(const Value& value, const TableOptions& options) {
  if (is_table(value)) return rows_text(*value.list(), options);
  if (const Value::Record* record = value.record()) return record_text(*record, options);
  std::string text;
  if (const Value::List* list = value.list())
    for (const Value& item : *list) text += cell_text(item) + "\n";
  else
    text = cell_text(value) + "\n";
  return text;
}

}  // namespace penstock::cli
