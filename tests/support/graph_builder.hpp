// Graphs for tests, in a few words.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/graph.hpp"

namespace penstock {

/// Collects subtasks and writes them as the columns of a graph: `GraphBuilder{}.sources(3).join().build()`. There is
/// one template from the start, the operator `burn` with one slot and one output; `template_at` adds more.
class GraphBuilder {
 public:
  /// An edge from a subtask: `3` reads its output 0, `{3, 1}` its output 1, `order(3)` only waits for it.
  struct Input {
    Input(std::uint32_t from_subtask, std::uint16_t output_number = 0)  // NOLINT: implicit by design
        : from(from_subtask), output(output_number) {}
    std::uint32_t from;
    std::uint16_t output;
  };
  static Input order(std::uint32_t from) { return {from, EdgeKind::kOrderOnly}; }

  GraphBuilder() { template_at(0); }

  Template& template_at(std::uint32_t index) {
    while (templates_.size() <= index) {
      Template entry;
      entry.name = "template-" + std::to_string(templates_.size());
      entry.program = "burn";
      templates_.push_back(std::move(entry));
    }
    return templates_[index];
  }

  GraphBuilder& add(std::vector<Input> inputs = {}, std::uint32_t template_index = 0) {
    template_at(template_index);
    subtasks_.push_back(Subtask{std::move(inputs), template_index, 0, 0});
    return *this;
  }
  GraphBuilder& sources(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) add();
    return *this;
  }
  /// `count` subtasks, each after the one before; the first one after the last subtask that is there, if any.
  GraphBuilder& chain(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) subtasks_.empty() ? add() : add({last()});
    return *this;
  }
  /// `count` successors of the last subtask that is there.
  GraphBuilder& fan_out(std::uint32_t count) {
    const std::uint32_t from = last();
    for (std::uint32_t i = 0; i < count; ++i) add({from});
    return *this;
  }
  /// One subtask that reads all that are there.
  GraphBuilder& join() {
    std::vector<Input> inputs;
    for (std::uint32_t i = 0; i < subtasks_.size(); ++i) inputs.emplace_back(i);
    return add(std::move(inputs));
  }

  /// Of the last subtask.
  GraphBuilder& priority(std::int32_t value) {
    subtasks_.back().priority = value;
    return *this;
  }
  GraphBuilder& expected(Duration value) {
    subtasks_.back().expected_ns = static_cast<std::uint64_t>(value.count());
    return *this;
  }
  /// One key for each subtask, in order.
  GraphBuilder& keys(std::vector<std::string> names) {
    keys_ = std::move(names);
    return *this;
  }
  GraphBuilder& payloads(std::vector<std::string> texts) {
    payloads_ = std::move(texts);
    return *this;
  }
  GraphBuilder& wanted(std::vector<std::uint32_t> subtasks) {
    wanted_ = std::move(subtasks);
    return *this;
  }

  Graph build() const {
    Graph graph;
    graph.templates = templates_;
    graph.wanted = wanted_;
    bool prioritised = false;
    bool timed = false;
    for (const Subtask& subtask : subtasks_) {
      graph.template_of.push_back(subtask.template_index);
      for (const Input& input : subtask.inputs) {
        graph.predecessors.push_back(input.from);
        graph.edge_outputs.push_back(input.output);
      }
      graph.input_offsets.push_back(static_cast<std::uint32_t>(graph.predecessors.size()));
      graph.priorities.push_back(subtask.priority);
      graph.expected_ns.push_back(subtask.expected_ns);
      prioritised = prioritised || subtask.priority != 0;
      timed = timed || subtask.expected_ns != 0;
    }
    if (!prioritised) graph.priorities.clear();
    if (!timed) graph.expected_ns.clear();
    write_texts(keys_, graph.name_offsets, graph.names);
    write_texts(payloads_, graph.payload_offsets, graph.payloads);
    return graph;
  }

 private:
  struct Subtask {
    std::vector<Input> inputs;
    std::uint32_t template_index = 0;
    std::int32_t priority = 0;
    std::uint64_t expected_ns = 0;
  };

  std::uint32_t last() const { return static_cast<std::uint32_t>(subtasks_.size() - 1); }
  static void write_texts(const std::vector<std::string>& texts, std::vector<std::uint32_t>& offsets,
                          std::string& all) {
    if (!texts.empty()) offsets.push_back(0);
    for (const std::string& text : texts) {
      all += text;
      offsets.push_back(static_cast<std::uint32_t>(all.size()));
    }
  }

  std::vector<Template> templates_;
  std::vector<Subtask> subtasks_;
  std::vector<std::string> keys_;
  std::vector<std::string> payloads_;
  std::vector<std::uint32_t> wanted_;
};

}  // namespace penstock
