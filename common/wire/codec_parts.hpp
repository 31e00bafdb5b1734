// Pieces that several codecs share. Private to this folder and to the codec of the journal (supervisor/store).
#pragma once

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <string>
#include <vector>

#include "common/wire/codec.hpp"
#include "schema/admin.capnp.h"
#include "schema/control.capnp.h"
#include "schema/graph.capnp.h"

namespace penstock::wire {

/// An illegal number in a message; thrown like KJ's exceptions and caught with them by `parse`.
[[noreturn]] void refuse(const char* what);

inline std::string text(capnp::Text::Reader reader) { return {reader.begin(), reader.size()}; }
inline std::string data(capnp::Data::Reader reader) {
  return {reinterpret_cast<const char*>(reader.begin()), reader.size()};
}
inline capnp::Text::Reader text(const std::string& value) { return {value.data(), value.size()}; }
inline capnp::Data::Reader data(const std::string& value) {
  return {reinterpret_cast<const capnp::byte*>(value.data()), value.size()};
}

template <class Enum>
Enum enumerator(std::uint32_t value, Enum last, const char* what) {
  if (value > static_cast<std::uint32_t>(last)) refuse(what);
  return static_cast<Enum>(value);
}

/// Copies a column of numbers between a vector and a list of the schema.
template <class Column, class List>
void write_column(const Column& column, List list) {
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, column[i]);
}
template <class Number, class List>
void read_column(List list, std::vector<Number>& column) {
  column.resize(list.size());
  for (unsigned i = 0; i < list.size(); ++i) column[i] = list[i];
}

/// The fields `attempt` and `attemptRest` of the schema.
inline std::uint16_t low_of(Attempt attempt) { return static_cast<std::uint16_t>(attempt.value()); }
inline std::uint64_t rest_of(Attempt attempt) { return attempt.value() >> 16U; }
inline Attempt attempt_of(std::uint16_t low, std::uint64_t rest) {
  if ((rest >> 48U) != 0) refuse("attempt");
  return Attempt{(rest << 16U) | low};
}
/// `attemptRests` of the elements' attempts: a list as short as possible.
template <class Attempts, class Init>
void write_rests(const Attempts& attempts, Init init) {
  if (attempts.empty()) return;
  const std::uint64_t first = rest_of(attempts.front().attempt);
  bool all_the_same = true;
  for (const auto& each : attempts) all_the_same = all_the_same && rest_of(each.attempt) == first;
  if (all_the_same && first == 0) return;
  auto list = init(all_the_same ? 1U : static_cast<unsigned>(attempts.size()));
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, rest_of(attempts[i].attempt));
}
/// Adds the rests to attempts that have their low parts.
template <class Attempts>
void read_rests(capnp::List<std::uint64_t>::Reader list, Attempts& attempts) {
  if (list.size() == 0) return;
  if (list.size() != 1 && list.size() != attempts.size()) refuse("attempts");
  for (unsigned i = 0; i < attempts.size(); ++i)
    attempts[i].attempt = attempt_of(low_of(attempts[i].attempt), list[list.size() == 1 ? 0 : i]);
}

inline void write_identity(const JobIdentity& identity, schema::JobIdentity::Builder out) {
  out.setHigh(identity.high);
  out.setLow(identity.low);
}
inline JobIdentity read_identity(schema::JobIdentity::Reader in) { return {in.getHigh(), in.getLow()}; }

template <class List>
void write_secrets(const std::vector<Secret>& secrets, List list) {
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setName(text(secrets[i].name));
    list[i].setValue(data(secrets[i].value));
  }
}
inline std::size_t size_of(const std::vector<Secret>& secrets) {
  std::size_t bytes = 0;
  for (const Secret& secret : secrets) bytes += 32 + secret.name.size() + secret.value.size();
  return bytes;
}
inline std::vector<Secret> read_secrets(capnp::List<schema::Secret>::Reader list) {
  std::vector<Secret> secrets;
  for (const auto each : list) secrets.push_back({text(each.getName()), data(each.getValue())});
  return secrets;
}

void write_texts(const std::vector<std::string>& texts, capnp::List<capnp::Text>::Builder list);
std::vector<std::string> read_texts(capnp::List<capnp::Text>::Reader list);

void write_error(const Error& error, schema::Error::Builder out);
Error read_error(schema::Error::Reader in);
void write_named(const std::vector<NamedAmount>& amounts, capnp::List<schema::NamedAmount>::Builder out);
std::vector<NamedAmount> read_named(capnp::List<schema::NamedAmount>::Reader in);
void write_resources(const ResourceVector& resources, schema::ResourceVector::Builder out);
ResourceVector read_resources(schema::ResourceVector::Reader in);
void write_template(const Template& content, schema::Template::Builder out);
Template read_template(schema::Template::Reader in);
void write_graph(const Graph& graph, schema::Graph::Builder out);
Graph read_graph(schema::Graph::Reader in);
void write_spec(const JobSpec& spec, schema::JobSpec::Builder out);
JobSpec read_spec(schema::JobSpec::Reader in);
void write_failure(const FailureDetail& failure, schema::FailureDetail::Builder out);
FailureDetail read_failure(schema::FailureDetail::Reader in);
void write_trace(const AttemptTrace& trace, schema::AttemptTrace::Builder out);
AttemptTrace read_trace(schema::AttemptTrace::Reader in);

void write_ranges(const std::vector<SubtaskRange>& ranges, capnp::List<std::uint32_t>::Builder list);
std::vector<SubtaskRange> read_ranges(capnp::List<std::uint32_t>::Reader list);
void write_counts(const JobCounts& counts, schema::JobCounts::Builder out);
JobCounts read_counts(schema::JobCounts::Reader in);
void write_failures(const std::vector<SubtaskFailure>& failures, capnp::List<schema::SubtaskFailure>::Builder list);
std::vector<SubtaskFailure> read_failures(capnp::List<schema::SubtaskFailure>::Reader list);
void write_outputs(const std::vector<OutputLocation>& outputs, capnp::List<schema::OutputLocation>::Builder list);
std::vector<OutputLocation> read_outputs(capnp::List<schema::OutputLocation>::Reader list);

/// Approximate bytes of the parts on the wire.
std::size_t size_of(const Template& content);
std::size_t size_of(const Graph& graph);

/// Builds a message and flattens it into words.
template <class Root, class Fill>
std::vector<std::uint64_t> build_words(std::size_t expected_bytes, Fill fill) {
  const auto first_segment =
      static_cast<unsigned>(std::min<std::size_t>(expected_bytes / 8 + 64, std::size_t{1} << 27U));
  capnp::MallocMessageBuilder builder{first_segment, capnp::AllocationStrategy::GROW_HEURISTICALLY};
  fill(builder.initRoot<Root>());
  const auto segments = builder.getSegmentsForOutput();
  std::vector<std::uint64_t> words(capnp::computeSerializedSizeInWords(segments));
  kj::ArrayOutputStream stream{kj::arrayPtr(reinterpret_cast<kj::byte*>(words.data()), words.size() * 8)};
  capnp::writeMessage(stream, segments);
  return words;
}

template <class Root, class Fill>
FramePayloadPtr build(std::size_t expected_bytes, Fill fill) {
  return std::make_shared<const FramePayload>(build_words<Root>(expected_bytes, fill));
}

/// Parses bytes and passes the root to `read`; every objection of KJ becomes a `MalformedFrame`.
template <class Root, class Value, class Read>
Result<Value> parse(std::span<const std::byte> bytes, Read read) {
  capnp::ReaderOptions options;
  // Allows each word to be visited once, with a margin: repeated or circular references exceed the limit.
  options.traversalLimitInWords = bytes.size() / 8 + 1024;
  options.nestingLimit = 48;
  std::string complaint;
  const kj::ArrayPtr<const capnp::word> words{reinterpret_cast<const capnp::word*>(bytes.data()),
                                              bytes.size() / sizeof(capnp::word)};
  Value value;
  try {
    capnp::FlatArrayMessageReader reader{words, options};
    value = read(reader.getRoot<Root>());
    return value;
  } catch (const kj::Exception& exception) {
    complaint = exception.getDescription().cStr();
  } catch (const std::exception& exception) {
    complaint = exception.what();
  }
  return Error{ErrorCode::MalformedFrame, "message", complaint.substr(0, 200),
               "the peer is no Penstock process of this version"};
}

}  // namespace penstock::wire
