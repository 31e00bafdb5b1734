#include <algorithm>
#include <cmath>

#include "common/base/rng.hpp"
#include "tools/policy/replay/trace.hpp"

namespace penstock::policy {
namespace {

constexpr double kLifetimeMedian = 540;
/// Of the logarithm of a lifetime: one in a hundred lasts 100 times the median.
constexpr double kLifetimeSpread = 2;
/// Even if the load is never reached: that few jobs leave devices idle however close they come.
constexpr std::int64_t kSpanMin = 3600;
constexpr std::int64_t kLifetimeMax = 30 * 86'400;

/// Sum of twelve evenly spread numbers: near enough to a normal one, and the same on every machine.
double normal(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(rng.below(1U << 30U)) / (1U << 30U);
  return sum;
}

std::int64_t lifetime(Rng& rng) {
  const double seconds = kLifetimeMedian * std::exp(kLifetimeSpread * normal(rng));
  return std::clamp<std::int64_t>(std::llround(seconds), 1, kLifetimeMax);
}

struct Demand {
  std::int64_t devices = 0;
  std::int64_t share = 0;
  std::int64_t thousandths() const { return devices * share; }
};

/// 38% a part of a device, 48% one device, 2% several, the others none.
Demand demand(Rng& rng) {
  const std::uint64_t kind = rng.below(100);
  if (kind < 38) return {1, rng.between(1, 19) * 50};
  if (kind < 86) return {1, 1000};
  if (kind < 88) return {std::int64_t{1} << rng.between(1, 3), 1000};
  return {};
}

/// 57% latency-sensitive, 30% best effort, 8% burstable, 5% guaranteed.
std::string_view service_class(Rng& rng) {
  const std::uint64_t kind = rng.below(100);
  return kind < 57 ? "LS" : kind < 87 ? "BE" : kind < 95 ? "Burstable" : "Guaranteed";
}

struct Model {
  std::string_view name;
  std::int64_t devices;
};
constexpr Model kModels[] = {{"T4", 2}, {"P100", 2}, {"V100M16", 4}, {"G2", 8}, {"V100M32", 8}, {"G3", 8}};

/// The longest span over which the jobs, if none waited, would keep that part of the devices busy.
template <class LoadPercent>
std::int64_t span_for(const LoadPercent& load_percent, std::int64_t wanted) {
  std::int64_t low = kSpanMin;
  std::int64_t high = kLifetimeMax;
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    (load_percent(middle) >= static_cast<double>(wanted) ? low : high) = middle;
  }
  return low;
}

}  // namespace

TraceText generate_trace(const TraceShape& shape) {
  Rng rng{shape.seed};
  TraceText text;
  text.nodes = "sn,cpu_milli,memory_mib,gpu,model\n";  // tidy: foreign
  std::int64_t devices_in_all = 0;
  for (std::uint32_t i = 0; i < shape.bands; ++i) {
    const bool without = rng.chance(1, 10);
    const Model& model = kModels[rng.below(std::size(kModels))];
    const std::int64_t devices = without ? 0 : model.devices;
    devices_in_all += devices;
    const std::int64_t cores = without ? 96 : std::min<std::int64_t>(128, 32 + devices * 8);
    text.nodes += "band-" + std::to_string(i) + "," + std::to_string(cores * 1000) + "," +  // tidy: foreign
                  std::to_string(cores * 8 * 1024) + "," + std::to_string(devices) + "," +
                  (without ? "" : std::string{model.name}) + "\n";
  }
  struct Row {
    Demand demand;
    std::int64_t runs_s;
    std::int64_t cpu_milli;
    std::string_view service;
    bool picky;
  };
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < shape.jobs; ++i) {
    Row row{demand(rng), lifetime(rng), 0, service_class(rng), rng.chance(1, 20)};
    row.cpu_milli = std::max<std::int64_t>(1, row.demand.devices) * rng.between(2, 8) * 1000;
    rows.push_back(row);
  }
  std::vector<double> moments;  // When each arrives, as a part of the span.
  for (std::uint32_t i = 0; i < shape.jobs; ++i) moments.push_back(static_cast<double>(rng.below(1'000'000)) / 1e6);
  std::sort(moments.begin(), moments.end());
  const double devices = std::max(1.0, static_cast<double>(devices_in_all));
  const auto load_percent = [&](std::int64_t span) {
    double work = 0;
    for (std::size_t i = 0; i < rows.size(); ++i)
      work += static_cast<double>(rows[i].demand.thousandths()) / 1000 *
              std::min(static_cast<double>(rows[i].runs_s), static_cast<double>(span) * (1 - moments[i]));
    return 100 * work / static_cast<double>(span) / devices;
  };
  const std::int64_t span = shape.span_s > 0 ? shape.span_s : span_for(load_percent, shape.load_percent);
  text.pods =  // tidy: foreign
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const std::int64_t arrives_s = std::llround(moments[i] * static_cast<double>(span));
    const std::string arrived = std::to_string(arrives_s);
    text.pods += "job-" + std::to_string(i) + "," + std::to_string(row.cpu_milli) + "," +  // tidy: foreign
                 std::to_string(row.cpu_milli / 1000 * 4096) + "," + std::to_string(row.demand.devices) + "," +
                 std::to_string(row.demand.share) + "," +
                 (row.picky && row.demand.devices == 1 ? "V100M16|V100M32" : "") + "," + std::string{row.service} +
                 ",Succeeded," + arrived + "," + std::to_string(arrives_s + row.runs_s) + "," + arrived + "\n";
  }
  return text;
}

}  // namespace penstock::policy
