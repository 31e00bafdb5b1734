// One case, a given number of times, for scripts/bench-guard: `bench_count CASE N` prints how often it did it, and
// `bench_count` the cases.
#include <charconv>
#include <cstdio>
#include <string_view>

#include "bench/cases/cases.hpp"

int main(int argc, char** argv) {
  using namespace penstock::bench;
  for (const std::span<const Case> cases : {worker_cases(), flow_cases(), wire_cases()})
    for (const Case& subject : cases) {
      if (argc < 3) {
        std::printf("%.*s\n", static_cast<int>(subject.name.size()), subject.name.data());
        continue;
      }
      if (subject.name != argv[1]) continue;
      const std::string_view text{argv[2]};
      std::uint64_t count = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), count).ec != std::errc{}) return 2;
      Meter meter;
      std::printf("%llu\n", static_cast<unsigned long long>(subject.run(count, meter)));
      return 0;
    }
  return argc < 3 ? 0 : 2;
}
