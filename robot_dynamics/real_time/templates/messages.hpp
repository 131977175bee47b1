// SPDX-License-Identifier: Apache-2.0
//
// Parts of messages: times, texts of reasons, and JSON.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include <std_msgs/msg/string.hpp>

#include "controller.h"
#include "names.hpp"

namespace RD_PACKAGE
{
// Nanoseconds of a time or duration.
template <class Time>
std::int64_t nanoseconds(const Time & time)
{
  return static_cast<std::int64_t>(time.sec) * 1000000000 + time.nanosec;
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
}  // namespace RD_PACKAGE
