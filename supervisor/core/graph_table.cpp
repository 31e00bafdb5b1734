#include "supervisor/core/graph_table.hpp"

#include <algorithm>
#include <utility>

#include "common/base/coverage_mark.hpp"
#include "supervisor/core/graph_price.hpp"

namespace penstock::supervisor {

namespace {

/// Of each subtask on average.
constexpr std::uint64_t kLargePayload = std::uint64_t{64} << 10U;

}  // namespace

SharedGraph& GraphTable::add(std::unique_ptr<GraphShape> shape) {
  SharedGraph& graph = *graphs_.emplace_back(std::make_unique<SharedGraph>());
  const Graph& content = shape->graph();
  graph.eligible.resize(content.templates.size());
  graph.learned.resize(content.templates.size());
  graph.bytes = shape->memory_bytes() + content.payloads.capacity() + content.names.capacity();
  graph.price_of_job = job_price(*shape);
  graph.jobs = 1;
  held_bytes_ += graph.bytes + graph.price_of_job;
  graph.shape = std::move(shape);
  graph.place = graphs_.size() - 1;
  if (SharedGraph** earlier = by_hash_.find(graph.shape->hash()); earlier != nullptr) {
    graph.learned = (*earlier)->learned;
    SharedGraph& replaced = **earlier;
    *earlier = &graph;
    if (replaced.jobs == 0) {
      // Ended jobs of the same content may run again by what the journal has.
      graph.written_as = std::exchange(replaced.written_as, JobId::none());
      drop(replaced);
    }
  } else {
    by_hash_[graph.shape->hash()] = &graph;
  }
  return graph;
}

SharedGraph* GraphTable::join(const GraphHash& hash) {
  SharedGraph** found = by_hash_.find(hash);
  if (found == nullptr) return nullptr;
  join(**found);
  return *found;
}

void GraphTable::join(SharedGraph& graph) {
  held_bytes_ += graph.price_of_job;
  if (graph.jobs++ > 0) return;
  std::erase(idle_, &graph);
  idle_bytes_ -= graph.bytes;
}

void GraphTable::leave(SharedGraph& graph) {
  held_bytes_ -= graph.price_of_job;
  if (--graph.jobs > 0) return;
  if (!is_found(graph) || graph.bytes > bytes_max_) return drop(graph);
  idle_.push_back(&graph);
  idle_bytes_ += graph.bytes;
  while (idle_.size() > graphs_max_ || idle_bytes_ > bytes_max_) {
    PENSTOCK_COVERAGE_MARK("a graph is no longer kept for being submitted again");
    drop(*idle_.front());
  }
}

void GraphTable::let_payloads_go(SharedGraph& graph) {
  const std::uint64_t bytes = graph.shape->graph().payloads.capacity();
  if (graph.jobs > 1 || bytes < kLargePayload * graph.shape->size()) return;
  PENSTOCK_COVERAGE_MARK("large payloads went with the end of their job");
  if (is_found(graph)) by_hash_.erase(graph.shape->hash());
  graph.shape->forget_payloads();
  graph.bytes -= bytes;
  held_bytes_ -= bytes;
}

bool GraphTable::is_found(const SharedGraph& graph) const {
  SharedGraph* const* found = by_hash_.find(graph.shape->hash());
  return found != nullptr && *found == &graph;
}

void GraphTable::drop(const SharedGraph& graph) {
  if (graph.written_as.valid()) forgotten_.push_back(graph.written_as);
  if (is_found(graph)) by_hash_.erase(graph.shape->hash());
  if (const auto idle = std::find(idle_.begin(), idle_.end(), &graph); idle != idle_.end()) {
    idle_.erase(idle);
    idle_bytes_ -= graph.bytes;
  }
  held_bytes_ -= graph.bytes;
  graphs_.back()->place = graph.place;
  std::swap(graphs_[graph.place], graphs_.back());
  graphs_.pop_back();
}

std::uint64_t GraphTable::memory_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& graph : graphs_) sum += graph->shape->memory_bytes();
  return sum;
}

}  // namespace penstock::supervisor
