#include "tools/policy/command_policy_case.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::tools {
namespace {

const cli::DocumentValue kAbsent{};

std::string number_text(double number) {
  std::string text = std::to_string(number);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

void CaseChecker::equal(const std::string& what, const std::string& expected, const std::string& got) {
  ++compared_;
  if (expected != got) fail(what + ": expected " + expected + ", got " + got);
}

void CaseChecker::equal(const std::string& what, std::int64_t expected, std::int64_t got) {
  ++compared_;
  if (expected != got) fail(what + ": expected " + std::to_string(expected) + ", got " + std::to_string(got));
}

void CaseChecker::near(const std::string& what, double expected, double got, double tolerance) {
  ++compared_;
  if (!(std::abs(expected - got) <= tolerance))
    fail(what + ": expected " + number_text(expected) + ", got " + number_text(got));
}

void CaseChecker::at_most(const std::string& what, std::int64_t bound, std::int64_t got) {
  ++compared_;
  if (got > bound) fail(what + ": at most " + std::to_string(bound) + ", got " + std::to_string(got));
}

bool CaseChecker::demand(const cli::DocumentValue& table, const std::string& name, const std::string& place) {
  if (has_field(table, name)) return true;
  fail("there is no `" + (place.empty() ? "" : place + ".") + name + "` to compare with");
  return false;
}

void CaseChecker::no_twins(const std::string& what, std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  const auto twin = std::adjacent_find(names.begin(), names.end());
  if (twin != names.end()) fail("two " + what + " are called '" + *twin + "'");
}

void CaseChecker::one_of(const cli::DocumentValue& table, const std::string& name,
                         const std::vector<std::string_view>& known) {
  if (!has_field(table, name)) return;
  const std::string text = text_of(table, name);
  if (std::find(known.begin(), known.end(), text) != known.end()) return;
  std::string choice;
  for (const std::string_view each : known) choice += (choice.empty() ? "`" : ", `") + std::string{each} + "`";
  fail("the " + name + " '" + text + "' is not understood; one of " + choice);
}

void CaseChecker::only_fields(const cli::DocumentValue& table, const std::vector<std::string_view>& known) {
  for (const cli::DocumentField& field : table.fields)
    if (std::find(known.begin(), known.end(), field.name) == known.end())
      fail("'" + field.name + "' is not understood");
}

const cli::DocumentValue& field_of(const cli::DocumentValue& table, std::string_view name) {
  const cli::DocumentValue* value = table.find(name);
  return value == nullptr ? kAbsent : *value;
}

bool has_field(const cli::DocumentValue& table, std::string_view name) {
  return field_of(table, name).kind != cli::DocumentValue::Kind::Null;
}

std::string text_of(const cli::DocumentValue& table, std::string_view name, std::string_view fallback) {
  const cli::DocumentValue& value = field_of(table, name);
  return value.is_text() ? value.text : std::string{fallback};
}

std::int64_t integer_of(const cli::DocumentValue& table, std::string_view name, std::int64_t fallback) {
  const cli::DocumentValue& value = field_of(table, name);
  return value.is_number() ? whole_of(value) : fallback;
}

std::int64_t whole_of(const cli::DocumentValue& value) {
  if (value.kind == cli::DocumentValue::Kind::Integer) return value.integer;
  return value.is_number() ? scaled(value.number, 1) : 0;
}

double number_of(const cli::DocumentValue& table, std::string_view name, double fallback) {
  const cli::DocumentValue& value = field_of(table, name);
  return value.is_number() ? value.number : fallback;
}

bool flag_of(const cli::DocumentValue& table, std::string_view name, bool fallback) {
  const cli::DocumentValue& value = field_of(table, name);
  return value.kind == cli::DocumentValue::Kind::Boolean ? value.boolean : fallback;
}

std::vector<std::string> texts_of(const cli::DocumentValue& list) {
  std::vector<std::string> texts;
  for (const cli::DocumentValue& item : list.items)
    texts.push_back(item.is_text() ? item.text : std::to_string(whole_of(item)));
  for (const cli::DocumentField& field : list.fields) texts.push_back(field.name);
  return texts;
}

std::vector<std::string> texts_of_items(const cli::DocumentValue& list, std::string_view name) {
  std::vector<std::string> texts;
  for (const cli::DocumentValue& item : list.items) texts.push_back(text_of(item, name));
  return texts;
}

std::int64_t scaled(double number, double scale) {
  const double wide = number * scale;
  if (!(wide > -9e18 && wide < 9e18)) return wide > 0 ? INT64_MAX : INT64_MIN;
  return std::llround(wide);
}

std::string list_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return "[" + text + "]";
}

std::string set_text(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return list_text(names);
}

}  // namespace penstock::tools
