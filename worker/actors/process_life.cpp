#include "worker/actors/process_life.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "common/host/log.hpp"
#include "common/host/process.hpp"
#include "worker/runner/command/daemons.hpp"
#include "worker/runner/native/crash_note.hpp"

namespace penstock::worker {

std::optional<OperatorCrash> begin_process_life(int crash_note, std::uint32_t crashes_max) {
  std::optional<OperatorCrash> crash;
  if (crash_note >= 0) {
    crash = read_crash_note(crash_note);
    end_children_of_former_life();
    log_line(LogLevel::Error, "the worker begins again",
             "reason=\"" + (crash ? crash->message : std::string{"a crash of which nothing is known"}) + "\"");
  }
  AfterCrash after;
  after.starts_again = true;
  after.crashes_max = crashes_max;
  after.note = crash_note;
  after.command_line = own_command_line();
  std::erase_if(after.command_line, [](const std::string& word) { return word.starts_with("--crash-note="); });
  survive_operator_crashes(std::move(after));
  return crash;
}

void name_crashing_operators() { survive_operator_crashes({}); }

}  // namespace penstock::worker
