// Makes a journal for `tests/chaos/journal_damage`: make_journal DIRECTORY JOBS BYTES_OF_EACH
#include "tests/chaos/journal_maker.hpp"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  using namespace penstock;
  if (argc != 4) return std::fprintf(stderr, "usage: make_journal DIRECTORY JOBS BYTES_OF_EACH\n"), 2;
  supervisor::JournalShape shape;
  shape.jobs = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  shape.job_bytes = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
  const Result<void> made = supervisor::make_journal(argv[1], shape);
  if (made) return 0;
  std::fprintf(stderr, "%s\n", to_string(made.error()).c_str());
  return 1;
}
