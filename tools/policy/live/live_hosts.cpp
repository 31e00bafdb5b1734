#include "tools/policy/live/live_hosts.hpp"

#include <algorithm>
#include <span>

namespace penstock::tools {

using namespace worker::worker_action;

namespace {

auto record_of(auto& records, SubtaskId subtask) {
  return std::find_if(records.begin(), records.end(), [&](const auto& each) { return each.second == subtask; });
}

}  // namespace

void LiveHosts::add(WorkerId worker, const Register& description) {
  hosts_[worker] = std::make_unique<Host>(config_, description);
}

void LiveHosts::remove(WorkerId worker) {
  const auto host = hosts_.find(worker);
  if (host == hosts_.end()) return;
  std::erase_if(runs_, [&](const auto& run) {
    if (run.second.worker != worker) return false;
    tell_of(run.second, RunNews::Ended);
    return true;
  });
  deadlines_.erase({host->second->deadline, worker});
  hosts_.erase(host);
}

void LiveHosts::tell(WorkerId worker, const worker::WorkerEvent& event, Instant now) {
  const auto found = hosts_.find(worker);
  if (found == hosts_.end()) return;
  Host& host = *found->second;
  Actions<worker::WorkerAction> actions;
  host.core.handle(event, now, actions);
  for (worker::WorkerAction& action : actions) std::visit([&](auto& concrete) { carry_out(worker, concrete); }, action);
  note_deadline(worker, host);
}

void LiveHosts::note_deadline(WorkerId worker, Host& host) {
  const Instant next = host.core.next_deadline().value_or(kNever);
  if (next == host.deadline) return;
  deadlines_.erase({host.deadline, worker});
  host.deadline = next;
  if (next != kNever) deadlines_.emplace(next, worker);
}

void LiveHosts::tick_what_is_due(Instant now) {
  std::vector<WorkerId> due;
  for (auto at = deadlines_.begin(); at != deadlines_.end() && at->first <= now; ++at) due.push_back(at->second);
  std::sort(due.begin(), due.end());
  for (const WorkerId id : due) {
    tell(id, worker::worker_event::SupervisorHeard{now}, now);
    tell(id, worker::worker_event::Tick{}, now);
  }
}

void LiveHosts::end_run(SubtaskId subtask, bool succeeded, FailureClass failure, Instant now) {
  const auto found = runs_.find(subtask);
  if (found == runs_.end()) return;
  const LiveRun run = found->second;
  runs_.erase(found);
  tell_of(run, RunNews::Ended);
  auto& records = hosts_.at(run.worker)->records;
  const auto record = record_of(records, subtask);
  if (record == records.end()) return;
  FailureDetail detail;
  detail.failure = failure;
  worker::RunEnd ended;
  ended.record = record->first;
  ended.attempt = run.attempt;
  ended.succeeded = succeeded;
  ended.failure = succeeded ? nullptr : &detail;
  records.erase(record);
  tell(run.worker, worker::worker_event::RunsEnded{std::span{&ended, 1}}, now);
}

bool LiveHosts::end_one_that_leaves(Instant now) {
  if (leaving_.empty()) return false;
  const SubtaskId leaves = leaving_.front();
  leaving_.pop_front();
  end_run(leaves, false, FailureClass::RunnerCrash, now);
  return true;
}

void LiveHosts::lend(SubtaskId subtask, Instant now) {
  const LiveRun& run = runs_.at(subtask);
  const auto& records = hosts_.at(run.worker)->records;
  if (const auto record = record_of(records, subtask); record != records.end())
    tell(run.worker, worker::worker_event::SlotYielded{record->first, run.attempt}, now);
}

void LiveHosts::carry_out(WorkerId worker, const StartSubtask& order) {
  hosts_.at(worker)->records[order.record] = order.id;
  const auto [found, is_new] = runs_.try_emplace(order.id);
  LiveRun& run = found->second;
  const bool goes_on = !is_new && run.attempt == order.attempt;
  if (!is_new && !goes_on) tell_of(run, RunNews::Ended);  // Of a worker that was cut off.
  run = {order.id, order.attempt, worker, order.band, false, order.devices};
  if (!goes_on) tell_of(run, RunNews::Begun);
}

void LiveHosts::carry_out(WorkerId worker, const StopRun& order) {
  const auto& records = hosts_.at(worker)->records;
  const auto record = records.find(order.record);
  if (record == records.end()) return;
  LiveRun& run = runs_.at(record->second);
  run.asked = true;
  // Not at once: further actions of the same event may be about this run.
  if (order.kill || on_stop_ != OnStop::Stay) leaving_.push_back(run.subtask);
}

}  // namespace penstock::tools
