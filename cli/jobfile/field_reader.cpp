#include "cli/jobfile/field_reader.hpp"

#include <algorithm>
#include <cmath>

#include "cli/jobfile/amounts.hpp"
#include "common/base/nearest_name.hpp"
#include "common/base/quantity.hpp"

namespace penstock::cli {

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kShown = 80;
  std::string shown = "'";
  for (const char c : name.substr(0, kShown)) shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (name.size() > kShown) shown += "...";
  return shown + "'";
}

Result<void> check_name_text(std::string_view name) {
  const auto refuse = [&](const std::string& message) {
    return Error{ErrorCode::InvalidArgument, {}, "the name " + in_quotes(name) + " " + message, {}};
  };
  if (name.empty()) return Error{ErrorCode::InvalidArgument, {}, "the name is empty", {}};
  if (name.size() > kNameBytesMax)
    return refuse("is " + std::to_string(name.size()) + " bytes long; at most 1024 are allowed");
  for (const char c : name) {
    if (c == '\0') return refuse("contains NUL");
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return refuse("contains a control character");
  }
  for (std::size_t at = name.find(".."); at != std::string_view::npos; at = name.find("..", at + 1)) {
    const bool starts = at == 0 || name[at - 1] == '/';
    const bool ends = at + 2 == name.size() || name[at + 2] == '/';
    if (starts && ends) return refuse("contains '..' as a part of a path");
  }
  return {};
}

FieldReader::FieldReader(const DocumentValue& table, const std::string& file, std::string what)
    : table_(table), file_(file), what_(std::move(what)) {
  if (!table.is_table()) complain(&table, "must be a table, not " + std::string{kind_name(table)});
}

void FieldReader::complain(const DocumentValue* value, std::string message, std::string remedy) {
  const TextPlace place = value != nullptr ? value->place : table_.place;
  complain(Error{ErrorCode::InvalidArgument, at_place(file_, place), prefix() + std::move(message), std::move(remedy)});
}

void FieldReader::complain(Error error) {
  if (!error_) error_ = std::move(error);
}

Result<void> FieldReader::finish() {
  if (error_) return *error_;
  for (const DocumentField& field : table_.fields) {
    if (std::find(known_.begin(), known_.end(), field.name) != known_.end()) continue;
    NearestName nearest{field.name};
    for (const std::string_view name : known_) nearest.offer(name);
    return Error{ErrorCode::InvalidArgument, at_place(file_, field.place),
                 prefix() + "has no field " + in_quotes(field.name), nearest.remedy()};
  }
  return {};
}

bool FieldReader::has(std::string_view name) { return value(name) != nullptr; }

const DocumentValue* FieldReader::value(std::string_view name) {
  known_.push_back(name);
  return error_ ? nullptr : table_.find(name);
}

const DocumentValue* FieldReader::take(std::string_view name, std::string_view expected,
                                       bool (*fits)(const DocumentValue&)) {
  const DocumentValue* found = value(name);
  if (found == nullptr || fits(*found)) return found;
  complain(found, std::string{name} + " must be " + std::string{expected} + ", not " + std::string{kind_name(*found)});
  return nullptr;
}

void FieldReader::text(std::string_view name, std::string& into) {
  const DocumentValue* found = take(name, "text", [](const DocumentValue& v) { return v.is_text(); });
  if (found == nullptr) return;
  if (found->text.find('\0') != std::string::npos) return complain(found, std::string{name} + " contains NUL");
  into = found->text;
}

void FieldReader::boolean(std::string_view name, bool& into) {
  const auto fits = [](const DocumentValue& v) { return v.kind == DocumentValue::Kind::Boolean; };
  if (const DocumentValue* found = take(name, "true or false", fits)) into = found->boolean;
}

void FieldReader::integer(std::string_view name, Range<std::int64_t> range, std::int64_t& into) {
  const auto fits = [](const DocumentValue& v) { return v.kind == DocumentValue::Kind::Integer; };
  const DocumentValue* found = take(name, "an integer", fits);
  if (found == nullptr) return;
  if (found->integer < range.low || found->integer > range.high)
    return complain(found, std::string{name} + " is " + std::to_string(found->integer) + "; it must be from " +
                               std::to_string(range.low) + " to " + std::to_string(range.high));
  into = found->integer;
}

void FieldReader::number(std::string_view name, Range<double> range, double& into) {
  const DocumentValue* found = take(name, "a number", [](const DocumentValue& v) { return v.is_number(); });
  if (found == nullptr) return;
  // NaN fails each comparison.
  if (!(found->number >= range.low && found->number <= range.high)) {
    const auto show = [](double value) {
      return value == std::floor(value) && std::abs(value) < 1e15 ? show_fixed(value, 0) : show_fixed(value, 3);
    };
    return complain(found, std::string{name} + " is " + show(found->number) + "; it must be from " + show(range.low) +
                               " to " + show(range.high));
  }
  into = found->number;
}

void FieldReader::duration(std::string_view name, Duration& into) {
  const DocumentValue* found =
      take(name, "a duration like '10s'", [](const DocumentValue& v) { return v.is_text() || v.is_number(); });
  if (found == nullptr) return;
  const Result<Duration> parsed = found->is_text() ? parse_duration(found->text) : duration_of_seconds(found->number);
  if (!parsed)
    return complain(found, std::string{name} + ": " + parsed.error().subject + " " + parsed.error().message,
                    parsed.error().remedy);
  into = parsed.value();
}

void FieldReader::bytes(std::string_view name, std::int64_t& into) {
  const auto fits = [](const DocumentValue& v) { return v.is_text() || v.kind == DocumentValue::Kind::Integer; };
  const DocumentValue* found = take(name, "an amount like '512MiB'", fits);
  if (found == nullptr) return;
  const Result<Bytes> parsed = parse_bytes(found->is_text() ? found->text : std::to_string(found->integer));
  if (!parsed)
    return complain(found, std::string{name} + ": " + parsed.error().subject + " " + parsed.error().message,
                    parsed.error().remedy);
  into = parsed->value();
}

void FieldReader::texts(std::string_view name, std::vector<std::string>& into) {
  std::vector<PlacedText> placed;
  texts(name, placed);
  if (failed() || table_.find(name) == nullptr) return;
  into.clear();
  for (PlacedText& item : placed) into.push_back(std::move(item.text));
}

void FieldReader::texts(std::string_view name, std::vector<PlacedText>& into) {
  const DocumentValue* found =
      take(name, "a list of texts", [](const DocumentValue& v) { return v.is_text() || v.is_list(); });
  if (found == nullptr) return;
  std::vector<PlacedText> made;
  const auto add = [&](const DocumentValue& item) {
    if (!item.is_text())
      return complain(&item, std::string{name} + " must hold texts, not " + std::string{kind_name(item)});
    if (item.text.find('\0') != std::string::npos) return complain(&item, std::string{name} + " contains NUL");
    made.push_back({item.text, item.place});
  };
  if (found->is_text()) add(*found);
  for (const DocumentValue& item : found->items) add(item);
  if (!failed()) into = std::move(made);
}

void FieldReader::pairs(std::string_view name, std::vector<std::pair<std::string, std::string>>& into) {
  const DocumentValue* found = take(name, "a table", [](const DocumentValue& v) { return v.is_table(); });
  if (found == nullptr) return;
  for (const DocumentField& field : found->fields) {
    if (!field.value.is_text())
      return complain(
          &field.value,
          std::string{name} + "." + field.name + " must be text, not " + std::string{kind_name(field.value)},
          "put it in quotes");
    if (field.name.empty() || field.name.find_first_of(std::string_view{"=\0", 2}) != std::string::npos)
      return complain(&field.value, std::string{name} + ": " + in_quotes(field.name) + " is no name of a variable");
    if (field.value.text.find('\0') != std::string::npos)
      return complain(&field.value, std::string{name} + "." + field.name + " contains NUL");
    const auto at = std::lower_bound(into.begin(), into.end(), field.name,
                                     [](const auto& pair, const std::string& key) { return pair.first < key; });
    if (at != into.end() && at->first == field.name)
      at->second = field.value.text;
    else
      into.insert(at, {field.name, field.value.text});
  }
}

void FieldReader::selector(std::string_view name, BandSelector& into) {
  const auto fits = [](const DocumentValue& v) { return v.is_text() || v.is_table(); };
  const DocumentValue* found = take(name, "text like 'worker/band'", fits);
  if (found == nullptr) return;
  BandSelector made;
  if (found->is_text()) {
    const std::size_t slash = found->text.find('/');
    made.worker = found->text.substr(0, slash);
    if (slash != std::string::npos) made.band = found->text.substr(slash + 1);
  } else {
    FieldReader inner{*found, file_, prefix() + std::string{name}};
    inner.text("worker", made.worker);
    inner.text("band", made.band);
    if (const Result<void> read = inner.finish(); !read) return complain(read.error());
  }
  if (made.empty()) return complain(found, std::string{name} + " names no worker and no band");
  for (const std::string* part : {&made.worker, &made.band}) {
    if (part->empty()) continue;
    if (const Result<void> good = check_name_text(*part); !good)
      return complain(found, std::string{name} + ": " + good.error().message);
  }
  into = std::move(made);
}

void FieldReader::named_amounts(std::string_view name, std::vector<NamedAmount>& into) {
  const DocumentValue* found = take(name, "a table", [](const DocumentValue& v) { return v.is_table(); });
  if (found == nullptr) return;
  for (const DocumentField& field : found->fields) {
    std::int64_t amount = 0;
    if (const Result<void> good = check_name_text(field.name); !good)
      return complain(&field.value, std::string{name} + ": " + good.error().message);
    if (field.value.kind != DocumentValue::Kind::Integer)
      return complain(&field.value, std::string{name} + "." + field.name + " must be an integer, not " +
                                        std::string{kind_name(field.value)});
    amount = field.value.integer;
    if (amount < 0) return complain(&field.value, std::string{name} + "." + field.name + " is negative");
    std::erase_if(into, [&](const NamedAmount& other) { return other.name == field.name; });
    into.push_back({field.name, amount});
  }
  std::sort(into.begin(), into.end(), [](const NamedAmount& a, const NamedAmount& b) { return a.name < b.name; });
}

void FieldReader::choice(std::string_view name, const std::vector<std::string_view>& words, std::size_t& into) {
  std::string word;
  const DocumentValue* found = table_.find(name);
  text(name, word);
  if (found == nullptr || failed()) return;
  NearestName nearest{word};
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) {
      into = i;
      return;
    }
    nearest.offer(words[i]);
    all += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + in_quotes(words[i]);
  }
  complain(found, std::string{name} + " is " + in_quotes(word) + "; it must be " + all, nearest.remedy());
}

}  // namespace penstock::cli
