#include "common/metrics/metric_family.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace penstock {
namespace {

constexpr std::string_view kTotal = "_total";

const char* word_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::Counter: return "counter";
    case MetricKind::Gauge: return "gauge";
    case MetricKind::Histogram: return "histogram";
  }
  return "untyped";
}

/// Both formats escape alike in values of labels; texts of help have no quotes.
void append_escaped(std::string& text, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"')
      text += {'\\', c};
    else if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
}

void append_number(std::string& text, double value) {
  std::array<char, 32> digits;
  // Whole numbers as such: the shortest form of 1e5 would be that.
  const bool whole = std::abs(value) < 1e15 && value == std::floor(value);
  const auto [end, error] =
      whole ? std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<std::int64_t>(value))
            : std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text.append(digits.data(), error == std::errc{} ? end : digits.data());
}

void append_line(std::string& text, std::string_view name, std::string_view suffix, const MetricLabels& labels,
                 std::string_view bound, double value) {
  text += name;
  text += suffix;
  char between = '{';
  const auto append_label = [&](std::string_view label, std::string_view content) {
    text += between;
    text += label;
    text += "=\"";
    append_escaped(text, content);
    text += '"';
    between = ',';
  };
  for (const auto& [label, content] : labels)
    if (!content.empty()) append_label(label, content);
  if (!bound.empty()) append_label("le", bound);
  if (between == ',') text += '}';
  text += ' ';
  append_number(text, value);
  text += '\n';
}

void append_histogram(std::string& text, const std::string& name, const MetricSample& sample) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < DurationCounts::kBoundsUs.size(); ++i) {
    sum += sample.durations->count_at(i);
    std::string bound;
    append_number(bound, static_cast<double>(DurationCounts::kBoundsUs[i]) / 1e6);
    if (bound.find_first_of(".e") == std::string::npos) bound += ".0";  // OpenMetrics wants floating point.
    append_line(text, name, "_bucket", sample.labels, bound, static_cast<double>(sum));
  }
  const auto all = static_cast<double>(sample.durations->count());
  append_line(text, name, "_bucket", sample.labels, "+Inf", all);
  append_line(text, name, "_sum", sample.labels, {}, static_cast<double>(sample.durations->sum_us()) / 1e6);
  append_line(text, name, "_count", sample.labels, {}, all);
}

}  // namespace

const char* content_type_of(MetricFormat format) {
  return format == MetricFormat::OpenMetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                             : "text/plain; version=0.0.4; charset=utf-8";
}

std::string to_text(const MetricFamilies& families, MetricFormat format) {
  std::string text;
  for (const MetricFamily& family : families.all()) {
    // OpenMetrics names a counter without the suffix of its samples, the older format with it.
    std::string_view described = family.name;
    if (format == MetricFormat::OpenMetrics && family.kind == MetricKind::Counter && described.ends_with(kTotal))
      described.remove_suffix(kTotal.size());
    text += "# HELP ";
    text += described;
    text += ' ';
    append_escaped(text, family.help);
    text += "\n# TYPE ";
    text += described;
    text += ' ';
    text += word_of(family.kind);
    text += '\n';
    for (const MetricSample& sample : family.samples)
      if (sample.durations.has_value())
        append_histogram(text, family.name, sample);
      else
        append_line(text, family.name, {}, sample.labels, {}, sample.value);
  }
  if (format == MetricFormat::OpenMetrics) text += "# EOF\n";
  return text;
}

}  // namespace penstock
