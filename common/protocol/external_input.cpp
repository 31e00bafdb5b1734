#include "common/protocol/external_input.hpp"

#include <array>

namespace penstock {
namespace {

constexpr std::size_t kPlainBytes = 12;  ///< Without an identity.

}  // namespace

std::optional<ExternalDatum> read_external_datum(std::string_view payload) {
  std::array<std::uint32_t, 7> numbers{};
  if (payload.size() != kPlainBytes && payload.size() != sizeof numbers) return std::nullopt;
  for (std::size_t i = 0; i < payload.size(); ++i)
    numbers[i / 4] |= std::uint32_t{static_cast<unsigned char>(payload[i])} << (i % 4 * 8);
  const auto half = [&](std::size_t at) { return numbers[at] | std::uint64_t{numbers[at + 1]} << 32U; };
  const ExternalDatum datum{
      {JobId{numbers[0]}, SubtaskIndex{numbers[1]}}, static_cast<std::uint16_t>(numbers[2]), {half(3), half(5)}};
  if (!datum.producer.job.valid() || !datum.producer.index.valid() || numbers[2] >= EdgeKind::kOrderOnly)
    return std::nullopt;
  return datum;
}

std::string external_datum_payload(const ExternalDatum& datum) {
  std::string payload;
  for (const std::uint32_t number :
       {datum.producer.job.value(), datum.producer.index.value(), std::uint32_t{datum.output}})
    for (std::uint32_t shift = 0; shift < 32; shift += 8) payload += static_cast<char>(number >> shift & 0xffU);
  if (!datum.identity.valid()) return payload;
  for (const std::uint64_t half : {datum.identity.high, datum.identity.low})
    for (std::uint32_t shift = 0; shift < 64; shift += 8) payload += static_cast<char>(half >> shift & 0xffU);
  return payload;
}

}  // namespace penstock
