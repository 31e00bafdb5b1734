// Reading reference cases, and what came out of comparing them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/document.hpp"

namespace penstock::cli {

/// How one case went.
struct CaseVerdict {
  std::string id;
  std::string kind;
  std::vector<std::string> differences;  ///< Empty: it passed.
  std::vector<std::string> remarks;      ///< Fields of it that nobody looks at.

  bool passed() const { return differences.empty(); }
};

/// Collects what differs in one case. What a case asks that nobody understands is a difference too.
class CaseChecker {
 public:
  CaseChecker(std::string id, std::string kind) : verdict_{std::move(id), std::move(kind), {}, {}} {}

  void equal(const std::string& what, const std::string& expected, const std::string& got);
  void equal(const std::string& what, std::int64_t expected, std::int64_t got);
  void near(const std::string& what, double expected, double got, double tolerance);
  void fail(std::string difference) { verdict_.differences.push_back(std::move(difference)); }
  /// Every field of `table` must be one of `known`.
  void only_fields(const DocumentValue& table, const std::vector<std::string_view>& known);

  /// Where nothing was compared, nothing was checked.
  void expect_comparisons() {
    if (compared_ == 0 && verdict_.passed()) fail("nothing to compare with");
  }

  CaseVerdict take() { return std::move(verdict_); }

 private:
  CaseVerdict verdict_;
  std::size_t compared_ = 0;
};

// Access without errors: a field that is absent or of another kind gives an empty value or the fallback.
const DocumentValue& field_of(const DocumentValue& table, std::string_view name);
bool has_field(const DocumentValue& table, std::string_view name);
std::string text_of(const DocumentValue& table, std::string_view name, std::string_view fallback = {});
std::int64_t integer_of(const DocumentValue& table, std::string_view name, std::int64_t fallback = 0);
double number_of(const DocumentValue& table, std::string_view name, double fallback = 0);
bool flag_of(const DocumentValue& table, std::string_view name, bool fallback = false);
/// The texts of a list, or of the names of a table's fields.
std::vector<std::string> texts_of(const DocumentValue& list);
/// `number * scale`, rounded to the nearest integer.
std::int64_t scaled(double number, double scale);
/// Sorted and joined.
std::string set_text(std::vector<std::string> names);
std::string list_text(const std::vector<std::string>& names);

// One checker for each format.
CaseVerdict check_slot_case(const DocumentValue& file, const std::string& id);
CaseVerdict check_slot_table(const DocumentValue& file, const std::string& id);
CaseVerdict check_quota_scenario(const DocumentValue& file, const DocumentValue& subject, const std::string& id);
CaseVerdict check_quota_table(const DocumentValue& subject, const std::string& id);
/// False: the file's kind is none of these.
bool check_factor_cases(const DocumentValue& file, const std::string& name, std::vector<CaseVerdict>& verdicts);
void check_limit_cases(const DocumentValue& file, const std::string& name, std::vector<CaseVerdict>& verdicts);
CaseVerdict check_tree(const DocumentValue& file, const std::string& id);
CaseVerdict check_rejection(const DocumentValue& rejection, const std::string& name);

}  // namespace penstock::cli
