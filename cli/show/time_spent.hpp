// The division of a job's time, from the traces of its attempts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol/client.hpp"

namespace penstock::cli {

/// The time of slots: `span` times `slots` is `run` + `overhead` + `idle`. The time of attempts before they started:
/// `inputs` + `waiting`.
struct TimeSpent {
  std::uint64_t attempts = 0;
  std::uint32_t slots = 0;  ///< Slots that ran anything.
  Duration span{0};         ///< From the first arrival to the last end; the longest of any worker.
  Duration run{0};          ///< Programs at work.
  Duration overhead{0};     ///< A slot was free and its next attempt was ready, but had not started.
  Duration idle{0};         ///< A slot was free and its next attempt was not ready.
  Duration inputs{0};       ///< Attempts waited for their inputs and memory.
  Duration waiting{0};      ///< Attempts were ready and waited for a slot.
};

/// Contradictory traces count as far as their values are possible.
TimeSpent measure_time_spent(const std::vector<SubtaskTrace>& traces);
/// A small table for people, with shares and means.
std::string show_time_spent(const TimeSpent& spent);

}  // namespace penstock::cli
