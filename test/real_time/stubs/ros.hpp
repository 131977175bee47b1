// SPDX-License-Identifier: Apache-2.0
//
// The part of ROS 2 and ros2_control that the plugin uses, for a test without ROS: endpoints keep
// their last message and their callback, and the clock is set by the test. STUB_HUMBLE selects the
// functions of Humble, otherwise they are those of Kilted.
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace builtin_interfaces::msg
{
struct Time {std::int32_t sec = 0; std::uint32_t nanosec = 0;};
using Duration = Time;
}

namespace std_msgs::msg
{
struct Header {builtin_interfaces::msg::Time stamp; std::string frame_id;};
struct String {std::string data;};
struct MultiArrayDimension {std::string label; std::uint32_t size = 0, stride = 0;};
struct MultiArrayLayout {std::vector<MultiArrayDimension> dim; std::uint32_t data_offset = 0;};
struct Float64MultiArray {MultiArrayLayout layout; std::vector<double> data;};
}

namespace sensor_msgs::msg
{
struct JointState
{
  std_msgs::msg::Header header;
  std::vector<std::string> name;
  std::vector<double> position, velocity, effort;
};
}

namespace trajectory_msgs::msg
{
struct JointTrajectoryPoint
{
  std::vector<double> positions, velocities, accelerations, effort;
  builtin_interfaces::msg::Duration time_from_start;
};
struct JointTrajectory
{
  std_msgs::msg::Header header;
  std::vector<std::string> joint_names;
  std::vector<JointTrajectoryPoint> points;
};
struct MultiDOFJointTrajectory {std::vector<int> points;};
}

namespace geometry_msgs::msg
{
struct Vector3 {double x = 0.0, y = 0.0, z = 0.0;};
struct Quaternion {double x = 0.0, y = 0.0, z = 0.0, w = 1.0;};
struct Pose {Vector3 position; Quaternion orientation;};
struct Twist {Vector3 linear, angular;};
struct PoseStamped {std_msgs::msg::Header header; Pose pose;};
struct TwistStamped {std_msgs::msg::Header header; Twist twist;};
}

namespace control_msgs
{
struct JointTolerance {std::string name; double position = 0.0, velocity = 0.0, acceleration = 0.0;};
namespace action
{
struct FollowJointTrajectory
{
  struct Goal
  {
    trajectory_msgs::msg::JointTrajectory trajectory;
    trajectory_msgs::msg::MultiDOFJointTrajectory multi_dof_trajectory;
    std::vector<JointTolerance> path_tolerance, goal_tolerance;
    builtin_interfaces::msg::Duration goal_time_tolerance;
  };
  struct Result
  {
    enum : std::int32_t {
      SUCCESSFUL = 0, INVALID_GOAL = -1, INVALID_JOINTS = -2, OLD_HEADER_TIMESTAMP = -3,
      PATH_TOLERANCE_VIOLATED = -4, GOAL_TOLERANCE_VIOLATED = -5
    };
    std::int32_t error_code = 0;
    std::string error_string;
  };
  struct Feedback
  {
    std_msgs::msg::Header header;
    std::vector<std::string> joint_names;
    trajectory_msgs::msg::JointTrajectoryPoint desired, actual, error;
  };
};
}  // namespace action
}  // namespace control_msgs

namespace std_srvs::srv
{
struct Trigger
{
  struct Request {};
  struct Response {bool success = false; std::string message;};
};
}

namespace rclcpp
{
struct Duration
{
  std::int64_t count = 0;
  double seconds() const {return 1e-9 * static_cast<double>(count);}
};

struct Time
{
  std::int64_t count = 0;
  explicit Time(std::int64_t nanoseconds = 0) : count(nanoseconds) {}
  explicit Time(const builtin_interfaces::msg::Time & stamp)
  : count(1000000000LL * stamp.sec + stamp.nanosec) {}
  std::int64_t nanoseconds() const {return count;}
  Duration operator-(const Time & other) const {return {count - other.count};}
  operator builtin_interfaces::msg::Time() const
  {
    return {static_cast<std::int32_t>(count / 1000000000),
      static_cast<std::uint32_t>(count % 1000000000)};
  }
};

struct QoS
{
  explicit QoS(int) {}
  QoS & reliable() {return *this;}
  QoS & transient_local() {return *this;}
};

struct Logger {};
struct Clock {};

template <class Message>
struct Publisher
{
  using SharedPtr = std::shared_ptr<Publisher>;
  Message last;
  int count = 0;
  void publish(const Message & message) {last = message; ++count;}
};

template <class Message>
struct Subscription
{
  using SharedPtr = std::shared_ptr<Subscription>;
  std::function<void(const Message &)> callback;
};

template <class Kind>
struct Service
{
  using SharedPtr = std::shared_ptr<Service>;
  std::function<void(std::shared_ptr<typename Kind::Request>,
    std::shared_ptr<typename Kind::Response>)> callback;
};

struct TimerBase
{
  using SharedPtr = std::shared_ptr<TimerBase>;
  std::function<void()> callback;
};

struct Parameter
{
  std::variant<bool, double, std::string, std::vector<double>, std::vector<std::string>> value;
  bool as_bool() const {return std::get<bool>(value);}
  double as_double() const {return std::get<double>(value);}
  std::string as_string() const {return std::get<std::string>(value);}
  std::vector<double> as_double_array() const {return std::get<std::vector<double>>(value);}
  std::vector<std::string> as_string_array() const
  {
    return std::get<std::vector<std::string>>(value);
  }
};
}  // namespace rclcpp

#define RCLCPP_INFO(logger, ...) \
  (static_cast<void>(logger), std::fprintf(stderr, __VA_ARGS__), std::fputc('\n', stderr))
#define RCLCPP_ERROR RCLCPP_INFO
#define RCLCPP_WARN_THROTTLE(logger, clock, milliseconds, ...) \
  (static_cast<void>(clock), RCLCPP_INFO(logger, __VA_ARGS__))

namespace rclcpp_lifecycle
{
struct State {};

struct LifecycleNode
{
  std::map<std::string, rclcpp::Parameter> parameters;
  std::map<std::string, std::shared_ptr<void>> endpoints;
  rclcpp::Time time;

  rclcpp::Parameter get_parameter(const std::string & name) const {return parameters.at(name);}
  rclcpp::Time now() const {return time;}
  rclcpp::Logger get_logger() const {return {};}
  std::shared_ptr<rclcpp::Clock> get_clock() const {return std::make_shared<rclcpp::Clock>();}

  // Endpoint of a name, for the test.
  template <class Endpoint>
  Endpoint & find(const std::string & name)
  {
    return *std::static_pointer_cast<Endpoint>(endpoints.at(name));
  }

  template <class Message>
  std::shared_ptr<rclcpp::Publisher<Message>> create_publisher(
    const std::string & name, const rclcpp::QoS &)
  {
    return keep<rclcpp::Publisher<Message>>(name);
  }

  template <class Message, class Callback>
  std::shared_ptr<rclcpp::Subscription<Message>> create_subscription(
    const std::string & name, const rclcpp::QoS &, Callback callback)
  {
    const auto subscription = keep<rclcpp::Subscription<Message>>(name);
    subscription->callback = callback;
    return subscription;
  }

  template <class Kind, class Callback>
  std::shared_ptr<rclcpp::Service<Kind>> create_service(
    const std::string & name, Callback callback)
  {
    const auto service = keep<rclcpp::Service<Kind>>(name);
    service->callback = callback;
    return service;
  }

  // Timers are kept by their period in ms.
  template <class Callback>
  rclcpp::TimerBase::SharedPtr create_wall_timer(
    std::chrono::duration<double> period, Callback callback)
  {
    const auto timer = keep<rclcpp::TimerBase>(std::to_string(std::lround(1e3 * period.count())));
    timer->callback = callback;
    return timer;
  }

  template <class Endpoint>
  std::shared_ptr<Endpoint> keep(const std::string & name)
  {
    const auto endpoint = std::make_shared<Endpoint>();
    endpoints[name] = endpoint;
    return endpoint;
  }
};
}  // namespace rclcpp_lifecycle

namespace rclcpp_action
{
using GoalUUID = std::array<std::uint8_t, 16>;
enum class GoalResponse { REJECT, ACCEPT_AND_EXECUTE };
enum class CancelResponse { REJECT, ACCEPT };

// A goal that keeps its result, and how it ended.
template <class Action>
struct ServerGoalHandle
{
  std::shared_ptr<const typename Action::Goal> goal;
  std::shared_ptr<typename Action::Result> result;
  std::shared_ptr<typename Action::Feedback> feedback;
  std::string end = "active";
  bool is_cancelled = false;

  std::shared_ptr<const typename Action::Goal> get_goal() const {return goal;}
  bool is_canceling() const {return is_cancelled;}
  void publish_feedback(std::shared_ptr<typename Action::Feedback> message) {feedback = message;}
  void succeed(std::shared_ptr<typename Action::Result> message) {finish("succeeded", message);}
  void abort(std::shared_ptr<typename Action::Result> message) {finish("aborted", message);}
  void canceled(std::shared_ptr<typename Action::Result> message) {finish("canceled", message);}

private:
  void finish(const char * how, std::shared_ptr<typename Action::Result> message)
  {
    end = how;
    result = message;
  }
};

template <class Action>
struct Server
{
  using Handle = std::shared_ptr<ServerGoalHandle<Action>>;
  std::function<GoalResponse(const GoalUUID &, std::shared_ptr<const typename Action::Goal>)> ask;
  std::function<CancelResponse(Handle)> cancel;
  std::function<void(Handle)> accepted;
};

template <class Action, class Node, class Ask, class Cancel, class Accepted>
std::shared_ptr<Server<Action>> create_server(
  Node node, const std::string & name, Ask ask, Cancel cancel, Accepted accepted)
{
  const auto server = node->template keep<Server<Action>>(name);
  *server = {ask, cancel, accepted};
  return server;
}
}  // namespace rclcpp_action

namespace hardware_interface
{
struct Interface
{
  std::shared_ptr<double> value = std::make_shared<double>(0.0);
#ifdef STUB_HUMBLE
  double get_value() const {return *value;}
  void set_value(double x) {*value = x;}
#else
  template <class T = double>
  [[nodiscard]] std::optional<T> get_optional(unsigned = 10) const {return *value;}
  template <class T>
  [[nodiscard]] bool set_value(const T & x, unsigned = 10) {*value = x; return true;}
#endif
};
}  // namespace hardware_interface

namespace controller_interface
{
enum class CallbackReturn { SUCCESS, FAILURE, ERROR };
enum class return_type : std::uint8_t { OK, ERROR };
enum class interface_configuration_type : std::uint8_t { ALL, INDIVIDUAL, NONE };
struct InterfaceConfiguration
{
  interface_configuration_type type = interface_configuration_type::NONE;
  std::vector<std::string> names = {};
};

class ControllerInterface
{
public:
  virtual ~ControllerInterface() = default;
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_init() = 0;
  virtual return_type update(const rclcpp::Time & time, const rclcpp::Duration & period) = 0;
  virtual CallbackReturn on_configure(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_shutdown(const rclcpp_lifecycle::State &) = 0;
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> get_node() const {return node_;}
  unsigned get_update_rate() const {return update_rate;}

  template <class T>
  T auto_declare(const std::string & name, const T & value)
  {
    const auto [entry, is_new] = node_->parameters.try_emplace(name, rclcpp::Parameter{value});
    static_cast<void>(is_new);
    return std::get<T>(entry->second.value);
  }

  unsigned update_rate = 0;
  std::vector<hardware_interface::Interface> command_interfaces_, state_interfaces_;

private:
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node_ =
    std::make_shared<rclcpp_lifecycle::LifecycleNode>();
};
}  // namespace controller_interface

namespace realtime_tools
{
template <class T>
class RealtimeBuffer
{
public:
  T * readFromRT()
  {
    const std::unique_lock<std::mutex> guard(mutex_, std::try_to_lock);
    if (guard.owns_lock() && is_new_) {
      std::swap(value_, next_);
      is_new_ = false;
    }
    return &value_;
  }

  void writeFromNonRT(const T & value)
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    next_ = value;
    is_new_ = true;
  }

private:
  std::mutex mutex_;
  T value_{}, next_{};
  bool is_new_ = false;
};

template <class Message>
class RealtimePublisher
{
public:
  explicit RealtimePublisher(std::shared_ptr<rclcpp::Publisher<Message>> publisher)
  : publisher_(std::move(publisher)) {}
#ifdef STUB_HUMBLE
  Message msg_;
  bool trylock() {return true;}
  void unlockAndPublish() {publisher_->publish(msg_);}
#else
  bool try_publish(const Message & message)
  {
    publisher_->publish(message);
    return true;
  }
#endif

private:
  std::shared_ptr<rclcpp::Publisher<Message>> publisher_;
};
}  // namespace realtime_tools

// The test makes the plugin by its class.
#define PLUGINLIB_EXPORT_CLASS(type, base) \
  static_assert(std::is_base_of_v<base, type>, "a plugin of its base class");
