// SPDX-License-Identifier: Apache-2.0
//
// The controller of one arm as a plugin of ros2_control.
//
// Everything that decides on efforts is in the C files (controller.h). This class connects them
// with ros2_control: interfaces, parameters, topics, services and an action, named as those of the
// Python nodes of robot_dynamics, so that its recorder, reports and views serve both.
//
// update() runs in the thread of the controller manager: it neither allocates nor waits. Callbacks
// run in the executor: they pass references and requests on to update(), and report what became
// of them.
#include <algorithm>
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
#include <std_msgs/msg/string.hpp>
#include <std_srvs/srv/trigger.hpp>

#include "controller.h"
#include "estimates_file.hpp"
#include "messages.hpp"
#include "names.hpp"
#include "references.hpp"
#include "ros_versions.hpp"
#include "status.hpp"
#include "telemetry.hpp"
#if RD_GUIDES
#include "pose_topics.hpp"
#else
#include "follow_joint_trajectory.hpp"
#endif

// RD_PACKAGE is the name of the package: one process may load two generated controllers.
namespace RD_PACKAGE
{
using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;
using rclcpp_lifecycle::State;
using std_msgs::msg::String;
using std_srvs::srv::Trigger;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Time between two reports of mode, references and parameters. s.
constexpr double REPORT_PERIOD = 0.01;
// Longest time to bring the arm to rest, and to change to the safe effort. s.
constexpr double LONGEST_STOP = 1.0, LONGEST_WIND_DOWN = 0.5;
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
    auto_declare<std::vector<double>>("constraints.trajectory", {0.0});
    auto_declare<std::vector<double>>("constraints.goal", {0.05});
    auto_declare<double>("constraints.stopped_velocity_tolerance", 0.1);
    auto_declare<double>("constraints.goal_time", 5.0);
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
    for (const char * name : {"constraints.trajectory", "constraints.goal"}) {
      const std::size_t size = node->get_parameter(name).as_double_array().size();
      if (size != 1 && size != RD_N) {
        return fail(std::string(name) + " must have one value, or one for each joint");
      }
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
    const rclcpp::Time now = get_node()->now();
    origin_ = now.nanoseconds();
    // References and requests from before belong to another time.
    if (const Reference * reference = references_.next(latest_.reference)) {
      latest_.reference = reference->number;
      latest_.refusal = RD_NOT_TRACKING;
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

  // Where another thread deactivates, the cycle goes on: there is time to stop. So it is at the end
  // of the controller manager, and in later releases at every request, after the hardware has
  // changed its mode. Within the cycle there is only the last command.
  CallbackReturn on_deactivate(const State &) override
  {
    const std::lock_guard<std::mutex> guard(core_mutex_);
    if (std::this_thread::get_id() != cycle_thread_) {
      come_to_rest();
    }
    if (rd_stop(&core_, tau_.data())) {
      write_command();
    }
    note_status();
    status_.set(latest_);
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_cleanup(const State &) override
  {
    if (!endpoints_.empty()) {  // It was configured.
      report();
#if RD_GUIDES
      poses_.close();
#else
      action_.close();
#endif
      references_.close();
      telemetry_.close();
      endpoints_.clear();
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
    cycle_thread_ = std::this_thread::get_id();
    const Clock::time_point begin = Clock::now();
    core_.adapt_enabled = adapt_;
    answer_request();
    answer_reference();
#if RD_GUIDES
    poses_.answer(core_);
#endif
    answer_state(time);
    note_status();
    watch_path();
    const double latency = (get_node()->now() - time).seconds();
    status_.try_set(latest_);
    telemetry_.publish(time, core_, tau_);
    telemetry_.note_times(latency, Seconds(Clock::now() - begin).count());
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
    const Reference * reference = references_.next(latest_.reference);
    if (!reference) {
      return;
    }
    latest_.reference = reference->number;
    latest_.refusal = RD_FOLLOWED;
    if (reference->t.empty()) {
      rd_cancel_reference(&core_);
    } else {
      const double start = reference->stamp ? since_origin(reference->stamp) : 0.0;
      latest_.refusal = rd_reference(
        &core_, static_cast<int>(reference->t.size()), start, reference->t.data(),
        reference->q.data(), reference->v.empty() ? nullptr : reference->v.data(),
        reference->a.empty() ? nullptr : reference->a.data());
      latest_.joint = core_.trajectory.joint;
      latest_.value = core_.trajectory.value;
    }
    if (latest_.refusal == RD_FOLLOWED) {
      latest_.followed = reference->number;
      latest_.violation = {};
      path_ = reference->path;
    }
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

  void note_status()
  {
    latest_.mode = core_.mode;
    latest_.reason = core_.reason;
    latest_.time = core_.stamp;
    latest_.end = rd_trajectory_end(&core_.trajectory);
    for (std::size_t i = 0; i < RD_N; ++i) {
      latest_.q_d[i] = core_.q_d[i];
      latest_.v_d[i] = core_.v_d[i];
      latest_.a_d[i] = core_.a_d[i];
      latest_.q[i] = core_.monitor.q[i];
      latest_.v[i] = core_.monitor.v[i];
    }
  }

  // Stop the arm on its path where it leaves the bounds of its reference.
  void watch_path()
  {
    if (latest_.mode != RD_TRACKING || latest_.time >= latest_.end || latest_.violation.what) {
      return;
    }
    latest_.violation = find_violation(
      path_, difference(latest_.q_d, latest_.q), difference(latest_.v_d, latest_.v));
    if (latest_.violation.what) {
      rd_cancel_reference(&core_);
    }
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

  void open_endpoints()
  {
    const auto node = get_node();
    telemetry_.open(*node, node->get_parameter("telemetry_rate").as_double());
    const rclcpp::QoS latched = rclcpp::QoS(1).reliable().transient_local();
    mode_ = node->create_publisher<String>("~/mode", latched);
#if RD_ESTIMATES > 0
    const auto names = node->create_publisher<String>("~/parameter_names", latched);
    names->publish(json_array(rd_estimate_names, RD_ESTIMATES));
    endpoints_.push_back(names);
#endif
    for (const auto & [name, request] :
      {std::make_pair("~/stop", Request::Stop), std::make_pair("~/resume", Request::Resume)})
    {
      endpoints_.push_back(node->create_service<Trigger>(
        name, [this, request = request](
          const std::shared_ptr<Trigger::Request>, const std::shared_ptr<Trigger::Response> answer)
        {ask(request, *answer);}));
    }
    references_.open(
      node, node->get_parameter("reference_topic").as_string(), joints_, status_);
#if RD_GUIDES
    poses_.open(node);
#else
    action_.open(node, joints_);
#endif
    reported_ = RD_MODES;  // Report the first mode.
    endpoints_.push_back(
      node->create_wall_timer(Seconds(REPORT_PERIOD), [this] {report();}));
  }

  // Pass a request on to update(), and wait for its answer.
  void ask(Request request, Trigger::Response & response)
  {
    const std::lock_guard<std::mutex> guard(request_mutex_);
    Status now = status_.get();
    const long before = now.requests;
    if (now.mode != RD_STOPPED) {
      request_ = request;
      now = status_.wait_for([before](const Status & each) {return each.requests != before;});
    }
    response.success = now.requests != before && now.is_granted;
    response.message = now.requests == before ? "this controller does not command the arm"
      : std::string(rd_mode_text[now.mode]) + ": " + text_of(now.reason);
  }

  // Publish and log what has changed; read the parameter that may change.
  void report()
  {
    const std::lock_guard<std::mutex> guard(report_mutex_);
    const auto node = get_node();
    adapt_ = node->get_parameter("adapt").as_bool();
    const Status now = status_.get();
    if (now.mode != reported_) {
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
      if (now.mode == RD_STOPPED && reported_ != RD_MODES && !path.empty()) {
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
    references_.report(now);
    reported_ = now.mode;
  }

  // The C controller, with its last state and command, and the zero of its clock, ns.
  rd_controller core_;
  Joints q_, v_, effort_, tau_;
  std::int64_t origin_ = 0;
  ErrorBounds path_;
  std::mutex core_mutex_;
  std::thread::id cycle_thread_;

  // To and from the other threads.
  References references_;
  std::atomic<Request> request_{Request::None};
  std::atomic<bool> adapt_{true};
  Status latest_;  // In update().
  SharedStatus status_;
  rd_mode reported_ = RD_MODES;
  std::mutex report_mutex_, request_mutex_;

  std::vector<std::string> joints_, states_;
  std::string command_;
  Telemetry telemetry_;
#if RD_GUIDES
  PoseTopics poses_{status_};
#else
  TrajectoryAction action_{references_, status_};
#endif
  rclcpp::Publisher<String>::SharedPtr mode_;
  std::vector<std::shared_ptr<void>> endpoints_;  // All others.
};
}  // namespace RD_PACKAGE

PLUGINLIB_EXPORT_CLASS(RD_PACKAGE::ControllerPlugin, controller_interface::ControllerInterface)
