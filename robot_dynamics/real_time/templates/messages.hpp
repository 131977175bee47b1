// SPDX-License-Identifier: Apache-2.0
//
// What the threads of the plugin exchange, and messages: trajectories are read, texts and arrays
// written.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <realtime_tools/realtime_publisher.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <std_msgs/msg/float64_multi_array.hpp>
#include <std_msgs/msg/string.hpp>
#include <trajectory_msgs/msg/joint_trajectory.hpp>

#include "controller.h"
#include "names.hpp"

namespace RD_PACKAGE
{
// A trajectory on its way to the controller: rows of points in the order of the joints.
struct Reference
{
  long number = 0;         // Counts references, from 1 on.
  std::int64_t stamp = 0;  // Start, ns; 0 for now.
  std::vector<double> t, q, v, a;
};

// What update() reports to the other threads.
struct Status
{
  rd_mode mode = RD_STOPPED;
  rd_finding reason = {RD_NO_STATE, -1, 0.0, 0.0};
  long reference = 0;  // Number of the last reference, and what became of it.
  rd_refusal refusal = RD_FOLLOWED;
  int joint = -1;
  double value = 0.0;
  long requests = 0;  // Number of requests that were answered, and whether the last was granted.
  bool is_granted = false;
};

// A message that is filled in the cycle and sent by another thread.
template <class Message>
struct Topic
{
  Message message;
  std::unique_ptr<realtime_tools::RealtimePublisher<Message>> publisher;
};

// Read a trajectory; returns why that is not possible, empty where it is.
inline std::string read_trajectory(
  const trajectory_msgs::msg::JointTrajectory & message, const std::vector<std::string> & joints,
  Reference & reference)
{
  std::array<std::size_t, RD_N> order;
  for (std::size_t i = 0; i < RD_N; ++i) {
    const auto & names = message.joint_names;
    const auto found = std::find(names.begin(), names.end(), joints[i]);
    if (names.size() != RD_N || found == names.end()) {
      return "joint_names must name every joint of the controller once";
    }
    order[i] = static_cast<std::size_t>(found - names.begin());
  }
  if (message.points.size() > RD_MAX_POINTS) {
    return "it must have at most " + std::to_string(RD_MAX_POINTS) + " points";
  }
  for (const auto & point : message.points) {
    const auto & first = message.points.front();
    if (point.positions.size() != RD_N ||
      point.velocities.size() != first.velocities.size() ||
      point.accelerations.size() != first.accelerations.size())
    {
      return "every point must have one position for each joint, and the same derivatives";
    }
    reference.t.push_back(point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec);
    for (const auto & [values, row] :
      {std::make_pair(&point.positions, &reference.q),
        std::make_pair(&point.velocities, &reference.v),
        std::make_pair(&point.accelerations, &reference.a)})
    {
      if (!values->empty() && values->size() != RD_N) {
        return "velocities and accelerations must have one value for each joint, or none";
      }
      for (std::size_t i = 0; i < values->size(); ++i) {row->push_back((*values)[order[i]]);}
    }
  }
  return "";
}

// Text of a reason: "cause", "cause: joint" or "cause: joint, value".
inline std::string text_of(const char * cause, int joint, double value)
{
  std::string text = cause;
  if (joint >= 0) {
    char number[32];
    std::snprintf(number, sizeof number, ", %.4g", value);
    text += std::string(": ") + rd_joint_names[joint] + (std::isfinite(value) ? number : "");
  }
  return text;
}

inline std::string text_of(const rd_finding & finding)
{
  return text_of(rd_cause_text[finding.cause], finding.joint, finding.value);
}

// Text of JSON.
inline std::string quoted(const std::string & text)
{
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {result += '\\';}
    result += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
  }
  return result + '"';
}

// What became of a reference, in JSON, as a message.
inline std_msgs::msg::String reference_status(
  std::int64_t stamp, bool is_accepted, const std::string & text)
{
  std_msgs::msg::String message;
  message.data = std::string("{\"accepted\": ") + (is_accepted ? "true" : "false") +
    ", \"stamp\": " + std::to_string(stamp) + ", \"text\": " + quoted(text) + "}";
  return message;
}

// JSON list of texts, as a message.
inline std_msgs::msg::String json_array(const char * const * texts, std::size_t count)
{
  std_msgs::msg::String message;
  for (std::size_t k = 0; k < count; ++k) {
    message.data += (k == 0 ? "[" : ", ") + quoted(texts[k]);
  }
  message.data += "]";
  return message;
}

// Message of all joints with some fields. RViz needs the frame to draw efforts.
inline sensor_msgs::msg::JointState joint_message(
  std::initializer_list<std::vector<double> sensor_msgs::msg::JointState::*> fields)
{
  sensor_msgs::msg::JointState message;
  message.name.assign(rd_joint_names, rd_joint_names + RD_N);
  message.header.frame_id = rd_base_name;
  for (const auto field : fields) {
    (message.*field).resize(RD_N);
  }
  return message;
}

// Array with one dimension of a label.
inline std_msgs::msg::Float64MultiArray array_message(const std::string & label, std::size_t size)
{
  std_msgs::msg::Float64MultiArray message;
  message.layout.dim.resize(1);
  message.layout.dim[0].label = label;
  message.layout.dim[0].size = message.layout.dim[0].stride = static_cast<std::uint32_t>(size);
  message.data.resize(size);
  return message;
}
}  // namespace RD_PACKAGE
