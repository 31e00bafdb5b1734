// Reading of reference cases, and the results of comparing them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/jobfile/document.hpp"

namespace penstock::tools {

/// The code that a case runs.
enum class CaseWay : std::uint8_t {
  Function,  ///< One function of the product: the case has no jobs and slots.
  Pass,      ///< A pass of the policy over a snapshot of the case, without a supervisor.
  Cluster,   ///< A supervisor and workers in virtual time, by submissions and orders.
};

/// The result of one case.
struct CaseVerdict {
  std::string id;
  std::string kind;
  std::vector<std::string> differences;  ///< Empty: it passed.
  std::vector<std::string> remarks;      ///< Fields of the case that no checker reads.
  CaseWay way = CaseWay::Function;

  bool passed() const { return differences.empty(); }
};

/// Collects the differences of one case. A demand of a case that is not understood is a difference, too.
class CaseChecker {
 public:
  CaseChecker(std::string id, std::string kind) : verdict_{std::move(id), std::move(kind), {}, {}} {}

  /// The way by which the case runs, where it is not a function.
  void runs_by(CaseWay way) { verdict_.way = way; }

  void equal(const std::string& what, const std::string& expected, const std::string& got);
  void equal(const std::string& what, std::int64_t expected, std::int64_t got);
  void near(const std::string& what, double expected, double got, double tolerance);
  /// An upper bound.
  void at_most(const std::string& what, std::int64_t bound, std::int64_t got);
  void fail(std::string difference) { verdict_.differences.push_back(std::move(difference)); }
  /// Reported, and a difference in strict mode.
  void remark(std::string what) { verdict_.remarks.push_back(std::move(what)); }
  /// Every field of `table` must be one of `known`.
  void only_fields(const cli::DocumentValue& table, const std::vector<std::string_view>& known);

  /// Fails if two of `names` are the same; `what` is the plural of the named things.
  void no_twins(const std::string& what, std::vector<std::string> names);
  /// Fails unless the field of `table` is absent or one of `known`.
  void one_of(const cli::DocumentValue& table, const std::string& name, const std::vector<std::string_view>& known);
  /// Requires a field that the case needs: false, and a difference, if it is missing.
  bool demand(const cli::DocumentValue& table, const std::string& name, const std::string& place = "expect");
  /// For comparisons other than `equal`, `near` and `at_most`.
  void count_comparison() { ++compared_; }

  bool passed() const { return verdict_.passed(); }
  /// Adds the comparisons of another checker for the same case.
  void count_comparisons_of(const CaseChecker& other) { compared_ += other.compared_; }
  const std::vector<std::string>& differences() const { return verdict_.differences; }
  /// A case without any comparison checks nothing: a difference.
  CaseVerdict take() {
    if (compared_ == 0 && passed()) fail("nothing to compare with");
    return std::move(verdict_);
  }

 private:
  CaseVerdict verdict_;
  std::size_t compared_ = 0;
};

// Access without errors: a field that is absent or of another kind gives an empty value or the fallback.
const cli::DocumentValue& field_of(const cli::DocumentValue& table, std::string_view name);
bool has_field(const cli::DocumentValue& table, std::string_view name);
std::string text_of(const cli::DocumentValue& table, std::string_view name, std::string_view fallback = {});
std::int64_t integer_of(const cli::DocumentValue& table, std::string_view name, std::int64_t fallback = 0);
/// A number as a whole one, also written as `4.0`. 0 if it is none.
std::int64_t whole_of(const cli::DocumentValue& value);
double number_of(const cli::DocumentValue& table, std::string_view name, double fallback = 0);
bool flag_of(const cli::DocumentValue& table, std::string_view name, bool fallback = false);
/// The texts of a list, or of the names of a table's fields.
std::vector<std::string> texts_of(const cli::DocumentValue& list);
/// `number * scale`, rounded to the nearest integer.
std::int64_t scaled(double number, double scale);
/// The field called `name` of each item.
std::vector<std::string> texts_of_items(const cli::DocumentValue& list, std::string_view name);
/// Sorted and joined.
std::string set_text(std::vector<std::string> names);
std::string list_text(const std::vector<std::string>& names);

// Checks of values that slots may not have. Spec: policy-determined 3 and 5.1.
/// A weight is above 0. With `zero_is_unset` a weight of 0 counts as unset.
void check_weight(const cli::DocumentValue& table, CaseChecker& checker, bool zero_is_unset = false);
void check_priority_range(const cli::DocumentValue& table, const std::string& name, CaseChecker& checker);
/// Amounts of `table` must not be negative.
void check_amounts(const cli::DocumentValue& table, const std::vector<std::string>& names, CaseChecker& checker);

// One checker for each format.
CaseVerdict check_oversized_case(const cli::DocumentValue& file, const std::string& id);
CaseVerdict check_desired_workers(const cli::DocumentValue& file, const std::string& id);
CaseVerdict check_slot_table(const cli::DocumentValue& file, const std::string& id);
CaseVerdict check_quota_scenario(const cli::DocumentValue& file, const cli::DocumentValue& subject,
                                 const std::string& id);
CaseVerdict check_quota_table(const cli::DocumentValue& subject, const std::string& id);
/// False: the file's kind is none of these.
bool check_factor_cases(const cli::DocumentValue& file, const std::string& name, std::vector<CaseVerdict>& verdicts);
void check_limit_cases(const cli::DocumentValue& file, const std::string& name, std::vector<CaseVerdict>& verdicts);
CaseVerdict check_tree(const cli::DocumentValue& file, const std::string& id);
CaseVerdict check_rejection(const cli::DocumentValue& rejection, const std::string& name);

}  // namespace penstock::tools
