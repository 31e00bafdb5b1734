#include "worker/core/jobs/peak_table.hpp"

#include <algorithm>

#include "common/base/coverage_mark.hpp"
#include "common/protocol/graph_hash.hpp"

namespace penstock::worker {

// The hash of a graph with only the relevant fields; a template's names and priorities are left out.
std::uint64_t program_of(const Template& content) {
  if (content.request.memory.is_zero()) return 0;
  Graph one;
  Template& known = one.templates.emplace_back();
  known.runner = content.runner;
  known.program = content.program;
  known.arguments = content.arguments;
  known.environment = content.environment;
  known.payload = content.payload;
  known.request = content.request;
  return content_hash(one).low;
}

MemoryPeak PeakTable::look_up(std::uint64_t program) const {
  const std::uint32_t* found = index_.find(program);
  return found == nullptr ? MemoryPeak{} : entries_[*found].peak;
}

void PeakTable::ended(std::uint64_t program, Bytes peak) {
  MemoryPeak& known = entry_of(program).peak;
  constexpr std::int64_t kFading = 16;
  known.bytes = std::max(peak, known.bytes - Bytes{known.bytes.value() / kFading});
  if (known.runs < UINT32_MAX) ++known.runs;
}

void PeakTable::so_far(std::uint64_t program, Bytes peak) {
  const std::uint32_t* found = index_.find(program);
  if (found == nullptr) return;
  Bytes& known = entries_[*found].peak.bytes;
  known = std::max(known, peak);
}

PeakTable::Entry& PeakTable::entry_of(std::uint64_t program) {
  if (const std::uint32_t* found = index_.find(program)) {
    const std::uint32_t position = *found;
    unlink(position);
    link_as_newest(position);
    return entries_[position];
  }
  std::uint32_t position = static_cast<std::uint32_t>(entries_.size());
  if (position < programs_max_) {
    entries_.emplace_back();
  } else {
    PENSTOCK_COVERAGE_MARK("the memory of a program was forgotten for another");
    position = oldest_;
    unlink(position);
    index_.erase(entries_[position].program);
    entries_[position] = Entry{};
  }
  entries_[position].program = program;
  index_.insert(program, position);
  link_as_newest(position);
  return entries_[position];
}

void PeakTable::unlink(std::uint32_t position) {
  const Entry& entry = entries_[position];
  (entry.newer == kNone ? newest_ : entries_[entry.newer].older) = entry.older;
  (entry.older == kNone ? oldest_ : entries_[entry.older].newer) = entry.newer;
}

void PeakTable::link_as_newest(std::uint32_t position) {
  entries_[position].newer = kNone;
  entries_[position].older = newest_;
  (newest_ == kNone ? oldest_ : entries_[newest_].newer) = position;
  newest_ = position;
}

}  // namespace penstock::worker
