"""The defects that scripts/plant_defects plants, and who finds each of them.

A defect is a text in a source file and what stands there instead. Each breaks a promise of docs/guarantees.md, of the
specification or of the comment at its place: a change that nobody could notice is none.
"""
from defect import POLICY, SEEDS, Defect  # noqa: F401
from planted_coordination import COORDINATION


CORE = {
    "popped-before-slot": Defect(
        "an item leaves its queue before there is a slot for it",
        [("worker/core/band/latched_queue.cpp",
          "  if (!fits_execution(*item.request, available_)) return false;\n  const QueueNode& node",
          "  if (available_.slots < MilliSlots{0}) return false;\n  const QueueNode& node"),
         ("worker/core/band/latched_queue.cpp",
          "available_.slots > MilliSlots{0}) {",
          "available_.slots >= MilliSlots{0}) {")]),
    "device-given-away-twice": Defect(
        "a device of which a part is taken is given whole",
        [("worker/core/band/device_rooms.hpp",
          "return free == MilliGpu{1000} && memory == capacity;",
          "return free > MilliGpu{0};")],
        found_by="unit_worker:DeviceRooms.*"),
    "devices-of-a-plan-not-told": Defect(
        "a worker is not told the devices that a plan gives a job",
        [("supervisor/core/policy/entitlement_mail.cpp",
          "      batch->entitlements.back().device_slots = at->second.entitled;",
          "      static_cast<void>(at);")],
        found_by="unit_supervisor:EntitlementMailTest.*"),
    "bag-counted-in-one-pool": Defect(
        "what a bag holds in one of its pools counts in each of them",
        [("supervisor/core/policy/job_demand.cpp",
          "    if (job.shares->pool.spreads && policy_.pool_of_band[i] != job.shares->pool.position) continue;\n",
          "")],
        found_by="unit_policed:PoolSpreadTest.*"),
    "gang-leaves-its-group": Defect(
        "a gang that stays together is given bands of several groups",
        [("supervisor/core/policy/policy_view.cpp",
          "    if (!groups.holds(workers_.worker_of(seen[i]).description)) continue;\n",
          "")],
        found_by="unit_policed:ColocationTest.*"),
    "groups-on-any-host": Defect(
        "the members of a gang in groups may be on the bands of each of its groups",
        [("supervisor/core/driver/gang_parts.cpp",
          "  if (groups.size() < 2) return;\n",
          "  if (groups.size() < 99) return;\n")],
        found_by="unit_policed:GangParts.*"),
    "late-job-is-placed-anew": Defect(
        "a job that has begun while a pass was made is given another place by the next one",
        [("supervisor/core/policy/job_demand.cpp",
          "      if (!share.limited()) share.planned = std::max(share.planned, milli_of(of_kind, share.runnable, band));\n",
          "")],
        found_by="unit_policed:PolicyDemand.*"),
    "held-job-runs-on": Defect(
        "the runs of a job that is on hold go on where no other job waits",
        [("supervisor/core/driver/entitlements.cpp",
          "  if (job.status.on_hold || shares.rules.cut[static_cast<std::size_t>(kind)]) return true;\n",
          "")],
        found_by="unit_policed:PolicyRulesLive.*"),
    "grows-before-it-begins": Defect(
        "an elastic gang waits for all that it could have, in place of its least",
        [("supervisor/core/driver/pass_snapshot.cpp",
          "  if (whole && missing > least - held) {  // An elastic gang grows when it has begun.",
          "  if (whole && missing > ~std::uint64_t{0} - least) {")],
        found_by="unit_policed:PolicyDemand.*"),
    "core-in-single-slots": Defect(
        "the share of an elastic gang below its core is kept in single slots",
        [("supervisor/policy/sharing/whole_targets.cpp",
          "  if (target < group.core) return target;\n",
          "")],
        found_by="unit_policy:WholeTargets.*"),
    "gang-takes-its-neighbours-slot": Defect(
        "a gang is rounded up with the only slot of another job of its project",
        [("supervisor/policy/sharing/share_tree.cpp",
          "      if (least[at] > std::max(of_node_[at], pinned[at])) return false;\n",
          "")],
        found_by="unit_policy:WholeTargets.*"),
    "device-beyond-its-part": Defect(
        "a job takes more of a device than it may",
        [("worker/core/band/device_rooms.cpp",
          "    if (of->holds[i] + slots_on_each(request) <= of->may_hold[i]) allowed |= bit(i);",
          "    if (slots_on_each(request) > 0 && of->may_hold[i] > 0) allowed |= bit(i);")],
        found_by="unit_worker:DeviceRooms.*"),
    "forward-without-claim": Defect(
        "a successor is forwarded without a claim on memory",
        [("worker/core/runs/subtask_flow.cpp",
          "    if (!quota.try_request(grants_.request_of(record, index))) {",
          "    if (static_cast<void>(grants_.request_of(record, index)), false) {"),
         ("worker/core/runs/subtask_flow.cpp",
          "    record.holds_quota = true;\n  } else if (quota.paused())",
          "  } else if (quota.paused())")]),
    "forwarded-twice": Defect(
        "a successor stays claimable after its forward: a second producer starts it early",
        [("worker/core/jobs/successor_table.cpp",
          "      if (--successor.missing == 0) {",
          "      if (--successor.missing <= 1 && successor.missing + 1 > 0) {")]),
    "quota-kept-on-cancel": Defect(
        "the memory of a cancelled run is not given back",
        [("worker/core/band/band.cpp",
          "    quota.release(place);\n    record.holds_quota = false;",
          "    if (record.stopping != StopReason::Cancelled) quota.release(place);\n    record.holds_quota = false;")]),
    "killed-within-its-grace": Defect(
        "a run that is preempted is ended at once",
        [("worker/core/orders/cancels.cpp",
          "stop(index, StopReason::Preempted, grace); return;",
          "stop(index, StopReason::Preempted, grace / 2); return;")],
        POLICY),
    "lives-past-its-grace": Defect(
        "a run that ignores that it is preempted is ended late",
        [("worker/core/runs/run_watch.cpp",
          "  const Instant kill_at = later(event_.now, kill_after);",
          "  const Instant kill_at = later(event_.now, reason == StopReason::Preempted ? kill_after * 2 : kill_after);")],
        POLICY),
    "answered-before-held": Defect(
        "a worker says that it holds slots on which others still run",
        [("worker/core/orders/entitlements.cpp",
          "!barrier.over && band->is_ready_to_begin(barrier, tables_.jobs, tables_.subtasks, event_.now);",
          "!barrier.over;")],
        POLICY),
    "part-begins-after-restart": Defect(
        "what waits at a barrier begins when the supervisor is back",
        [("worker/core/orders/entitlements.cpp",
          "    if (tables_.jobs[slot].gang && band->execute.items().is_closed(slot)) continue;\n",
          "")],
        POLICY, seeds=1100),  # Rare: a supervisor that is gone while a gang waits.
    "room-leaked-on-cancel": Defect(
        "a run that is cancelled while its outputs wait for room keeps its place among those that wait",
        [("worker/core/orders/cancels.cpp",
          "      data_.room.stop_waiting(index);\n",
          "")]),
    "lowered-priority-ignored": Defect(
        "a worker follows only orders that raise the priority of a subtask",
        [("worker/core/orders/job_priorities.cpp",
          "tables_.subtasks[index].state == SubtaskState::Yielded) continue;",
          "tables_.subtasks[index].state == SubtaskState::Yielded ||\n        change.priority < tables_.subtasks[index].priority)\n      continue;")]),
    "priority-not-passed-to-quota": Defect(
        "who waits for memory keeps its old place when its priority changes",
        [("worker/core/band/band.cpp",
          "  quota.update_priority(place, priority);\n",
          "")]),
    "spilled-data-forgotten-in-claim": Defect(
        "what is on the disk of a worker is not said to the next life of the supervisor",
        [("worker/core/reports/claim_writer.cpp",
          "        datum.place == DatumPlace::Here || datum.place == DatumPlace::Spilled || datum.place == ",
          "        datum.place == DatumPlace::Here || datum.place == ")]),
    "cancelled-transfer-counts": Defect(
        "a transfer that is cancelled counts among those under way for ever",
        [("worker/core/data/data_keeper.cpp",
          "    event_.out->add(worker_action::CancelFetch{datum.key});\n    --fetches_running_;\n  }\n  table_.move(",
          "    event_.out->add(worker_action::CancelFetch{datum.key});\n  }\n  table_.move(")]),
    "shared-transfer-cancelled": Defect(
        "one of several who wait for a transfer is cancelled, and the transfer with it",
        [("worker/core/data/record_inputs.cpp",
          "      if (datum.waiters.empty() && !datum.keep) {",
          "      if (!datum.keep) {")],
        "unit_worker:Prepare.ConcurrentReadersShareOneTransferAndCancellingOneLeavesTheOther"),
    "settled-after-drop": Defect(
        "the producer of a datum that was dropped counts as known to be complete: its reader finds it empty",
        [("worker/core/data/data_keeper.cpp",
          "  jobs_[datum.job].settled.erase(key.producer.index);\n",
          "")],
        "unit_worker:Prepare.AnInputThatIsDroppedBeforeItIsReadIsLostNotEmpty"),
    "outputs-of-cancelled-kept": Defect(
        "outputs of a subtask that is cancelled while they are stored stay in the store",
        [("worker/core/runs/run_ends.cpp",
          "    record.drops_outputs |= !record.outputs.empty();\n    ends_.end(index, Outcome::Cancelled);\n  } else",
          "    ends_.end(index, Outcome::Cancelled);\n  } else")]),
    "pinned-while-spilled": Defect(
        "a datum leaves memory although somebody has begun to read it while it was written to disk",
        [("worker/core/data/spiller.cpp",
          "  if (table_[index].pins > 0 || !table_[index].waiters.empty()) {",
          "  if (!table_[index].waiters.empty()) {")]),
    "mapped-data-spilled": Defect(
        "what a client of the host reads in place is written to disk, which makes no room",
        [("worker/core/data/spiller.cpp",
          "!datum.spilling && !needs_[index.value()].mapped && ",
          "!datum.spilling && ")]),
    "needed-data-spilled-first": Defect(
        "what somebody here waits for goes to disk before what nobody waits for",
        [("worker/core/data/spiller.cpp",
          "    if (need_a.needed != need_b.needed) return need_b.needed;",
          "    if (need_a.needed != need_b.needed) return need_a.needed;")],
        "unit_worker:Room.WhatIsReadLastIsSpilledFirstAndWhatIsReadNextIsNot"),
    "overtakers-not-added-up": Defect(
        "each who overtakes a request for memory leaves it room, and all of them together do not",
        [("worker/core/band/memory_quota.cpp",
          "  const Bytes reserved = head.wanted + held_by_overtakers(head);",
          "  const Bytes reserved = head.wanted;")],
        "unit_worker:MemoryQuotaTest.AllWhoHaveOvertakenTheHeadLeaveRoomForItTogether"),
    "reserves-one-bypass-late": Defect(
        "a large item is passed once more than its limit says",
        [("worker/core/band/latched_queue.cpp",
          "    const bool reserves = best.bypassed >= limits_.bypass_max;",
          "    const bool reserves = best.bypassed > limits_.bypass_max;")],
        "unit_worker:LatchedQueueTest.AnItemTooLargeForNowIsPassedOnlySoOften"),
    "repeated-reports-without-outputs": Defect(
        "reports that are said again to the next life of the supervisor leave out what was made",
        [("worker/core/reports/report_buffer.cpp",
          "kept.jobs.push_back(JobReports{job.job, job.attempts, job.outputs, job.failures, {}, job.identity});",
          "kept.jobs.push_back(JobReports{job.job, job.attempts, {}, job.failures, {}, job.identity});")]),
    "waits-for-what-has-finished": Defect(
        "a successor that arrives after its producer has finished here waits for it all the same",
        [("worker/core/jobs/successor_table.cpp",
          "    if (cell != nullptr && cell->finished.valid()) continue;\n",
          "")]),
    "drained-never-told": Defect(
        "a worker that drains does not say that its last subtask has ended",
        [("worker/core/runs/subtask_ends.cpp",
          "  reports_.drain.subtask_left();\n",
          "")]),
    "plan-of-a-new-term-ignored": Defect(
        "a worker compares versions of plans across restarts of the supervisor",
        [("worker/core/worker_core.cpp",
          "  orders_.entitlements.term_ended();\n",
          "")],
        POLICY),
    "running-list-position": Defect(
        "the last of the running list takes the place of one that has ended, and does not know it",
        [("worker/core/band/running_list.hpp",
          "      subtasks[records_[position]].running_position = position;\n",
          "      static_cast<void>(subtasks);\n")]),
    "no-transfer-into-a-full-store": Defect(
        "where memory is full not even one transfer is under way: those that wait for each other's room wait for ever",
        [("worker/core/data/data_keeper.cpp",
          "  if (!room_.has_room(datum.bytes) && !table_.bytes_arriving().is_zero()) return false;",
          "  if (!room_.has_room(datum.bytes)) return false;")]),
    "late-transfer-kept": Defect(
        "a datum that arrives after its transfer was cancelled stays in the store",
        [("worker/core/data/data_keeper.cpp",
          "    if (fetch.succeeded) drop_from_store(fetch.key);\n",
          "")]),
    "newer-attempt-swallowed": Defect(
        "an attempt that meets an older live one at its worker is dropped without a word",
        [("worker/core/orders/assignment_intake.cpp",
          "    reports_.reporter.report(returned, Outcome::Returned, nullptr);\n",
          "")],
        "unit_worker:Arrivals.ANewerAttemptBesideALiveOneIsGivenBack"),
    "slots-leaked-with-reservation": Defect(
        "slots that were reserved for a gang that does not begin are given to nobody",
        [("worker/core/band/reservations.cpp",
          "  for (const Reservation& each : list_)\n    if (each.job == job) "
          "give_back(each.held, available_);\n",
          "")],
        POLICY),
    "freed-resource-not-offered": Defect(
        "what a run gives back is not offered to those that are parked for it",
        [("worker/core/band/latched_queue.cpp",
          "  --holding_;\n  parked_.look_again();\n",
          "  --holding_;\n")],
        "unit_worker:ParkedItems.WhatTheyLackGoesToTheBestOfThem"),
    "drop-leaves-finish": Defect(
        "successors count a producer as finished here although what it has made was dropped",
        [("worker/core/orders/data_orders.cpp",
          "    tables_.successors.forget(slot, ref.producer);\n",
          "")],
        "unit_worker:Forwarding.AProducerWhoseDataWereDroppedIsWaitedForAgain"),
    "store-permit-leaked": Defect(
        "a permit to store outputs is not given back when nobody waits for it",
        [("worker/core/band/store_permits.hpp",
          "    ++free_;\n    if (waiting_.empty()) return RecordIndex::none();",
          "    if (waiting_.empty()) return RecordIndex::none();\n    ++free_;")]),
    "left-successor-completes-another": Defect(
        "a successor that has left still waits for its producers, and they complete whoever has its place by then",
        [("worker/core/jobs/successor_table.cpp",
          "  ++successors_[successor].generation;\n  --cached_;",
          "  --cached_;")]),
    "relief-never-ends": Defect(
        "a band that was above its memory limit grants nothing any more when it is below it again",
        [("worker/core/worker_core.cpp",
          "    band.quota.set_paused(false);\n",
          "")]),
    "waiting-claimed-as-queued": Defect(
        "a worker does not say to the next life of the supervisor which of its subtasks wait for producers",
        [("worker/core/reports/claim_writer.cpp",
          "  if (state == SubtaskState::Cached) return ClaimedStage::Waiting;\n",
          "")]),
    "reports-not-repeated": Defect(
        "what has ended and was not written is not said to the next life of the supervisor",
        [("worker/core/reports/reporter.cpp",
          "  buffer_.repeat([this](ReportBatch&& batch) { event_.out->add(worker_action::SendReport{std::move(batch)}); });\n",
          "")]),
    "withdrawn-request-still-waits": Defect(
        "who has withdrawn a request for memory stays in line for it",
        [("worker/core/band/memory_quota.cpp",
          "  if (node.waiting) waiting_.erase(node.heap_position);\n  if (node.holding) {",
          "  if (node.holding) {")]),
    "exclusive-beside-others": Defect(
        "what is larger than the capacity of a band gets its memory beside others",
        [("worker/core/band/memory_quota.cpp",
          "  return others.is_zero() && holders_ == (node.holding ? 1U : 0U);",
          "  return others + wanted <= hard_limit_;")]),
    "cancel-of-a-job-skips-waiting": Defect(
        "the cancel of a job leaves those of its subtasks that wait for producers",
        [("worker/core/orders/cancels.cpp",
          "[&](RecordIndex index) { cancel(index, message.kill_after); });",
          "[&](RecordIndex index) {\n      if (tables_.subtasks[index].state != SubtaskState::Cached) cancel(index, message.kill_after);\n    });")]),
    "notice-without-place": Defect(
        "a worker that hears of a datum elsewhere does not remember where that is",
        [("worker/core/orders/data_orders.cpp",
          "note_remote(index, notice.location, Bytes",
          "note_remote(index, WorkerId::none(), Bytes")]),
    "applied-report-of-an-earlier-attempt": Defect(
        "when a report is applied, nobody waits any more for the subtask, though it runs again",
        [("worker/core/jobs/successor_table.cpp",
          "  if (cell != nullptr && cell->finished == producer.attempt) jobs_",
          "  if (cell != nullptr) jobs_")]),
    "room-not-told": Defect(
        "when the last outputs that waited have found room, nobody looks for what may start",
        [("worker/core/data/memory_room.cpp",
          "  given_up_at_ = kNever;\n  bands_.mark_all_dirty();",
          "  given_up_at_ = kNever;")]),
    "failed-outputs-kept": Defect(
        "what an attempt has made that was stopped or has failed stays in the store",
        [("worker/core/runs/run_ends.cpp",
          "  record.drops_outputs |= !record.outputs.empty();\n  if (record.stopping",
          "  if (record.stopping")]),
    "cancelled-waits-to-store": Defect(
        "a subtask that is cancelled while it waits for a permit to store keeps its place among those that wait",
        [("worker/core/orders/cancels.cpp",
          "      bands_.of(record).store_permits.stop_waiting(index);\n",
          "")]),
}

SUPERVISOR = {
    "leaving-run-is-work-at-its-place": Defect(
        "a run that is leaving keeps its job where it has to leave",
        [("supervisor/core/policy/job_demand.cpp",
          "runnable_for(job, band) > leaving_from(job, band);",
          "runnable_for(job, band) > 0;")],
        "unit_policy_cases:LiveQuota.AMovedRunThatTakesItsTimeToLeaveStartsAtThePlaceThatItWasGiven"),
    "parts-on-any-device": Defect(
        "a part of a device takes a device of its own where there is room",
        [("supervisor/core/driver/plan_effects.cpp",
          "return subject.gang || share.unit_milli > 1000 || takes_part;",
          "return subject.gang || share.unit_milli > 1000 || (takes_part && subject.gang);")],
        "unit_policed:PolicyDemand.AHalfOfADeviceWaitsForItsPlaceWhereOthersHaveHalves"),
    "ready-work-not-offered": Defect(
        "a band with slots does not hear of work that waits where its job has none",
        [("supervisor/core/placement/band_queues.cpp",
          "if (local.ready_count() == 1) offer",
          "if (local.ready_count() == 0) offer")],
        "unit_policy_cases:LiveQuota.WorkThatComesBackToAPlaceWithoutSlotsGoesWhereItsJobHasThem"),
    "limit-of-jobs-not-counted": Defect(
        "jobs that have begun do not count against what their user may run",
        [("supervisor/core/limit_admission.cpp",
          "counts_[at].jobs >= limits_[at].running_jobs_max) return at;",
          "counts_[at].jobs > limits_[at].running_jobs_max + 1) return at;")],
        POLICY),
    "limit-of-slots-not-counted": Defect(
        "slots that jobs hold do not count against what their user may have",
        [("supervisor/core/limit_admission.cpp",
          "      if (!request.exempt) counts_[at].milli[kind] += milli;",
          "      if (!request.exempt) counts_[at].milli[kind] += milli / 2;")],
        POLICY),
    "held-job-starts": Defect(
        "what an operator holds takes its turn",
        [("supervisor/core/policy/limit_rules.cpp",
          "    request.on_hold = job->status.on_hold;",
          "    request.on_hold = job->status.on_hold && request.exempt;")],
        POLICY),
    "gang-begins-in-part": Defect(
        "a gang begins when the first of its workers holds its slots",
        [("supervisor/core/driver/gang_barriers.cpp",
          "    if (!barrier.is_held(band)) {",
          "    if (barrier.held.empty()) {")],
        POLICY),
    "begins-on-what-is-given-back": Defect(
        "a worker gives a gang's slots back while the supervisor still counts on them",
        [("supervisor/core/policy/entitlement_mail.cpp",
          "std::max(share.gang.barrier->until - event_.now, Duration{0}) + config_.worker_lost_after;",
          "std::chrono::milliseconds{2};")],
        POLICY),
    "grace-of-the-site": Defect(
        "a job that is preempted has not the grace that it asked for",
        [("supervisor/core/policy/policy_view.cpp",
          "  return own > Duration{0} ? std::min(own, policy_.config.grace_max) : policy_.config.grace;",
          "  return own > policy_.config.grace_max ? own : policy_.config.grace;")],
        POLICY),
    "watchdog-reset-by-load": Defect(
        "a load report counts as progress: a cluster that stands still is never told of",
        [("supervisor/core/supervisor_core.cpp",
          "  for (const BandLoad& load : message.loads)\n",
          "  if (!message.loads.empty()) tables_.watchdog.note_progress(event_.now);\n"
          "  for (const BandLoad& load : message.loads)\n")]),
    "failure-charged-again": Defect(
        "a failure that was written is charged again when its worker repeats it to the next life",
        [("supervisor/core/runs/adoption.cpp",
          "attempt.value() > history->last_attempt) return false;",
          "attempt.value() >= history->last_attempt) return false;")]),
    "charges-forgotten-at-restart": Defect(
        "a subtask has all its attempts again after a restart",
        [("supervisor/core/lifecycle/state_recovery.cpp",
          "    history.charged = change.charged;\n",
          "")]),
    "outrun-attempt-forgotten": Defect(
        "an attempt that gave way to an older one at a claim is forgotten, and its number is given out again",
        [("supervisor/core/runs/adoption.cpp",
          "    hot.flags |= SubtaskFlag::kOutrun;\n",
          "")],
        "unit_supervisor:ClaimsTest.AnAttemptThatGaveWayToAnEarlierOneKeepsItsNumberForItself"),
    "attempts-of-a-term-begin-at-one": Defect(
        "a restarted supervisor numbers attempts from the beginning",
        [("supervisor/core/placement/dispatcher.cpp",
          "slot, std::max(last, first_attempt_.value()) + 1);",
          "slot, last + 1);")]),
    "order-counted-as-input": Defect(
        "an edge that only orders counts among the empty inputs of a subtask",
        [("supervisor/core/placement/assignment_writer.cpp",
          "    data_inputs += !order_only;",
          "    ++data_inputs;")]),
    "notice-of-the-last-producer-only": Defect(
        "the worker of a successor hears only of the last of its producers elsewhere",
        [("supervisor/core/runs/report_reader.cpp",
          "      if (holder != worker) notice(",
          "      if (holder != worker && next.missing == 0) notice(")]),
    "cancelled-while-others-may-have-it": Defect(
        "what was being cancelled is told as cancelled before workers of an earlier life are back with it",
        [("supervisor/core/runs/recomputation.cpp",
          "  if (!job.status.recovering && (job.status.cancelling || (hot.flags",
          "  if ((job.status.cancelling || (hot.flags")],
        "unit_supervisor:ClaimsTest.NoCancelIsToldOfWhatAnotherWorkerMayBeRunning"),
    "cancel-not-remembered": Defect(
        "a subtask whose cancel is on its way is given out again when its attempt fails first",
        [("supervisor/core/runs/subtask_ends.cpp",
          "      hot.flags |= SubtaskFlag::kCancelAsked;\n",
          "")]),
    "flags-of-an-earlier-attempt": Defect(
        "an attempt begins as one that has started, as the one before it had",
        [("supervisor/core/jobs/subtask_machine.hpp",
          "    hot.flags &= static_cast<std::uint16_t>(~SubtaskFlag::kForAttempt);\n",
          "")],
        POLICY),
    "drain-not-written": Defect(
        "an answered drain is not in the journal",
        [("supervisor/core/lifecycle/worker_losses.cpp",
          "  ledger_.gate.write(record::WorkerJoined{worker.id, worker.incarnation, worker.description.name,\n"
          "                                          worker.description.shared_storage, draining, true});\n",
          "")],
        "unit_supervisor:ClaimsTest.ADrainThatWasAnsweredStandsEvenIfItsWorkerHasNotHeardOfIt"),
    "order-answered-before-written": Defect(
        "the answer to an order leaves before the order is on the disk",
        [("supervisor/core/ledger/commit_gate.cpp",
          "return !records_.empty() && !trouble_.has_value();",
          "return false;")],
        "unit_supervisor:Durability.AnOrderIsAnsweredWhenItIsWrittenAndAQuestionAtOnce"),
    "reports-acknowledged-early": Defect(
        "a worker may forget what it has reported before that is on the disk",
        [("supervisor/core/durability.cpp",
          "  if (outputs_.progress.empty()) fleet_.mail.acknowledge_reports();\n",
          "  fleet_.mail.acknowledge_reports();\n")]),
    "runs-before-written": Defect(
        "a job is given out before it is on the disk",
        [("supervisor/core/lifecycle/job_acceptance.cpp",
          "  if (!ledger_.gate.durable()) return place_sources(job);\n",
          "  place_sources(job);\n  if (!ledger_.gate.durable()) return;\n")]),
    "told-again-after-restart": Defect(
        "what a client was told of before a restart is told again when it has to run again",
        [("supervisor/core/lifecycle/state_recovery.cpp",
          "    if (phase == SubtaskPhase::Succeeded) hot.flags |= SubtaskFlag::kVisible;\n",
          "")]),
    "dependents-of-failure-come-back": Defect(
        "what waits for a failed subtask, and was not written as cancelled, waits for ever after a restart",
        [("supervisor/core/lifecycle/state_recovery.cpp",
          "  cancel_behind_failures(job);\n  job.status.recovering",
          "  job.status.recovering")]),
    "last-words-not-repeated": Defect(
        "workers that are back do not hear which producers have finished while they were away",
        [("supervisor/core/lifecycle/worker_returns.cpp",
          "      notify_of_finished_producers(WorkerSlot{i});",
          "      fleet_.workers[WorkerSlot{i}].waiting.clear();")]),
    "unschedulable-after-undrain": Defect(
        "what found no band is not placed again when a worker takes work once more",
        [("supervisor/core/lifecycle/worker_losses.cpp",
          "  if (!closed) {\n    lifecycle_.waits.place_all_unschedulable();\n",
          "  if (!closed) {\n")]),
    "producer-job-kept-for-ever": Defect(
        "a job that was to be released while others borrowed from it stays when they have ended",
        [("supervisor/core/lifecycle/output_releases.cpp",
          "    if (!unneeded || producer_job->status.state == JobState::Running) continue;",
          "    if (!unneeded || producer_job->status.state != JobState::Running) continue;")]),
    "released-outputs-stay": Defect(
        "outputs of a job that has ended stay when they are released one by one",
        [("supervisor/core/data/data_directory.cpp",
          "    else if (job.data.total_bytes(*job.graph.shape, subtask) > 0)\n      drop(job, subtask);\n  }\n}\n\nvoid DataDirectory::drop_unkept",
          "  }\n}\n\nvoid DataDirectory::drop_unkept")]),
    "nested-jobs-go-on": Defect(
        "jobs that a run has submitted go on when it is over",
        [("supervisor/core/lifecycle/nested_runs.cpp",
          "      if (!is_under_way(jobs_, parent, child.attempt)) over.push_back(child.job);\n",
          "      static_cast<void>(child);\n")]),
    "unclaimed-runs-keep-their-jobs": Defect(
        "jobs of runs that no worker claims after a restart go on",
        [("supervisor/core/lifecycle/worker_returns.cpp",
          "  if (job.tally.has_children) tables_.nested.note_all_moved(job.id);  // Runs that nobody has claimed are over.\n",
          "")]),
    "lent-slots-are-held": Defect(
        "under a policy a job holds the slot that a run of it has lent",
        [("supervisor/core/runs/report_reader.cpp",
          "    placement_.machine.lend(job, subtask);\n",
          "")],
        found_by="unit_policed:LentSlots.*"),
    "borrowed-outputs-stay": Defect(
        "outputs that were released while another job had to read them stay when that has ended",
        [("supervisor/core/lifecycle/output_releases.cpp",
          "    if (at.released) unread[producer.job].push_back(producer.index.value());\n",
          "")],
        found_by="unit_supervisor:OutputReleases.*"),
    "plan-added-to-the-last": Defect(
        "a job keeps what an earlier plan has given it beside what the new one gives",
        [("supervisor/core/driver/plan_effects.cpp",
          "    for (BandShare& share : job.shares->bands) share.planned = 0;\n",
          "")],
        POLICY),
    "news-told-twice-to-a-follower": Defect(
        "who attaches to a job hears news that wait for others once as a part of everything and once with the others",
        [("supervisor/core/jobs/progress_outbox.cpp",
          "  if (outbox.unsent_count_ > 0) send(job);\n  tell(client, everything_so_far(job));",
          "  tell(client, everything_so_far(job));")]),
    "overlap-forgotten-at-restart": Defect(
        "what must not overlap, and nobody has claimed, is given out at once after a restart",
        [("supervisor/core/lifecycle/worker_returns.cpp",
          "  job.status.overlap_until = overlap_over_at(config_, event_.now);\n  // A job that is found",
          "  job.status.overlap_until = Instant{};\n  // A job that is found")]),
    "runnable-not-counted-down": Defect(
        "what has left a band counts there as able to run",
        [("supervisor/core/jobs/subtask_machine.hpp",
          "    if (hot.missing == 0) bands_.change_runnable(hot.band, -1);\n",
          "")]),
    "gone-input-not-made-again": Defect(
        "a subtask waits for an input that is lost, and nobody makes it again",
        [("supervisor/core/runs/recomputation.cpp",
          "          DataDirectory::is_gone(job, predecessors[k]))\n        find_again(job, predecessors[k]);",
          "          DataDirectory::is_gone(job, predecessors[k]) && hot.attempt == 0)\n        find_again(job, predecessors[k]);")]),
    "adopted-sets-no-successor-free": Defect(
        "what stands behind a claimed subtask is never placed",
        [("supervisor/core/runs/adoption.cpp",
          "  if (elsewhere) return true;\n",
          "  if (elsewhere || hot.missing == 0) return true;\n")]),
    "withdrawal-not-written": Defect(
        "a job that was refused because the disk was full runs in the next life",
        [("supervisor/core/lifecycle/job_acceptance.cpp",
          "  ledger_.gate.write(record::JobForgotten{id});\n}",
          "}")]),
    "made-outputs-not-written": Defect(
        "what a subtask has made counts as empty after a restart",
        [("supervisor/core/data/data_directory.cpp",
          "      progress_.write_output(job, {SubtaskIndex{subtask}, output.output, output.bytes});\n",
          "")]),
    "failure-not-charged": Defect(
        "failures count for nothing: a subtask that always fails is run for ever",
        [("supervisor/core/runs/retries.cpp",
          "  if (policy.charged && !innocent && !larger) ++history.charged;",
          "  if (policy.charged && !innocent && !larger && history.charged == 0) ++history.charged;")]),
    "dependents-not-cancelled": Defect(
        "what waits for a failed subtask of a job that goes on waits for ever",
        [("supervisor/core/runs/subtask_ends.cpp",
          "    cancel_subtasks(job, std::move(successors), Duration{0});\n    return;",
          "    return;")]),
    "retry-before-inputs": Defect(
        "what is tried again after a while does not wait for what it reads",
        [("supervisor/core/runs/retries.cpp",
          "    if (hot.unplaced == 0)\n      placer_.become_placeable(job, timer->subtask);",
          "    if (hot.unplaced <= job.total())\n      placer_.become_placeable(job, timer->subtask);")]),
    "made-again-not-waited-for": Defect(
        "readers do not wait for what is made again",
        [("supervisor/core/jobs/subtask_machine.cpp",
          "    if (next.missing++ == 0 && next.phase",
          "    if (next.missing == 0 && next.phase")]),
    "readers-not-counted-again": Defect(
        "what is made again does not count among the readers of its inputs",
        [("supervisor/core/runs/recomputation.cpp",
          "    ++job.data.readers(predecessors[k]);\n",
          "")]),
    "cancelled-after-success-told": Defect(
        "a subtask that was told to have succeeded is told to be cancelled when it runs again",
        [("supervisor/core/jobs/progress_outbox.cpp",
          "  if (is_visible(job, subtask)) return;\n  ++job.tally.counts.cancelled;",
          "  ++job.tally.counts.cancelled;")]),
    "recovered-counts-twice": Defect(
        "after a restart the ends that were written count twice",
        [("supervisor/core/lifecycle/state_recovery.cpp",
          "  job.tally.counts.assigned = job.tally.counts.succeeded = job.tally.counts.failed = job.tally.counts.cancelled = 0;\n",
          "")]),
    "held-cancel-forgotten": Defect(
        "a cancel that waits for workers to come back after a restart is never carried out",
        [("supervisor/core/lifecycle/worker_returns.cpp",
          "    if (order.whole_job)\n      runs_.ends.cancel_open_subtasks",
          "    if (job.status.recovering)\n      runs_.ends.cancel_open_subtasks")]),
    "entitled-job-hidden": Defect(
        "a job that may start all that it wants leaves the sight of the policy's passes",
        [("supervisor/core/lifecycle/worker_returns.cpp",
          "  if (std::none_of(bands.begin(), bands.end(), is_entitled)) policy_base",
          "  if (std::none_of(bands.begin(), bands.end(), is_entitled) || !bands.empty()) policy_base")],
        "unit_policed:PolicyRulesKept.AJobThatIsLimitedWhileItsWorkersComeBackIsLimitedByTheNextPlan"),
    "charged-attempt-adopted": Defect(
        "an attempt whose failure was written is taken over as one that runs",
        [("supervisor/core/runs/adoption.cpp",
          "  if (proof == Proof::None && has_failed(job, subtask, claim.attempt)) return false;\n",
          "")]),
    "drain-forgotten-when-trusted": Defect(
        "a worker that drains gets work when it was suspected and is heard again",
        [("supervisor/core/lifecycle/worker_losses.cpp",
          "  const bool closed = worker.draining || worker.suspected;",
          "  const bool closed = worker.suspected;")]),
}

LINK = {
    "own-silence-is-the-peers": Defect(
        "a process that stood still takes its peers for lost when it goes on",
        [("common/link/link_core.cpp",
          "now >= later(times_.heartbeat_at, config_.heartbeat)) {",
          "now >= later(times_.heartbeat_at, config_.silence_max)) {")],
        "unit_common:LinkCoreTest.AStopThatEndsWhenTheVerdictIsDueGivesNone"),
    "no-resend": Defect(
        "frames whose acknowledgement is lost are not sent again",
        [("common/link/link_core.cpp",
          "    through_.transmitted = through_.acknowledged;\n    times_.resend_at = kNever;\n    times_.resend_after = std::min",
          "    times_.resend_at = later(now, config_.resend_after_max);\n    times_.resend_after = std::min")]),
    "gap-accepted": Defect(
        "a frame that comes before one that is missing is delivered in its place",
        [("common/link/link_core.cpp",
          "    if (event.header.sequence == through_.received + 1) {",
          "    if (event.header.sequence > through_.received) {")]),
    "nothing-sent-again-after-reconnect": Defect(
        "a new connection is taken to carry what was sent on the one before",
        [("common/link/link_core.cpp",
          "  through_.transmitted = through_.acknowledged;  // A new connection carries nothing yet.\n",
          "")]),
    "suspicion-cleared-in-silence": Defect(
        "a suspected peer that connects again is not told of as trusted",
        [("common/link/link_core.cpp",
          "  attached_ = true;\n  heard(now, actions);",
          "  attached_ = true;\n  suspected_ = false;\n  heard(now, actions);")],
        "unit_common:LinkCoreTest.WhoIsSuspectedAndConnectsAgainIsTrusted"),
    "heartbeat-without-connection": Defect(
        "the time of the next heartbeat stays when the connection is gone",
        [("common/link/link_core.cpp",
          "  times_.resend_at = times_.acknowledge_at = times_.heartbeat_at = times_.suspect_at = kNever;",
          "  times_.resend_at = times_.acknowledge_at = times_.suspect_at = kNever;")]),
    "window-not-opened-again": Defect(
        "what the window held back is not sent when an acknowledgement opens it",
        [("common/link/link_core.cpp",
          "    owe_acknowledgement(now);\n  }\n  transmit_window(now, actions);\n",
          "    owe_acknowledgement(now);\n  }\n")]),
    "rest-not-sent-again": Defect(
        "after an acknowledgement of some frames the others are never sent again",
        [("common/link/link_core.cpp",
          "  times_.resend_at = through_.transmitted > through_.acknowledged ? later(now, times_.resend_after) : kNever;",
          "  times_.resend_at = through_.transmitted > sequence + 1 ? later(now, times_.resend_after) : kNever;")]),
    "window-one-too-wide": Defect(
        "one frame more than the window is under way",
        [("common/link/link_core.cpp",
          "std::min(through_.queued, through_.acknowledged + config_.window_frames);",
          "std::min(through_.queued, through_.acknowledged + config_.window_frames + 1);")]),
    "patience-not-reset": Defect(
        "the time between repetitions stays long when the peer acknowledges again",
        [("common/link/link_core.cpp",
          "  through_.transmitted = std::max(through_.transmitted, sequence);\n  times_.resend_after = "
          "config_.resend_after;\n",
          "  through_.transmitted = std::max(through_.transmitted, sequence);\n")],
        "unit_common:LinkCoreTest.SendsAgainFromTheOldestMissingFrameWithGrowingDelay"),
    "own-silence-blamed-on-the-peer": Defect(
        "who was stopped itself declares its peer lost",
        [("common/link/link_core.cpp",
          "  if (now >= later(times_.lost_at, config_.heartbeat)) {",
          "  if (now >= kNever) {")],
        "unit_common:LinkCoreTest.WhoWasStoppedItselfGivesNoVerdictAtOnce"),
    "lie-acknowledged": Defect(
        "an acknowledgement of frames that were never queued is believed",
        [("common/link/link_core.cpp",
          "  if (sequence <= through_.acknowledged || sequence > through_.queued) return;",
          "  if (sequence <= through_.acknowledged) return;")],
        "unit_common:LinkCoreTest.AnAcknowledgementOfWhatWasNeverSentIsIgnored"),
    "frame-delivered-again": Defect(
        "a frame that comes again is delivered again",
        [("common/link/link_core.cpp",
          "      ++(again ? counters_.duplicates_dropped : counters_.gaps_dropped);\n",
          "      ++(again ? counters_.duplicates_dropped : counters_.gaps_dropped);\n"
          "      if (again) actions.add(Deliver{});\n")]),
    "silence-never-ends": Defect(
        "a peer that is silent on its connection is never given up",
        [("common/link/link_core.cpp",
          "  times_.lost_at = later(now, config_.silence_max);\n  if (on_silence_ == OnSilence::DeclareLost) times_.suspect",
          "  times_.lost_at = kNever;\n  if (on_silence_ == OnSilence::DeclareLost) times_.suspect")]),
}

DEFECTS = {**CORE, **SUPERVISOR, **LINK, **COORDINATION}
