#include "worker/core/orders/data_orders.hpp"

#include "worker/core/rooms.hpp"

namespace penstock::worker {

void DataOrders::notice(const InputNoticeBatch& message) {
  const JobSlot slot = tables_.jobs.find(message.job);
  if (!slot.valid()) return;
  JobContext& job = tables_.jobs[slot];
  // All data first: a successor may need several outputs of one producer.
  for (const InputNotice& notice : message.notices) {
    if (notice.output == EdgeKind::kOrderOnly || notice.bytes <= 0) continue;
    const DatumIndex index = data_.table.ensure(DataKey{{message.job, notice.producer}, notice.output}, slot, job.data);
    data_.table.note_remote(index, notice.location, Bytes{notice.bytes});
  }
  for (const InputNotice& notice : message.notices) {
    job.settled.insert(notice.producer);
    runs_.flow.producer_noticed(slot, notice.producer);
  }
  runs_.flow.forward_complete();
}

void DataOrders::drop(const DropBatch& message) {
  const JobSlot slot = tables_.jobs.find(message.job);
  if (!slot.valid()) return;
  reports_.reporter.expect_load();  // There is more room now.
  for (const DataRef& ref : message.data) {
    // The supervisor has applied the report of the producer, though it may not say so before the disk has it. If the
    // producer has to run again, its successors must wait for that.
    tables_.successors.forget(slot, ref.producer);
    const DatumIndex datum = data_.table.find(DataKey{{message.job, ref.producer}, ref.output});
    if (!datum.valid()) {
      tables_.jobs[slot].settled.erase(ref.producer);
      continue;
    }
    if (message.lost)
      data_.keeper.lose(datum);
    else
      data_.keeper.drop(datum);
  }
}

void DataOrders::keep(const KeepBatch& message) {
  if (!message.job.valid()) return event_.reject("a copy to keep", "is of no job");
  if (const JobSlot other = tables_.jobs.find(message.job);
      other.valid() && differ(message.identity, tables_.jobs[other].identity))
    return event_.reject("a copy to keep", "is of another job than this worker knows under " + to_string(message.job));
  const JobSlot slot = tables_.open_job(message.job, message.identity, event_);
  for (const KeepDatum& wanted : message.data) {
    const DataKey key{{message.job, wanted.producer}, wanted.output};
    if (!wanted.producer.valid() || wanted.bytes <= 0) continue;
    const DatumIndex index = data_.table.ensure(key, slot, tables_.jobs[slot].data);
    if (!data_.table.note_remote(index, wanted.location, Bytes{wanted.bytes})) continue;
    if (wanted.location.valid()) {
      data_.keeper.keep(index);
      continue;
    }
    data_.table.move(index, DatumPlace::Spilled);
    data_.table[index].on_disk = true;
    event_.out->add(worker_action::AdoptCheckpoint{key, wanted.writer});
  }
}

}  // namespace penstock::worker
