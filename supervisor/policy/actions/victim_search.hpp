// The members that leave so that another one fits, where slots are counted.
#pragma once

#include <cstdint>
#include <vector>

#include "supervisor/policy/slot_trial.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::policy {

/// Takes candidates in their order until `subject` fits, then spares those that do not help, the last one first. The
/// places of the victims are free in the trial then. Empty, and the trial is unchanged, if `subject` would not fit
/// without all of them. Cost: a search for places for each candidate on a band that could hold `subject`.
/// Spec: policy-determined 5.3.
std::vector<std::uint32_t> find_victims(const Snapshot& snapshot, SlotTrial& trial, const Member& subject,
                                        const std::vector<std::uint32_t>& candidates);

}  // namespace penstock::policy
