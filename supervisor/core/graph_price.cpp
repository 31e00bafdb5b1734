#include "supervisor/core/graph_price.hpp"

namespace penstock::supervisor {
namespace {

// Sums of the columns and tables, optional ones included. Measured on a graph of 1,000,000 subtasks with keys and no
// edges, as the rise of the resident memory of `penstock supervisor` while nearly all were pending: 74 bytes for each
// subtask.
constexpr std::uint64_t kGraphBytesOfSubtask = 64;  // Columns, successors, ranks, and the table that compares keys.
constexpr std::uint64_t kJobBytesOfSubtask = 64;    // `SubtaskHot`, places in local sets, one output with bytes.
constexpr std::uint64_t kBytesOfEdge = 16;          // Predecessor, output and successor, and room to grow.
constexpr std::uint64_t kBytesOfOutput = 16;        // Its size, and its readers.
constexpr std::uint64_t kBytesOfTemplate = 1024;
constexpr std::uint64_t kBytesOfJob = 4096;

std::uint64_t job_bytes(std::uint64_t subtasks) { return kBytesOfJob + subtasks * kJobBytesOfSubtask; }

}  // namespace

std::uint64_t graph_price(const GraphTotals& totals) {
  // Payloads and names are there twice while the chunks are joined.
  return job_bytes(totals.subtasks) + totals.subtasks * kGraphBytesOfSubtask + totals.edges * kBytesOfEdge +
         totals.templates * kBytesOfTemplate + 2 * (totals.payload_bytes + totals.name_bytes) +
         totals.wanted * sizeof(std::uint32_t);
}

std::uint64_t outputs_price(const GraphShape& shape) { return (shape.output_count() - shape.size()) * kBytesOfOutput; }

std::uint64_t job_price(const GraphShape& shape) { return job_bytes(shape.size()) + outputs_price(shape); }

}  // namespace penstock::supervisor
