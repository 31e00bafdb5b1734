// A TOML or JSON file as one tree of values with their places.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.hpp"

namespace penstock::cli {

/// A place in a file, counted from 1; 0: none.
struct TextPlace {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  friend bool operator==(const TextPlace&, const TextPlace&) = default;
};

enum class DocumentFormat : std::uint8_t { Toml, Json };

struct DocumentField;

/// One value of a document. Both grammars make the same tree, so its readers need not know the format. The parser
/// bounds the nesting, so the recursion of the destructor is harmless.
struct DocumentValue {
  enum class Kind : std::uint8_t { Null, Boolean, Integer, Number, Text, Date, List, Table };

  Kind kind = Kind::Null;
  bool boolean = false;
  TextPlace place;
  std::int64_t integer = 0;
  double number = 0;  ///< Also of an integer.
  std::string text;
  std::vector<DocumentValue> items;
  std::vector<DocumentField> fields;  ///< Names are unique; in the order of a JSON file, by name in TOML.

  bool is_table() const { return kind == Kind::Table; }
  bool is_list() const { return kind == Kind::List; }
  bool is_text() const { return kind == Kind::Text; }
  bool is_number() const { return kind == Kind::Integer || kind == Kind::Number; }
  /// The field of that name, or null. O(n).
  const DocumentValue* find(std::string_view name) const;
};

struct DocumentField {
  std::string name;
  TextPlace place;
  DocumentValue value;
};

/// `a number`, `text`, ...: the kind of the value, for messages.
std::string_view kind_name(const DocumentValue& value);

/// Depth of nested lists and tables; a deeper document is refused.
inline constexpr std::uint32_t kDocumentDepthMax = 64;
/// Size of a file; a larger one is refused.
inline constexpr std::uint64_t kDocumentBytesMax = std::uint64_t{4} << 30U;

/// Parses `text`. The value is a table. `depth_max` counts in JSON only. Error: ParseError, LimitExceeded; the subject
/// is `name:line:column`.
Result<DocumentValue> parse_document(std::string_view text, DocumentFormat format, const std::string& name,
                                     std::uint32_t depth_max = kDocumentDepthMax);

/// The whole content of a file. Error: NotFound, InvalidArgument, LimitExceeded.
Result<std::string> read_text_file(const std::string& path);

/// The format by the end of the name, or else by the first character: `{` begins JSON.
DocumentFormat format_of(const std::string& path, std::string_view text);

/// `name:line:column`, the subject of errors about a place in a file.
std::string at_place(const std::string& name, TextPlace place);

}  // namespace penstock::cli
