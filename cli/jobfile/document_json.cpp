// parse_document: JSON, by the event parser of nlohmann. The parser reports no places, so it reads through an iterator
// that counts its progress; each value then finds its own beginning by looking back over its last token.
#include "cli/jobfile/document_json.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace penstock::cli {
namespace {

struct TrackingIterator {
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  const char** furthest = nullptr;

  reference operator*() const { return *at; }
  TrackingIterator& operator++() {
    *furthest = ++at;
    return *this;
  }
  TrackingIterator operator++(int) {
    TrackingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const TrackingIterator& a, const TrackingIterator& b) { return a.at == b.at; }
};

// Receives the events. Each returns false to end the parse.
class TreeBuilder {
 public:
  using Json = nlohmann::json;

  TreeBuilder(std::string_view text, const std::string& name, std::uint32_t depth_max)
      : text_(text),
        name_(name),
        depth_max_(depth_max),
        furthest_(text.data()),
        line_start_(text.data()),
        counted_(text.data()) {}

  const char** furthest() { return &furthest_; }
  Result<DocumentValue> result() && {
    if (failed_) return std::move(error_);
    return std::move(root_);
  }

  bool null() { return add(scalar(DocumentValue::Kind::Null, word_start())); }
  bool boolean(bool value) {
    DocumentValue made = scalar(DocumentValue::Kind::Boolean, word_start());
    made.boolean = value;
    return add(std::move(made));
  }
  bool number_integer(std::int64_t value) {
    DocumentValue made = scalar(DocumentValue::Kind::Integer, number_start());
    made.integer = value;
    made.number = static_cast<double>(value);
    return add(std::move(made));
  }
  bool number_unsigned(std::uint64_t value) {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return number_integer(static_cast<std::int64_t>(value));
    return number_float(static_cast<double>(value), {});
  }
  bool number_float(double value, const std::string&) {
    DocumentValue made = scalar(DocumentValue::Kind::Number, number_start());
    made.number = value;
    return add(std::move(made));
  }
  bool string(std::string& value) {
    DocumentValue made = scalar(DocumentValue::Kind::Text, string_start());
    made.text = std::move(value);
    return add(std::move(made));
  }
  bool binary(Json::binary_t&) { return false; }  // Never in text.

  bool key(std::string& value) {
    key_ = std::move(value);
    key_place_ = place_at(string_start());
    return true;
  }
  bool start_object(std::size_t) { return open(DocumentValue::Kind::Table); }
  bool start_array(std::size_t) { return open(DocumentValue::Kind::List); }
  bool end_object() { return check_names(open_.back()) && close(); }
  bool end_array() { return close(); }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& exception) {
    const char* at = text_.data() + std::min(position > 0 ? position - 1 : 0, text_.size());
    std::string what = exception.what();
    // `[json.exception.parse_error.101] parse error at line 1, column 2: MESSAGE`; our own text has the place.
    const std::size_t id = what.find("] ");
    if (id != std::string::npos) what.erase(0, id + 2);
    if (const std::size_t colon = what.find(": "); what.starts_with("parse error") && colon != std::string::npos)
      what.erase(0, colon + 2);
    return fail(ErrorCode::ParseError, at, std::move(what));
  }

 private:
  // Lists and tables that are not closed yet, outermost first, each with its future name.
  struct Open {
    DocumentValue value;
    std::string name;
    TextPlace name_place;
  };

  bool open(DocumentValue::Kind kind) {
    const char* at = furthest_ - 1;
    if (open_.size() > depth_max_)
      return fail(ErrorCode::LimitExceeded, at,
                  "more than " + std::to_string(depth_max_) + " lists and tables stand within each other");
    open_.push_back({scalar(kind, at), std::move(key_), key_place_});
    key_.clear();
    return true;
  }

  bool close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    key_ = std::move(closed.name);
    key_place_ = closed.name_place;
    return add(std::move(closed.value));
  }

  bool add(DocumentValue value) {
    if (open_.empty())
      root_ = std::move(value);
    else if (open_.back().value.is_table())
      open_.back().value.fields.push_back({std::move(key_), key_place_, std::move(value)});
    else
      open_.back().value.items.push_back(std::move(value));
    key_.clear();
    return true;
  }

  // JSON does not define the meaning of a repeated name; it is refused, as in TOML.
  bool check_names(const Open& table) {
    std::vector<const DocumentField*> sorted;
    for (const DocumentField& field : table.value.fields) sorted.push_back(&field);
    const auto by_name = [](const DocumentField* a, const DocumentField* b) { return a->name < b->name; };
    std::stable_sort(sorted.begin(), sorted.end(), by_name);
    const auto same = [](const DocumentField* a, const DocumentField* b) { return a->name == b->name; };
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end(), same);
    if (twice == sorted.end()) return true;
    error_ = {ErrorCode::ParseError,
              at_place(name_, (*std::next(twice))->place),
              "'" + (*twice)->name + "' stands twice in one table",
              {}};
    failed_ = true;
    return false;
  }

  DocumentValue scalar(DocumentValue::Kind kind, const char* at) {
    DocumentValue value;
    value.kind = kind;
    value.place = place_at(at);
    return value;
  }

  // The parser has read one character beyond a number, unless the text ends there.
  const char* number_start() const {
    const auto belongs = [](char c) {
      return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
    };
    const char* at = furthest_;
    while (at > text_.data() && !belongs(at[-1])) --at;
    while (at > text_.data() && belongs(at[-1])) --at;
    return at;
  }
  const char* word_start() const {
    const char* at = furthest_;
    while (at > text_.data() && at[-1] >= 'a' && at[-1] <= 'z') --at;
    return at;
  }
  // Back from the closing quote to the one that no backslash escapes.
  const char* string_start() const {
    const char* at = furthest_ - 1;
    while (at > text_.data()) {
      --at;
      if (*at != '"') continue;
      const char* slash = at;
      while (slash > text_.data() && slash[-1] == '\\') --slash;
      if ((at - slash) % 2 == 0) break;
    }
    return at;
  }

  // Places are asked for in ascending order except for the few characters looked back, so lines are counted once.
  TextPlace place_at(const char* at) {
    if (at < line_start_) {
      counted_ = line_start_ = text_.data();
      line_ = 1;
    }
    for (; counted_ < at; ++counted_)
      if (*counted_ == '\n') {
        ++line_;
        line_start_ = counted_ + 1;
      }
    return {line_, static_cast<std::uint32_t>(at - line_start_) + 1};
  }

  bool fail(ErrorCode code, const char* at, std::string message) {
    error_ = {code, at_place(name_, place_at(at)), std::move(message), {}};
    failed_ = true;
    return false;
  }

  const std::string_view text_;
  const std::string& name_;
  const std::uint32_t depth_max_;

  const char* furthest_;
  const char* line_start_;
  const char* counted_;
  std::uint32_t line_ = 1;
  std::vector<Open> open_;
  std::string key_;
  TextPlace key_place_;
  DocumentValue root_;
  Error error_;
  bool failed_ = false;
};

}  // namespace

Result<DocumentValue> parse_json(std::string_view text, const std::string& name, std::uint32_t depth_max) {
  TreeBuilder builder{text, name, depth_max};
  const TrackingIterator first{text.data(), builder.furthest()};
  const TrackingIterator last{text.data() + text.size(), builder.furthest()};
  const bool parsed = nlohmann::json::sax_parse(first, last, &builder);
  Result<DocumentValue> root = std::move(builder).result();
  if (!root) return root;
  if (!parsed) return Error{ErrorCode::ParseError, name, "is not JSON", {}};
  if (!root->is_table())
    return Error{ErrorCode::ParseError,
                 at_place(name, root->place),
                 "is " + std::string{kind_name(root.value())} + ", not a table",
                 {}};
  return root;
}

}  // namespace penstock::cli
