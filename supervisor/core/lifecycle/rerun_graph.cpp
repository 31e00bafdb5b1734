#include "supervisor/core/lifecycle/rerun_graph.hpp"

#include <string>
#include <utility>

#include "common/protocol/external_input.hpp"

namespace penstock::supervisor {
namespace {

constexpr std::uint32_t kLeftOut = ~std::uint32_t{0};

/// The subtasks that run: `from` and all behind it, those that had not succeeded, and those with data that these read
/// and that nobody has.
std::vector<bool> subtasks_to_run(const GraphShape& shape, const EndedRun& ended,
                                  const std::vector<std::uint32_t>& from) {
  std::vector<bool> runs(shape.size());
  std::vector<std::uint32_t> pending;
  const auto add = [&](std::uint32_t subtask) {
    if (runs[subtask]) return;
    runs[subtask] = true;
    pending.push_back(subtask);
  };
  for (const std::uint32_t first : from) add(first);
  while (!pending.empty()) {
    const std::uint32_t subtask = pending.back();
    pending.pop_back();
    for (const std::uint32_t successor : shape.successors(subtask)) add(successor);
  }
  pending.clear();
  for (std::uint32_t i = 0; i < shape.size(); ++i) {
    if (!ended.succeeded[i]) runs[i] = true;
    if (runs[i]) pending.push_back(i);
  }
  while (!pending.empty()) {
    const std::uint32_t subtask = pending.back();
    pending.pop_back();
    const auto predecessors = shape.predecessors(subtask);
    for (std::uint32_t k = 0; k < predecessors.size(); ++k)
      if (shape.edge_output(shape.first_edge(subtask) + k) != EdgeKind::kOrderOnly && !ended.kept[predecessors[k]])
        add(predecessors[k]);
  }
  return runs;
}

/// Appends subtasks of one graph to another, with all columns.
class Part {
 public:
  Part(const GraphShape& shape, const EndedRun& ended) : shape_(shape), from_(shape.graph()), ended_(ended) {
    graph_.templates = from_.templates;
    numbers_.assign(shape.size(), kLeftOut);
    graph_.payload_offsets.push_back(0);
    graph_.name_offsets.push_back(0);
  }

  void number(std::uint32_t subtask) { numbers_[subtask] = next_++; }
  void run(std::uint32_t subtask) {
    graph_.template_of.push_back(from_.template_of[subtask]);
    const auto predecessors = shape_.predecessors(subtask);
    for (std::uint32_t k = 0; k < predecessors.size(); ++k) {
      if (numbers_[predecessors[k]] == kLeftOut) continue;
      graph_.predecessors.push_back(numbers_[predecessors[k]]);
      graph_.edge_outputs.push_back(shape_.edge_output(shape_.first_edge(subtask) + k));
    }
    graph_.payloads += shape_.payload(subtask);
    end(subtask);
  }
  void borrow(std::uint32_t subtask) {
    if (alias_ == kLeftOut) {
      alias_ = static_cast<std::uint32_t>(graph_.templates.size());
      Template& alias = graph_.templates.emplace_back();
      alias.name = alias.program = kAliasOperator;
      alias.on_failure = OnFailure::Continue;
    }
    graph_.template_of.push_back(alias_);
    const std::uint32_t number = ended_.numbers.empty() ? subtask : ended_.numbers[subtask];
    graph_.payloads += external_datum_payload({{ended_.job, SubtaskIndex{number}}, 0, ended_.identity});
    end(subtask);
  }
  Graph finish() {
    for (const std::uint32_t wanted : from_.wanted)
      if (numbers_[wanted] != kLeftOut) graph_.wanted.push_back(numbers_[wanted]);
    if (graph_.payloads.empty()) graph_.payload_offsets.clear();
    return std::move(graph_);
  }

 private:
  void end(std::uint32_t subtask) {
    graph_.input_offsets.push_back(static_cast<std::uint32_t>(graph_.predecessors.size()));
    if (!from_.priorities.empty()) graph_.priorities.push_back(from_.priorities[subtask]);
    if (!from_.expected_ns.empty()) graph_.expected_ns.push_back(from_.expected_ns[subtask]);
    graph_.payload_offsets.push_back(static_cast<std::uint32_t>(graph_.payloads.size()));
    graph_.names += shape_.name(subtask);
    graph_.name_offsets.push_back(static_cast<std::uint32_t>(graph_.names.size()));
  }

  const GraphShape& shape_;
  const Graph& from_;
  const EndedRun& ended_;
  Graph graph_;
  std::vector<std::uint32_t> numbers_;  ///< In the part, by subtask.
  std::uint32_t next_ = 0;
  std::uint32_t alias_ = kLeftOut;  ///< Template of borrowing subtasks.
};

}  // namespace

EndedRun as_run_of_whole(const GraphShape& whole, const GraphShape& part, const EndedRun& ended) {
  EndedRun all{ended.job, ended.identity, {}, {}, {}};
  for (std::uint32_t i = 0; i < whole.size(); ++i) {
    const SubtaskIndex found = part.find(whole.name(i));
    all.succeeded.push_back(!found.valid() || ended.succeeded[found.value()]);
    all.kept.push_back(found.valid() && ended.kept[found.value()]);
    all.numbers.push_back(found.valid() ? found.value() : i);
  }
  return all;
}

RerunGraph rerun_graph(const GraphShape& shape, const EndedRun& ended, const std::vector<std::uint32_t>& from) {
  RerunGraph result;
  const std::vector<bool> runs = subtasks_to_run(shape, ended, from);
  Part part{shape, ended};
  for (std::uint32_t i = 0; i < shape.size(); ++i)
    if (runs[i] || ended.kept[i]) part.number(i);
  for (std::uint32_t i = 0; i < shape.size(); ++i) {
    if (runs[i])
      part.run(i), ++result.again;
    else if (ended.kept[i])
      part.borrow(i), ++result.taken;
    else
      ++result.left_out;
  }
  result.graph = part.finish();
  return result;
}

}  // namespace penstock::supervisor
