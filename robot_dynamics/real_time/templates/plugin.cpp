// SPDX-License-Identifier: Apache-2.0
//
// The controller of one arm as a plugin of ros2_control.
//
// Everything that decides on efforts is in the C files (controller.h). This class connects them
// with ros2_control: interfaces, parameters, topics and services, named as those of the Python
// nodes of robot_dynamics, so that its recorder, reports and views serve both.
//
// update() runs in the thread of the controller manager: it neither allocates nor waits. Callbacks
// run in the executor: they pass references and requests on to update(), and report what became
// of them.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <controller_interface/controller_interface.hpp>
#include <pluginlib/class_list_macros.hpp>
#include <rclcpp/rclcpp.hpp>
#include <rclcpp_lifecycle/state.hpp>
#include <realtime_tools/realtime_buffer.hpp>
#include <std_msgs/msg/string.hpp>
#include <std_srvs/srv/trigger.hpp>

#include "controller.h"
#include "estimates_file.hpp"
#include "messages.hpp"
#include "names.hpp"
#include "ros_versions.hpp"

// RD_PACKAGE is the name of the package: one process may load two generated controllers.
namespace RD_PACKAGE
{
using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;
using rclcpp_lifecycle::State;
using sensor_msgs::msg::JointState;
using std_msgs::msg::Float64MultiArray;
using std_msgs::msg::String;
using std_srvs::srv::Trigger;
using trajectory_msgs::msg::JointTrajectory;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
// One value for each joint, in the order of rd_joint_names.
using Joints = std::array<double, RD_N>;

// Time between two reports of mode, references and parameters. s.
constexpr double REPORT_PERIOD = 0.01;
// Longest time for an answer to a request, to bring the arm to rest, and to change to the safe
// effort. s.
constexpr double LONGEST_ANSWER = 0.2, LONGEST_STOP = 1.0, LONGEST_WIND_DOWN = 0.5;
// Speed below which an arm is at rest. rad/s or m/s.
constexpr double AT_REST = 0.01;

enum class Request { None, Stop, Resume };

class ControllerPlugin : public controller_interface::ControllerInterface
{
public:
  CallbackReturn on_init() override
  {
    auto_declare<std::vector<std::string>>("joints", {rd_joint_names, rd_joint_names + RD_N});
    auto_declare<std::string>("command_interface", "effort");
    auto_declare<std::vector<std::string>>("state_interfaces", {"position", "velocity", "effort"});
    auto_declare<double>("telemetry_rate", 25.0);
    auto_declare<std::string>("reference_topic", "~/reference");
    auto_declare<bool>("adapt", true);
    auto_declare<std::string>("estimates.restore_from", "");
    auto_declare<std::string>("estimates.save_to", "");
    rd_init(&core_);
    return CallbackReturn::SUCCESS;
  }

  InterfaceConfiguration command_interface_configuration() const override
  {
    return interfaces({command_});
  }

  // All positions, then all velocities, then all efforts.
  InterfaceConfiguration state_interface_configuration() const override
  {
    return interfaces(states_);
  }

  CallbackReturn on_configure(const State &) override
  {
    const auto node = get_node();
    joints_ = node->get_parameter("joints").as_string_array();
    command_ = node->get_parameter("command_interface").as_string();
    states_ = node->get_parameter("state_interfaces").as_string_array();
    if (joints_.size() != RD_N || states_.empty() || states_[0] != "position") {
      return fail("joints must name the joints of the arm in the order of its description, and "
        "state_interfaces must begin with position");
    }
    if (get_update_rate() != std::lround(1.0 / RD_PERIOD)) {
      return fail("its gains are designed for " + std::to_string(std::lround(1.0 / RD_PERIOD)) +
        " Hz, and its update rate is " + std::to_string(get_update_rate()) +
        " Hz: generate it for that rate");
    }
#if RD_ESTIMATES > 0
    const std::string source = node->get_parameter("estimates.restore_from").as_string();
    const bool is_needed = source != node->get_parameter("estimates.save_to").as_string();
    const std::string problem = restore_estimates(source, is_needed, core_);
    if (!problem.empty()) {
      return fail(source + " " + problem);
    }
#endif
    open_endpoints();
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_activate(const State &) override
  {
    const std::lock_guard<std::mutex> guard(core_mutex_);
    cycle_thread_ = std::this_thread::get_id();
    const rclcpp::Time now = get_node()->now();
    origin_ = now.nanoseconds();
    // References and requests from before belong to another time.
    if (const auto & reference = *reference_.readFromRT()) {
      latest_.reference = reference->number;
    }
    request_ = Request::None;
    rd_reactivate(&core_);
    // Efforts of a controller that was active before act until now.
    double acting = 0.0;
    for (std::size_t i = 0; i < RD_N; ++i) {
      tau_[i] = value_of(command_interfaces_[i], 0);
      acting += std::abs(tau_[i]);
    }
    if (std::isfinite(acting) && acting > 0.0) {
      rd_take_over(&core_, tau_.data());
    }
    // The first command is there before the hardware writes: no old effort acts for a cycle.
    answer_state(now);
    if (core_.mode == RD_WAITING) {
      return fail("not activated: " + text_of(core_.reason));
    }
    return CallbackReturn::SUCCESS;
  }

  // A controller manager that ends deactivates its controllers from another thread, while its
  // cycle goes on: there is time to stop. Within its cycle there is only the last command.
  CallbackReturn on_deactivate(const State &) override
  {
    const std::lock_guard<std::mutex> guard(core_mutex_);
    if (std::this_thread::get_id() != cycle_thread_) {
      come_to_rest();
    }
    if (rd_stop(&core_, tau_.data())) {
      write_command();
    }
    share_status(std::unique_lock<std::mutex>(status_mutex_));
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_cleanup(const State &) override
  {
    if (!endpoints_.empty()) {  // It was configured.
      report();
      endpoints_.clear();
      for (auto * topic : {&error_, &command_sent_}) {topic->publisher.reset();}
      for (auto * topic : {&timing_, &estimate_}) {topic->publisher.reset();}
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_shutdown(const State & state) override {return on_cleanup(state);}

  // An error makes the controller manager deactivate this controller: the hardware stops the arm.
  return_type update(const rclcpp::Time & time, const rclcpp::Duration &) override
  {
    const std::unique_lock<std::mutex> guard(core_mutex_, std::try_to_lock);
    if (!guard.owns_lock()) {
      return return_type::OK;  // Another thread brings the arm to rest.
    }
    const Clock::time_point begin = Clock::now();
    core_.adapt_enabled = adapt_;
    answer_request();
    answer_reference();
    answer_state(time);
    const double latency = (get_node()->now() - time).seconds();
    share_status({status_mutex_, std::try_to_lock});
    if (telemetry_cycles_ > 0) {
      publish_telemetry(time);
      auto & timing = timing_.message.data;
      timing[0] = latency;
      timing[1] = Seconds(Clock::now() - begin).count();
      timing[2] = std::max(timing[2], timing[0]);
      timing[3] = std::max(timing[3], timing[1]);
    }
    return rd_safe_has_failed(&core_) ? return_type::ERROR : return_type::OK;
  }

private:
  // In the thread that commands the arm; it holds core_mutex_.

  void answer_request()
  {
    const Request request = request_.exchange(Request::None);
    if (request == Request::None) {
      return;
    }
    if (request == Request::Stop) {
      rd_halt(&core_);
    }
    latest_.is_granted = request == Request::Stop || rd_resume(&core_) != 0;
    ++latest_.requests;
  }

  void answer_reference()
  {
    const auto & reference = *reference_.readFromRT();
    if (!reference || reference->number == latest_.reference) {
      return;
    }
    latest_.reference = reference->number;
    latest_.refusal = RD_FOLLOWED;
    if (reference->t.empty()) {
      rd_cancel_reference(&core_);
      return;
    }
    const double start = reference->stamp ? since_origin(reference->stamp) : 0.0;
    latest_.refusal = rd_reference(
      &core_, static_cast<int>(reference->t.size()), start, reference->t.data(),
      reference->q.data(), reference->v.empty() ? nullptr : reference->v.data(),
      reference->a.empty() ? nullptr : reference->a.data(), nullptr);
    latest_.joint = core_.trajectory.joint;
    latest_.value = core_.trajectory.value;
  }

  void answer_state(const rclcpp::Time & time)
  {
    v_.fill(NAN);
    effort_.fill(NAN);
    for (std::size_t k = 0; k < states_.size(); ++k) {
      Joints & values = k == 0 ? q_ : states_[k] == "velocity" ? v_ : effort_;
      for (std::size_t i = 0; i < RD_N; ++i) {
        values[i] = value_of(state_interfaces_[k * RD_N + i], 0);
      }
    }
    rd_update(
      &core_, since_origin(time.nanoseconds()), q_.data(), v_.data(), effort_.data(), tau_.data());
    if (core_.has_command) {
      write_command();
    }
  }

  void write_command()
  {
    for (std::size_t i = 0; i < RD_N; ++i) {
      static_cast<void>(command_interfaces_[i].set_value(tau_[i]));
    }
  }

  // Stop the arm and change to the safe effort, while the hardware goes on in another thread.
  void come_to_rest()
  {
    const auto is_fast = [](double v) {return std::abs(v) > AT_REST;};
    rd_halt(&core_);
    bool moves = true;
    for (double t = 0.0; moves && t < LONGEST_STOP; t += RD_PERIOD) {
      answer_state(get_node()->now());
      moves = std::any_of(core_.monitor.v, core_.monitor.v + RD_N, is_fast);
      std::this_thread::sleep_for(Seconds(RD_PERIOD));
    }
    for (double t = 0.0;
      t < LONGEST_WIND_DOWN && rd_wind_down(&core_, RD_PERIOD, tau_.data()); t += RD_PERIOD)
    {
      write_command();
      std::this_thread::sleep_for(Seconds(RD_PERIOD));
    }
  }

  // Pass the status on, with the guard of status_mutex_, or later where another thread has it.
  void share_status(const std::unique_lock<std::mutex> & guard)
  {
    latest_.mode = core_.mode;
    latest_.reason = core_.reason;
    if (guard.owns_lock()) {
      shared_ = latest_;
    }
  }

  // Fill and send each topic once a round of telemetry_cycles_, spread over its cycles.
  void publish_telemetry(const rclcpp::Time & time)
  {
    const auto is_turn = [this](long k) {return cycle_ == k * telemetry_cycles_ / 4;};
    if (is_turn(0) && core_.mode >= RD_TRACKING && core_.mode <= RD_HALTED) {
      for (std::size_t i = 0; i < RD_N; ++i) {
        error_.message.position[i] = core_.q_d[i] - core_.monitor.q[i];
        error_.message.velocity[i] = core_.v_d[i] - core_.monitor.v[i];
      }
      error_.message.header.stamp = time;
      send(*error_.publisher, error_.message, 0);
    }
    if (is_turn(1)) {
      std::copy(tau_.begin(), tau_.end(), command_sent_.message.effort.begin());
      command_sent_.message.header.stamp = time;
      send(*command_sent_.publisher, command_sent_.message, 0);
    }
    if (is_turn(2) && send(*timing_.publisher, timing_.message, 0)) {
      timing_.message.data[2] = timing_.message.data[3] = 0.0;
    }
#if RD_ESTIMATES > 0
    if (is_turn(3)) {
      std::copy_n(core_.law.parameters, RD_ESTIMATES, estimate_.message.data.begin());
      send(*estimate_.publisher, estimate_.message, 0);
    }
#endif
    cycle_ = (cycle_ + 1) % telemetry_cycles_;
  }

  double since_origin(std::int64_t nanoseconds) const
  {
    return 1e-9 * static_cast<double>(nanoseconds - origin_);
  }

  // In other threads.

  InterfaceConfiguration interfaces(const std::vector<std::string> & kinds) const
  {
    InterfaceConfiguration wanted{interface_configuration_type::INDIVIDUAL, {}};
    for (const auto & kind : kinds) {
      for (const auto & joint : joints_) {wanted.names.push_back(joint + "/" + kind);}
    }
    return wanted;
  }

  CallbackReturn fail(const std::string & text) const
  {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", text.c_str());
    return CallbackReturn::FAILURE;
  }

  template <class Message>
  void open(Topic<Message> & topic, const std::string & name, const Message & message)
  {
    topic.message = message;
    topic.publisher = std::make_unique<realtime_tools::RealtimePublisher<Message>>(
      get_node()->create_publisher<Message>(name, rclcpp::QoS(10).reliable()));
  }

  void open_endpoints()
  {
    const auto node = get_node();
    const double rate = node->get_parameter("telemetry_rate").as_double();
    telemetry_cycles_ = rate > 0.0 ? std::max(1L, std::lround(1.0 / (RD_PERIOD * rate))) : 0;
    open(error_, "~/tracking_error", joint_message({&JointState::position, &JointState::velocity}));
    open(command_sent_, "~/command", joint_message({&JointState::effort}));
    open(timing_, "~/timing", array_message("timing", 4));
    const rclcpp::QoS latched = rclcpp::QoS(1).reliable().transient_local();
    mode_ = node->create_publisher<String>("~/mode", latched);
    reference_status_ = node->create_publisher<String>("~/reference_status", latched);
#if RD_ESTIMATES > 0
    open(estimate_, "~/parameter_estimate", array_message("parameter", RD_ESTIMATES));
    const auto names = node->create_publisher<String>("~/parameter_names", latched);
    names->publish(json_array(rd_estimate_names, RD_ESTIMATES));
    endpoints_.push_back(names);
#endif
    endpoints_.push_back(node->create_subscription<JointTrajectory>(
      node->get_parameter("reference_topic").as_string(), rclcpp::QoS(1).reliable(),
      [this](const JointTrajectory & trajectory) {on_reference(trajectory);}));
    for (const auto & [name, request] :
      {std::make_pair("~/stop", Request::Stop), std::make_pair("~/resume", Request::Resume)})
    {
      endpoints_.push_back(node->create_service<Trigger>(
        name, [this, request = request](
          const std::shared_ptr<Trigger::Request>, const std::shared_ptr<Trigger::Response> answer)
        {ask(request, *answer);}));
    }
    reported_.mode = RD_MODES;  // Report the first mode.
    endpoints_.push_back(
      node->create_wall_timer(Seconds(REPORT_PERIOD), [this] {report();}));
  }

  void on_reference(const JointTrajectory & message)
  {
    const std::lock_guard<std::mutex> guard(report_mutex_);
    auto reference = std::make_shared<Reference>();
    reference->stamp = rclcpp::Time(message.header.stamp).nanoseconds();
    std::string refusal = read_trajectory(message, joints_, *reference);
    if (status().mode == RD_STOPPED) {
      refusal = "this controller does not command the arm";
    }
    if (!refusal.empty()) {
      report_reference(reference->stamp, false, refusal);
      return;
    }
    reference->number = last_reference_ ? last_reference_->number + 1 : 1;
    last_reference_ = reference;
    reference_.writeFromNonRT(reference);
  }

  // Pass a request on to update(), and wait for its answer.
  void ask(Request request, Trigger::Response & response)
  {
    const std::lock_guard<std::mutex> guard(request_mutex_);
    Status now = status();
    const long before = now.requests;
    if (now.mode != RD_STOPPED) {
      request_ = request;
      const auto end = Clock::now() + Seconds(LONGEST_ANSWER);
      while ((now = status()).requests == before && Clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    response.success = now.requests != before && now.is_granted;
    response.message = now.requests == before ? "this controller does not command the arm"
      : std::string(rd_mode_text[now.mode]) + ": " + text_of(now.reason);
  }

  Status status()
  {
    const std::lock_guard<std::mutex> guard(status_mutex_);
    return shared_;
  }

  // Publish and log what has changed; read the parameter that may change.
  void report()
  {
    const std::lock_guard<std::mutex> guard(report_mutex_);
    const auto node = get_node();
    adapt_ = node->get_parameter("adapt").as_bool();
    const Status now = status();
    if (now.mode != reported_.mode) {
      String message;
      message.data = rd_mode_text[now.mode];
      mode_->publish(message);
      const std::string text = message.data + ": " + text_of(now.reason);
      if (now.mode == RD_SAFE) {
        RCLCPP_ERROR(node->get_logger(), "%s", text.c_str());
      } else {
        RCLCPP_INFO(node->get_logger(), "%s", text.c_str());
      }
#if RD_ESTIMATES > 0
      const std::string path = node->get_parameter("estimates.save_to").as_string();
      if (now.mode == RD_STOPPED && reported_.mode != RD_MODES && !path.empty()) {
        Estimates estimates;
        {
          const std::lock_guard<std::mutex> core_guard(core_mutex_);
          std::copy_n(core_.law.estimate, RD_ESTIMATES, estimates.begin());
        }
        const std::string problem = save_estimates(path, estimates);
        RCLCPP_INFO(node->get_logger(), "%s: estimates %s", path.c_str(),
          problem.empty() ? "saved" : problem.c_str());
      }
#endif
    }
    if (now.reference != reported_.reference) {
      const bool is_followed = now.refusal == RD_FOLLOWED;
      report_reference(last_reference_->stamp, is_followed, is_followed
        ? "a trajectory of " + std::to_string(last_reference_->t.size()) + " points is followed"
        : text_of(rd_refusal_text[now.refusal], now.joint, now.value));
    }
    reported_ = now;
  }

  void report_reference(std::int64_t stamp, bool is_accepted, const std::string & text)
  {
    reference_status_->publish(reference_status(stamp, is_accepted, text));
    if (!is_accepted) {
      RCLCPP_WARN_THROTTLE(get_node()->get_logger(), *get_node()->get_clock(), 2000,
        "trajectory rejected: %s", text.c_str());
    }
  }

  // The C controller, with its last state and command, and the zero of its clock, ns.
  rd_controller core_;
  Joints q_, v_, effort_, tau_;
  std::int64_t origin_ = 0;
  std::mutex core_mutex_;
  std::thread::id cycle_thread_;

  // To and from the other threads.
  realtime_tools::RealtimeBuffer<std::shared_ptr<const Reference>> reference_;
  std::shared_ptr<const Reference> last_reference_;
  std::atomic<Request> request_{Request::None};
  std::atomic<bool> adapt_{true};
  Status latest_, shared_, reported_;  // In update(), between the threads, and reported.
  std::mutex report_mutex_, request_mutex_, status_mutex_;

  std::vector<std::string> joints_, states_;
  std::string command_;
  long telemetry_cycles_ = 0, cycle_ = 0;
  Topic<JointState> error_, command_sent_;
  Topic<Float64MultiArray> timing_, estimate_;
  rclcpp::Publisher<String>::SharedPtr mode_, reference_status_;
  std::vector<std::shared_ptr<void>> endpoints_;  // All others.
};
}  // namespace RD_PACKAGE

PLUGINLIB_EXPORT_CLASS(RD_PACKAGE::ControllerPlugin, controller_interface::ControllerInterface)
