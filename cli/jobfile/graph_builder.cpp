#include "cli/jobfile/graph_builder.hpp"

#include <algorithm>
#include <utility>

#include "common/base/check.hpp"

namespace penstock::cli {
namespace {

// The text of all fields, each with its length, so that two templates have the same text only if they are equal.
class TemplateText {
 public:
  explicit TemplateText(const Template& t) {
    for (const std::string* part : {&t.name, &t.program, &t.working_directory, &t.standard_input, &t.payload})
      add(*part);
    add(t.arguments);
    add(t.environment);
    for (const BandSelector* selector : {&t.required, &t.preferred}) add(selector->worker), add(selector->band);
    const ResourceVector& r = t.request;
    add({r.slots.value(), r.cpu.value(), r.gpu.value(), r.memory.value(), r.device_memory.value()});
    for (const NamedAmount& named : r.named) add(named.name), add({named.amount});
    add({static_cast<std::int64_t>(t.runner), t.priority, t.attempts_max, t.retryable ? 1 : 0,
         static_cast<std::int64_t>(t.on_failure), t.time_limit.count(), t.kill_grace.count(),
         t.expected_duration.count(), t.output_count, t.replicas, t.checkpoint, t.output_limit_bytes,
         t.memory_max.value(), static_cast<std::int64_t>(t.overlap)});
  }
  std::string take() { return std::move(text_); }

 private:
  void add(const std::string& part) { text_ += std::to_string(part.size()) + ":" + part; }
  void add(const std::vector<std::string>& parts) {
    text_ += std::to_string(parts.size()) + ";";
    for (const std::string& part : parts) add(part);
  }
  void add(std::initializer_list<std::int64_t> numbers) {
    for (const std::int64_t number : numbers) text_ += std::to_string(number) + ",";
  }

  std::string text_;
};

template <class Column>
bool says_nothing(const Column& column) {
  return std::all_of(column.begin(), column.end(), [](auto value) { return value == 0; });
}

}  // namespace

std::uint32_t GraphBuilder::add_template(Template content) {
  const auto [at, is_new] = template_numbers_.try_emplace(TemplateText{content}.take(), template_count());
  if (is_new) graph_.templates.push_back(std::move(content));
  return at->second;
}

std::uint32_t GraphBuilder::add_subtask(const Subtask& subtask) {
  if (graph_.template_of.empty()) graph_.payload_offsets = graph_.name_offsets = {0};
  graph_.template_of.push_back(subtask.template_index);
  graph_.names += subtask.name;
  graph_.name_offsets.push_back(static_cast<std::uint32_t>(graph_.names.size()));
  graph_.payloads += subtask.payload;
  graph_.payload_offsets.push_back(static_cast<std::uint32_t>(graph_.payloads.size()));
  graph_.priorities.push_back(subtask.priority);
  graph_.expected_ns.push_back(static_cast<std::uint64_t>(subtask.expected.count()));
  return size() - 1;
}

void GraphBuilder::data_edge(std::uint32_t predecessor, std::uint16_t output) {
  graph_.predecessors.push_back(predecessor);
  graph_.edge_outputs.push_back(output);
}

void GraphBuilder::order_edge(std::uint32_t predecessor) { data_edge(predecessor, EdgeKind::kOrderOnly); }

void GraphBuilder::end_inputs() {
  graph_.input_offsets.push_back(static_cast<std::uint32_t>(graph_.predecessors.size()));
}

bool GraphBuilder::has_edge_from(std::uint32_t predecessor) {
  // Marks are brought up to date here, so that a builder that never asks pays nothing.
  reader_of_.resize(graph_.size(), ~0U);
  const auto reader = static_cast<std::uint32_t>(graph_.input_offsets.size() - 1);
  for (std::size_t edge = graph_.predecessors.size(); edge > graph_.input_offsets.back(); --edge) {
    std::uint32_t& mark = reader_of_[graph_.predecessors[edge - 1]];
    if (mark == reader) break;
    mark = reader;
  }
  return reader_of_[predecessor] == reader;
}

std::string GraphBuilder::name_of(std::uint32_t subtask) const { return cli::name_of(graph_, subtask); }

Graph GraphBuilder::take() {
  PENSTOCK_CHECK(graph_.input_offsets.size() == graph_.size() + 1);
  if (graph_.names.empty()) graph_.name_offsets.clear();
  if (graph_.payloads.empty()) graph_.payload_offsets.clear();
  if (says_nothing(graph_.priorities)) graph_.priorities.clear();
  if (says_nothing(graph_.expected_ns)) graph_.expected_ns.clear();
  if (says_nothing(graph_.edge_outputs)) graph_.edge_outputs.clear();
  template_numbers_.clear();
  reader_of_.clear();
  return std::exchange(graph_, Graph{});
}

std::string name_of(const Graph& graph, std::uint32_t subtask) {
  if (graph.name_offsets.empty()) return std::to_string(subtask);
  return graph.names.substr(graph.name_offsets[subtask], graph.name_offsets[subtask + 1] - graph.name_offsets[subtask]);
}

SuccessorLists successors_of(const Graph& graph) {
  SuccessorLists made;
  made.offsets.assign(graph.size() + 1, 0);
  for (const std::uint32_t predecessor : graph.predecessors) ++made.offsets[predecessor + 1];
  for (std::size_t i = 1; i < made.offsets.size(); ++i) made.offsets[i] += made.offsets[i - 1];
  made.list.resize(graph.edge_count());
  std::vector<std::uint32_t> next{made.offsets.begin(), made.offsets.end() - 1};
  for (std::uint32_t i = 0; i < graph.size(); ++i)
    for (std::uint32_t edge = graph.input_offsets[i]; edge < graph.input_offsets[i + 1]; ++edge)
      made.list[next[graph.predecessors[edge]]++] = i;
  return made;
}

namespace {

// Subtasks that the order did not reach lie on a cycle or behind one: a walk backwards among them must meet itself.
std::vector<std::uint32_t> find_cycle(const Graph& graph, const std::vector<std::uint32_t>& missing) {
  std::uint32_t at = 0;
  while (missing[at] == 0) ++at;
  std::vector<std::uint32_t> position(graph.size(), ~0U);
  std::vector<std::uint32_t> walk;
  while (position[at] == ~0U) {
    position[at] = static_cast<std::uint32_t>(walk.size());
    walk.push_back(at);
    for (std::uint32_t edge = graph.input_offsets[at]; edge < graph.input_offsets[at + 1]; ++edge)
      if (missing[graph.predecessors[edge]] > 0) {
        at = graph.predecessors[edge];
        break;
      }
  }
  std::vector<std::uint32_t> cycle{walk.begin() + position[at], walk.end()};
  std::reverse(cycle.begin(), cycle.end());
  // The cycle begins at the subtask that is first in the file.
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

}  // namespace

std::string show_cycle(const Graph& graph, const std::vector<std::uint32_t>& cycle) {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i) text += name_of(graph, cycle[i]) + " -> ";
  if (cycle.size() > kShown) text += "... " + std::to_string(cycle.size() - kShown) + " more ... -> ";
  return text + name_of(graph, cycle.front());
}

GraphSequence sequence_of(const Graph& graph) {
  const SuccessorLists successors = successors_of(graph);
  GraphSequence made;
  made.order.reserve(graph.size());
  std::vector<std::uint32_t> missing(graph.size());
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    missing[i] = graph.input_offsets[i + 1] - graph.input_offsets[i];
    if (missing[i] == 0) made.order.push_back(i);
  }
  for (std::size_t next = 0; next < made.order.size(); ++next)
    for (std::uint32_t at = successors.offsets[made.order[next]]; at < successors.offsets[made.order[next] + 1]; ++at)
      if (--missing[successors.list[at]] == 0) made.order.push_back(successors.list[at]);
  if (made.order.size() < graph.size()) made.cycle = find_cycle(graph, missing);
  return made;
}

}  // namespace penstock::cli
