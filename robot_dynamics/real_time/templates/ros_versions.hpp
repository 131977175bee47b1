// SPDX-License-Identifier: Apache-2.0
//
// What differs between the releases of ros2_control and realtime_tools, from Humble to Kilted. Of
// two functions of one name, the compiler takes the first that the installed release supports.
#pragma once

#include <limits>

namespace RD_PACKAGE
{
// Value of an interface, NaN where another thread has it. Since Jazzy the value is optional.
template <class Interface>
auto value_of(const Interface & interface, int) -> decltype(interface.get_optional().value_or(0.0))
{
  return interface.get_optional().value_or(std::numeric_limits<double>::quiet_NaN());
}

template <class Interface>
double value_of(const Interface & interface, long)
{
  return interface.get_value();
}

// Send a message unless the one before is still being sent. Later releases copy the message.
template <class Publisher, class Message>
auto send(Publisher & publisher, const Message & message, int)
  -> decltype(publisher.try_publish(message))
{
  return publisher.try_publish(message);
}

template <class Publisher, class Message>
bool send(Publisher & publisher, const Message & message, long)
{
  if (!publisher.trylock()) {
    return false;
  }
  publisher.msg_ = message;
  publisher.unlockAndPublish();
  return true;
}
}  // namespace RD_PACKAGE
