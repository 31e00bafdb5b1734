#include "supervisor/audit/audit_record.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace penstock::supervisor {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<const char*, std::string AuditRecord::*>, 10> kTexts{{{"event", &AuditRecord::event},
                                                                                     {"user", &AuditRecord::user},
                                                                                     {"role", &AuditRecord::role},
                                                                                     {"serial", &AuditRecord::serial},
                                                                                     {"token", &AuditRecord::token},
                                                                                     {"from", &AuditRecord::from},
                                                                                     {"what", &AuditRecord::what},
                                                                                     {"outcome", &AuditRecord::outcome},
                                                                                     {"cluster", &AuditRecord::cluster},
                                                                                     {"before", &AuditRecord::before}}};

Error malformed() { return {ErrorCode::ParseError, "", "is no record of the audit", {}}; }

template <class Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

/// The reverse of `audit_time_text`; false: it is no such text.
bool read_time(std::string_view text, std::int64_t& unix_ms) {
  if (text.size() != 24 || text[10] != 'T' || text[23] != 'Z') return false;
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int thousandth = 0;
  const bool sound = read(text.substr(0, 4), year) && read(text.substr(5, 2), month) && read(text.substr(8, 2), day) &&
                     read(text.substr(11, 2), hour) && read(text.substr(14, 2), minute) &&
                     read(text.substr(17, 2), second) && read(text.substr(20, 3), thousandth);
  using namespace std::chrono;
  const year_month_day date{std::chrono::year{year}, std::chrono::month{month}, std::chrono::day{day}};
  if (!sound || !date.ok()) return false;
  const auto at = sys_days{date} + hours{hour} + minutes{minute} + seconds{second} + milliseconds{thousandth};
  unix_ms = duration_cast<milliseconds>(at.time_since_epoch()).count();
  return true;
}

bool read_time_of(const Json& object, const char* name, std::int64_t& unix_ms) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() && read_time(found->get_ref<const std::string&>(), unix_ms);
}

std::uint64_t number_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

}  // namespace

std::string audit_time_text(std::int64_t unix_ms) {
  using namespace std::chrono;
  const sys_time<milliseconds> at{milliseconds{unix_ms}};
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss time{at - day};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
  return text.data();
}

std::string to_json(const AuditRecord& record) {
  Json object;
  object["n"] = record.number;
  object["time"] = audit_time_text(record.at_ms);
  for (const auto& [name, member] : kTexts)
    if (const std::string& text = record.*member; !text.empty()) object[name] = text.substr(0, kAuditTextBytesMax);
  if (record.count > 0) object["count"] = record.count;
  if (record.until_ms != 0) object["until"] = audit_time_text(record.until_ms);
  if (record.through > 0) object["through"] = record.through;
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<AuditRecord> parse_audit_record(std::string_view json) {
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object()) return malformed();
  AuditRecord record;
  record.number = number_of(object, "n");
  if (record.number == 0 || !read_time_of(object, "time", record.at_ms)) return malformed();
  for (const auto& [name, member] : kTexts)
    if (const auto found = object.find(name); found != object.end() && found->is_string())
      record.*member = found->get<std::string>();
  record.count = number_of(object, "count");
  record.through = number_of(object, "through");
  if (object.contains("until") && !read_time_of(object, "until", record.until_ms)) return malformed();
  return record;
}

}  // namespace penstock::supervisor
