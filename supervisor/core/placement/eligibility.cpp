#include "supervisor/core/placement/eligibility.hpp"

#include <algorithm>

#include "common/base/check.hpp"

namespace penstock::supervisor {

// A worker from before protocol 1.2, which brought barriers, keeps the first content that it has received for a
// template's number, also when a restarted supervisor means another one by it.
bool Eligibility::knows_larger(const BandEntry& band) const { return workers_[band.worker].description.barriers; }

// A subtask that exceeds the capacity runs alone.
Bytes Eligibility::memory_limit_of(const BandEntry& band) {
  return std::max(band.description.capacity.memory, band.description.memory_hard_limit);
}

bool Eligibility::is_eligible(const Template& wanted, const BandEntry& band) const {
  return has_what(wanted, band) && !refuses_part(wanted, band);
}

bool Eligibility::refuses_part(const Template& wanted, const BandEntry& band) const {
  return band.whole_only && wants_gpu(wanted) && whole_devices(wanted.request) == 0 && has_what(wanted, band);
}

bool Eligibility::has_what(const Template& wanted, const BandEntry& band) const {
  if (!wanted.required.empty()) {
    if (!workers_.selects(wanted.required, band)) return false;
  } else if ((band.description.kind == BandKind::Gpu) != wants_gpu(wanted)) {
    return false;
  }
  if (!fits_execution(wanted.request, band.description.capacity)) return false;
  if (!devices_could_hold(wanted.request, band.description.devices)) return false;
  if (wanted.request.memory > memory_limit_of(band)) return false;
  const Register& worker = workers_[band.worker].description;
  if (wanted.runner != RunnerKind::Native || worker.operators.empty()) return true;
  return std::find(worker.operators.begin(), worker.operators.end(), wanted.program) != worker.operators.end();
}

// Only changed bands are examined: a fleet that registers costs each template one look for each band.
void Eligibility::bring_up_to_date(const Template& wanted, EligibleBands& eligible) const {
  if (workers_.remembers(eligible.epoch)) {
    for (const BandSlot band : workers_.changed_since(eligible.epoch)) note(wanted, eligible, band);
  } else {
    eligible = EligibleBands{};
    for (std::uint32_t i = 0; i < workers_.band_slots(); ++i) note(wanted, eligible, BandSlot{i});
  }
  eligible.everywhere = wanted.required.empty() && eligible.misfits.empty();
  eligible.epoch = workers_.epoch();
}

void Eligibility::note(const Template& wanted, EligibleBands& eligible, BandSlot slot) const {
  const BandEntry& band = workers_[slot];
  const bool present = band.alive && !band.draining;
  const bool fits = present && is_eligible(wanted, band);
  const bool misfit = present && !fits && (band.kind == BandKind::Gpu) == wants_gpu(wanted);
  eligible.bands.set(slot.value(), fits);
  eligible.misfits.set(slot.value(), misfit);
}

bool Eligibility::was_tried(const Job& job, std::uint32_t subtask, BandSlot band) const {
  const SubtaskHistory* history = job.extras.histories->find(SubtaskIndex{subtask});
  if (history == nullptr || history->tried_epoch != workers_.epoch()) return false;
  return std::find(history->tried.begin(), history->tried.end(), band) != history->tried.end();
}

void Eligibility::validate(const Job& job) const {
  for (std::size_t i = 0; i < job.graph.shared->eligible.size(); ++i) {
    const EligibleBands& kept = job.graph.shared->eligible[i];
    if (kept.epoch != workers_.epoch()) continue;
    EligibleBands fresh;
    for (std::uint32_t band = 0; band < workers_.band_slots(); ++band) {
      note(job.graph.shape->graph().templates[i], fresh, BandSlot{band});
      PENSTOCK_CHECK(kept.bands.contains(band) == fresh.bands.contains(band));
      PENSTOCK_CHECK(kept.misfits.contains(band) == fresh.misfits.contains(band));
    }
    PENSTOCK_CHECK(kept.bands.size() == fresh.bands.size() && kept.misfits.size() == fresh.misfits.size());
  }
}

}  // namespace penstock::supervisor
