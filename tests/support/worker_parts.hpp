// The rooms of a worker's core without the core, for tests of single parts.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "worker/core/rooms.hpp"

namespace penstock::worker {

/// Owns the rooms as `WorkerCore` does, with one band and one open job. A test calls one part and looks at the others:
/// no event is handled, so nothing happens that the part does not do. Each subtask is made from `program`.
struct WorkerParts {
  explicit WorkerParts(WorkerConfig settings = {}, std::uint32_t slots = 1)
      : config(settings), bands({of(slots)}, config) {
    event.now = instant_at(std::chrono::seconds{1000});
    event.out = &actions;
    job = tables.open_job(JobId{1});
  }

  static BandDescription of(std::uint32_t slots) {
    BandDescription description;
    description.name = "numa-0";
    description.capacity.slots = kOneSlot * slots;
    description.capacity.memory = Bytes{1000};
    description.memory_hard_limit = Bytes{2000};
    return description;
  }
  Band& band() { return bands[BandIndex{0}]; }
  JobContext& context() { return tables.jobs[job]; }
  SubtaskRecord& record(RecordIndex index) { return tables.subtasks[index]; }

  /// A template of its own, from `program`.
  WorkerTemplate& define() {
    auto known = std::make_unique<WorkerTemplate>();
    known->content = program;
    known->execution = program.request;
    known->execution.memory = Bytes{0};
    known->peak_program = program_of(program);
    known->runner_kind = runner_kind_of(program);
    context().templates.push_back(std::move(known));
    return *context().templates.back();
  }
  /// The record of a subtask that has arrived.
  RecordIndex add(std::uint32_t subtask, std::vector<RunInput> inputs = {}, std::uint64_t priority = 0) {
    define();
    Assignment assignment;
    assignment.subtask = SubtaskIndex{subtask};
    assignment.attempt = Attempt{1};
    assignment.band = BandIndex{0};
    assignment.priority = priority << 32U;
    assignment.template_index = TemplateIndex{static_cast<std::uint32_t>(context().templates.size() - 1)};
    const RecordIndex index = tables.subtasks.add(job, assignment, event.now);
    record(index).inputs = std::move(inputs);
    return index;
  }
  /// The same of one that runs, if there is a slot.
  RecordIndex run(std::uint32_t subtask, std::vector<RunInput> inputs = {}) {
    const RecordIndex index = add(subtask, std::move(inputs));
    runs.flow.enqueue(index);
    runs.pump.pump_all();
    return index;
  }
  /// A datum of the job that is at worker 2.
  DatumIndex remote(std::uint32_t producer, std::int64_t bytes) {
    const DatumIndex index = data.table.ensure(key(producer), job, context().data);
    data.table.note_remote(index, WorkerId{2}, Bytes{bytes});
    return index;
  }
  /// A datum of the job that is in memory.
  DatumIndex here(std::uint32_t producer, std::int64_t bytes) {
    const DatumIndex index = remote(producer, bytes);
    data.table.move(index, DatumPlace::Here);
    return index;
  }
  static DataKey key(std::uint32_t producer) { return {{JobId{1}, SubtaskIndex{producer}}, 0}; }
  static RunInput input(std::uint32_t producer) { return {SubtaskIndex{producer}, 0}; }
  RunEnd end_of(RecordIndex index) {
    RunEnd end;
    end.record = index;
    end.attempt = record(index).attempt;
    return end;
  }
  void pass(Duration time) { event.now += time; }

  /// The actions of a kind since the last call; others stay.
  template <class Action>
  std::vector<Action> take() {
    std::vector<Action> taken;
    Actions<WorkerAction> left;
    for (WorkerAction& action : actions) {
      if (auto* found = std::get_if<Action>(&action))
        taken.push_back(std::move(*found));
      else
        left.add(std::move(action));
    }
    actions = std::move(left);
    return taken;
  }
  /// The reports of attempts that are not sent yet, as outcomes.
  std::vector<Outcome> outcomes() {
    pass(config.report_after);
    reports.reporter.flush(true);
    std::vector<Outcome> outcomes;
    for (const auto& sent : take<worker_action::SendReport>())
      for (const JobReports& section : sent.batch.jobs)
        for (const AttemptReport& report : section.attempts) outcomes.push_back(report.outcome);
    return outcomes;
  }

  const WorkerConfig config;
  EventContext event;
  Actions<WorkerAction> actions;
  Tables tables;
  Bands bands;
  Reports reports{config, event, tables};
  DataRoom data{config, event, tables, bands, reports};
  Runs runs{config, event, tables, bands, reports, data};
  JobSlot job;
  Template program;
};

}  // namespace penstock::worker
