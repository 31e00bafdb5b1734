#include "worker/core/jobs/successor_table.hpp"

namespace penstock::worker {

void SuccessorTable::open_job(JobSlot job) {
  while (jobs_.size() <= job.value()) jobs_.emplace_back();
}

void SuccessorTable::close_job(JobSlot job) {
  SparseCells<Cell>& cells = jobs_[job.value()];
  cells.for_each([this](std::uint32_t, Cell& cell) { free_edges(cell); });
  cells = SparseCells<Cell>{};
}

std::uint32_t SuccessorTable::add(RecordIndex successor, JobSlot job, std::span<const SubtaskIndex> producers) {
  SparseCells<Cell>& cells = jobs_[job.value()];
  while (!successors_.contains(successor)) successors_.push_back(Successor{});
  Successor& entry = successors_[successor];
  PENSTOCK_CHECK(entry.missing == 0);
  for (const SubtaskIndex producer : producers) {
    Cell* cell = cells.find(producer.value());
    if (cell != nullptr && cell->finished.valid()) continue;
    if (cell == nullptr || !cell->first.valid()) cell = &cells.use(producer.value());
    const EdgeIndex index = edges_.allocate();
    edges_[index] = Edge{successor, entry.generation, EdgeIndex::none()};
    if (cell->last.valid()) edges_[cell->last].next = index;
    if (!cell->first.valid()) cell->first = index;
    cell->last = index;
    ++entry.missing;
  }
  cached_ += entry.missing > 0;
  return entry.missing;
}

void SuccessorTable::remove(RecordIndex successor) {
  if (missing(successor) == 0) return;
  successors_[successor].missing = 0;
  ++successors_[successor].generation;
  --cached_;
}

void SuccessorTable::finished_here(JobSlot job, const AttemptRef& producer, std::vector<RecordIndex>& complete) {
  SparseCells<Cell>& cells = jobs_[job.value()];
  Cell* cell = cells.find(producer.subtask.value());
  if (cell == nullptr || (!cell->first.valid() && !cell->finished.valid())) cell = &cells.use(producer.subtask.value());
  cell->finished = producer.attempt;
  complete_waiters(*cell, complete);
}

void SuccessorTable::noticed(JobSlot job, SubtaskIndex producer, std::vector<RecordIndex>& complete) {
  Cell* cell = jobs_[job.value()].find(producer.value());
  if (cell == nullptr || !cell->first.valid()) return;
  const bool finished = cell->finished.valid();
  complete_waiters(*cell, complete);
  if (!finished) jobs_[job.value()].free(producer.value());
}

void SuccessorTable::applied(JobSlot job, const AttemptRef& producer) {
  const Cell* cell = jobs_[job.value()].find(producer.subtask.value());
  if (cell != nullptr && cell->finished == producer.attempt) jobs_[job.value()].free(producer.subtask.value());
}

void SuccessorTable::forget(JobSlot job, SubtaskIndex producer) {
  const Cell* cell = jobs_[job.value()].find(producer.value());
  if (cell != nullptr && cell->finished.valid()) jobs_[job.value()].free(producer.value());
}

bool SuccessorTable::is_finished(JobSlot job, SubtaskIndex producer) const {
  const Cell* cell = jobs_[job.value()].find(producer.value());
  return cell != nullptr && cell->finished.valid();
}

std::uint32_t SuccessorTable::missing(RecordIndex successor) const {
  return successors_.contains(successor) ? successors_[successor].missing : 0;
}

void SuccessorTable::waiting_for(JobSlot job, SubtaskIndex producer, std::vector<RecordIndex>& successors) const {
  const Cell* cell = jobs_[job.value()].find(producer.value());
  if (cell == nullptr) return;
  for (EdgeIndex index = cell->first; index.valid(); index = edges_[index].next)
    if (alive(edges_[index])) successors.push_back(edges_[index].successor);
}

void SuccessorTable::prefetch_cell(JobSlot job, SubtaskIndex producer) const {
  if (const Cell* cell = jobs_[job.value()].find(producer.value()); cell != nullptr) prefetch_line(cell);
}

void SuccessorTable::prefetch_edge(JobSlot job, SubtaskIndex producer) const {
  const Cell* cell = jobs_[job.value()].find(producer.value());
  if (cell != nullptr && cell->first.valid()) edges_.prefetch(cell->first);
}

RecordIndex SuccessorTable::first_waiting(JobSlot job, SubtaskIndex producer) const {
  const Cell* cell = jobs_[job.value()].find(producer.value());
  return cell != nullptr && cell->first.valid() ? edges_[cell->first].successor : RecordIndex::none();
}

void SuccessorTable::complete_waiters(Cell& cell, std::vector<RecordIndex>& complete) {
  for (EdgeIndex index = cell.first; index.valid();) {
    const Edge edge = edges_[index];
    if (alive(edge)) {
      Successor& successor = successors_[edge.successor];
      if (--successor.missing == 0) {
        ++successor.generation;
        --cached_;
        complete.push_back(edge.successor);
      }
    }
    edges_.free(index);
    index = edge.next;
  }
  cell.first = cell.last = EdgeIndex::none();
}

void SuccessorTable::free_edges(Cell& cell) {
  for (EdgeIndex index = cell.first; index.valid();) {
    const EdgeIndex next = edges_[index].next;
    edges_.free(index);
    index = next;
  }
  cell.first = cell.last = EdgeIndex::none();
}

void SuccessorTable::validate() const {
  std::size_t cached = 0;
  for (const Successor& successor : successors_) cached += successor.missing > 0;
  PENSTOCK_CHECK(cached == cached_);
}

}  // namespace penstock::worker
