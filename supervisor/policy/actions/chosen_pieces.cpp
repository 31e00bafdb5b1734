#include "supervisor/policy/actions/chosen_pieces.hpp"

#include <algorithm>

namespace penstock::policy {

ChosenPieces::ChosenPieces(const Trial& trial) : trial_(trial), on_band_(trial.snapshot().bands.size()) {}

void ChosenPieces::clear() {
  for (const std::uint32_t band : touched_) on_band_[band] = {};
  touched_.clear();
  entries_.clear();
  pieces_.clear();
  of_job_.clear();
}

void ChosenPieces::add_to(std::uint32_t band, const Entry& entry) {
  OnBand& there = on_band_[band];
  if (there.first == kNoEntry) touched_.push_back(band);
  entries_.push_back(entry);
  entries_.back().next = there.first;
  there.first = static_cast<std::uint32_t>(entries_.size() - 1);
}

void ChosenPieces::add(const VictimPiece& piece, bool lost) {
  const std::size_t position = pieces_.size();
  pieces_.push_back(&piece);
  last_bands_.clear();
  if (piece.only_band != kNone) {
    last_bands_.push_back(piece.only_band);
    OnBand& there = on_band_[piece.only_band];
    there.all += piece.amount;
    there.gone += piece.amount;
    if (lost) there.lost += piece.amount.gpu;
    return add_to(piece.only_band, {piece.workload, static_cast<std::uint32_t>(position)});
  }
  for (const std::uint32_t member : piece.members) on_band_[trial_.holdings(member).band].all += trial_.amount(member);
  std::vector<std::size_t>& all = of_job_[piece.workload];
  all.push_back(position);
  // Bands of earlier pieces of the job are tried again as well.
  for (const std::size_t each : all)
    for (const std::uint32_t member : pieces_[each]->members) last_bands_.push_back(trial_.holdings(member).band);
  std::sort(last_bands_.begin(), last_bands_.end());
  last_bands_.erase(std::unique(last_bands_.begin(), last_bands_.end()), last_bands_.end());
  for (const std::uint32_t band : last_bands_) {
    on_band_[band].single = false;
    std::uint32_t entry = on_band_[band].first;
    while (entry != kNoEntry && entries_[entry].workload != piece.workload) entry = entries_[entry].next;
    if (entry == kNoEntry) add_to(band, {piece.workload});
  }
}

std::vector<std::size_t> ChosenPieces::of_jobs_on(std::uint32_t band) const {
  std::vector<std::size_t> positions;
  for (std::uint32_t at = on_band_[band].first; at != kNoEntry; at = entries_[at].next) {
    const Entry& entry = entries_[at];
    if (entry.piece != kNoEntry) {
      positions.push_back(entry.piece);
      continue;
    }
    const std::vector<std::size_t>& all = of_job_.at(entry.workload);
    positions.insert(positions.end(), all.begin(), all.end());
  }
  return positions;
}

std::vector<std::uint32_t> ChosenPieces::bands() const {
  std::vector<std::uint32_t> all = touched_;
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace penstock::policy
