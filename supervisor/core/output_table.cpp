#include "supervisor/core/output_table.hpp"

#include <algorithm>

namespace penstock::supervisor {

void OutputTable::open(const GraphShape& shape) {
  if (in_use()) return;
  Books& books = books_.edit();
  const std::uint32_t size = shape.size();
  bool single = true;
  for (const Template& entry : shape.graph().templates) single = single && entry.output_count <= 1;
  std::size_t total = size;
  if (!single) {
    books.first.resize(size);
    total = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
      books.first[i] = static_cast<std::uint32_t>(total);
      total += std::max<std::uint16_t>(shape.template_of(i).output_count, 1);
    }
  }
  books.bytes.assign(total, 0);
  books.readers.assign(size, 0);
  books.gone.assign(size, false);
  for (std::uint32_t i = 0; i < size; ++i) {
    const auto predecessors = shape.predecessors(i);
    for (std::uint32_t k = 0; k < predecessors.size(); ++k)
      if (shape.edge_output(shape.first_edge(i) + k) != EdgeKind::kOrderOnly) ++books.readers[predecessors[k]];
  }
}

void OutputTable::clear() { *this = OutputTable{}; }

std::size_t OutputTable::position(const GraphShape&, std::uint32_t subtask, std::uint16_t output) const {
  return books_->first.empty() ? subtask : books_->first[subtask] + output;
}

std::int64_t OutputTable::bytes(const GraphShape& shape, std::uint32_t subtask, std::uint16_t output) const {
  return in_use() ? books_->bytes[position(shape, subtask, output)] : 0;
}

void OutputTable::set_bytes(const GraphShape& shape, std::uint32_t subtask, std::uint16_t output, std::int64_t bytes) {
  books_.edit().bytes[position(shape, subtask, output)] = bytes;
}

std::int64_t OutputTable::total_bytes(const GraphShape& shape, std::uint32_t subtask) const {
  if (!in_use()) return 0;
  std::int64_t sum = 0;
  const std::uint16_t count = std::max<std::uint16_t>(shape.template_of(subtask).output_count, 1);
  for (std::uint16_t output = 0; output < count; ++output) sum += bytes(shape, subtask, output);
  return sum;
}

void OutputTable::add_replica(std::uint32_t subtask, WorkerId worker) {
  std::vector<WorkerId>& workers = books_.edit().replicas[SubtaskIndex{subtask}];
  if (std::find(workers.begin(), workers.end(), worker) == workers.end()) workers.push_back(worker);
}

void OutputTable::remove_replica(std::uint32_t subtask, WorkerId worker) {
  if (books_->replicas.empty()) return;
  if (std::vector<WorkerId>* workers = books_.edit().replicas.find(SubtaskIndex{subtask})) std::erase(*workers, worker);
}

const std::vector<WorkerId>* OutputTable::replicas(std::uint32_t subtask) const {
  return books_->replicas.find(SubtaskIndex{subtask});
}

void OutputTable::set_checkpoint(std::uint32_t subtask, Incarnation writer) {
  forget_checkpoint(subtask);
  books_.edit().checkpoints[SubtaskIndex{subtask}] = writer;
  ++books_.edit().writers[writer];
}

void OutputTable::forget_checkpoint(std::uint32_t subtask) {
  const Incarnation* known = checkpoint(subtask);
  if (known == nullptr) return;
  Books& books = books_.edit();
  if (const auto writer = books.writers.find(*known); --writer->second == 0) books.writers.erase(writer);
  books.checkpoints.erase(SubtaskIndex{subtask});
}

bool OutputTable::is_copied_to(const GraphShape& shape, std::uint32_t subtask, WorkerId worker) const {
  const std::vector<WorkerId>* workers = replicas(subtask);
  return workers != nullptr && shape.template_of(subtask).output_count <= 1 &&
         std::find(workers->begin(), workers->end(), worker) != workers->end();
}

}  // namespace penstock::supervisor
