#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/simulation/world/options.hpp"

using namespace penstock::simulation;

int main(int argc, char** argv) {
  const std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const std::uint64_t last = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : first;
  const std::uint32_t level = argc > 3 ? static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10)) : 3;
  std::uint64_t bad = 0, events = 0, runs = 0, fwd = 0, lost = 0, rec = 0, stolen = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    WorldOptions o;
    o.seed = seed;
    o.faults = Faults::of_level(level);
    o.keep_trace = first == last;
    if (argc > 4) std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(seed));
    const WorldResult r = run_world(o);
    if (o.keep_trace) std::printf("%s", r.trace.c_str());
    events += r.events; runs += r.runs; fwd += r.forward_hits; lost += r.workers_lost; rec += r.recomputed; stolen += r.stolen;
    if (!r.ok) { ++bad; std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), r.failure.c_str()); if (bad > 10) break; }
  }
  std::printf("%s\n", ("bad " + std::to_string(bad) + " events " + std::to_string(events) + " runs " + std::to_string(runs) + " fwd " + std::to_string(fwd) + " lost " + std::to_string(lost) + " recomputed " + std::to_string(rec) + " stolen " + std::to_string(stolen)).c_str());
  return bad ? 1 : 0;
}
