// SPDX-License-Identifier: Apache-2.0
//
// The file with which estimates are kept from one run to the next: that of the Python controller
// (control/adaptation/estimates_file.py), which reads and writes the same lines.
#pragma once

#include "controller.h"
#include "names.hpp"

#if RD_ESTIMATES > 0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <utility>

namespace RD_PACKAGE
{
using Estimates = std::array<double, RD_ESTIMATES>;

// Start from the estimates of a file of this arm, this law and this model, from the model where the
// path is empty, or the file does not exist and is not needed. Returns why that is not possible,
// empty where it is.
inline std::string restore_estimates(
  const std::string & path, bool is_needed, rd_controller & core)
{
  std::ifstream file(path);
  if (path.empty() || (!file && !is_needed)) {
    return "";
  }
  std::map<std::string, std::pair<double, double>> found;  // Prior and estimate by name.
  std::string robot;
  for (std::string line; std::getline(file, line); ) {
    char name[256];
    double prior, estimate;
    const char * entry = " \"%255[^\"]\": {prior: %lf, estimate: %lf}";
    if (std::sscanf(line.c_str(), entry, name, &prior, &estimate) == 3) {
      found[name] = {prior, estimate};
    } else if (std::sscanf(line.c_str(), "robot: \"%255[^\"]\"", name) == 1) {
      robot = name;
    }
  }
  if (robot != rd_robot_name) {
    return "is not a file of estimates of " + std::string(rd_robot_name);
  }
  double largest = 0.0;
  for (const double prior : rd_prior) {
    largest = std::max(largest, std::abs(prior));
  }
  Estimates values;
  for (std::size_t k = 0; k < RD_ESTIMATES; ++k) {
    const auto entry = found.find(rd_estimate_names[k]);
    if (entry == found.end() || found.size() != RD_ESTIMATES) {
      return "has other parameters than this controller";
    }
    const auto [prior, estimate] = entry->second;
    if (!(std::abs(prior - rd_prior[k]) <= 1e-6 * std::abs(rd_prior[k]) + 1e-12 * largest)) {
      return std::string("was learnt from another model: another prior of ") + rd_estimate_names[k];
    }
    if (!std::isfinite(estimate)) {
      return std::string("has no finite estimate of ") + rd_estimate_names[k];
    }
    values[k] = estimate;
  }
  return rd_law_restore(&core.law, values.data()) ? "" : "has values beyond the estimates";
}

// Write the estimates, completely or not at all. Returns why that is not possible, empty where it
// is.
inline std::string save_estimates(const std::string & path, const Estimates & values)
{
  const std::string unfinished = path + ".unfinished";
  std::ofstream file(unfinished);
  file << "# Estimates of an adaptive controller; see docs/control.md.\n"
       << "format: 1\nrobot: \"" << rd_robot_name << "\"\nparameters:\n";
  for (std::size_t k = 0; k < RD_ESTIMATES; ++k) {
    char numbers[96];
    std::snprintf(
      numbers, sizeof numbers, "{prior: %.16e, estimate: %.16e}", rd_prior[k], values[k]);
    file << "  \"" << rd_estimate_names[k] << "\": " << numbers << "\n";
  }
  file.close();
  const bool is_written = file.good() && std::rename(unfinished.c_str(), path.c_str()) == 0;
  return is_written ? "" : "cannot be written";
}
}  // namespace RD_PACKAGE
#endif
