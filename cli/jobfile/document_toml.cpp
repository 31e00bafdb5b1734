// parse_document: TOML, by toml++, with the settings of `penstock_toml_source` in cmake/.
#include <toml++/toml.h>

#include "cli/jobfile/document.hpp"
#include "cli/jobfile/document_json.hpp"

namespace penstock::cli {
namespace {

TextPlace place_of(const toml::source_region& region) { return {region.begin.line, region.begin.column}; }

// Converts the nodes of toml++ into ours. `too_deep_` names the first place that is nested too deeply.
class TomlConversion {
 public:
  DocumentValue convert(const toml::node& node, std::uint32_t depth) {
    DocumentValue value;
    value.place = place_of(node.source());
    if (depth > kDocumentDepthMax) {
      if (too_deep_.line == 0) too_deep_ = value.place;
    } else if (const toml::table* table = node.as_table()) {
      convert_table(*table, depth, value);
    } else if (const toml::array* list = node.as_array()) {
      value.kind = DocumentValue::Kind::List;
      value.items.reserve(list->size());
      for (const toml::node& item : *list) value.items.push_back(convert(item, depth + 1));
    } else {
      convert_scalar(node, value);
    }
    return value;
  }

  TextPlace too_deep() const { return too_deep_; }

 private:
  void convert_table(const toml::table& table, std::uint32_t depth, DocumentValue& value) {
    value.kind = DocumentValue::Kind::Table;
    value.fields.reserve(table.size());
    for (const auto& [key, node] : table)
      value.fields.push_back({std::string{key.str()}, place_of(key.source()), convert(node, depth + 1)});
  }

  static void convert_scalar(const toml::node& node, DocumentValue& value) {
    if (const auto* boolean = node.as_boolean()) {
      value.kind = DocumentValue::Kind::Boolean;
      value.boolean = boolean->get();
    } else if (const auto* integer = node.as_integer()) {
      value.kind = DocumentValue::Kind::Integer;
      value.integer = integer->get();
      value.number = static_cast<double>(integer->get());
    } else if (const auto* number = node.as_floating_point()) {
      value.kind = DocumentValue::Kind::Number;
      value.number = number->get();
    } else if (const auto* text = node.as_string()) {
      value.kind = DocumentValue::Kind::Text;
      value.text = text->get();
    } else {
      value.kind = DocumentValue::Kind::Date;
    }
  }

  TextPlace too_deep_;
};

Result<DocumentValue> parse_toml(std::string_view text, const std::string& name) {
  const toml::parse_result parsed = toml::parse(text, std::string_view{name});
  if (!parsed)
    return Error{ErrorCode::ParseError,
                 at_place(name, place_of(parsed.error().source())),
                 std::string{parsed.error().description()},
                 {}};
  TomlConversion conversion;
  DocumentValue root = conversion.convert(parsed.table(), 0);
  if (conversion.too_deep().line != 0)
    return Error{ErrorCode::LimitExceeded,
                 at_place(name, conversion.too_deep()),
                 "more than " + std::to_string(kDocumentDepthMax) + " lists and tables stand within each other",
                 {}};
  return root;
}

}  // namespace

Result<DocumentValue> parse_document(std::string_view text, DocumentFormat format, const std::string& name,
                                     std::uint32_t depth_max) {
  return format == DocumentFormat::Json ? parse_json(text, name, depth_max) : parse_toml(text, name);
}

}  // namespace penstock::cli
