#include "common/base/ids.hpp"

namespace penstock {

std::string to_string(JobId id) { return id.valid() ? "job-" + std::to_string(id.value()) : "job-none"; }

std::string to_string(SubtaskId id) {
  return std::to_string(id.job.value()) + ":" + std::to_string(id.index.value());
}

std::string to_string(WorkerId id) { return id.valid() ? "w" + std::to_string(id.value()) : "w-none"; }

std::string to_string(BandId id) { return to_string(id.worker) + "/" + std::to_string(id.band.value()); }

std::string to_string(const DataKey& key) {
  return to_string(key.producer) + "." + std::to_string(key.output);
}

std::string to_string(Attempt attempt) {
  const std::uint64_t term = (attempt.value() >> 32U) + 1;
  const std::string count = std::to_string(attempt.value() & 0xffffffffU);
  return term == 1 ? count : std::to_string(term) + "." + count;
}

std::string to_string(SubtaskId id, Attempt attempt) { return to_string(id) + "#" + to_string(attempt); }

std::string to_string(const JobIdentity& identity) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint64_t half : {identity.high, identity.low})
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(half >> shift) & 0xfU];
  return text;
}

JobIdentity parse_identity(std::string_view text) {
  if (text.size() != 32) return {};
  JobIdentity identity;
  const char* const middle = text.data() + 16;
  const bool good = std::from_chars(text.data(), middle, identity.high, 16).ptr == middle &&
                    std::from_chars(middle, middle + 16, identity.low, 16).ptr == middle + 16;
  return good ? identity : JobIdentity{};
}

}  // namespace penstock
