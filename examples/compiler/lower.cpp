#include "examples/compiler/lower.hpp"

#include <algorithm>

namespace example {
namespace {

using namespace penstock::engine;

template <class T>
std::string_view bytes_of(const T* first, std::size_t count = 1) {
  return {reinterpret_cast<const char*>(first), count * sizeof(T)};
}

OperationOptions with_outputs(std::uint16_t count) {
  OperationOptions options;
  options.outputs = count;
  return options;
}

bool is_elementwise(const Node& node) { return node.operation >= Operation::Add; }

}  // namespace

Lowering::Lowering(GraphBuilder& graph, const Program& program, std::uint64_t side)
    : graph_(graph),
      program_(program),
      side_(side),
      random_(graph.operation<std::string>("tensor_random")),
      gemm_(graph.operation<std::string>("tensor_gemm")),
      elementwise_(graph.operation<std::string>("tensor_elementwise")),
      qr_of_one_(graph.operation<std::string>("tensor_qr", with_outputs(2))),
      qr_of_two_(graph.operation<std::string>("tensor_qr", with_outputs(3))) {}

const Tiled& Lowering::lower(Value value) {
  const auto known = lowered_.find(value.node);
  if (known != lowered_.end()) return known->second[value.output];
  const Node& node = program_[value.node];
  Outputs made = is_elementwise(node)                  ? elementwise(value)
                 : node.operation == Operation::Random ? random(node)
                 : node.operation == Operation::MatMul ? matmul(node)
                                                       : qr(node);
  return lowered_.emplace(value.node, std::move(made)).first->second[value.output];
}

Lowering::Outputs Lowering::random(const Node& node) {
  Tiled made{node.outputs[0], side_, {}};
  for (std::uint64_t row = 0; row < made.down(); ++row)
    for (std::uint64_t column = 0; column < made.across(); ++column) {
      const RandomTile tile{node.seed, row * side_, column * side_, made.rows_of(row), made.columns_of(column)};
      made.tiles.push_back(graph_.add_with(random_, bytes_of(&tile)));
    }
  return {std::move(made)};
}

Tile Lowering::gemm(const GemmTile& size, const std::vector<Tile>& inputs) {
  return graph_.add(gemm_, inputs, bytes_of(&size));
}

Lowering::Outputs Lowering::matmul(const Node& node) {
  const Tiled a = lower(node.inputs[0]);
  const Tiled b = lower(node.inputs[1]);
  Tiled made{node.outputs[0], side_, {}};
  for (std::uint64_t row = 0; row < made.down(); ++row)
    for (std::uint64_t column = 0; column < made.across(); ++column) {
      std::vector<Tile> sum;
      for (std::uint64_t step = 0; step < a.across(); ++step) {
        std::vector<Tile> inputs{a.at(row, step), b.at(step, column)};
        inputs.insert(inputs.end(), sum.begin(), sum.end());
        sum = {gemm({made.rows_of(row), a.columns_of(step), made.columns_of(column)}, inputs)};
      }
      made.tiles.push_back(sum.front());
    }
  return {std::move(made)};
}

void Lowering::add_steps(Value value, bool is_last, std::vector<ElementStep>& steps,
                         std::vector<const Tiled*>& inputs) {
  const Node& node = program_[value.node];
  if (!is_elementwise(node) || (!is_last && node.readers > 1)) {
    steps.push_back({Step::Input, static_cast<std::uint32_t>(inputs.size()), 0});
    inputs.push_back(&lower(value));
    return;
  }
  for (const Value& input : node.inputs) add_steps(input, false, steps, inputs);
  const Step step = node.operation == Operation::Add     ? Step::Add
                    : node.operation == Operation::Scale ? Step::Scale
                                                         : Step::Relu;
  steps.push_back({step, 0, node.factor});
}

Lowering::Outputs Lowering::elementwise(Value value) {
  std::vector<ElementStep> steps;
  std::vector<const Tiled*> inputs;
  add_steps(value, true, steps, inputs);
  Tiled made{program_.extent(value), side_, {}};
  for (std::size_t tile = 0; tile < made.down() * made.across(); ++tile) {
    std::vector<Tile> read;
    for (const Tiled* input : inputs) read.push_back(input->tiles[tile]);
    made.tiles.push_back(graph_.add(elementwise_, read, bytes_of(steps.data(), steps.size())));
  }
  return {std::move(made)};
}

/// The parts of Q, then R.
std::vector<Tile> Lowering::factors(const std::vector<Tile>& inputs, std::uint64_t columns) {
  const QrTile size{columns};
  const Tile first = graph_.add(inputs.size() == 1 ? qr_of_one_ : qr_of_two_, inputs, bytes_of(&size));
  std::vector<Tile> outputs{first};
  for (std::uint16_t output = 1; output <= inputs.size(); ++output)
    outputs.push_back(output_of<std::string>(first, output));
  return outputs;
}

// Upwards each pair of triangles becomes one; downwards each part of Q is multiplied by those above it.
Lowering::Outputs Lowering::qr(const Node& node) {
  const Tiled a = lower(node.inputs[0]);
  const std::uint64_t columns = a.extent.columns;
  std::vector<Tile> parts;      // Of Q, of each tile.
  std::vector<Tile> triangles;  // Of the present level.
  for (const Tile& tile : a.tiles) {
    const std::vector<Tile> made = factors({tile}, columns);
    parts.push_back(made[0]);
    triangles.push_back(made[1]);
  }
  std::vector<std::vector<Tile>>
      levels;  // For each level above, the part of Q of each triangle below; one alone has none.
  while (triangles.size() > 1) {
    std::vector<Tile> next;
    std::vector<Tile>& level = levels.emplace_back();
    for (std::size_t i = 0; i + 1 < triangles.size(); i += 2) {
      const std::vector<Tile> made = factors({triangles[i], triangles[i + 1]}, columns);
      level.insert(level.end(), {made[0], made[1]});
      next.push_back(made[2]);
    }
    if (triangles.size() % 2 == 1) next.push_back(triangles.back());
    triangles = std::move(next);
  }
  std::vector<Tile> above;  // By triangle of the level: what its part of Q is multiplied by; none at the top.
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    std::vector<Tile> below = *level;
    for (std::size_t i = 0; i < below.size() && !above.empty(); ++i)
      below[i] = gemm({columns, columns, columns}, {below[i], above[i / 2]});
    if (above.size() * 2 == below.size() + 2) below.push_back(above.back());
    above = std::move(below);
  }
  Tiled q{a.extent, side_, parts};
  for (std::size_t i = 0; i < q.tiles.size() && !above.empty(); ++i)
    q.tiles[i] = gemm({a.rows_of(i), columns, columns}, {parts[i], above[i]});
  return {std::move(q), Tiled{{columns, columns}, side_, {triangles.front()}}};
}

}  // namespace example
