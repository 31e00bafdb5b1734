// Metrics as Prometheus knows them, and their text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/duration_counts.hpp"

namespace penstock {

enum class MetricKind : std::uint8_t {
  Counter,  ///< Only grows while the process lives. Its name ends with `_total`.
  Gauge,
  Histogram,  ///< Of durations, in seconds.
};

using MetricLabels = std::vector<std::pair<std::string, std::string>>;  ///< Empty values are left out.

struct MetricSample {
  MetricLabels labels;
  double value = 0;
  std::optional<DurationCounts> durations;  ///< Of a histogram.
};

/// The samples of one name. REQUIRES: name and label names are words of letters, digits and `_`.
struct MetricFamily {
  std::string name;
  MetricKind kind = MetricKind::Gauge;
  std::string help;  ///< One sentence without its full stop, with the unit.
  std::vector<MetricSample> samples{};

  MetricFamily& add(double value, MetricLabels labels = {}) {
    samples.push_back({std::move(labels), value, {}});
    return *this;
  }
  MetricFamily& add(const DurationCounts& durations, MetricLabels labels = {}) {
    samples.push_back({std::move(labels), 0, durations});
    return *this;
  }
};

/// The families of one scrape, in the order in which they are written.
class MetricFamilies {
 public:
  /// References are valid until the next call.
  MetricFamily& counter(std::string name, std::string help) {
    return families_.emplace_back(MetricFamily{std::move(name), MetricKind::Counter, std::move(help)});
  }
  MetricFamily& gauge(std::string name, std::string help) {
    return families_.emplace_back(MetricFamily{std::move(name), MetricKind::Gauge, std::move(help)});
  }
  MetricFamily& histogram(std::string name, std::string help) {
    return families_.emplace_back(MetricFamily{std::move(name), MetricKind::Histogram, std::move(help)});
  }
  const std::vector<MetricFamily>& all() const { return families_; }

 private:
  std::vector<MetricFamily> families_;
};

enum class MetricFormat : std::uint8_t {
  Plain,        ///< Prometheus' text format 0.0.4.
  OpenMetrics,  ///< OpenMetrics 1.0.
};
/// As the header `Content-Type` names it.
const char* content_type_of(MetricFormat format);

/// Cost: linear in the samples, some 200 ns each.
std::string to_text(const MetricFamilies& families, MetricFormat format);

}  // namespace penstock
