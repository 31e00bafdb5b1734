// The user programs of the simulated world.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "common/protocol/graph.hpp"
#include "tests/simulation/world/oracle.hpp"
#include "worker/core/actions.hpp"
#include "worker/shell/run_ticket.hpp"

namespace penstock::simulation {

class World;
class WorkerHost;

/// The outputs of a run that are not empty.
using Made = std::map<DataKey, Content>;

/// A program that runs.
struct ProgramRun {
  enum class Yields : std::uint8_t {
    Nothing,
    Lent,
    LentAndOver,  ///< Its time has passed; it ends when it has its slot again.
  };
  SubtaskId id;
  Attempt attempt;
  BandIndex band;
  const Template* program = nullptr;
  std::uint64_t number = 0;
  Instant started{};
  std::uint64_t read = 0;  ///< Stands for all that it has read.
  DeviceSet devices = 0;   ///< As `StartSubtask::devices`; of a run that was on offer those of the run before it.
  Yields yields = Yields::Nothing;
  bool holds_slots() const { return yields == Yields::Nothing; }
};

/// The end of a run, as the runners of a real worker tell it.
struct ProgramEnd {
  std::uint64_t ticket = 0;
  Attempt attempt;
  bool succeeded = true;
  std::uint32_t run_us = 0;
  std::uint32_t run_ns = 0;
  std::int64_t peak_bytes = 0;
  Instant ended{};
  std::uint64_t next_ticket = ~std::uint64_t{0};
  std::vector<OutputReport> outputs;
  std::unique_ptr<FailureDetail> failure;
  Made unstored;  ///< Outputs that the store does not have yet; empty: it has all.
};

/// The lanes of one life of a worker, and the programs that run on them for a drawn time, measured, asked to stop and
/// killed, and that lend their slot for a while.
class Programs {
 public:
  explicit Programs(WorkerHost& host);

  void start(const worker::worker_action::StartSubtask& action);
  void stop(const worker::worker_action::StopRun& order);
  void answer(const worker::worker_action::AnswerYield& answer);
  /// Whether something has ended or is on offer since the last `withdraw`.
  bool has_news() const { return !untold_.empty() || offers_open_; }
  /// No run on offer can be taken over any more; the ends since the last call, as lanes have kept them.
  std::vector<ProgramEnd> withdraw();
  /// The process has gone.
  void end_all();

  const std::map<worker::RecordIndex, ProgramRun>& runs() const { return runs_; }
  /// The memory that a run has at least: all that was requested; once enough runs were measured, what the most modest
  /// of them has used.
  Bytes least_grant(const ProgramRun& run) const;

 private:
  void start_now(const worker::worker_action::StartSubtask& action);
  void resume(const worker::worker_action::StartSubtask& action);
  void plan_yield(worker::RecordIndex record, const ProgramRun& run, Duration duration);
  ProgramRun* find(worker::RecordIndex record, std::uint64_t number);
  void end_later(Duration delay, worker::RecordIndex record, std::uint64_t number, bool killed);
  void end(worker::RecordIndex record, std::uint64_t number, bool killed);
  ProgramEnd make_end(worker::RecordIndex record, const ProgramRun& run, bool killed);
  std::optional<FailureClass> draw_failure(const ProgramRun& run, bool killed);
  void make_outputs(const ProgramRun& run, const std::optional<Content>& external, ProgramEnd& end);
  std::uint64_t fate_of(SubtaskId id) const;
  Bytes used_by(const ProgramRun& run) const;
  void measure_run(worker::RecordIndex record, std::uint64_t number);
  void measure_band(BandIndex band, int high);
  Duration draw_duration(const worker::worker_action::StartSubtask& action);
  // Inputs of runs, and sizes of outputs: program_inputs.cpp.
  std::int64_t output_bytes(const DataKey& key) const;
  std::optional<Content> read_external(SubtaskId subtask) const;
  std::uint64_t read_inputs(const worker::worker_action::StartSubtask& action) const;
  void check_inputs(const worker::worker_action::StartSubtask& action) const;
  const Content* read_input(const worker::worker_action::StartSubtask& action, const DataKey& key,
                            const worker::RunInput& input) const;

  WorkerHost& host_;
  World& world_;
  std::map<worker::RecordIndex, ProgramRun> runs_;
  /// The use of measured runs of a program in this life. A use that the worker has forgotten is still known here:
  /// the least is then too low, so nothing is held against the worker that is not its fault.
  struct Measured {
    std::uint32_t runs = 0;
    Bytes least = Bytes::max();
  };
  std::map<std::uint64_t, Measured> measured_;
  bool offers_open_ = false;
  std::vector<worker::worker_action::StartSubtask> offers_;
  std::vector<ProgramEnd> untold_;  ///< Ends that lanes keep.
  std::uint64_t next_run_ = 1;      ///< Of all lives.
};

}  // namespace penstock::simulation
