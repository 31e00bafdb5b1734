// Tensor programs, compiled to Penstock.
//
//   tensor_compiler [--program gemm|network|qr] [--tiles N] [--inner N] [--side N] [--slots N] [--address HOST:PORT]
//
// Each result is checked against one that is computed without tiles, on vectors of random signs where that would take
// longer than the program, and tells the rate of subtasks. Exit code: 0 if the result is right.
#include <penstock/client.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "examples/compiler/lower.hpp"

namespace example {
namespace {

using namespace penstock::engine;

constexpr double kErrorMax = 1e-4;  ///< Rounding of floats causes about 1e-6.

struct Options {
  std::string program = "gemm";
  std::uint64_t tiles = 46;  ///< Down and across, of the result.
  std::uint64_t inner = 48;  ///< Along the sum of a product.
  std::uint64_t side = 8;    ///< Of a tile.
  ClientOptions client;
};

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin)
      .count();  // tidy: allow call: an engine has only the client
}

/// A matrix in this process.
struct Dense {
  Extent extent;
  std::vector<double> numbers;
  double& at(std::uint64_t row, std::uint64_t column) { return numbers[row * extent.columns + column]; }
  double at(std::uint64_t row, std::uint64_t column) const { return numbers[row * extent.columns + column]; }
};

Dense random_dense(Extent extent, std::uint64_t seed) {
  Dense made{extent, std::vector<double>(extent.rows * extent.columns)};
  for (std::uint64_t row = 0; row < extent.rows; ++row)
    for (std::uint64_t column = 0; column < extent.columns; ++column)
      made.at(row, column) = static_cast<double>(random_entry(seed, row, column));
  return made;
}

Dense product(const Dense& a, const Dense& b) {
  Dense made{{a.extent.rows, b.extent.columns}, std::vector<double>(a.extent.rows * b.extent.columns)};
  for (std::uint64_t row = 0; row < a.extent.rows; ++row)
    for (std::uint64_t k = 0; k < a.extent.columns; ++k)
      for (std::uint64_t column = 0; column < b.extent.columns; ++column)
        made.at(row, column) += a.at(row, k) * b.at(k, column);
  return made;
}

Dense transposed(const Dense& a) {
  Dense made{{a.extent.columns, a.extent.rows}, std::vector<double>(a.numbers.size())};
  for (std::uint64_t row = 0; row < a.extent.rows; ++row)
    for (std::uint64_t column = 0; column < a.extent.columns; ++column) made.at(column, row) = a.at(row, column);
  return made;
}

/// The largest difference, in the average size of the numbers of `right`.
double difference(const Dense& found, const Dense& right) {
  double worst = 0;
  double squares = 0;
  for (std::size_t i = 0; i < right.numbers.size(); ++i) {
    worst = std::max(worst, std::abs(found.numbers[i] - right.numbers[i]));
    squares += right.numbers[i] * right.numbers[i];
  }
  return worst / std::sqrt(squares / static_cast<double>(right.numbers.size()));
}

/// A value of the program, from the tiles that the cluster holds.
Expected<Dense> fetch(const Job& job, const Tiled& value) {
  Dense made{value.extent, std::vector<double>(value.extent.rows * value.extent.columns)};
  for (std::uint64_t row = 0; row < value.down(); ++row)
    for (std::uint64_t column = 0; column < value.across(); ++column) {
      const Expected<Datum> tile = job.datum(value.at(row, column));
      if (!tile) return tile.failure();
      const std::uint64_t rows = value.rows_of(row);
      const std::uint64_t columns = value.columns_of(column);
      if (tile.value().bytes().size() != rows * columns * sizeof(float))
        return Failure{"InvalidArgument", "tile", "has another size than it was lowered to", {}};
      const auto* numbers = reinterpret_cast<const float*>(tile.value().bytes().data());
      for (std::uint64_t i = 0; i < rows * columns; ++i)
        made.at(row * value.side + i / columns, column * value.side + i % columns) = static_cast<double>(numbers[i]);
    }
  return made;
}

/// A program with its results, and how these are checked.
struct Compiled {
  Program program;
  std::vector<Value> results;
  double (*error_of)(const std::vector<Dense>& results, const Options& options) = nullptr;
};

Compiled gemm(const Options& options) {
  const Extent a{options.tiles * options.side, options.inner * options.side};
  Compiled made;
  made.results = {made.program.matmul(made.program.random(a, 1), made.program.random({a.columns, a.rows}, 2))};
  made.error_of = [](const std::vector<Dense>& results, const Options& o) {
    const Extent left{o.tiles * o.side, o.inner * o.side};
    Dense probe = random_dense({left.rows, 3}, 9);
    const Dense right = product(random_dense(left, 1), product(random_dense({left.columns, left.rows}, 2), probe));
    return difference(product(results[0], probe), right);
  };
  return made;
}

/// relu(x * w + bias / 2) + x, where the last three steps are one subtask for each tile.
Compiled network(const Options& options) {
  const std::uint64_t n = options.tiles * options.side;
  Compiled made;
  Program& program = made.program;
  const Value x = program.random({n, n}, 1);
  const Value z =
      program.sum(program.matmul(x, program.random({n, n}, 2)), program.scale(program.random({n, n}, 3), 0.5F));
  made.results = {program.sum(program.relu(z), x)};
  made.error_of = [](const std::vector<Dense>& results, const Options& o) {
    const Extent extent{o.tiles * o.side, o.tiles * o.side};
    const Dense input = random_dense(extent, 1);
    const Dense bias = random_dense(extent, 3);
    Dense right = product(input, random_dense(extent, 2));
    for (std::size_t i = 0; i < right.numbers.size(); ++i)
      right.numbers[i] = std::max(right.numbers[i] + bias.numbers[i] / 2, 0.0) + input.numbers[i];
    return difference(results[0], right);
  };
  return made;
}

/// Q and R of a tall matrix; A = Q * R, and the columns of Q are orthonormal.
Compiled qr(const Options& options) {
  Compiled made;
  const auto [q, r] = made.program.qr(made.program.random({options.tiles * options.side, options.side}, 1));
  made.results = {q, r};
  made.error_of = [](const std::vector<Dense>& results, const Options& o) {
    const double residue = difference(product(results[0], results[1]), random_dense({o.tiles * o.side, o.side}, 1));
    Dense unit{{o.side, o.side}, std::vector<double>(o.side * o.side)};
    for (std::uint64_t i = 0; i < o.side; ++i) unit.at(i, i) = 1;
    return std::max(residue, difference(product(transposed(results[0]), results[0]), unit));
  };
  return made;
}

int fail(const Failure& failure) {
  std::fprintf(stderr, "tensor_compiler: %s\n", failure.text().c_str());
  return 1;
}

int run(const Options& options) {
  const Compiled compiled = options.program == "gemm" ? gemm(options)
                            : options.program == "qr" ? qr(options)
                                                      : network(options);
  Expected<Client> client = Client::open(options.client);
  if (!client) return fail(client.failure());
  const auto begin = Clock::now();  // tidy: allow call: an engine has nothing of ours but the client
  GraphBuilder graph;
  Lowering lowering{graph, compiled.program, options.side};
  std::vector<Tiled> results;
  for (const Value& result : compiled.results) results.push_back(lowering.lower(result));
  for (const Tiled& result : results)
    for (const Tile& tile : result.tiles) graph.want(tile);
  const std::uint32_t subtasks = graph.size();
  const double lowered = seconds_since(begin);
  Expected<Job> job = client->submit(std::move(graph));
  if (!job) return fail(job.failure());
  const Expected<JobState> state = job->wait();
  if (!state) return fail(state.failure());
  const double took = seconds_since(begin);
  std::vector<Dense> found;
  for (const Tiled& result : results) {
    Expected<Dense> one = fetch(*job, result);
    if (!one) return fail(one.failure());
    found.push_back(std::move(one).value());
  }
  const double error = compiled.error_of(found, options);
  std::printf("%s: %u subtasks in %.3f s, %.3f s of it lowering: %.0f subtasks/s; error %.1e\n",
              options.program.c_str(), subtasks, took, lowered, subtasks / took, error);
  if (error < kErrorMax) return 0;
  std::fprintf(stderr, "tensor_compiler: the result is wrong\n");
  return 1;
}

// False for options without sense.
bool read_options(int argc, char** argv, Options& options) {
  options.client.operators = {EXAMPLE_TENSOR_OPERATORS};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string word = argv[i];
    const std::uint64_t number = std::strtoull(argv[i + 1], nullptr, 10);
    if (word == "--program") {
      options.program = argv[i + 1];
    } else if (word == "--tiles") {
      options.tiles = number;
    } else if (word == "--inner") {
      options.inner = number;
    } else if (word == "--side") {
      options.side = number;
    } else if (word == "--slots") {
      options.client.slots = static_cast<std::uint32_t>(number);
    } else if (word == "--address") {
      options.client.address = argv[i + 1];
      options.client.operators.clear();  // The workers of the cluster must have them.
    } else {
      return false;
    }
  }
  const bool is_known = options.program == "gemm" || options.program == "network" || options.program == "qr";
  return argc % 2 == 1 && is_known && options.tiles > 0 && options.inner > 0 && options.side > 0 &&
         options.tiles * options.side <= 1U << 16U && options.inner * options.side <= 1U << 16U;
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  example::Options options;
  if (!example::read_options(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: tensor_compiler [--program gemm|network|qr] [--tiles N] [--inner N] [--side N] [--slots N] "
                 "[--address HOST:PORT]\n");
    return 2;
  }
  return example::run(options);
}
