// The bands that may run a subtask.
#pragma once

#include <cstdint>

#include "supervisor/core/job.hpp"
#include "supervisor/core/worker_table.hpp"

namespace penstock::supervisor {

/// Knows which bands have what a template requires: kind, labels, resources, memory and the native operator. Of a
/// graph that is kept in `SharedGraph::eligible`, which only this part writes, and follows the changes of bands.
/// Invariant (`validate`): the sets of a template that are up to date are those that a look at all bands would find.
/// Cost: constant, but for the bands that have changed since a template was last asked for.
class Eligibility {
 public:
  explicit Eligibility(const WorkerTable& workers) : workers_(workers) {}
  Eligibility(const Eligibility&) = delete;
  Eligibility& operator=(const Eligibility&) = delete;

  /// Whether the band has what the template requires, whether or not it is present.
  bool is_eligible(const Template& wanted, const BandEntry& band) const;
  /// Whether it has it, but gives no part of a device: see `BandEntry::whole_only`.
  bool refuses_part(const Template& wanted, const BandEntry& band) const;
  /// The present bands that have what the template requires.
  const EligibleBands& bands_of(const Job& job, std::uint32_t template_index) const {
    EligibleBands& eligible = job.graph.shared->eligible[template_index];
    if (eligible.epoch != workers_.epoch())
      bring_up_to_date(job.graph.shape->graph().templates[template_index], eligible);
    return eligible;
  }
  /// Whether that band is one of them. REQUIRES: the band is present.
  bool may_run_on(const Job& job, std::uint32_t template_index, BandSlot band) const {
    const EligibleBands& eligible = bands_of(job, template_index);
    if (!eligible.everywhere) return eligible.bands.contains(band.value());
    const Template& wanted = job.graph.shape->graph().templates[template_index];
    return workers_[band].kind == (wants_gpu(wanted) ? BandKind::Gpu : BandKind::Cpu);
  }
  /// Whether the subtask has failed on the band for a cause of the band's, and not everywhere since.
  bool was_tried(const Job& job, std::uint32_t subtask, BandSlot band) const;
  /// Whether the band has the memory of the subtask's next attempt, which may be larger than its template says.
  bool has_memory_for(const Job& job, std::uint32_t subtask, BandSlot band) const {
    const bool is_larger = job.template_index_of(subtask) >= job.graph.shape->graph().templates.size();
    return !is_larger || (knows_larger(workers_[band]) && job.memory_of(subtask) <= memory_limit_of(workers_[band]));
  }
  /// Whether the band's worker can be sent a template that is larger than the graph's.
  bool knows_larger(const BandEntry& band) const;
  /// The most memory that an attempt may have there.
  static Bytes memory_limit_of(const BandEntry& band);
  void validate(const Job& job) const;

 private:
  void bring_up_to_date(const Template& wanted, EligibleBands& eligible) const;
  void note(const Template& wanted, EligibleBands& eligible, BandSlot band) const;

  bool has_what(const Template& wanted, const BandEntry& band) const;

  const WorkerTable& workers_;
};

}  // namespace penstock::supervisor
