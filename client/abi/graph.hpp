// A graph in the making, behind the C interface.
#pragma once

#include "client/include/penstock/penstock.h"
#include "common/base/result.hpp"
#include "common/protocol/graph.hpp"

/// For one thread.
struct penstock_graph {
  penstock::Graph graph;
  bool wants = false;  ///< `graph.wanted` lists the kept outputs.
};

namespace penstock::abi {

/// Copies `content`. Error: InvalidArgument.
Result<Template> read_template(const penstock_template& content);

}  // namespace penstock::abi
