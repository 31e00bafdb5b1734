// Codec of the ends of subtasks, for clients and for the journal.
#include "common/wire/codec_parts.hpp"

namespace penstock::wire {

void write_ranges(const std::vector<SubtaskRange>& ranges, capnp::List<std::uint32_t>::Builder list) {
  for (unsigned i = 0; i < ranges.size(); ++i) {
    list.set(2 * i, ranges[i].first.value());
    list.set(2 * i + 1, ranges[i].last.value());
  }
}

std::vector<SubtaskRange> read_ranges(capnp::List<std::uint32_t>::Reader list) {
  if (list.size() % 2 != 0) refuse("ranges");
  std::vector<SubtaskRange> ranges;
  ranges.reserve(list.size() / 2);
  for (unsigned i = 0; i < list.size(); i += 2) {
    if (list[i] > list[i + 1]) refuse("ranges");
    ranges.push_back({SubtaskIndex{list[i]}, SubtaskIndex{list[i + 1]}});
  }
  return ranges;
}

void write_counts(const JobCounts& counts, schema::JobCounts::Builder out) {
  out.setTotal(counts.total);
  out.setSucceeded(counts.succeeded);
  out.setFailed(counts.failed);
  out.setCancelled(counts.cancelled);
  out.setAssigned(counts.assigned);
  out.setAttempts(counts.attempts);
  out.setForwardHits(counts.forward_hits);
  out.setForwardMisses(counts.forward_misses);
  out.setRunUs(counts.run_us);
}

JobCounts read_counts(schema::JobCounts::Reader in) {
  return {in.getTotal(),    in.getSucceeded(),   in.getFailed(),        in.getCancelled(), in.getAssigned(),
          in.getAttempts(), in.getForwardHits(), in.getForwardMisses(), in.getRunUs()};
}

void write_failures(const std::vector<SubtaskFailure>& failures, capnp::List<schema::SubtaskFailure>::Builder list) {
  for (unsigned i = 0; i < list.size(); ++i) {
    const SubtaskFailure& from = failures[i];
    list[i].setSubtask(from.subtask.value());
    list[i].setName(text(from.name));
    write_texts(from.history, list[i].initHistory(static_cast<unsigned>(from.history.size())));
    write_failure(from.last, list[i].initLast());
  }
}

std::vector<SubtaskFailure> read_failures(capnp::List<schema::SubtaskFailure>::Reader list) {
  std::vector<SubtaskFailure> failures;
  for (const auto entry : list)
    failures.push_back({SubtaskIndex{entry.getSubtask()}, text(entry.getName()), read_texts(entry.getHistory()),
                        read_failure(entry.getLast())});
  return failures;
}

void write_outputs(const std::vector<OutputLocation>& outputs, capnp::List<schema::OutputLocation>::Builder list) {
  for (unsigned i = 0; i < list.size(); ++i) {
    const OutputLocation& from = outputs[i];
    list[i].setProducer(from.producer.value());
    list[i].setOutput(from.output);
    list[i].setBytes(from.bytes);
    list[i].setDataAddress(text(from.data_address));
  }
}

std::vector<OutputLocation> read_outputs(capnp::List<schema::OutputLocation>::Reader list) {
  std::vector<OutputLocation> outputs;
  for (const auto entry : list)
    outputs.push_back(
        {SubtaskIndex{entry.getProducer()}, entry.getOutput(), entry.getBytes(), text(entry.getDataAddress())});
  return outputs;
}

}  // namespace penstock::wire
