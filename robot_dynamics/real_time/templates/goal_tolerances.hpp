// SPDX-License-Identifier: Apache-2.0
//
// How far an arm may be from its trajectory; see control/motion/goal_tolerances.py.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "controller.h"
#include "names.hpp"

namespace RD_PACKAGE
{
// One value for each joint, in the order of rd_joint_names.
using Joints = std::array<double, RD_N>;

// A trajectory that is rejected: one with other joints, one of the past, or for another reason.
struct TrajectoryError : std::runtime_error {using std::runtime_error::runtime_error;};
struct JointNamesError : TrajectoryError {using TrajectoryError::TrajectoryError;};
struct OldTrajectoryError : TrajectoryError {using TrajectoryError::TrajectoryError;};

inline Joints difference(const Joints & a, const Joints & b)
{
  Joints result;
  for (std::size_t i = 0; i < RD_N; ++i) {result[i] = a[i] - b[i];}
  return result;
}

// Bounds from a parameter, of which one value is for all joints and 0 means none.
inline Joints bounds_of(const std::vector<double> & values)
{
  Joints bounds;
  for (std::size_t i = 0; i < RD_N; ++i) {
    const double value = values.size() == 1 ? values[0] : values.at(i);
    bounds[i] = value > 0.0 ? value : std::numeric_limits<double>::infinity();
  }
  return bounds;
}

// Largest errors of position and velocity.
struct ErrorBounds
{
  Joints position = bounds_of({0.0}), velocity = bounds_of({0.0});
};

// The first error beyond its bound.
struct Violation
{
  const char * what = nullptr;  // "position" or "velocity", nullptr for none.
  std::size_t joint = 0;
  double error = 0.0, bound = 0.0;
};

inline Violation find_violation(
  const ErrorBounds & bounds, const Joints & position_error, const Joints & velocity_error)
{
  for (std::size_t k = 0; k < 2 * RD_N; ++k) {
    const std::size_t i = k % RD_N;
    const double error = k < RD_N ? position_error[i] : velocity_error[i];
    const double bound = k < RD_N ? bounds.position[i] : bounds.velocity[i];
    if (!(std::abs(error) <= bound)) {  // Written so that NaN exceeds a bound.
      return {k < RD_N ? "position" : "velocity", i, error, bound};
    }
  }
  return {};
}

inline std::string text_of(const Violation & violation)
{
  char numbers[96];
  std::snprintf(
    numbers, sizeof numbers, " is %.4g away from the trajectory, more than %.4g", violation.error,
    violation.bound);
  return std::string("the ") + violation.what + " of " + rd_joint_names[violation.joint] + numbers;
}

// Replace a bound by that of a goal: 0 keeps it, -1 removes it.
inline void override_bound(double & bound, double value, const std::string & subject)
{
  if (!(value >= 0.0 || value == -1.0)) {
    throw TrajectoryError(
            subject + " must be positive; send 0 for the default, -1 for no tolerance");
  }
  if (value != 0.0) {
    bound = value > 0.0 ? value : std::numeric_limits<double>::infinity();
  }
}

// Replace the bounds of joints that a goal names.
template <class Tolerances>
void override_bounds(
  ErrorBounds & bounds, const Tolerances & given, const std::vector<std::string> & joints,
  const std::string & subject)
{
  for (const auto & each : given) {
    const auto found = std::find(joints.begin(), joints.end(), each.name);
    if (found == joints.end()) {
      throw JointNamesError(subject + " names the unknown joint " + each.name);
    }
    const auto i = static_cast<std::size_t>(found - joints.begin());
    override_bound(bounds.position[i], each.position, subject + " of " + each.name);
    override_bound(bounds.velocity[i], each.velocity, subject + " of " + each.name);
  }
}
}  // namespace RD_PACKAGE
