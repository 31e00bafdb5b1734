#include "cli/show/timeline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "cli/jobfile/amounts.hpp"
#include "cli/show/render.hpp"

namespace penstock::cli {
namespace {

constexpr std::uint32_t kColumnsMin = 40;
constexpr std::uint32_t kLabelColumnsMax = 24;
constexpr std::uint32_t kTickColumnsMin = 12;
constexpr std::string_view kShareColumns = " 100%";

using SlotKey = std::tuple<std::uint32_t, std::uint16_t, std::uint16_t>;  // Worker, band, slot.

// A round time without trailing zeros: `2 ms`, `2.5 s`.
std::string tick_text(double us) {
  std::string text = show_duration(Duration{std::llround(us * 1000)});
  const std::size_t point = text.find('.');
  if (point == std::string::npos) return text;
  const std::size_t unit = text.find(' ');
  const std::size_t last = text.find_last_not_of('0', unit - 1);
  return text.erase(last == point ? point : last + 1, unit - (last == point ? point : last + 1));
}

// The resolution of rows.
enum class Grain : std::uint8_t { Slot, Band, Worker };

struct Row {
  std::string label;
  std::uint32_t slots = 0;
  std::vector<double> busy_us;  ///< Of each cell.
};

class Timeline {
 public:
  Timeline(const std::vector<SubtaskTrace>& traces, const TimelineOptions& options)
      : traces_(traces), options_(options) {}

  std::string draw() {
    find_slots();
    choose_grain();
    make_rows();
    const std::uint32_t columns = std::max(options_.columns, kColumnsMin);
    label_columns_ = 0;
    for (Row& row : rows_) {
      row.label = cut_to(row.label, kLabelColumnsMax);
      label_columns_ = std::max(label_columns_, static_cast<std::uint32_t>(columns_of(row.label)));
    }
    cells_ = columns - label_columns_ - 3 - static_cast<std::uint32_t>(kShareColumns.size());
    for (Row& row : rows_) row.busy_us.assign(cells_, 0);
    for (const SubtaskTrace& trace : traces_) spread(trace);
    std::string text;
    for (const Row& row : rows_) text += line_of(row) + "\n";
    return text + axis();
  }

 private:
  static SlotKey key_of(const SubtaskTrace& trace) {
    return {trace.worker.value(), trace.run.band.value(), trace.run.lane.value()};
  }
  // The same key for all slots that share a row.
  SlotKey row_key(SlotKey key) const {
    if (grain_ != Grain::Slot) std::get<2>(key) = 0;
    if (grain_ == Grain::Worker) std::get<1>(key) = 0;
    return key;
  }

  void find_slots() {
    for (const SubtaskTrace& trace : traces_) {
      row_of_.try_emplace(key_of(trace), 0);
      const auto [first, is_new] = first_us_.try_emplace(trace.worker.value(), trace.run.arrived_us);
      if (!is_new) first->second = std::min(first->second, trace.run.arrived_us);
    }
    for (const SubtaskTrace& trace : traces_) {
      const std::uint64_t first = first_us_[trace.worker.value()];
      if (trace.run.ended_us > first) span_us_ = std::max(span_us_, static_cast<double>(trace.run.ended_us - first));
    }
  }

  std::size_t count_rows() const {
    std::size_t count = 0;
    const SlotKey* last = nullptr;
    for (const auto& [key, row] : row_of_) {
      if (last == nullptr || row_key(*last) != row_key(key)) ++count;
      last = &key;
    }
    return count;
  }

  void choose_grain() {
    for (const Grain grain : {Grain::Slot, Grain::Band, Grain::Worker}) {
      grain_ = grain;
      if (count_rows() <= std::max(options_.rows_max, 1U)) return;
    }
  }

  std::string band_name(const SlotKey& key) const {
    const BandId band{WorkerId{std::get<0>(key)}, BandIndex{std::get<1>(key)}};
    for (const auto& [id, name] : options_.band_names)
      if (id == band) return name;
    return to_string(band);
  }

  std::string label_of(const SlotKey& key) const {
    if (grain_ == Grain::Worker) return to_string(WorkerId{std::get<0>(key)});
    if (grain_ == Grain::Band) return band_name(key);
    return band_name(key) + "." + std::to_string(std::get<2>(key));
  }

  void make_rows() {
    const std::size_t rows_max = std::max(options_.rows_max, 1U);
    const bool too_many = count_rows() > rows_max;
    const SlotKey* last = nullptr;
    for (auto& [key, row] : row_of_) {
      const bool starts_row = last == nullptr || row_key(*last) != row_key(key);
      if (starts_row && !(too_many && rows_.size() == rows_max)) {
        rows_.push_back({label_of(key), 0, {}});
        if (too_many && rows_.size() == rows_max) rows_.back().label = "others";
      }
      row = rows_.size() - 1;
      ++rows_.back().slots;
      last = &key;
    }
  }

  // Adds the time of an attempt to the cells that it touches.
  void spread(const SubtaskTrace& trace) {
    const std::uint64_t first_us = first_us_[trace.worker.value()];
    if (trace.run.started_us < first_us || trace.run.ended_us < trace.run.started_us || span_us_ <= 0) return;
    Row& row = rows_[row_of_[key_of(trace)]];
    const double cell_us = span_us_ / cells_;
    const double begin = static_cast<double>(trace.run.started_us - first_us);
    // An attempt that is too short to be seen is drawn all the same.
    const double end = std::max(static_cast<double>(trace.run.ended_us - first_us), begin + 1e-9);
    const auto last_cell = static_cast<double>(cells_ - 1);
    const auto from = static_cast<std::uint32_t>(std::min(begin / cell_us, last_cell));
    const auto to = static_cast<std::uint32_t>(std::min(end / cell_us, last_cell));
    for (std::uint32_t cell = from; cell <= to; ++cell) {
      const double overlap = std::min(end, (cell + 1) * cell_us) - std::max(begin, cell * cell_us);
      row.busy_us[cell] += std::max(overlap, 0.0);
    }
  }

  std::string line_of(const Row& row) const {
    static constexpr std::array<const char*, 5> kBlocks{" ", "░", "▒", "▓", "█"};
    static constexpr std::array<const char*, 5> kSigns{" ", ".", ":", "+", "#"};
    const auto& glyphs = options_.unicode ? kBlocks : kSigns;
    const double cell_us = span_us_ / cells_ * row.slots;
    double busy = 0;
    std::string line = row.label;
    line.append(label_columns_ - columns_of(row.label), ' ');
    line += options_.unicode ? " │" : " |";
    for (const double us : row.busy_us) {
      busy += us;
      const double level = cell_us > 0 ? std::ceil(us / cell_us * 4 - 0.02) : 0;
      line += glyphs[static_cast<std::size_t>(std::clamp(level, us > 0 ? 1.0 : 0.0, 4.0))];
    }
    const double whole = cell_us * cells_;
    const std::string share = std::to_string(whole > 0 ? std::lround(std::min(busy / whole, 1.0) * 100) : 0) + "%";
    line += options_.unicode ? "│" : "|";
    return line + std::string(kShareColumns.size() - share.size(), ' ') + share;
  }

  // Ticks at round times, as many as there is room for their figures.
  std::string axis() const {
    double step_us = 1;
    for (int i = 0; step_us * cells_ < span_us_ * kTickColumnsMin; ++i) step_us *= i % 3 == 1 ? 2.5 : 2;
    std::string line(label_columns_ + 1, ' ');
    std::string figures = line;
    line += options_.unicode ? "└" : "+";
    const auto tick_cell = [&](double number) {
      return span_us_ > 0 ? static_cast<std::uint32_t>(std::floor(number * step_us / span_us_ * cells_)) : 0U;
    };
    double number = 0;
    for (std::uint32_t cell = 0; cell < cells_; ++cell) {
      const bool tick = (number == 0 || span_us_ > 0) && cell == tick_cell(number);
      line += options_.unicode ? (tick ? "┬" : "─") : (tick ? "+" : "-");
      if (!tick) continue;
      const std::string figure = tick_text(number * step_us);
      // The last figure may lack room; then its tick has none.
      if (cell + figure.size() <= cells_ + kShareColumns.size()) {
        figures.resize(label_columns_ + 2 + cell, ' ');
        figures += figure;
      }
      ++number;
    }
    return line + "\n" + figures + "\n";
  }

  const std::vector<SubtaskTrace>& traces_;
  const TimelineOptions& options_;

  std::map<SlotKey, std::size_t> row_of_;
  std::map<std::uint32_t, std::uint64_t> first_us_;  ///< By worker: when its first attempt arrived.
  double span_us_ = 0;
  Grain grain_ = Grain::Slot;
  std::vector<Row> rows_;
  std::uint32_t label_columns_ = 0;
  std::uint32_t cells_ = 0;
};

}  // namespace

std::string draw_timeline(const std::vector<SubtaskTrace>& traces, const TimelineOptions& options) {
  return traces.empty() ? std::string{} : Timeline{traces, options}.draw();
}

}  // namespace penstock::cli
