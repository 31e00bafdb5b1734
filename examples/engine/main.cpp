// An engine on Penstock: the product of two large matrices by blocks, as a graph of native operators.
//
//   matrix_engine [--size N] [--block N] [--slots N] [--address HOST:PORT] [--no-compare] [--spoil]
//
// It checks the result C of A * B against A * (B * x) for vectors x of random signs, and compares its speed with one
// call of the same product on all processors. Exit code: 0 if the result is right.
#include <tbb/parallel_for.h>
#include <penstock/client.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/engine/blocks.hpp"
#include "examples/engine/matrix.hpp"

namespace example {
namespace {

using namespace penstock::engine;

constexpr std::uint64_t kA = 1;
constexpr std::uint64_t kB = 2;
constexpr std::uint64_t kProbe = 3;
constexpr std::uint64_t kProbes = 3;
/// Rounding of floats causes about 1e-6; one number of 8192 x 8192 that is wrong by 1 causes more than 1e-4.
constexpr double kErrorMax = 1e-5;

struct Options {
  std::uint64_t size = 2048;
  std::uint64_t block = 1024;
  ClientOptions client;
  bool compare = true;
  bool spoil = false;  ///< Makes one number of the result wrong, to see that it is noticed.
};

using Clock = std::chrono::steady_clock;
Clock::time_point now() { return Clock::now(); }  // tidy: allow call: an engine has nothing of ours but the client

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(now() - begin).count(); }

/// A matrix cut into blocks; those at the end may be smaller.
struct Blocks {
  std::uint64_t size = 0;
  std::uint64_t block = 0;

  std::uint64_t count() const { return (size + block - 1) / block; }
  std::uint64_t extent(std::uint64_t index) const { return std::min(block, size - index * block); }
  Shape shape(std::uint64_t row, std::uint64_t column) const { return {extent(row), extent(column)}; }
};

template <class T>
std::string_view bytes_of(const T* first, std::size_t count) {
  return {reinterpret_cast<const char*>(first), count * sizeof(T)};
}

using BlockHandle = Handle<std::string>;

/// All blocks of a defined matrix, row after row.
std::vector<BlockHandle> add_matrix(GraphBuilder& graph, Operation<std::string> make, const Blocks& blocks,
                                    std::uint64_t matrix) {
  std::vector<BlockHandle> handles;
  for (std::uint64_t row = 0; row < blocks.count(); ++row)
    for (std::uint64_t column = 0; column < blocks.count(); ++column) {
      const Block block{{matrix, row * blocks.block, column * blocks.block}, blocks.shape(row, column)};
      handles.push_back(graph.add_with(make, bytes_of(&block, 1)));
    }
  return handles;
}

/// The blocks of the product, row after row.
std::vector<BlockHandle> add_matrix_product(GraphBuilder& graph, const Blocks& blocks) {
  const auto make = graph.operation<std::string>("matrix_block");
  const auto multiply = graph.operation<std::string>("block_product");
  const std::vector<BlockHandle> a = add_matrix(graph, make, blocks, kA);
  const std::vector<BlockHandle> b = add_matrix(graph, make, blocks, kB);
  const std::uint64_t count = blocks.count();
  std::vector<BlockHandle> product;
  for (std::uint64_t row = 0; row < count; ++row)
    for (std::uint64_t column = 0; column < count; ++column) {
      std::vector<BlockHandle> inputs;
      std::vector<Shape> shapes;
      for (std::uint64_t step = 0; step < count; ++step) {
        inputs.push_back(a[row * count + step]);
        shapes.push_back(blocks.shape(row, step));
      }
      for (std::uint64_t step = 0; step < count; ++step) {
        inputs.push_back(b[step * count + column]);
        shapes.push_back(blocks.shape(step, column));
      }
      product.push_back(graph.add(multiply, inputs, bytes_of(shapes.data(), shapes.size())));
      graph.want(product.back());
    }
  return product;
}

using Vector = std::vector<double>;

/// The product of a defined matrix and a vector, computed from the definition.
Vector times(std::uint64_t matrix, const Vector& x) {
  Vector y(x.size());
  tbb::parallel_for(std::size_t{0}, x.size(), [&](std::size_t row) {
    double sum = 0;
    for (std::size_t column = 0; column < x.size(); ++column)
      sum += static_cast<double>(entry({matrix, row, column})) * x[column];
    y[row] = sum;
  });
  return y;
}

void add_block_times(const Datum& block, const Block& where, const Vector& x, Vector& y) {
  const auto* data = reinterpret_cast<const float*>(block.bytes().data());
  tbb::parallel_for(std::size_t{0}, static_cast<std::size_t>(where.shape.rows), [&](std::size_t row) {
    double sum = 0;
    for (std::size_t column = 0; column < where.shape.columns; ++column)
      sum += static_cast<double>(data[row * where.shape.columns + column]) * x[where.place.column + column];
    y[where.place.row + row] += sum;
  });
}

/// The largest difference between C * x and A * (B * x), relative to the average of their numbers, for the worst of
/// some vectors of random signs.
Expected<double> error_of(const Job& job, const std::vector<BlockHandle>& product, const Blocks& blocks, bool spoil) {
  std::vector<Vector> probes(kProbes, Vector(blocks.size));
  std::vector<Vector> found(kProbes, Vector(blocks.size));
  for (std::uint64_t k = 0; k < kProbes; ++k)
    for (std::uint64_t i = 0; i < blocks.size; ++i) probes[k][i] = entry({kProbe, k, i}) < 0 ? -1 : 1;
  for (std::uint64_t row = 0; row < blocks.count(); ++row)
    for (std::uint64_t column = 0; column < blocks.count(); ++column) {
      const Expected<Datum> block = job.datum(product[row * blocks.count() + column]);
      if (!block) return block.failure();
      const Block where{{0, row * blocks.block, column * blocks.block}, blocks.shape(row, column)};
      if (block.value().bytes().size() != where.shape.bytes())
        return Failure{"InvalidArgument", "product", "a block has not the size that was asked for", {}};
      for (std::uint64_t k = 0; k < kProbes; ++k) add_block_times(block.value(), where, probes[k], found[k]);
    }
  double worst = 0;
  for (std::uint64_t k = 0; k < kProbes; ++k) {
    const Vector right = times(kA, times(kB, probes[k]));
    if (spoil) found[k][0] += 1;
    double error = 0;
    double squares = 0;
    for (std::uint64_t i = 0; i < blocks.size; ++i) {
      error = std::max(error, std::abs(found[k][i] - right[i]));
      squares += right[i] * right[i];
    }
    worst = std::max(worst, error / std::sqrt(squares / static_cast<double>(blocks.size)));
  }
  return worst;
}

/// The same in this thread's arena, which has all processors: the time for making A and B and for the product.
std::pair<double, double> one_call(std::uint64_t size) {
  auto begin = now();
  std::vector<float> a(size * size);
  std::vector<float> b(size * size);
  std::vector<float> c(size * size);
  fill(Matrix{a.data(), size, size, size}, {kA, 0, 0});
  fill(Matrix{b.data(), size, size, size}, {kB, 0, 0});
  const double made = seconds_since(begin);
  begin = now();
  add_product({a.data(), size, size, size}, {b.data(), size, size, size}, {c.data(), size, size, size});
  return {made, seconds_since(begin)};
}

int fail(const Failure& failure) {
  std::fprintf(stderr, "matrix_engine: %s\n", failure.text().c_str());
  return 1;
}

int run(const Options& options) {
  const Blocks blocks{options.size, options.block};
  Expected<Client> client = Client::open(options.client);
  if (!client) return fail(client.failure());
  const auto begin = now();
  GraphBuilder graph;
  const std::vector<BlockHandle> product = add_matrix_product(graph, blocks);
  Expected<Job> job = client->submit(std::move(graph));
  if (!job) return fail(job.failure());
  const Expected<JobState> state = job->wait();
  if (!state) return fail(state.failure());
  const double took = seconds_since(begin);
  const Expected<double> error = error_of(*job, product, blocks, options.spoil);
  if (!error) return fail(error.failure());
  const double operations = 2.0 * std::pow(static_cast<double>(options.size), 3);
  std::printf("%llu x %llu in blocks of %llu: %.2f s with making the matrices, %.1f GFLOP/s; error %.1e\n",
              static_cast<unsigned long long>(options.size), static_cast<unsigned long long>(options.size),
              static_cast<unsigned long long>(options.block), took, operations / took / 1e9, error.value());
  job->release();
  if (!(error.value() < kErrorMax)) {
    std::fprintf(stderr, "matrix_engine: the result is wrong\n");
    return 1;
  }
  if (!options.compare) return 0;
  const auto [made, multiplied] = one_call(options.size);
  std::printf(
      "one call on all processors: %.2f s (matrices %.2f s, product %.2f s, %.1f GFLOP/s); efficiency %.0f %%\n",
      made + multiplied, made, multiplied, operations / multiplied / 1e9, 100 * (made + multiplied) / took);
  return 0;
}

// False for options without sense.
bool read_options(int argc, char** argv, Options& options) {
  options.client.operators = {EXAMPLE_MATRIX_OPERATORS};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--no-compare" || word == "--spoil") {
      (word == "--spoil" ? options.spoil : options.compare) = word == "--spoil";
      continue;
    }
    if (++i == argc) return false;
    const std::uint64_t number = std::strtoull(argv[i], nullptr, 10);
    if (word == "--size") {
      options.size = number;
    } else if (word == "--block") {
      options.block = number;
    } else if (word == "--slots") {
      options.client.slots = static_cast<std::uint32_t>(number);
    } else if (word == "--address") {
      options.client.address = argv[i];
      options.client.operators.clear();  // The workers of the cluster must have them.
    } else {
      return false;
    }
  }
  return options.size > 0 && options.block > 0 && options.size <= 1U << 17U;
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  example::Options options;
  if (!example::read_options(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: matrix_engine [--size N] [--block N] [--slots N] [--address HOST:PORT] "
                 "[--no-compare] [--spoil]\n");
    return 2;
  }
  return example::run(options);
}
