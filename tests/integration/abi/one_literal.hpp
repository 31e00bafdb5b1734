// A graph of one subtask with a given result, as a caller of the C ABI makes it.
#pragma once

#include <array>
#include <cstdint>

#include "client/include/penstock/penstock.h"

namespace penstock {

struct OneLiteral {
  OneLiteral() {
    penstock_template content{};
    content.size = sizeof content;
    content.program = "literal";
    added = penstock_graph_add_template(graph, &content);
    columns.size = sizeof columns;
    columns.count = 1;
    columns.templates = templates.data();
    columns.payload_offsets = offsets.data();
    columns.payloads = "data";
  }
  OneLiteral(const OneLiteral&) = delete;
  OneLiteral& operator=(const OneLiteral&) = delete;
  /// 0 if it is in the graph.
  int add() { return added < 0 ? added : penstock_graph_add_subtasks(graph, &columns); }

  penstock_graph* graph = penstock_graph_new();  ///< For the caller to free, or to submit.
  const std::array<std::uint32_t, 1> templates{0};
  std::array<std::uint64_t, 2> offsets{0, 4};
  penstock_subtasks columns{};

 private:
  int added = 0;
};

}  // namespace penstock
