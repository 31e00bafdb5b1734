#include "tests/simulation/world/story.hpp"

#include <ostream>

#include "common/base/rng.hpp"

namespace penstock::simulation {

void Story::note(Instant now, const char* what, std::initializer_list<std::uint64_t> numbers) {
  std::uint64_t name = 0xcbf29ce484222325ULL;
  for (const char* p = what; *p != 0; ++p) name = (name ^ static_cast<unsigned char>(*p)) * 0x100000001b3ULL;
  const auto at = static_cast<std::uint64_t>(now.time_since_epoch().count());
  hash_ = mix_bits(hash_ ^ name ^ mix_bits(at));
  for (const std::uint64_t number : numbers) hash_ = mix_bits(hash_ ^ mix_bits(number + 1));
  if (!keeps_ && to_ == nullptr) return;
  std::string line = std::to_string(at / 1000) + " us  ";
  const auto* next = numbers.begin();
  for (const char* p = what; *p != 0; ++p) {
    if (*p == '%' && next != numbers.end())
      line += std::to_string(*next++);
    else
      line += *p;
  }
  line += '\n';
  if (to_ != nullptr) *to_ << line << std::flush;
  if (keeps_) text_ += line;
}

}  // namespace penstock::simulation
