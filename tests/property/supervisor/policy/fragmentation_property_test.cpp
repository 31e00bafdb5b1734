// The fitting `fragmentation` over random clusters: its scores are those of a recomputation from the snapshot alone.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <optional>

#include "supervisor/policy/fitting/band_score.hpp"
#include "supervisor/policy/trial.hpp"
#include "tests/property/supervisor/policy/random_cluster.hpp"

namespace penstock::policy {
namespace {

/// A band as the paper has it: thousandths that are free of each device. Devices of the tests have 100 MiB, of which a
/// thousandth is no whole number: parts are multiples of 100.
struct PlainBand {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::vector<std::int64_t> free;
};

PlainBand plain(const Trial& trial, std::uint32_t band) {
  const BandRoom& room = trial.room(band);
  PlainBand all{room.later().cpu, room.later().memory, {}};
  for (std::int64_t i = 0; i < room.later().gpu / 1000; ++i) all.free.push_back(1000);
  for (const DeviceGroup& group : room.groups)
    if (group.used() && !group.wholly_leaving())
      all.free.push_back((room.device_memory_mib - group.held_mib - group.promised_mib) * 1000 /
                         room.device_memory_mib);
  return all;
}

std::int64_t naive_unusable(const PlainBand& band, const Member& request) {
  const std::int64_t each = request.devices > 0 ? request.device_share : 1000;
  const std::int64_t wanted = request.devices > 0 ? request.devices : request.request.gpu / 1000;
  std::int64_t all = 0;
  std::int64_t usable = 0;
  std::int64_t devices = 0;
  for (const std::int64_t free : band.free) {
    all += free;
    if (free < each) continue;
    usable += free;
    ++devices;
  }
  const bool fits = request.request.cpu <= band.cpu && request.request.memory <= band.memory && devices >= wanted;
  return fits ? all - usable : all;
}

std::int64_t naive_fragmentation(const PlainBand& plain_band, std::uint32_t band, const Snapshot& snapshot) {
  std::int64_t sum = 0;
  for (const Member& request : snapshot.members) {
    if (request.state == MemberState::Succeeded || request.state == MemberState::Failed) continue;
    if (request.devices == 0 && request.request.gpu == 0) continue;
    std::int64_t all = 0;
    for (const std::int64_t free : plain_band.free) all += free;
    sum += band_allowed(snapshot, request, band) ? naive_unusable(plain_band, request) : all;
  }
  return sum;
}

PolicyBuilder some_cluster(Rng& rng) {
  PolicyBuilder builder = random_cluster(rng, Shapes::Parts);
  for (std::uint64_t i = rng.below(4); i > 0; --i) builder.device_band(rng.between(1, 8));
  for (int i = 0; i < 4; ++i) add_jobs(builder, rng, rng.chance(1, 2) ? Shapes::Parts : Shapes::Any);
  BandLists lists;
  for (Member& member : builder.snapshot.members) {
    std::vector<std::uint32_t> list;
    for (std::int64_t i = rng.chance(1, 4) ? rng.between(1, 2) : 0; i > 0; --i)
      list.push_back(static_cast<std::uint32_t>(rng.below(builder.snapshot.bands.size())));
    member.band_list = lists.name(std::move(list), builder.snapshot);
    if (member.devices > 0 && rng.chance(1, 4)) member.devices = 2;
  }
  return builder;
}

/// Before and after each placement the fragmentation is the naive one, the growth that was promised comes about, and no
/// band, and for a part of one device no other device, would have grown less.
void scores_are_those_of_a_recomputation(std::uint64_t seed) {
  Rng rng{seed};
  const PolicyBuilder builder = some_cluster(rng);
  const Snapshot& snapshot = builder.snapshot;
  const Parts parts = parts_named("quota");
  Trial trial{snapshot, 0, parts};
  std::size_t mark = 0;
  for (std::uint32_t member = 0; member < snapshot.members.size(); ++member) {
    DeviceFragmentation& scores = trial.fragmentation();
    std::optional<std::int64_t> least;
    for (const std::uint32_t band : trial.bands()) {
      const PlainBand before = plain(trial, band);
      FreeDevices free;
      read_room(trial.room(band), free);
      const std::int64_t naive = naive_fragmentation(before, band, snapshot);
      RC_ASSERT(scores.fragmentation(free, band) == naive);
      const std::size_t row = scores.row_of(snapshot.members[member]);
      const BandGrowth growth = scores.growth(trial, row, member, band);
      const std::optional<BandFit> fit = trial.fit(member, band, Trial::When::NowOrLater);
      RC_ASSERT((growth.fits != BandGrowth::Fits::Not) == fit.has_value());
      if (!fit) continue;
      const bool one_part = snapshot.members[member].devices == 1;
      const std::size_t here = trial.mark();
      trial.place(member, band, one_part ? fit_part(trial, member, band, growth.device) : *fit);
      RC_ASSERT(growth.growth == naive_fragmentation(plain(trial, band), band, snapshot) - naive);
      trial.undo_to(here);
      if (growth.fits == BandGrowth::Fits::Now && band_allowed(snapshot, snapshot.members[member], band))
        least = std::min(least.value_or(growth.growth), growth.growth);
    }
    const std::optional<BandChoice> choice = choose_band(trial, member, Trial::When::NowOrLater, {});
    if (choice) {
      const std::int64_t naive = naive_fragmentation(plain(trial, choice->band), choice->band, snapshot);
      const bool now = choice->fit.now;
      trial.place(member, choice->band, choice->fit);
      RC_ASSERT(now == least.has_value());
      if (now) RC_ASSERT(naive_fragmentation(plain(trial, choice->band), choice->band, snapshot) - naive == *least);
    } else {
      RC_ASSERT(!least);
    }
    const auto other = static_cast<std::uint32_t>(rng.below(member + 1));
    if (rng.chance(1, 4) && is_active(trial.state(other))) trial.leave(other);
    if (rng.chance(1, 8)) trial.undo_to(mark);
    if (rng.chance(1, 8)) mark = trial.mark();
  }
}

TEST(FragmentationProperty, ScoresAreThoseOfARecomputation) {
  EXPECT_TRUE(rc::check("scores of bands are those of a naive recomputation, and the least growth is chosen",
                        scores_are_those_of_a_recomputation));
}

/// Whatever was asked before: scores that were kept choose what scores made afresh do, the device included.
void kept_scores_choose_as_fresh_ones(std::uint64_t seed) {
  Rng rng{seed};
  const PolicyBuilder builder = some_cluster(rng);
  const Parts parts = parts_named("quota");
  Trial trial{builder.snapshot, 0, parts};
  for (std::uint32_t step = 0; step < 2 * builder.snapshot.members.size(); ++step) {
    const auto member = static_cast<std::uint32_t>(rng.below(builder.snapshot.members.size()));
    if (is_active(trial.state(member))) {
      trial.leave(member);
      continue;
    }
    if (trial.state(member) != MemberState::Pending) continue;
    const std::optional<BandChoice> kept = choose_band(trial, member, Trial::When::NowOrLater, {});
    const std::optional<BandChoice> fresh = choose_band_by_scan(trial, {member, Trial::When::NowOrLater, {}});
    RC_ASSERT(kept.has_value() == fresh.has_value());
    if (!kept) continue;
    RC_ASSERT(kept->band == fresh->band);
    RC_ASSERT(kept->fit.now == fresh->fit.now);
    RC_ASSERT(kept->fit.groups == fresh->fit.groups);
    trial.place(member, kept->band, kept->fit);
  }
}

TEST(FragmentationProperty, KeptScoresChooseAsFreshOnes) {
  EXPECT_TRUE(rc::check("kept scores choose as fresh ones do", kept_scores_choose_as_fresh_ones));
}

}  // namespace
}  // namespace penstock::policy
