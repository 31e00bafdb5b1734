#include "common/metrics/metric_family.hpp"

#include <gtest/gtest.h>

namespace penstock {
namespace {

MetricFamilies some_families() {
  MetricFamilies all;
  all.counter("penstock_things_total", "Things").add(12345678, {{"kind", "a"}, {"pool", ""}}).add(0.5);
  all.gauge("penstock_level", "Level").add(-3);
  return all;
}

TEST(MetricFamily, ThePlainTextNamesACounterWithItsSuffix) {
  EXPECT_EQ(to_text(some_families(), MetricFormat::Plain),
            "# HELP penstock_things_total Things\n"
            "# TYPE penstock_things_total counter\n"
            "penstock_things_total{kind=\"a\"} 12345678\n"
            "penstock_things_total 0.5\n"
            "# HELP penstock_level Level\n"
            "# TYPE penstock_level gauge\n"
            "penstock_level -3\n");
}

TEST(MetricFamily, OpenMetricsNamesItWithoutAndHasAnEnd) {
  const std::string text = to_text(some_families(), MetricFormat::OpenMetrics);
  EXPECT_NE(text.find("# TYPE penstock_things counter\npenstock_things_total{"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\n# EOF\n"));
}

TEST(MetricFamily, BucketsAreCumulative) {
  DurationCounts counts;
  counts.add_us(50);
  counts.add_us(2'000'000);
  counts.add_us(100'000'000'000);
  MetricFamilies all;
  all.histogram("penstock_run_seconds", "Runs").add(counts, {{"runner", "native"}});
  const std::string text = to_text(all, MetricFormat::OpenMetrics);
  for (const char* line : {"penstock_run_seconds_bucket{runner=\"native\",le=\"1e-04\"} 1\n",
                           "penstock_run_seconds_bucket{runner=\"native\",le=\"1.0\"} 1\n",
                           "penstock_run_seconds_bucket{runner=\"native\",le=\"10.0\"} 2\n",
                           "penstock_run_seconds_bucket{runner=\"native\",le=\"36000.0\"} 2\n",
                           "penstock_run_seconds_bucket{runner=\"native\",le=\"+Inf\"} 3\n",
                           "penstock_run_seconds_sum{runner=\"native\"} 100002.00005\n",
                           "penstock_run_seconds_count{runner=\"native\"} 3\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST(MetricFamily, ValuesOfLabelsCannotBreakALine) {
  MetricFamilies all;
  all.gauge("penstock_level", "Level").add(1, {{"pool", "a\"b\\c\nd"}});
  EXPECT_NE(to_text(all, MetricFormat::Plain).find("{pool=\"a\\\"b\\\\c\\nd\"} 1\n"), std::string::npos);
}

}  // namespace
}  // namespace penstock
