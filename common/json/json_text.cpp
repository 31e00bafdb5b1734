#include "common/json/json_text.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

// Answers are flat; a deeper one is not intended, and must not exhaust the stack.
constexpr std::uint32_t kDepthMax = 64;

Json json_of(const Value& value, std::uint32_t depth) {
  if (depth > kDepthMax) return "...";
  if (const bool* boolean = value.boolean()) return *boolean;
  if (const std::int64_t* integer = value.integer()) return *integer;
  if (const double* number = value.number()) return *number;
  if (const std::string* text = value.text()) return *text;
  if (const Value::List* list = value.list()) {
    Json made = Json::array();
    for (const Value& item : *list) made.push_back(json_of(item, depth + 1));
    return made;
  }
  if (const Value::Record* record = value.record()) {
    Json made = Json::object();
    for (const auto& [name, field] : *record) made[name] = json_of(field, depth + 1);
    return made;
  }
  return nullptr;
}

}  // namespace

std::string to_json(const Value& value, int indent) {
  return json_of(value, 0).dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace penstock
