#include "supervisor/policy/actions/give_way.hpp"

#include <algorithm>

#include "supervisor/policy/actions/protection.hpp"
#include "supervisor/policy/eligibility.hpp"

namespace penstock::policy {
namespace {

/// Not a setting: as many waiting jobs try to take the places of one search, so that its cost has a bound.
constexpr std::size_t kTriesMax = 64;

using Members = std::vector<std::uint32_t>;

bool fits_somewhere(const QuotaPass& pass, std::uint32_t member, const Members& bands) {
  const Snapshot& snapshot = pass.snapshot();
  return std::any_of(bands.begin(), bands.end(), [&](std::uint32_t band) {
    return band_allowed(snapshot, snapshot.members[member], band) &&
           pass.trial().fits_now_or_later(member, band, Trial::When::NowOrLater).has_value();
  });
}

/// Places the next of those jobs, and again, until the members that moved have been served. True: another one has a
/// place of theirs.
bool serve(QuotaPass& pass, Agenda& agenda, const WorkloadOrder::Waits& waits, const Members& moved_jobs,
           const Members& bands) {
  std::vector<bool> allowed(pass.snapshot().bands.size(), false);
  for (const std::uint32_t band : bands) allowed[band] = true;
  std::size_t tries = 0;
  std::size_t moved_left = moved_jobs.size();
  bool any = false;
  while (const std::optional<std::uint32_t> job = agenda.take()) {
    const bool has_moved = std::find(moved_jobs.begin(), moved_jobs.end(), *job) != moved_jobs.end();
    if (!has_moved && (moved_left == 0 || ++tries > kTriesMax)) continue;
    const Members members = pass.order().next_members(*job, waits);
    const bool placed =
        !members.empty() && fits_somewhere(pass, members.front(), bands) && !pass.refused(*job, members) &&
        pass.place_all(*job, members, has_moved ? Trial::When::Later : Trial::When::NowOrLater, allowed);
    if (placed) {
      agenda.add(*job);
      any = any || !has_moved;
    } else if (has_moved) {
      --moved_left;
    }
  }
  return any;
}

bool is_whole(const QuotaPass& pass, std::uint32_t workload) {
  return !pass.holds_anything(workload) || pass.order().all_at_min(workload);
}

}  // namespace

void give_way(QuotaPass& pass, std::uint32_t project, const Members& moved, std::uint32_t reclaimer) {
  Trial& trial = pass.trial();
  Members jobs;
  Members bands;
  for (const std::uint32_t member : moved) {
    jobs.push_back(pass.snapshot().members[member].workload);
    bands.push_back(trial.holdings(member).band);
  }
  for (Members* all : {&jobs, &bands}) {
    std::sort(all->begin(), all->end());
    all->erase(std::unique(all->begin(), all->end()), all->end());
  }
  Members rivals = pass.candidates_of(project);
  std::erase_if(rivals, [&jobs](std::uint32_t job) { return std::find(jobs.begin(), jobs.end(), job) != jobs.end(); });
  if (rivals.empty()) return;
  const std::size_t mark = trial.mark();
  const std::array<OwnedAmount, kResources> before = trial.owners()[project].of;
  for (const std::uint32_t member : moved) trial.leave(member);
  const WorkloadOrder::Waits waits = [&](std::uint32_t member) {
    return pass.waits(member) || (trial.state(member) == MemberState::Leaving &&
                                  std::find(moved.begin(), moved.end(), member) != moved.end());
  };
  Agenda agenda{pass.order(), Direction::Serve, waits};
  agenda.add_all(rivals);
  for (const std::uint32_t job : jobs) agenda.add(job);
  bool good = serve(pass, agenda, waits, jobs, bands);
  for (std::size_t resource = 0; resource < kResources; ++resource)
    good = good && trial.owners()[project].of[resource].allocated >= before[resource].allocated;
  good = good && std::all_of(jobs.begin(), jobs.end(), [&](std::uint32_t job) {
           return is_whole(pass, job) && keeps_protected_core(pass, job, reclaimer);
         });
  if (!good) trial.undo_to(mark);
}

}  // namespace penstock::policy
