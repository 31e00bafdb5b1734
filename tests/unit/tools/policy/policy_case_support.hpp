// Runs one text as a file of reference cases.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/scratch_directory.hpp"
#include "tools/policy/command_policy_check.hpp"

namespace penstock::tools {

/// Of the whole file: one line for each difference and remark; empty if all its cases pass.
inline std::string told_of(const std::string& text) {
  const ScratchDirectory scratch;
  const auto verdicts = check_policy_cases(scratch.write("case.json", text));
  if (!verdicts) return "error: " + to_string(verdicts.error());
  std::string told;
  for (const CaseVerdict& verdict : *verdicts) {
    for (const std::string& difference : verdict.differences) told += verdict.id + ": " + difference + "\n";
    for (const std::string& remark : verdict.remarks) told += "note: " + remark + "\n";
  }
  return told;
}

inline void expect_told(const std::string& text, const std::string& part) {
  const std::string told = told_of(text);
  EXPECT_NE(told.find(part), std::string::npos) << "told: " << told;
}

}  // namespace penstock::tools
