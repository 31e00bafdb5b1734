// Runs the function of `fuzz.hpp` without libFuzzer: over the inputs of a corpus, and over changed ones for a while.
// Its words are those of libFuzzer, so that both are called alike.
//
//   fuzz_NAME [-max_total_time=SECONDS] [-seed=N] FILE_OR_DIRECTORY...
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "common/base/rng.hpp"
#include "common/host/clock.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kInputBytesMax = 1U << 20U;

std::string read(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::vector<std::string> corpus_of(const std::vector<fs::path>& places) {
  std::vector<fs::path> paths;
  for (const fs::path& place : places) {
    if (fs::is_regular_file(place)) paths.push_back(place);
    if (fs::is_directory(place))
      for (const auto& entry : fs::recursive_directory_iterator{place})
        if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const fs::path& path : paths) corpus.push_back(read(path));
  return corpus;
}

/// Flipped bits, odd numbers, parts that are gone, repeated, or of another input.
std::string changed(const std::vector<std::string>& corpus, Rng& rng) {
  std::string input = corpus[rng.below(corpus.size())];
  for (std::uint64_t changes = 1 + rng.below(5); changes-- > 0 && !input.empty();) {
    const std::size_t at = rng.below(input.size());
    const std::size_t count = 1 + rng.below(std::min<std::size_t>(input.size() - at, 64));
    switch (rng.below(7)) {
      case 0: input[at] = static_cast<char>(input[at] ^ (1U << rng.below(8))); break;
      case 1: input[at] = static_cast<char>(rng.next()); break;
      case 2: input.replace(at, count, count, rng.chance(1, 2) ? '\xff' : '\0'); break;
      case 3: input.erase(at, count); break;
      case 4: input.insert(at, input.substr(at, count)); break;
      case 5: input.resize(at); break;
      default: {
        const std::string& other = corpus[rng.below(corpus.size())];
        if (!other.empty()) input.insert(at, other.substr(rng.below(other.size()), 1 + rng.below(64)));
      }
    }
  }
  if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
  return input;
}

void try_input(const std::string& input) {
  // From the heap, exactly: a sanitizer sees what is read behind it.
  const std::vector<std::uint8_t> exact{input.begin(), input.end()};
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

std::uint64_t number_behind(std::string_view argument, std::string_view option, std::uint64_t otherwise) {
  if (!argument.starts_with(option)) return otherwise;
  std::from_chars(argument.data() + option.size(), argument.data() + argument.size(), otherwise);
  return otherwise;
}

int run(const std::vector<std::string>& arguments) {
  std::uint64_t seconds = 0;
  std::uint64_t seed = 1;
  std::vector<fs::path> places;
  for (const std::string& argument : arguments) {
    seconds = number_behind(argument, "-max_total_time=", seconds);
    seed = number_behind(argument, "-seed=", seed);
    if (!argument.starts_with("-")) places.emplace_back(argument);
  }
  const std::vector<std::string> corpus = corpus_of(places);
  if (corpus.empty()) {
    std::fprintf(stderr, "fuzz: there is no input: name files or directories\n");
    return 2;
  }
  for (const std::string& input : corpus) try_input(input);
  Rng rng{seed};
  std::uint64_t tries = 0;
  for (const Instant end = monotonic_now() + std::chrono::seconds{seconds}; monotonic_now() < end; ++tries)
    try_input(changed(corpus, rng));
  std::printf("%zu inputs, and %llu changed ones\n", corpus.size(), static_cast<unsigned long long>(tries));
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int count, char** values) { return penstock::run({values + 1, values + count}); }
