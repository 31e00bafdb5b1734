// Reads the fields of one table of a document, with one precise message for the first mistake.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/jobfile/document.hpp"
#include "common/base/time.hpp"
#include "common/base/units.hpp"
#include "common/protocol/resources.hpp"

namespace penstock::cli {

/// One text of a list, with its place.
struct PlacedText {
  std::string text;
  TextPlace place;
};

/// Each getter leaves its argument unchanged when the field is absent. The first mistake is kept, and later getters
/// then do nothing; `finish` returns it, or reports a field that no getter has asked for.
///
/// REQUIRES: table and file name outlive the reader.
class FieldReader {
 public:
  /// `what` is the subject of messages: `template 'x'`, `subtask 'y'`, or empty for the top of the file.
  FieldReader(const DocumentValue& table, const std::string& file, std::string what);

  /// Bounds of a number, both included.
  template <class Number>
  struct Range {
    Number low;
    Number high;
  };

  bool has(std::string_view name);
  /// Null if absent. The field counts as known.
  const DocumentValue* value(std::string_view name);
  void text(std::string_view name, std::string& into);
  void boolean(std::string_view name, bool& into);
  void integer(std::string_view name, Range<std::int64_t> range, std::int64_t& into);
  void number(std::string_view name, Range<double> range, double& into);
  /// Text with a unit, or a number of seconds.
  void duration(std::string_view name, Duration& into);
  /// Text with a unit, or a number of bytes.
  void bytes(std::string_view name, std::int64_t& into);
  /// A list of texts; a single text is a list of one.
  void texts(std::string_view name, std::vector<PlacedText>& into);
  void texts(std::string_view name, std::vector<std::string>& into);
  /// A table of `NAME = "value"`, as sorted pairs; each replaces an existing one of the same name.
  void pairs(std::string_view name, std::vector<std::pair<std::string, std::string>>& into);
  /// `"worker/band"`, `"worker"`, `"/band"`, or a table with `worker` and `band`.
  void selector(std::string_view name, BandSelector& into);
  /// A table of `name = amount`.
  void named_amounts(std::string_view name, std::vector<NamedAmount>& into);
  /// The number of the chosen word.
  void choice(std::string_view name, const std::vector<std::string_view>& words, std::size_t& into);

  /// Keeps a mistake about a value, or about the whole table if it is null.
  void complain(const DocumentValue* value, std::string message, std::string remedy = {});
  void complain(Error error);
  bool failed() const { return error_.has_value(); }
  Result<void> finish();
  const std::string& what() const { return what_; }

 private:
  const DocumentValue* take(std::string_view name, std::string_view expected, bool (*fits)(const DocumentValue&));
  std::string prefix() const { return what_.empty() ? std::string{} : what_ + ": "; }

  const DocumentValue& table_;
  const std::string& file_;
  const std::string what_;
  std::vector<std::string_view> known_;
  std::optional<Error> error_;
};

/// Refuses names that are empty, longer than `kNameBytesMax`, or contain control characters, NUL, or `..` as a part of
/// a path: the rules of the supervisor, checked early and with a place. The error has no subject.
Result<void> check_name_text(std::string_view name);
inline constexpr std::size_t kNameBytesMax = 1024;
/// The name in quotes, shortened, with control characters made visible.
std::string in_quotes(std::string_view name);

}  // namespace penstock::cli
