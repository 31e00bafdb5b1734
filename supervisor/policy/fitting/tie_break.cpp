#include "supervisor/policy/fitting/tie_break.hpp"

#include <array>
#include <bit>
#include <string>

namespace penstock::policy {
namespace {

// RFC 1321: the integer parts of 2^32 * |sin(i + 1)|.
constexpr std::array<std::uint32_t, 64> kSines = {
    0xd76aa478U, 0xe8c7b756U, 0x242070dbU, 0xc1bdceeeU, 0xf57c0fafU, 0x4787c62aU, 0xa8304613U, 0xfd469501U,
    0x698098d8U, 0x8b44f7afU, 0xffff5bb1U, 0x895cd7beU, 0x6b901122U, 0xfd987193U, 0xa679438eU, 0x49b40821U,
    0xf61e2562U, 0xc040b340U, 0x265e5a51U, 0xe9b6c7aaU, 0xd62f105dU, 0x02441453U, 0xd8a1e681U, 0xe7d3fbc8U,
    0x21e1cde6U, 0xc33707d6U, 0xf4d50d87U, 0x455a14edU, 0xa9e3e905U, 0xfcefa3f8U, 0x676f02d9U, 0x8d2a4c8aU,
    0xfffa3942U, 0x8771f681U, 0x6d9d6122U, 0xfde5380cU, 0xa4beea44U, 0x4bdecfa9U, 0xf6bb4b60U, 0xbebfbc70U,
    0x289b7ec6U, 0xeaa127faU, 0xd4ef3085U, 0x04881d05U, 0xd9d4d039U, 0xe6db99e5U, 0x1fa27cf8U, 0xc4ac5665U,
    0xf4292244U, 0x432aff97U, 0xab9423a7U, 0xfc93a039U, 0x655b59c3U, 0x8f0ccc92U, 0xffeff47dU, 0x85845dd1U,
    0x6fa87e4fU, 0xfe2ce6e0U, 0xa3014314U, 0x4e0811a1U, 0xf7537e82U, 0xbd3af235U, 0x2ad7d2bbU, 0xeb86d391U};
constexpr std::array<std::uint8_t, 16> kShifts = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

using Words = std::array<std::uint32_t, 4>;

void mix_block(Words& state, const unsigned char* block) {
  std::array<std::uint32_t, 16> words{};
  for (std::size_t i = 0; i < 64; ++i) words[i / 4] |= std::uint32_t{block[i]} << (8 * (i % 4));
  auto [a, b, c, d] = state;
  for (std::uint32_t i = 0; i < 64; ++i) {
    std::uint32_t f = 0;
    std::uint32_t word = 0;
    switch (i / 16) {
      case 0: f = (b & c) | (~b & d), word = i; break;
      case 1: f = (d & b) | (~d & c), word = (5 * i + 1) % 16; break;
      case 2: f = b ^ c ^ d, word = (3 * i + 5) % 16; break;
      default: f = c ^ (b | ~d), word = (7 * i) % 16; break;
    }
    const std::uint32_t turned = std::rotl(a + f + kSines[i] + words[word], kShifts[i / 16 * 4 + i % 4]);
    a = d;
    d = c;
    c = b;
    b += turned;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

}  // namespace

std::uint64_t name_hash(std::string_view name) {
  std::string padded{name};
  padded += static_cast<char>(0x80);
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t{name.size()} * 8;
  for (unsigned i = 0; i < 8; ++i) padded += static_cast<char>(bits >> (8 * i));
  Words state = {0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U};
  for (std::size_t at = 0; at < padded.size(); at += 64) {
    std::array<unsigned char, 64> block{};
    for (std::size_t i = 0; i < 64; ++i) block[i] = static_cast<unsigned char>(padded[at + i]);
    mix_block(state, block.data());
  }
  return std::uint64_t{state[0]} | (std::uint64_t{state[1]} << 32U);
}

}  // namespace penstock::policy
