#include "common/config/config_file.hpp"

// With `penstock_toml_source` of CMake a mistake is a value, neither an exception nor an assertion.
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <type_traits>
#include <utility>

#include "common/base/nearest_name.hpp"
#include "common/base/quantity.hpp"
#include "common/config/policy_file.hpp"
#include "common/protocol/accepted_users.hpp"
#include "common/protocol/labels.hpp"
#include "common/protocol/settings.hpp"

namespace penstock {
namespace {

constexpr std::uintmax_t kFileBytesMax = 1U << 20U;

template <class Field>
constexpr bool is_bytes(const char* unit, const Field&) {
  return std::is_same_v<Field, Bytes> || std::string_view{unit}.starts_with("bytes");
}

template <class Field>
std::string print_value(const char* unit, const Field& value) {
  if constexpr (std::is_same_v<Field, Duration>) {
    return to_text(value);
  } else if constexpr (std::is_same_v<Field, Bytes>) {
    return to_text(value);
  } else if constexpr (std::is_enum_v<Field>) {
    const auto names = names_of(value);
    const auto index = static_cast<std::size_t>(value);
    return index < names.size() ? names[index] : "?";
  } else if constexpr (std::is_same_v<Field, bool>) {
    return value ? "true" : "false";
  } else {
    if (is_bytes(unit, value)) return to_text(Bytes{static_cast<std::int64_t>(value)});
    return std::to_string(value);
  }
}

/// Checks settings that depend on each other.
Result<void> check_together(const FileConfig& config, const std::string& subject) {
  if (config.link.heartbeat >= config.link.silence_max)
    return Error{ErrorCode::InvalidArgument, subject, "link.heartbeat must be shorter than link.silence_max", ""};
  if (config.wire.frame_bytes_target > config.wire.frame_bytes_max)
    return Error{ErrorCode::InvalidArgument, subject, "wire.frame_bytes_target must not exceed wire.frame_bytes_max",
                 ""};
  Result<void> policy = check_policy(config.supervisor.policy);
  if (policy) return policy;
  Error error = std::move(policy).error();
  error.message = error.subject + " " + error.message;
  error.subject = subject;
  return error;
}

/// Fills the settings that one part takes over from another.
void put_together(FileConfig& config) {
  config.worker.cut_off_after = config.link.silence_max;
  config.supervisor.worker_lost_after = config.link.silence_max + config.link.reconnect_grace;
}

/// Reads one file. Errors carry the place of the mistake.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Result<void> read(const toml::table& file, FileConfig& config) const {
    for (const auto& [key, node] : file) PENSTOCK_TRY(read_part(key, node, config));
    return {};
  }

 private:
  Error at(const toml::node& node, ErrorCode code, std::string message, std::string remedy) const {
    return at(node.source().begin, code, std::move(message), std::move(remedy));
  }
  Error at(const toml::source_position& place, ErrorCode code, std::string message, std::string remedy) const {
    return {code, path_ + ":" + std::to_string(place.line) + ":" + std::to_string(place.column), std::move(message),
            std::move(remedy)};
  }

  Result<void> read_part(const toml::key& key, const toml::node& node, FileConfig& config) const {
    const std::string_view name = key.str();
    if (name == "band") return read_bands(node, config.topology.bands);
    const toml::table* table = node.as_table();
    static constexpr std::array kParts{"link",  "wire",       "security", "audit",  "metrics", "users",
                                       "graph", "supervisor", "policy",   "worker", "host",    "band"};
    if (std::find(kParts.begin(), kParts.end(), name) == kParts.end()) {
      NearestName nearest{name};
      for (const char* part : kParts) nearest.offer(part);
      return at(key.source().begin, ErrorCode::InvalidArgument, "there is no table '" + std::string{name} + "'",
                nearest.best().empty() ? "tables are link, wire, security, audit, metrics, users, graph, supervisor, "
                                         "policy, worker, host and band"
                                       : nearest.remedy());
    }
    if (table == nullptr)
      return at(node, ErrorCode::InvalidArgument, "'" + std::string{name} + "' is a table",
                "write [" + std::string{name} + "]");
    if (name == "link") return read_settings(*table, config.link);
    if (name == "wire") return read_settings(*table, config.wire);
    if (name == "security") return read_settings(*table, config.security);
    if (name == "audit") return read_settings(*table, config.audit);
    if (name == "metrics") return read_settings(*table, config.metrics);
    if (name == "users") return read_settings(*table, config.supervisor.users);
    if (name == "graph") return read_settings(*table, config.supervisor.graph);
    if (name == "supervisor") return read_settings(*table, config.supervisor);
    if (name == "policy") return read_policy(*table, config.supervisor.policy);
    if (name == "worker") return read_worker(*table, config);
    return read_host(*table, config.topology, config.labels);
  }

  Result<void> read_worker(const toml::table& table, FileConfig& config) const {
    if (const toml::node* users = table.get(kAcceptUsers)) {
      const auto check = [](const std::vector<std::string>& texts) { return check_accepted_users(texts); };
      PENSTOCK_TRY(read_texts(*users, kAcceptUsers, "[\"ada\"]", check, config.accept_users));
    }
    return read_settings(table, config.worker);
  }

  Result<void> read_policy(const toml::table& table, PolicyConfig& policy) const {
    for (const auto& [key, node] : table)
      if (is_policy_part(key.str())) PENSTOCK_TRY(read_policy_part(path_, key.str(), node, policy));
    return read_settings(table, policy);
  }

  template <class Config>
  Result<void> read_settings(const toml::table& table, Config& config) const {
    for (const auto& entry : table) {
      const toml::key& key = entry.first;  // Not a structured binding: Clang 14 does not allow a lambda to capture one.
      const toml::node& node = entry.second;
      NearestName nearest{key.str()};
      bool known = (std::is_same_v<Config, PolicyConfig> && is_policy_part(key.str())) ||
                   (std::is_same_v<Config, WorkerConfig> && key.str() == kAcceptUsers);
      Result<void> result;
      visit_settings(config, [&](const SettingText& text, auto& field, auto minimum, auto maximum) {
        nearest.offer(text.name);
        if (key.str() != text.name) return;
        known = true;
        result = read_setting(node, text, field, std::pair{minimum, maximum});
      });
      if (!known) return unknown_key(key, nearest);
      if (!result) return result;
    }
    return {};
  }

  Error unknown_key(const toml::key& key, const NearestName& nearest) const {
    return at(key.source().begin, ErrorCode::InvalidArgument,
              "there is no setting '" + std::string{key.str()} + "' here",
              nearest.best().empty() ? "`penstock config` prints all" : nearest.remedy());
  }

  template <class Field, class Limit>
  Result<void> read_setting(const toml::node& node, const SettingText& text, Field& field,
                            const std::pair<Limit, Limit>& range) const {
    Field value{};
    PENSTOCK_TRY(read_value(node, text, value));
    // A text has no range: its reader knows what a good one is.
    if constexpr (!std::is_same_v<Field, std::string>)
      if (value < range.first || value > range.second)
        return at(
            node, ErrorCode::InvalidArgument, std::string{text.name} + " is " + print_value(text.unit, value),
            "it must be from " + print_value(text.unit, range.first) + " to " + print_value(text.unit, range.second));
    field = std::move(value);
    return {};
  }

  template <class Field>
  Result<void> read_value(const toml::node& node, const SettingText& text, Field& value) const {
    if constexpr (std::is_same_v<Field, Duration>) {
      const auto* written = node.as_string();
      if (written == nullptr) return wrong_kind(node, text.name, "a duration in quotes, like \"10s\"");
      const Result<Duration> duration = parse_duration(written->get());
      if (!duration)
        return at(node, duration.error().code, duration.error().subject + " " + duration.error().message,
                  duration.error().remedy);
      value = *duration;
      return {};
    } else if constexpr (std::is_enum_v<Field>) {
      return read_word(node, text, value);
    } else if constexpr (std::is_same_v<Field, bool>) {
      const auto* written = node.as_boolean();
      if (written == nullptr) return wrong_kind(node, text.name, "true or false");
      value = written->get();
      return {};
    } else if constexpr (std::is_same_v<Field, std::string>) {
      if (const auto* number = node.as_integer()) value = std::to_string(number->get());  // `--set` of a port.
      if (const auto* written = node.as_string()) value = written->get();
      return node.is_integer() || node.is_string() ? Result<void>{} : wrong_kind(node, text.name, "a text in quotes");
    } else {
      std::int64_t number = 0;
      if (const auto* integer = node.as_integer()) {
        number = integer->get();
      } else if (const auto* written = node.as_string(); written != nullptr && is_bytes(text.unit, value)) {
        const Result<Bytes> bytes = parse_bytes(written->get());
        if (!bytes)
          return at(node, bytes.error().code, bytes.error().subject + " " + bytes.error().message,
                    bytes.error().remedy);
        number = bytes->value();
      } else {
        return wrong_kind(node, text.name, is_bytes(text.unit, value) ? "an amount like \"512MiB\"" : "a whole number");
      }
      return store(node, text, number, value);
    }
  }

  template <class Enumeration>
  Result<void> read_word(const toml::node& node, const SettingText& text, Enumeration& value) const {
    const auto* written = node.as_string();
    std::string words;
    std::uint8_t number = 0;
    for (const char* const name : names_of(value)) {
      if (written != nullptr && written->get() == name) {
        value = static_cast<Enumeration>(number);
        return {};
      }
      words += (words.empty() ? "\"" : ", \"") + std::string{name} + "\"";
      ++number;
    }
    return at(node, ErrorCode::InvalidArgument, std::string{text.name} + " is none of its words",
              "use one of " + words);
  }

  template <class Field>
  Result<void> store(const toml::node& node, const SettingText& text, std::int64_t number, Field& value) const {
    if constexpr (std::is_same_v<Field, Bytes>) {
      value = Bytes{number};
    } else {
      if (!std::in_range<Field>(number))
        return at(node, ErrorCode::InvalidArgument, std::string{text.name} + " cannot be " + std::to_string(number),
                  "");
      value = static_cast<Field>(number);
    }
    return {};
  }

  Error wrong_kind(const toml::node& node, const char* name, const char* wanted) const {
    return at(node, ErrorCode::InvalidArgument, std::string{name} + " is written in another way",
              std::string{"use "} + wanted);
  }

  // The tables without `visit_settings`: the key is compared with each known one.
  struct Wanted {
    const toml::key& key;
    const toml::node& node;
    NearestName nearest;
    bool known = false;
    Result<void> result;
  };
  template <class Field>
  void want(Wanted& wanted, const char* name, const char* unit, Field& field) const {
    wanted.nearest.offer(name);
    if (wanted.key.str() != name) return;
    wanted.known = true;
    if constexpr (std::is_same_v<Field, bool>) {
      if (const auto* flag = wanted.node.as_boolean())
        field = flag->get();
      else
        wanted.result = wrong_kind(wanted.node, name, "true or false");
    } else if constexpr (std::is_same_v<Field, std::string>) {
      if (const auto* text = wanted.node.as_string())
        field = text->get();
      else
        wanted.result = wrong_kind(wanted.node, name, "a text in quotes");
    } else if constexpr (std::is_same_v<Field, Bytes>) {
      wanted.result = read_setting(wanted.node, {name, unit, ""}, field, std::pair{Bytes{0}, Bytes::max()});
    } else {
      wanted.result = read_setting(wanted.node, {name, unit, ""}, field, std::pair{Field{0}, Field{65535}});
    }
  }
  template <class Field>
  void want(Wanted& wanted, const char* name, const char* unit, std::optional<Field>& field) const {
    Field value{};
    const bool known = std::exchange(wanted.known, false);
    want(wanted, name, unit, value);
    if (wanted.known && wanted.result) field = value;
    wanted.known = wanted.known || known;
  }
  Result<void> verdict(const Wanted& wanted) const {
    if (!wanted.known) return unknown_key(wanted.key, wanted.nearest);
    return wanted.result;
  }

  Result<void> read_host(const toml::table& table, TopologyOptions& host, std::vector<std::string>& labels) const {
    for (const auto& [key, node] : table) {
      Wanted wanted{key, node, NearestName{key.str()}, false, {}};
      want(wanted, "slots", "slots", host.slots);
      want(wanted, "memory", "bytes", host.memory);
      want(wanted, "cpu_bands", "bands", host.cpu_bands);
      want(wanted, "gpus", "", host.gpus);
      want(wanted, "gpus_together", "", host.gpus_together);
      want(wanted, "nvml_library", "", host.nvml_library);
      wanted.nearest.offer("labels");
      if (key.str() == "labels") {
        wanted.known = true;
        const auto check = [](const std::vector<std::string>& texts) { return check_labels("labels", texts); };
        wanted.result = read_texts(node, "labels", "[\"a100\"]", check, labels);
      }
      PENSTOCK_TRY(verdict(wanted));
    }
    return {};
  }

  /// A list of texts; `check` tells whether it is good.
  template <class Check>
  Result<void> read_texts(const toml::node& node, const char* name, const std::string& example, Check check,
                          std::vector<std::string>& texts) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) return wrong_kind(node, name, ("a list like " + example).c_str());
    std::vector<std::string> read;
    for (const toml::node& each : *list) {
      const auto* text = each.as_string();
      if (text == nullptr) return wrong_kind(each, name, "texts in quotes");
      read.push_back(text->get());
    }
    if (const Result<void> good = check(read); !good)
      return at(node, good.error().code, std::string{name} + " " + good.error().message, good.error().remedy);
    texts = std::move(read);
    return {};
  }

  Result<void> read_bands(const toml::node& node, std::vector<BandOverride>& bands) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) return at(node, ErrorCode::InvalidArgument, "there can be several bands", "write [[band]]");
    for (const toml::node& item : *list) {
      const toml::table* table = item.as_table();
      if (table == nullptr) return at(item, ErrorCode::InvalidArgument, "a band is a table", "write [[band]]");
      BandOverride band;
      PENSTOCK_TRY(read_band(*table, band));
      if (band.name.empty())
        return at(item, ErrorCode::InvalidArgument, "the band has no name", "write name = \"numa-0\"");
      for (const BandOverride& other : bands)
        if (other.name == band.name)
          return at(item, ErrorCode::InvalidArgument, "the band '" + band.name + "' is there already", "");
      bands.push_back(std::move(band));
    }
    return {};
  }

  Result<void> read_band(const toml::table& table, BandOverride& band) const {
    for (const auto& [key, node] : table) {
      Wanted wanted{key, node, NearestName{key.str()}, false, {}};
      want(wanted, "name", "", band.name);
      want(wanted, "slots", "slots", band.slots);
      want(wanted, "memory", "bytes", band.memory);
      want(wanted, "memory_hard_limit", "bytes", band.memory_hard_limit);
      want(wanted, "numa_node", "", band.numa_node);
      want(wanted, "disabled", "", band.disabled);
      wanted.nearest.offer("processors");
      wanted.nearest.offer("named");
      if (key.str() == "processors") {
        wanted.known = true;
        wanted.result = read_processors(node, band.processors);
      } else if (key.str() == "named") {
        wanted.known = true;
        wanted.result = read_named(node, band.named);
      }
      PENSTOCK_TRY(verdict(wanted));
    }
    return {};
  }

  Result<void> read_processors(const toml::node& node, std::optional<std::vector<int>>& processors) const {
    const toml::array* list = node.as_array();
    std::vector<int> numbers;
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const auto* number = list->get(i)->as_integer();
      if (number == nullptr || number->get() < 0 || number->get() > 65535)
        return wrong_kind(*list->get(i), "processors", "numbers of processors, from 0");
      numbers.push_back(static_cast<int>(number->get()));
    }
    if (list == nullptr) return wrong_kind(node, "processors", "a list like [0, 1]");
    processors = std::move(numbers);
    return {};
  }

  Result<void> read_named(const toml::node& node, std::vector<NamedAmount>& named) const {
    const toml::table* table = node.as_table();
    if (table == nullptr) return wrong_kind(node, "named", "a table like {licence = 2}");
    for (const auto& [key, amount] : *table) {
      const auto* number = amount.as_integer();
      if (number == nullptr || number->get() < 0) return wrong_kind(amount, "named", "whole numbers, not negative");
      named.push_back({std::string{key.str()}, number->get()});
    }
    std::sort(named.begin(), named.end(), [](const NamedAmount& a, const NamedAmount& b) { return a.name < b.name; });
    return {};
  }

  const std::string& path_;
};

}  // namespace

Result<FileConfig> parse_config(std::string_view text, const std::string& path) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::source_position place = parsed.error().source().begin;
    return Error{ErrorCode::ParseError, path + ":" + std::to_string(place.line) + ":" + std::to_string(place.column),
                 std::string{parsed.error().description()}, "`penstock config` prints a whole file"};
  }
  FileConfig config;
  PENSTOCK_TRY(Reader{path}.read(parsed.table(), config));
  PENSTOCK_TRY(check_together(config, path));
  put_together(config);
  return config;
}

namespace {

Result<void> change_one(FileConfig& config, std::string_view setting) {
  const std::size_t dot = setting.find('.');
  const std::size_t equals = setting.find('=');
  const Error malformed{ErrorCode::InvalidArgument, std::string{setting}, "is no setting", "write table.name=value"};
  if (equals == std::string_view::npos || dot >= equals || dot == 0 || dot + 1 == equals) return malformed;
  const std::string_view value = setting.substr(equals + 1);
  // Numbers and the like are used as they are; a shell leaves no quotes around "5ms".
  const bool number = value.find_first_not_of("-_0123456789") == std::string_view::npos;
  const bool literal =
      !value.empty() && (number || value == "true" || value == "false" || value.front() == '"' || value.front() == '[');
  const std::string file = "[" + std::string{setting.substr(0, dot)} + "]\n" +
                           std::string{setting.substr(dot + 1, equals - dot - 1)} + " = " +
                           (literal ? std::string{value} : quote_toml(value)) + "\n";
  const toml::parse_result parsed = toml::parse(std::string_view{file});
  if (!parsed) return malformed;
  const std::string path = "--set";
  Result<void> result = Reader{path}.read(parsed.table(), config);
  if (result) return {};
  Error error = std::move(result).error();
  error.subject = std::string{setting};
  return error;
}

}  // namespace

Result<void> change_settings(FileConfig& config, const std::vector<std::string>& settings) {
  FileConfig changed = config;
  for (const std::string& setting : settings) PENSTOCK_TRY(change_one(changed, setting));
  if (settings.size() > 0) PENSTOCK_TRY(check_together(changed, settings.size() == 1 ? settings.front() : "--set"));
  put_together(changed);
  config = std::move(changed);
  return {};
}

Result<FileConfig> read_config_file(const std::string& path) {
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  std::string text(kFileBytesMax + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad())
    return Error{ErrorCode::InvalidArgument, path, std::string{"cannot be read: "} + std::strerror(errno), {}};
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kFileBytesMax)
    return Error{ErrorCode::LimitExceeded, path, "is longer than a configuration of 1 MiB", {}};
  return parse_config(text, path);
}

}  // namespace penstock
