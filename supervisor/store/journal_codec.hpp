// Values of the journal. Private to this folder.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.hpp"
#include "supervisor/core/records.hpp"
#include "supervisor/store/graph_packing.hpp"
#include "supervisor/store/journal.hpp"

namespace penstock::supervisor::journal_codec {

inline constexpr std::uint32_t kFormat = 7;

struct Head {
  std::uint32_t format = kFormat;
  JobId next_job;
};
struct Accepted {
  JobId job;
  JobSpec spec;
  std::uint32_t subtasks = 0;
  std::uint32_t chunks = 0;  ///< Of a graph that is stored with the job, as up to format 2.
  std::int64_t submitted_ms = 0;
  JobId graph_of;  ///< None up to format 2.
  std::uint8_t scale = 0;
  JobIdentity identity;
};
struct GraphHead {
  JobId brought_by;
  std::uint32_t subtasks = 0;
  std::uint32_t chunks = 0;
};
/// A range of subtasks of a graph.
struct GraphPart {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

std::string encode(const Head& head);
std::string encode(const JournalIdentity& identity);
std::string encode(const record::WorkerJoined& worker);
std::string encode(const Accepted& accepted);
std::string encode(const GraphHead& head);
std::string encode(const Graph& graph, GraphPart part, GraphPacker& packer);
/// As up to format 2; only tests of the reader still write it.
std::string encode_plain(const Graph& chunk);
std::string encode(const record::SubtasksEnded& ended);
std::string encode(const record::JobChanged& changed);
std::string encode(const record::SubtaskChanged& changed);
std::string encode(const record::JobEnded& ended);
std::string encode(const record::OutputsReleased& released);
std::string encode(const record::Ordered& order);
std::string encode(const record::WriterLost& lost);
std::string encode(const record::SharedKept& part);
std::string encode(const record::PolicyKept& kept);

/// Error of all: StorageDamaged (the checksum, or a value that is out of range).
Result<Head> decode_head(std::string_view value);
Result<JournalIdentity> decode_identity(std::string_view value);
Result<record::WorkerJoined> decode_worker(std::string_view value);
Result<Accepted> decode_accepted(std::string_view value);
Result<GraphHead> decode_graph_head(std::string_view value);
Result<Graph> decode_chunk(std::string_view value);
Result<Graph> decode_plain_chunk(std::string_view value);
Result<record::SubtasksEnded> decode_subtasks_ended(std::string_view value);
Result<record::JobChanged> decode_changed(std::string_view value);
Result<record::SubtaskChanged> decode_subtask_changed(std::string_view value);
Result<record::JobEnded> decode_job_ended(std::string_view value);
Result<record::OutputsReleased> decode_outputs_released(std::string_view value);
Result<record::Ordered> decode_order(std::string_view value);
Result<record::SharedKept> decode_shared(std::string_view value);
Result<Incarnation> decode_lost_writer(std::string_view value);
Result<record::PolicyKept> decode_policy(std::string_view value);

}  // namespace penstock::supervisor::journal_codec
