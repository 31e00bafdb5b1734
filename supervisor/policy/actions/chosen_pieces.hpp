// The pieces that a search for victims has chosen so far, by the bands on which they make room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "supervisor/policy/ordering/victim_order.hpp"

namespace penstock::policy {

/// Owned by a pass, for one search after the other. The trial must be as it was when a piece was added, whenever it is
/// asked. Pieces outlive this.
/// Cost: constant time for a piece of a job with one member.
class ChosenPieces {
 public:
  explicit ChosenPieces(const Trial& trial);

  void clear();
  /// `lost`: its members may lose their places for good.
  void add(const VictimPiece& piece, bool lost);
  std::size_t size() const { return pieces_.size(); }
  const VictimPiece& operator[](std::size_t position) const { return *pieces_[position]; }
  /// Positions of the pieces of all jobs that have lost a member of the band, in any order.
  std::vector<std::size_t> of_jobs_on(std::uint32_t band) const;
  /// The bands of the piece that was added last.
  const std::vector<std::uint32_t>& last_bands() const { return last_bands_; }
  /// All bands, ascending.
  std::vector<std::uint32_t> bands() const;

  /// Whether the jobs that have lost a member of the band have one member each, so that nothing else leaves with it.
  bool are_single_on(std::uint32_t band) const { return on_band_[band].single; }
  /// Amounts that those give up there, and thousandths of devices that are of members that may be lost.
  const Resources& gone_from(std::uint32_t band) const { return on_band_[band].gone; }
  std::int64_t lost_from(std::uint32_t band) const { return on_band_[band].lost; }
  /// The amounts of all members of pieces there.
  const Resources& all_from(std::uint32_t band) const { return on_band_[band].all; }

 private:
  static constexpr std::uint32_t kNoEntry = 0xffffffffU;
  /// An entry of a list: a job of one member with its piece, or a job of several.
  struct Entry {
    std::uint32_t workload = kNone;
    std::uint32_t piece = kNoEntry;
    std::uint32_t next = kNoEntry;
  };
  struct OnBand {
    Resources all;
    Resources gone;
    std::int64_t lost = 0;
    std::uint32_t first = kNoEntry;
    bool single = true;
  };

  void add_to(std::uint32_t band, const Entry& entry);

  const Trial& trial_;
  std::vector<const VictimPiece*> pieces_;
  std::map<std::uint32_t, std::vector<std::size_t>> of_job_;  ///< By job of several members: positions in `pieces_`.
  std::vector<OnBand> on_band_;                               ///< By band.
  std::vector<std::uint32_t> touched_;                        ///< Bands with an entry.
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> last_bands_;
};

}  // namespace penstock::policy
