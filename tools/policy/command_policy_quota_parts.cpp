// tidy: foreign-file scheduler
#include "tools/policy/command_policy_quota_parts.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>

#include "common/base/quantity.hpp"
#include "supervisor/policy/snapshot.hpp"

namespace penstock::tools {
namespace {

using namespace penstock::policy;

/// The plugins that a case may name, with their settings. A plugin without settings is a rule that every pass follows.
const std::map<std::string, std::vector<std::string_view>> kPlugins = {
    {"nodeplacement", {"gpu", "cpu"}},
    {"proportion", {"kValue", "relcaimerSaturationMultiplier"}},
    {"minruntime", {"defaultPreemptMinRuntime", "defaultReclaimMinRuntime", "reclaimResolveMethod"}},
    {"gpupack", {}},
    {"gpuspread", {}},
    {"predicates", {}},
    {"priority", {}},
    {"nodeavailability", {}},
    {"resourcetype", {}},
    {"gpusharingorder", {}},
    {"elastic", {}},
    {"taskorder", {}},
    {"subgrouporder", {}},
};

/// Plugins that a case may also name; none affects these cases.
constexpr std::string_view kIdlePlugins[] = {"podaffinity",      "kubeflow", "ray",      "nominatednode",
                                             "dynamicresources", "topology", "snapshot", "reflectjoborder"};

/// `allocate, reclaim` or a list of them.
std::vector<std::string> names_in(const cli::DocumentValue& value) {
  if (!value.is_text()) return texts_of(value);
  std::vector<std::string> names{""};
  for (const char each : value.text)
    if (each == ',')
      names.emplace_back();
    else if (each != ' ')
      names.back() += each;
  return names;
}

/// A number, or a text with one.
std::optional<double> number_in(const cli::DocumentValue& value) {
  if (value.is_number()) return value.number;
  double number = 0;
  const char* end = value.text.data() + value.text.size();
  const auto [rest, error] = std::from_chars(value.text.data(), end, number);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return number;
}

class PartsReader {
 public:
  explicit PartsReader(CaseChecker& checker) : checker_(checker), parts_(preset("quota").value()) {
    parts_.own_rules = false;
  }

  Parts read(const cli::DocumentValue& runner, const cli::DocumentValue& settings) {
    read_runner(runner);
    checker_.only_fields(settings, {"actions", "plugins"});
    read_actions(texts_of(field_of(runner, "actions")), field_of(settings, "actions"));
    for (const cli::DocumentValue& plugin : field_of(settings, "plugins").items) read_plugin(plugin);
    return parts_;
  }

 private:
  void refuse(const std::string& what, const cli::DocumentValue& value, const std::string& wanted) {
    const std::string is = value.is_text() ? "'" + value.text + "'" : std::string{cli::kind_name(value)};
    checker_.fail(what + ": " + is + " is not understood; " + wanted);
  }

  void read_runner(const cli::DocumentValue& runner) {
    const cli::DocumentValue& placement = field_of(runner, "placement");
    read_fitting("placement.gpu", field_of(placement, "gpu"), "binpack", parts_.gpu_fitting);
    read_fitting("placement.cpu", field_of(placement, "cpu"), "binpack", parts_.cpu_fitting);
    read_fitting("placement.gpu_sharing", field_of(placement, "gpu_sharing"), "pack", parts_.device_fitting);
    const cli::DocumentValue& victims = field_of(runner, "consolidation_victims");
    if (victims.is_text() && victims.text != "unlimited")
      refuse("consolidation_victims", victims, "a number, or `unlimited`");
    // -1 is unlimited, too.
    parts_.consolidate_victims_max =
        static_cast<std::uint32_t>(integer_of(runner, "consolidation_victims", std::int64_t{kNone}));
    parts_.victims_move = flag_of(runner, "consolidating_reclaim", true);
    if (has_field(runner, "stale_grace_seconds"))
      parts_.stale_grace = Duration{scaled(number_of(runner, "stale_grace_seconds"), 1e9)};
    // `skip_similar_failed_jobs` is only an optimisation: spec/policy-runai.md 9.
  }

  void read_fitting(const std::string& what, const cli::DocumentValue& value, const std::string& packed,
                    Fitting& fitting) {
    fitting = value.is_text() && value.text == "spread" ? Fitting::Spread : Fitting::BinPack;
    const bool known = value.kind == cli::DocumentValue::Kind::Null || (value.is_text() && value.text == packed);
    if (fitting != Fitting::Spread && !known) refuse(what, value, "`" + packed + "` or `spread`");
  }

  /// The file names the actions of its cases; a case with a list of its own is run with those on both lists.
  void read_actions(const std::vector<std::string>& run, const cli::DocumentValue& own) {
    const bool has_own = own.kind != cli::DocumentValue::Kind::Null;
    const std::vector<std::string> chosen = has_own ? names_in(own) : run;
    parts_.action_count = 0;
    for (const std::string& name : run) (void)action_named(name);
    for (const std::string& name : chosen) {
      const std::optional<Action> action = action_named(name);
      const bool twice = action && has_action(parts_, *action);
      if (twice) checker_.fail("the action '" + name + "' is there twice");
      if (!action || twice || std::find(run.begin(), run.end(), name) == run.end()) continue;
      parts_.actions[parts_.action_count++] = *action;
    }
    if (has_own && parts_.action_count == 0)
      checker_.fail("scheduler_config.actions has none of " + list_text(run) + ": nothing would be run");
  }

  std::optional<Action> action_named(const std::string& name) {
    static const std::map<std::string, Action> kActions = {{"allocate", Action::Allocate},
                                                           {"consolidation", Action::Consolidate},
                                                           {"reclaim", Action::Reclaim},
                                                           {"preempt", Action::Preempt},
                                                           {"stalegangeviction", Action::BreakStaleGangs}};
    const auto found = kActions.find(name);
    if (found != kActions.end()) return found->second;
    checker_.fail("the action '" + name + "' is not understood");
    return std::nullopt;
  }

  void read_plugin(const cli::DocumentValue& plugin) {
    const std::string name = text_of(plugin, "name");
    const auto known = kPlugins.find(name);
    if (std::find(std::begin(kIdlePlugins), std::end(kIdlePlugins), name) != std::end(kIdlePlugins))
      return checker_.remark("the plugin '" + name + "' decides nothing here");
    if (known == kPlugins.end()) return checker_.fail("the plugin '" + name + "' is not understood");
    const cli::DocumentValue& arguments = field_of(plugin, "arguments");
    checker_.only_fields(arguments, known->second);
    if (name == "gpuspread") parts_.device_fitting = Fitting::Spread;
    if (name == "gpupack") parts_.device_fitting = Fitting::BinPack;
    if (name == "nodeplacement") {
      read_fitting("nodeplacement.gpu", field_of(arguments, "gpu"), "binpack", parts_.gpu_fitting);
      read_fitting("nodeplacement.cpu", field_of(arguments, "cpu"), "binpack", parts_.cpu_fitting);
    }
    if (name == "proportion") read_proportion(arguments);
    if (name == "minruntime") read_least_runtime(arguments);
  }

  void read_proportion(const cli::DocumentValue& arguments) {
    if (const cli::DocumentValue& strength = field_of(arguments, "kValue"); has_field(arguments, "kValue")) {
      const std::optional<double> number = number_in(strength);
      if (!number || !(*number >= 0 && *number <= 1e6))
        return refuse("proportion.kValue", strength, "a number from 0 on");
      parts_.usage_strength = *number;
    }
    const char* const multiplier = "relcaimerSaturationMultiplier";
    if (!has_field(arguments, multiplier)) return;
    const std::optional<double> number = number_in(field_of(arguments, multiplier));
    if (!number || !(*number >= 1 && *number <= 1e6))
      return refuse(std::string{"proportion."} + multiplier, field_of(arguments, multiplier), "a number from 1 on");
    parts_.saturation_multiplier = scaled(*number, 1000);
  }

  void read_least_runtime(const cli::DocumentValue& arguments) {
    read_duration(arguments, "defaultPreemptMinRuntime", parts_.preempt_min_runtime);
    read_duration(arguments, "defaultReclaimMinRuntime", parts_.reclaim_min_runtime);
    const cli::DocumentValue& method = field_of(arguments, "reclaimResolveMethod");
    parts_.reclaim_by_common_ancestor = text_of(arguments, "reclaimResolveMethod", "lca") == "lca";
    if (!parts_.reclaim_by_common_ancestor && method.text != "queue")
      refuse("minruntime.reclaimResolveMethod", method, "`lca` or `queue`");
  }

  void read_duration(const cli::DocumentValue& arguments, const char* name, Duration& duration) {
    if (!has_field(arguments, name)) return;
    const Result<Duration> read = parse_duration(text_of(arguments, name));
    if (!read) return refuse(std::string{"minruntime."} + name, field_of(arguments, name), "a duration as in 10m");
    duration = *read;
  }

  CaseChecker& checker_;
  Parts parts_;
};

}  // namespace

Parts read_quota_parts(const cli::DocumentValue& runner, const cli::DocumentValue& settings, CaseChecker& checker) {
  return PartsReader{checker}.read(runner, settings);
}

}  // namespace penstock::tools
