#include "cli/show/result_text.hpp"

#include <algorithm>

#include "cli/show/render.hpp"
#include "common/json/json_text.hpp"

namespace penstock::cli {

bool is_printable(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) {
    const auto c = static_cast<unsigned char>(byte);
    return c == '\n' || c == '\t' || c == '\r' || (c >= 0x20 && c != 0x7f);
  });
}

Value::Record describe_result(const std::string& key, std::uint64_t size, std::span<const std::byte> begin) {
  Value::Record result{{"key", key}, {"bytes", size}};
  begin = begin.first(std::min(begin.size(), kResultBytesShown));
  if (size > 0 && !begin.empty() && is_printable(begin))
    result.emplace_back("text", std::string{reinterpret_cast<const char*>(begin.data()), begin.size()});
  return result;
}

void print_results(std::ostream& out, const Value::List& results) {
  for (const Value& result : results) {
    const std::string* text = result["text"].text();
    out << "--- " << harmless(*result["key"].text())
        << (text == nullptr ? ": " + to_json(result["bytes"], -1) + " bytes" : "") << "\n";
    if (text != nullptr) out << *text << (text->ends_with("\n") ? "" : "\n");
  }
}

}  // namespace penstock::cli
