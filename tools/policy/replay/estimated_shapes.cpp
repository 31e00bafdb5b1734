#include "tools/policy/replay/estimated_shapes.hpp"

#include <span>

#include "common/base/rng.hpp"

namespace penstock::policy {
namespace {

struct JobShape {
  std::int64_t cpu_milli;
  std::int64_t memory_mib;
  std::int64_t devices;
  std::int64_t share;
  std::uint32_t weight;  ///< In its class.
};

constexpr JobShape kNoDevice[] = {{32000, 49152, 0, 0, 35}, {8000, 30517, 0, 0, 30}, {12500, 57344, 0, 0, 10},
                                  {16000, 31250, 0, 0, 6},  {32000, 62500, 0, 0, 6}, {8000, 15625, 0, 0, 5},
                                  {20000, 65536, 0, 0, 4},  {12500, 65536, 0, 0, 4}};
constexpr JobShape kPart[] = {{3152, 5600, 1, 810, 20},  {8000, 30517, 1, 470, 18}, {11908, 47104, 1, 470, 9},
                              {11908, 47104, 1, 650, 9}, {8000, 30517, 1, 320, 8},  {4000, 15258, 1, 220, 6},
                              {4000, 15258, 1, 320, 6},  {6000, 12288, 1, 460, 6},  {4000, 22888, 1, 320, 5},
                              {4000, 15258, 1, 160, 4},  {8000, 30517, 1, 220, 3},  {6000, 18432, 1, 460, 2},
                              {4152, 10600, 1, 550, 2},  {4152, 10600, 1, 810, 1},  {6000, 22888, 1, 160, 2},
                              {4000, 30517, 1, 230, 1},  {8000, 30517, 1, 650, 1},  {3152, 5600, 1, 590, 2},
                              {6000, 6144, 1, 460, 2},   {4000, 15258, 1, 110, 2},  {4000, 22888, 1, 480, 1}};
constexpr JobShape kOneDevice[] = {
    {3152, 5600, 1, 1000, 18},  {11400, 48128, 1, 1000, 17}, {16000, 32768, 1, 1000, 11}, {18708, 64512, 1, 1000, 10},
    {12000, 24576, 1, 1000, 8}, {12000, 16384, 1, 1000, 5},  {9810, 41560, 1, 1000, 4},   {11908, 47104, 1, 1000, 4},
    {15200, 80896, 1, 1000, 4}, {4000, 24576, 1, 1000, 4},   {8000, 16384, 1, 1000, 4},   {8200, 33792, 1, 1000, 3},
    {16000, 65536, 1, 1000, 3}, {15700, 58368, 1, 1000, 2},  {24200, 93184, 1, 1000, 2},  {8000, 32768, 1, 1000, 1},
    {12000, 49152, 1, 1000, 1}};
constexpr JobShape kSeveral[] = {{6000, 65536, 2, 1000, 2},
                                 {32200, 132096, 4, 1000, 2},
                                 {88000, 327680, 8, 1000, 2},
                                 {64000, 262144, 8, 1000, 2},
                                 {64200, 263168, 8, 1000, 1}};

struct BandShape {
  std::int64_t cpu_milli;
  std::int64_t memory_mib;
  std::int64_t devices;
  const char* model;
  std::uint32_t weight;
};
/// With 6,212 devices among 1,213 bands.
constexpr BandShape kBandShapes[] = {
    {96000, 393216, 8, "G2", 549},     {104000, 524288, 2, "T4", 395},    {96000, 393216, 4, "T4", 13},
    {16000, 122880, 2, "P100", 132},   {8000, 61440, 1, "P100", 1},       {128000, 786432, 8, "G3", 39},
    {32000, 131072, 4, "V100M16", 37}, {8000, 32768, 1, "V100M16", 7},    {64000, 262144, 8, "V100M16", 5},
    {96000, 786432, 8, "V100M32", 17}, {48000, 376832, 4, "V100M32", 17}, {128000, 524288, 2, "A10", 1}};

template <class Shape>
std::uint32_t sum_of(std::span<const Shape> shapes) {
  std::uint32_t sum = 0;
  for (const Shape& each : shapes) sum += each.weight;
  return sum;
}

template <class Shape>
const Shape& at_weight(std::span<const Shape> shapes, std::uint64_t weight) {
  for (const Shape& each : shapes) {
    if (weight < each.weight) return each;
    weight -= each.weight;
  }
  return shapes.back();
}

const JobShape& draw(std::span<const JobShape> shapes, Rng& rng) {
  return at_weight(shapes, rng.below(sum_of(shapes)));
}

/// In thousands: 133 without devices, 378 with a part of one, 480 with one, 9 with several.
const JobShape& draw_job(Rng& rng) {
  const std::uint64_t kind = rng.below(1000);
  if (kind < 133) return draw(kNoDevice, rng);
  if (kind < 511) return draw(kPart, rng);
  if (kind < 991) return draw(kOneDevice, rng);
  return draw(kSeveral, rng);
}

}  // namespace

TraceText estimated_shapes(std::uint32_t jobs, std::uint32_t bands, std::uint64_t seed) {
  Rng rng{seed};
  TraceText text;
  text.nodes = "sn,cpu_milli,memory_mib,gpu,model\n";  // tidy: foreign
  const std::span<const BandShape> shapes{kBandShapes};
  const std::uint64_t all = sum_of(shapes);
  // Each model has its part of the bands, and bands of one model do not stand together.
  constexpr std::uint64_t kStride = 487;
  for (std::uint32_t i = 0; i < bands; ++i) {
    const BandShape& band = at_weight(shapes, i * kStride % all);
    text.nodes += "band-" + std::to_string(i) + "," + std::to_string(band.cpu_milli) + "," +  // tidy: foreign
                  std::to_string(band.memory_mib) + "," + std::to_string(band.devices) + "," + band.model + "\n";
  }
  text.pods =  // tidy: foreign
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n";
  for (std::uint32_t i = 0; i < jobs; ++i) {
    const JobShape& job = draw_job(rng);
    text.pods += "job-" + std::to_string(i) + "," + std::to_string(job.cpu_milli) + "," +  // tidy: foreign
                 std::to_string(job.memory_mib) + "," + std::to_string(job.devices) + "," + std::to_string(job.share) +
                 ",,LS\n";
  }
  return text;
}

}  // namespace penstock::policy
