// tidy: foreign-file nodes, pod, pods
#include "tools/policy/command_policy_quota_defaults.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <string>

#include "tools/policy/command_policy_case.hpp"

namespace penstock::tools {
namespace {

using namespace penstock::policy;

/// A number as in `20,000,000` or `20e9`, also with a comma after it.
std::optional<std::int64_t> amount_in(std::string word) {
  std::erase(word, ',');
  double number = 0;
  const char* const end = word.data() + word.size();
  const auto [rest, failure] = std::from_chars(word.data(), end, number);
  if (failure != std::errc{} || rest != end) return std::nullopt;
  return scaled(number, 1);
}

void take(const std::string& subject, std::int64_t amount, const std::string& unit, QuotaDefaults& defaults) {
  const bool of_band = subject.starts_with("node");
  if (!of_band && !subject.starts_with("pod")) return;
  if (unit == "millicores") (of_band ? defaults.band_cpu_milli : defaults.member_cpu_milli) = amount;
  if (unit == "bytes") (of_band ? defaults.band_memory_bytes : defaults.member_memory_bytes) = amount;
  if (unit == "pods" && of_band) defaults.band_members_max = amount;
  if (unit == "MiB" && of_band) defaults.device_memory_mib = amount;
}

}  // namespace

QuotaDefaults read_quota_defaults(const cli::DocumentValue& harness) {
  QuotaDefaults defaults;
  std::istringstream parts{text_of(harness, "defaults")};
  for (std::string part; std::getline(parts, part, ';');) {
    std::istringstream words{part};
    std::string subject;
    std::optional<std::int64_t> amount;
    for (std::string word; words >> word;) {
      if (subject.empty()) subject = word;
      if (amount) {
        word.erase(std::find(word.begin(), word.end(), ','), word.end());
        take(subject, *amount, word, defaults);
      }
      amount = amount_in(word);
    }
  }
  return defaults;
}

ResourceShare read_quota_share(const cli::DocumentValue& project, const char* resource, double scale) {
  const cli::DocumentValue& table = field_of(project, resource);
  const bool of_devices = std::string_view{resource} == "gpu";
  const auto amount = [&](const char* name, double fallback) {
    const double value = number_of(table, name, fallback);
    return value < 0 ? kUnlimited : scaled(value, scale);
  };
  return {amount("quota", of_devices ? 0 : -1), amount("limit", -1),
          scaled(number_of(table, "weight", of_devices ? 0 : 1), 1000)};
}

}  // namespace penstock::tools
