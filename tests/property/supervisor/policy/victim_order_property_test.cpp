// The kept order of victims against an agenda that is made anew.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "supervisor/policy/quota_pass.hpp"
#include "tests/property/supervisor/policy/random_cluster.hpp"

namespace penstock::policy {
namespace {

/// All pieces in the order in which an agenda takes them, each chosen.
std::vector<VictimPiece> by_agenda(QuotaPass& pass, const VictimChoice& choice,
                                   const std::function<bool(std::uint32_t)>& admits) {
  const Trial& trial = pass.trial();
  std::vector<bool> taken(pass.snapshot().members.size(), false);
  const WorkloadOrder::Waits is_there = [&](std::uint32_t member) {
    return is_active(trial.state(member)) && !taken[member];
  };
  const std::vector<std::vector<std::uint32_t>>& victims = pass.victims_in_order();
  Agenda agenda{pass.order(), Direction::TakeFrom, is_there};
  agenda.admit_only(admits);
  for (std::uint32_t project = 0; project < victims.size(); ++project)
    if (choice.only_project == kNone ? project != choice.not_project : project == choice.only_project)
      agenda.add_sorted(project, victims[project]);
  std::vector<VictimPiece> pieces;
  while (const std::optional<std::uint32_t> job = agenda.take()) {
    VictimPiece piece{*job, pass.order().next_victims(*job, is_there), {}, pass.snapshot().workloads[*job].project};
    for (const std::uint32_t member : piece.members) {
      taken[member] = true;
      piece.amount += trial.amount(member);
    }
    agenda.chosen(piece.project, piece.amount);
    const std::vector<std::uint32_t>& all = pass.order().members(*job);
    if (all.size() > 1 && std::any_of(all.begin(), all.end(), is_there)) agenda.add(*job);
    if (!piece.members.empty()) pieces.push_back(std::move(piece));
  }
  return pieces;
}

/// A few members take or leave places, as actions that succeed let them.
void change(QuotaPass& pass, Rng& rng) {
  Trial& trial = pass.trial();
  for (std::uint64_t i = rng.below(4); i > 0; --i) {
    const auto member = static_cast<std::uint32_t>(rng.below(pass.snapshot().members.size()));
    if (is_active(trial.state(member))) {
      trial.leave(member);
    } else if (trial.state(member) == MemberState::Pending) {
      const std::optional<BandChoice> place = choose_band(trial, member, Trial::When::NowOrLater, {});
      if (place) trial.place(member, place->band, place->fit);
    }
  }
}

void the_kept_order_is_an_agendas(std::uint64_t seed) {
  Rng rng{seed};
  PolicyBuilder builder = random_cluster(rng, Shapes::Any);
  for (std::uint64_t i = rng.below(4); i > 0; --i) builder.device_band(rng.between(1, 8));
  for (int i = 0; i < 4; ++i) add_jobs(builder, rng, Shapes::Any);
  if (builder.snapshot.members.empty()) return;
  const Parts parts = parts_named("quota");
  builder.carry_out(PolicyEngine{{parts}}.pass(builder.snapshot));
  QuotaPass pass{builder.snapshot, 0, parts};
  for (int i = 0; i < 8; ++i) {
    if (rng.chance(1, 2)) change(pass, rng);
    pass.victims_in_order();
    VictimChoice choice{.name = rng.below(3)};
    const auto project = static_cast<std::uint32_t>(rng.below(builder.snapshot.projects.size()));
    const bool is_leaf = builder.snapshot.projects[project].parent != kNone;
    if (rng.chance(1, 2) && is_leaf) choice.not_project = project;
    if (rng.chance(1, 4) && is_leaf) choice.only_project = project;
    const auto admits = [&choice](std::uint32_t job) { return choice.name == 0 || job % 3 != choice.name; };
    const std::vector<VictimPiece> expected = by_agenda(pass, choice, admits);
    VictimOrder& order = pass.victim_order();
    order.choose(choice, admits);
    // Mostly a search ends early: the rest stays unknown.
    const std::size_t asked = rng.chance(1, 2) ? expected.size() : rng.below(expected.size() + 1);
    for (std::size_t position = 0; position < asked; ++position) {
      const VictimPiece* piece = order.at(position);
      const bool is_known = piece != nullptr;
      RC_ASSERT(is_known);
      RC_ASSERT(piece->workload == expected[position].workload);
      RC_ASSERT(piece->members == expected[position].members);
      RC_ASSERT(piece->amount == expected[position].amount);
      RC_ASSERT(piece->project == expected[position].project);
    }
    const bool ends_there = asked < expected.size() || order.at(asked) == nullptr;
    RC_ASSERT(ends_there);
  }
}

TEST(VictimOrderProperty, TheKeptOrderIsThatOfAnAgenda) {
  EXPECT_TRUE(rc::check("the order that is kept between searches is that of an agenda made anew",
                        the_kept_order_is_an_agendas));
}

}  // namespace
}  // namespace penstock::policy
