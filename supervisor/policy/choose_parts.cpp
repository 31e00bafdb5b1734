#include "supervisor/policy/choose_parts.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "common/base/nearest_name.hpp"

namespace penstock::policy {
namespace {

/// Backfill as a word: which jobs start out of order, or how many starts are reserved.
enum class Backfilling : std::uint8_t { None, Fcfs, Easy, Conservative };

template <class Value, std::size_t count>
using Words = std::array<std::pair<std::string_view, Value>, count>;

constexpr Words<Ordering, 3> kOrderings{
    {{"fcfs", Ordering::Fcfs}, {"priority", Ordering::Priority}, {"multifactor", Ordering::Multifactor}}};
constexpr Words<Sharing, 4> kSharings{{{"none", Sharing::None},
                                       {"fair_share", Sharing::FairShare},
                                       {"max_min", Sharing::MaxMin},
                                       {"quota_tree", Sharing::QuotaTree}}};
constexpr Words<Backfilling, 4> kBackfills{{{"none", Backfilling::None},
                                            {"fcfs", Backfilling::Fcfs},
                                            {"easy", Backfilling::Easy},
                                            {"conservative", Backfilling::Conservative}}};
constexpr Words<Fitting, 5> kFittings{{{"best", Fitting::Best},
                                       {"worst", Fitting::Worst},
                                       {"fragmentation", Fitting::Fragmentation},
                                       {"binpack", Fitting::BinPack},
                                       {"spread", Fitting::Spread}}};

template <class Value, std::size_t count>
Result<Value> value_of(const Words<Value, count>& words, std::string_view part, std::string_view said) {
  NearestName nearest{said};
  std::string all;
  for (const auto& [word, value] : words) {
    if (word == said) return value;
    nearest.offer(word);
    all += (all.empty() ? "use one of " : ", ") + std::string{word};
  }
  return Error{ErrorCode::NotFound, std::string{part} + " '" + std::string{said} + "'", "is none of its words",
               nearest.best().empty() ? all : nearest.remedy()};
}

template <class Value, std::size_t count>
std::string_view word_of(const Words<Value, count>& words, Value value) {
  for (const auto& [word, each] : words)
    if (each == value) return word;
  return {};
}

/// The choices of the configuration as values; where one is missing, that of the preset.
struct Chosen {
  Ordering ordering = Ordering::Fcfs;
  Sharing sharing = Sharing::None;
  Backfilling backfill = Backfilling::None;
  std::uint32_t depth = 0;
  Fitting fitting = Fitting::Best;
};

std::string said(std::string_view part, std::string_view word) {
  return std::string{part} + " '" + std::string{word} + "'";
}

Error clash(std::string subject, std::string message, std::string remedy) {
  return {ErrorCode::InvalidArgument, std::move(subject), std::move(message), std::move(remedy)};
}

/// Shares and quotas are complete by themselves: they decide the order of jobs and which jobs wait for others.
Result<void> check_shares(const Chosen& chosen) {
  const bool quotas = chosen.sharing == Sharing::QuotaTree;
  const std::string sharing = said("sharing", word_of(kSharings, chosen.sharing));
  if (chosen.ordering != (quotas ? Ordering::Priority : Ordering::Fcfs))
    return clash(said("ordering", word_of(kOrderings, chosen.ordering)),
                 "does not go with " + sharing + ", where " +
                     (quotas ? "the jobs of a project go by priority" : "all have their shares at once, by age"),
                 std::string{"say ordering = "} + (quotas ? "\"priority\"" : "\"fcfs\"") + ", or sharing = \"none\"");
  if (chosen.backfill != Backfilling::None)
    return clash(said("backfill", word_of(kBackfills, chosen.backfill)),
                 "does not go with " + sharing + ", where no start is reserved by time limits",
                 "say backfill = \"none\", or sharing = \"none\"");
  return {};
}

Result<void> check_queue(const Chosen& chosen, std::optional<bool> preemption) {
  const std::string ordering = said("ordering", word_of(kOrderings, chosen.ordering));
  if (chosen.ordering != Ordering::Priority && chosen.backfill == Backfilling::None)
    return clash(ordering, "without sharing is a queue, and no setting says which jobs may pass its head",
                 "say backfill = \"fcfs\" (none), \"easy\" or \"conservative\", or reserve_depth");
  if (chosen.backfill != Backfilling::None && preemption.value_or(false))
    return clash(
        "preemption", "does not go with " + ordering + " and a backfill: reserved starts wait for slots to be free",
        chosen.ordering == Ordering::Priority ? "say preemption = false, or backfill = \"none\""
                                              : "leave it out, or say ordering = \"priority\" and backfill = \"none\"");
  return {};
}

Result<void> check_fitting(const Chosen& chosen) {
  const bool quotas = chosen.sharing == Sharing::QuotaTree;
  const bool by_slots = chosen.fitting == Fitting::Best || chosen.fitting == Fitting::Worst;
  if (by_slots != quotas) return {};
  const bool packs = chosen.fitting != Fitting::Worst && chosen.fitting != Fitting::Spread;
  return clash(said("fitting", word_of(kFittings, chosen.fitting)),
               quotas ? "is of pools that count slots only" : "is of pools with sharing 'quota_tree'",
               std::string{"say fitting = "} +
                   (quotas ? (packs ? "\"fragmentation\"" : "\"spread\"") : (packs ? "\"best\"" : "\"worst\"")));
}

Result<void> check_actions(const Chosen& chosen, const PartsChoice& choice) {
  if (chosen.sharing == Sharing::QuotaTree) return {};
  for (const auto& [part, flag] : {std::pair{"reclaim", choice.reclaim}, {"consolidation", choice.consolidation}})
    if (flag.has_value())
      return clash(
          part,
          "is a part of sharing 'quota_tree', and here it is '" + std::string{word_of(kSharings, chosen.sharing)} + "'",
          "leave it out, or say sharing = \"quota_tree\"");
  return {};
}

/// In the order of a pass.
void set_actions(Parts& parts, std::initializer_list<std::pair<Action, bool>> actions) {
  parts.actions = {};
  parts.action_count = 0;
  for (const auto& [action, wanted] : actions)
    if (wanted) parts.actions[parts.action_count++] = action;
}

void compose(const Chosen& chosen, const PartsChoice& choice, Parts& parts) {
  parts.ordering = chosen.ordering;
  parts.sharing = chosen.sharing;
  parts.gpu_fitting = parts.cpu_fitting = chosen.fitting;
  parts.device_fitting = chosen.fitting == Fitting::Spread ? Fitting::Spread : Fitting::BinPack;
  parts.preemption = choice.preemption.value_or(!goes_by_position(parts));
  parts.reserve_depth = chosen.depth;
  const bool consolidates = choice.consolidation.value_or(true);
  switch (chosen.sharing) {
    case Sharing::FairShare:
    case Sharing::MaxMin: return set_actions(parts, {{Action::StartByShare, true}});
    case Sharing::QuotaTree:
      return set_actions(parts, {{Action::Allocate, true},
                                 {Action::Consolidate, consolidates},
                                 {Action::Reclaim, choice.reclaim.value_or(true)},
                                 {Action::Preempt, true},
                                 {Action::BreakStaleGangs, true}});
    case Sharing::None:
      return set_actions(parts,
                         {{chosen.backfill == Backfilling::None ? Action::StartByPriority : Action::Backfill, true}});
  }
}

std::uint32_t depth_of(Backfilling backfill) {
  return backfill == Backfilling::Conservative ? kReserveAll : backfill == Backfilling::Easy ? 1 : 0;
}

Backfilling backfilling_of(const Parts& parts) {
  if (!has_action(parts, Action::Backfill)) return Backfilling::None;
  if (parts.reserve_depth == kReserveAll) return Backfilling::Conservative;
  return parts.reserve_depth == 0 ? Backfilling::Fcfs : Backfilling::Easy;
}

}  // namespace

Result<Parts> choose_parts(const PartsChoice& choice) {
  Result<Parts> found = preset(choice.preset);
  if (!found) {
    Error error = found.error();
    error.subject = said("preset", choice.preset);
    return error;
  }
  Parts parts = *found;
  Chosen chosen{parts.ordering, parts.sharing, backfilling_of(parts), 0, parts.gpu_fitting};
  const auto choose = [](const auto& words, std::string_view part, const std::string& word,
                         auto& into) -> Result<void> {
    if (word.empty()) return {};
    const auto value = value_of(words, part, word);
    if (!value) return value.error();
    into = *value;
    return {};
  };
  PENSTOCK_TRY(choose(kOrderings, "ordering", choice.ordering, chosen.ordering));
  PENSTOCK_TRY(choose(kSharings, "sharing", choice.sharing, chosen.sharing));
  PENSTOCK_TRY(choose(kBackfills, "backfill", choice.backfill, chosen.backfill));
  // A number of reserved starts that is said is a backfill, where the queue would have none.
  const bool says_depth = choice.reserve_depth != PartsChoice{}.reserve_depth;
  if (says_depth && chosen.sharing == Sharing::None && chosen.ordering != Ordering::Priority &&
      chosen.backfill == Backfilling::None && choice.backfill.empty())
    chosen.backfill = Backfilling::Easy;
  // The fullest place is measured in another way where quotas count, and has another word.
  if (chosen.sharing != parts.sharing)
    chosen.fitting = chosen.sharing == Sharing::QuotaTree ? Fitting::Fragmentation : Fitting::Best;
  PENSTOCK_TRY(choose(kFittings, "fitting", choice.fitting, chosen.fitting));
  if (chosen.sharing == Sharing::None)
    PENSTOCK_TRY(check_queue(chosen, choice.preemption));
  else
    PENSTOCK_TRY(check_shares(chosen));
  PENSTOCK_TRY(check_fitting(chosen));
  PENSTOCK_TRY(check_actions(chosen, choice));
  if (!choice.backfill.empty())
    chosen.depth = depth_of(chosen.backfill);
  else if (chosen.backfill != Backfilling::None)
    chosen.depth = static_cast<std::uint32_t>(std::min<std::int64_t>(choice.reserve_depth, kReserveAll));
  compose(chosen, choice, parts);
  return parts;
}

PartsChoice words_of(const Parts& parts) {
  PartsChoice words;
  words.ordering = word_of(kOrderings, parts.ordering);
  words.sharing = word_of(kSharings, parts.sharing);
  words.backfill = word_of(kBackfills, backfilling_of(parts));
  if (has_action(parts, Action::Backfill)) {
    words.reserve_depth = parts.reserve_depth;
    if (parts.reserve_depth != depth_of(backfilling_of(parts))) words.backfill = std::to_string(parts.reserve_depth);
  }
  words.fitting = word_of(kFittings, parts.gpu_fitting);
  // Beside a backfill nothing leaves for another job; there only lowered limits take slots back, unless told otherwise.
  if (!has_action(parts, Action::Backfill) || !parts.preemption) words.preemption = parts.preemption;
  if (parts.sharing == Sharing::QuotaTree) {
    words.reclaim = has_action(parts, Action::Reclaim);
    words.consolidation = has_action(parts, Action::Consolidate);
  }
  return words;
}

}  // namespace penstock::policy
