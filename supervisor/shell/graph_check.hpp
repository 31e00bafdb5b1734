// A submission on its way to a checked graph.
#pragma once

#include <memory>
#include <optional>

#include "common/protocol/client.hpp"
#include "supervisor/core/events.hpp"
#include "supervisor/core/graph_shape.hpp"

namespace penstock::supervisor {

/// Puts the graph of one submission together and checks it. Single-threaded; large graphs take seconds.
class GraphCheck {
 public:
  explicit GraphCheck(const GraphLimits& limits) : intake_(std::make_unique<GraphIntake>(limits)) {}

  /// The checked graph, or why it is refused, once: with its last chunk, or with the first that breaks a limit. Null:
  /// more chunks are expected, or those that were under way behind a refusal come. Names no client, and no identity.
  std::unique_ptr<supervisor_event::GraphChecked> take(SubmitChunk&& chunk);

 private:
  std::unique_ptr<GraphIntake> intake_;  ///< Null: the check is over.
  JobSpec spec_;
};

}  // namespace penstock::supervisor
