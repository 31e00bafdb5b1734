// A tree of values: the form of every answer to an operator.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace penstock {

/// The values of JSON, with integers kept apart from floating point and the order of fields kept. The supervisor builds
/// the tree; the command line renders it as a table or as JSON.
class Value {
 public:
  using List = std::vector<Value>;
  using Field = std::pair<std::string, Value>;
  using Record = std::vector<Field>;

  Value() = default;
  Value(bool value) : content_(value) {}                          // NOLINT: implicit by design
  Value(std::int64_t value) : content_(value) {}                  // NOLINT
  Value(std::uint64_t value) : content_(static_cast<std::int64_t>(value)) {}  // NOLINT
  Value(int value) : content_(std::int64_t{value}) {}             // NOLINT
  Value(std::uint32_t value) : content_(std::int64_t{value}) {}   // NOLINT
  Value(double value) : content_(value) {}                        // NOLINT
  Value(std::string value) : content_(std::move(value)) {}        // NOLINT
  Value(const char* value) : content_(std::string{value}) {}      // NOLINT
  Value(List value) : content_(std::move(value)) {}               // NOLINT
  Value(Record value) : content_(std::move(value)) {}             // NOLINT

  bool is_null() const { return content_.index() == 0; }
  const bool* boolean() const { return std::get_if<bool>(&content_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&content_); }
  const double* number() const { return std::get_if<double>(&content_); }
  const std::string* text() const { return std::get_if<std::string>(&content_); }
  const List* list() const { return std::get_if<List>(&content_); }
  const Record* record() const { return std::get_if<Record>(&content_); }

  /// The field of that name in a record; null if there is none.
  const Value& operator[](const std::string& field) const;

  friend bool operator==(const Value&, const Value&) = default;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Record> content_;
};

}  // namespace penstock
