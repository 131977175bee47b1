# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
import yaml

from robot_dynamics.bringup.descriptions import load_description
from robot_dynamics.bringup.plants import find_plant, shipped_plants
from robot_dynamics.bringup.system import SWITCHABLE, System
from robot_dynamics.elastic.configuration import shipped_elastic_joints
from robot_dynamics.errors import BringupError, ModelError
from robot_dynamics.model.robot import Robot
from robot_dynamics.model.shipped import resolve_robot
from robot_dynamics.nodes.controllers import CONTROLLER_NODES, CONTROLLERS


def names(system):
    return [process.node for process in system.processes()]


def by_name(system):
    return {process.node: process for process in system.processes()}


def test_everything_runs_in_the_order_of_starting(tmp_path):
    assert names(System(record=tmp_path)) == [
        'recorder', 'simulated_arm', 'adaptive_controller', 'inverse_dynamics', 'reference']


def test_an_arm_that_runs_already_gets_a_controller_only():
    system = System(robot='', plant='none', reference='none', inverse_dynamics=False)
    controller, guard = system.processes()
    assert controller.node == 'adaptive_controller'
    assert guard.node == 'command_guard'
    assert 'robot_description' not in controller.parameters
    assert controller.parameters['description_timeout'] > 10.0


def test_a_robot_that_floats_is_refused_before_anything_starts(tmp_path):
    path = tmp_path / 'floating.urdf'
    path.write_text(Robot.from_urdf(load_description('arm7').path, floating_base=True).to_urdf())
    with pytest.raises(ModelError, match='floating_base is floating, but control needs'):
        System(robot=str(path)).processes()


def test_without_controller_nothing_leads_the_arm():
    assert names(System(controller='none')) == ['simulated_arm', 'inverse_dynamics']


def test_all_nodes_share_robot_namespace_and_time():
    system = System(namespace='left', use_sim_time=True, spin='events')
    for process in system.processes():
        assert process.namespace == 'left'
        assert process.parameters['use_sim_time'] is True
        assert process.parameters['spin'] == 'events'
        robot = Robot.from_urdf(process.parameters['robot_description'])
        assert robot.joint_names == load_description('arm7').robot.joint_names


def test_arm_and_controller_agree_on_the_rate():
    processes = by_name(System(rate=250.0))
    assert {processes[name].parameters['rate']
            for name in ('simulated_arm', 'adaptive_controller')} == {250.0}


def test_a_seed_reaches_arm_and_reference():
    processes = by_name(System(seed=7))
    assert processes['simulated_arm'].parameters['seed'] == 7
    assert processes['reference'].parameters['seed'] == 7


@pytest.mark.parametrize(('controller', 'node'), [
    ('adaptive', 'adaptive_controller'), ('fixed', 'adaptive_controller'),
    ('feedforward_lq', 'feedforward_lq_controller'),
    ('computed_torque', 'computed_torque_controller'),
    ('pd_gravity', 'pd_gravity_controller'), ('elastic_pd', 'elastic_pd_controller'),
    ('gravity', 'gravity_compensation_controller')])
def test_controllers(controller, node):
    processes = by_name(System(controller=controller))
    assert [name for name in processes if name.endswith('_controller')] == [node]
    parameters = processes[node].parameters
    assert parameters.get('adapt') is {'adaptive': True, 'fixed': False}.get(controller)
    assert 'autostart' not in parameters
    # Nobody leads an arm that is led by hand.
    assert ('reference' in processes) == (controller != 'gravity')


def test_standby_controllers_wait_for_being_started():
    processes = by_name(System(controller='fixed', standby='gravity, pd_gravity,adaptive'))
    assert [name for name in processes if name.endswith('_controller')] == [
        'adaptive_controller', 'gravity_compensation_controller', 'pd_gravity_controller']
    assert 'autostart' not in processes['adaptive_controller'].parameters
    assert processes['pd_gravity_controller'].parameters['autostart'] is False
    everybody = by_name(System(controller='gravity', standby='all'))
    assert len([name for name in everybody if name.endswith('_controller')]) == 6
    assert 'reference' in everybody
    with pytest.raises(BringupError, match='choose among: adaptive, feedforward_lq'):
        System(standby='pd_gravity,none')


def test_an_arm_is_elastic_where_its_controller_is_made_for_that():
    springs = str(shipped_elastic_joints()['arm7'])
    processes = by_name(System(controller='elastic_pd', standby='all'))
    assert {name for name, process in processes.items()
            if process.parameters.get('elastic_joints') == springs} == {
        'simulated_arm', 'elastic_pd_controller'}
    assert not any('elastic_joints' in process.parameters for process in System().processes())
    # Said so, it is elastic under any controller.
    processes = by_name(System(elastic_joints='arm7', standby='elastic_pd'))
    assert list(processes)[:3] == ['simulated_arm', 'adaptive_controller',
                                   'elastic_pd_controller']
    assert 'elastic_joints' in processes['simulated_arm'].parameters
    # The parameters of a driver may have it.
    assert 'elastic_joints' not in by_name(System(
        controller='elastic_pd', plant='none'))['elastic_pd_controller'].parameters
    assert by_name(System(robot='', controller='elastic_pd', plant='none',
                          elastic_joints='/my.yaml'))[
        'elastic_pd_controller'].parameters['elastic_joints'] == '/my.yaml'


def test_springs_that_are_not_there_are_refused_before_anything_starts(tmp_path):
    with pytest.raises(BringupError, match='needs elastic joints; describe them'):
        System(standby='elastic_pd').processes()
    with pytest.raises(BringupError, match=r'no file for puma560\.urdf'):
        System(controller='elastic_pd', robot='puma560').processes()
    with pytest.raises(ModelError, match='joint3'):
        System(elastic_joints='planar_2r').processes()
    with pytest.raises(ModelError, match='did you mean arm7'):
        System(elastic_joints='arm8').processes()
    path = tmp_path / 'tagged.urdf'
    path.write_text(resolve_robot('planar_2r').read_text().replace('</robot>', ''.join(
        f'<ros2_control name="{k}" type="system"><joint name="joint{k}">'
        '<param name="stiffness">1e4</param><param name="rotor_inertia">1e-4</param>'
        '<param name="mechanical_reduction">50</param></joint></ros2_control>'
        for k in (1, 2)) + '</robot>'))
    processes = by_name(System(controller='elastic_pd', robot=str(path)))
    assert processes['simulated_arm'].parameters['elastic_joints'] == 'description'


def test_further_parameters_win():
    system = System(parameters={'reference': {'seed': 9, 'speed': 0.2}})
    assert by_name(system)['reference'].parameters['seed'] == 9
    assert by_name(system)['reference'].parameters['speed'] == 0.2


@pytest.mark.parametrize(('options', 'words'), [
    ({'controller': 'pid'}, 'pid is not a controller; choose one of: adaptive'),
    ({'rate': 0.0}, 'rate must be a positive number, got 0.0'),
    ({'rate': float('nan')}, 'rate must be a positive number, got nan'),
    ({'robot': ''}, 'robot is empty')])
def test_wrong_choices_are_refused(options, words):
    with pytest.raises(BringupError, match=words):
        System(**options)


def test_unknown_robots_and_plants_are_refused_before_anything_starts():
    with pytest.raises(ModelError, match='arm8'):
        System(robot='arm8').processes()
    with pytest.raises(ModelError, match=r'heavy.*nor none;.*loaded, nominal'):
        System(plant='heavy').processes()


def test_a_plant_may_be_a_file_of_ones_own(tmp_path):
    path = tmp_path / 'mine.yaml'
    path.write_text('/**: {ros__parameters: {payload_mass: 1.0}}\n')
    assert by_name(System(plant=str(path)))['simulated_arm'].parameter_files == (path,)


def test_shipped_plants_hold_parameters_that_simulated_arm_has():
    simulated_arm = pytest.importorskip('robot_dynamics.nodes.simulated_arm',
                                        reason='needs ROS 2')
    known = {parameter.name for parameter in simulated_arm.TABLE}
    assert list(shipped_plants()) == ['loaded', 'nominal']
    for path in shipped_plants().values():
        (section,) = yaml.safe_load(path.read_text()).values()
        assert set(section['ros__parameters']) <= known


@pytest.mark.slow
def test_every_parameter_that_is_passed_exists(tmp_path):
    pytest.importorskip('rclpy', reason='needs ROS 2')
    from importlib import import_module

    from robot_dynamics.bringup.demo import make_plan
    from robot_dynamics.nodes.ros.node import RUNTIME_PARAMETERS
    ours = {parameter.name for parameter in RUNTIME_PARAMETERS} | {'use_sim_time'}
    plans = [make_plan(controller=name) for name in (*SWITCHABLE, 'fixed')]
    for process in (*System(record=tmp_path, standby='all').processes(),
                    *(process for plan in plans for process in plan.processes())):
        module = import_module(process.module)
        known = ours | {parameter.name for parameter in module.TABLE}
        if process.node.endswith('_controller'):
            from robot_dynamics.nodes.controller.parameters import CONTROLLER_PARAMETERS
            from robot_dynamics.nodes.ros.lifecycle import AUTOSTART
            known |= {parameter.name for parameter in (AUTOSTART, *CONTROLLER_PARAMETERS)}
        assert set(process.parameters) - {'robot_description'} <= known, process.node


def test_controllers_are_described():
    assert all(controller.text for controller in CONTROLLERS.values())
    assert set(CONTROLLER_NODES) == {CONTROLLERS[name].node for name in SWITCHABLE}


def test_descriptions_are_passed_on_as_they_are():
    description = load_description('arm7')
    assert description.urdf == description.path.read_text()


def test_a_dh_table_becomes_a_urdf():
    description = load_description('puma560.yaml')
    assert description.urdf.lstrip().startswith('<')
    assert Robot.from_urdf(description.urdf).n == description.robot.n == 6


def test_a_xacro_file_is_expanded(tmp_path):
    pytest.importorskip('xacro', reason='needs xacro')
    text = load_description('planar_2r').path.read_text()
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text(text.replace('<robot ', '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ')
                    .replace('</robot>', '<xacro:property name="unused" value="1"/></robot>'))
    description = load_description(path)
    assert '<xacro:' not in description.urdf and 'xmlns:xacro' not in description.urdf
    # What dynamics has no use for is kept: others draw it.
    assert description.urdf.count('<visual') == text.count('<visual') > 0
    assert Robot.from_urdf(description.urdf).n == 2


def test_find_plant_expands_home(monkeypatch, tmp_path):
    monkeypatch.setenv('HOME', str(tmp_path))
    (tmp_path / 'p.yaml').write_text('')
    assert find_plant('~/p.yaml') == Path(tmp_path / 'p.yaml').resolve()


def plant_file(folder, text):
    path = folder / 'plant.yaml'
    path.write_text('/**:\n  ros__parameters: ' + text + '\n')
    return str(path)


def test_a_shipped_payload_is_made_to_suit_the_robot():
    system = System(robot='planar_2r', plant='loaded')
    arm = by_name(system)['simulated_arm'].parameters
    assert arm['payload_mass'] == 0.97 == system.plant_parameters()['payload_mass']
    assert system.plant_parameters()['mass_scale'] == pytest.approx(1 / 1.3)
    assert 'payload_mass' not in by_name(System(plant='loaded'))['simulated_arm'].parameters
    assert 'payload_mass' not in by_name(
        System(robot='planar_2r', plant='nominal'))['simulated_arm'].parameters


def test_a_payload_of_the_user_stays_as_it_is(tmp_path):
    system = System(robot='planar_2r', plant=plant_file(tmp_path, '{payload_mass: 3.0}'))
    assert 'payload_mass' not in by_name(system)['simulated_arm'].parameters
    assert system.plant_parameters() == {'payload_mass': 3.0}


@pytest.mark.parametrize(('wait', 'timeout'), [(0.4, 0.9), (1, 1.5), (2.0, 2.5), (10.0, 10.0)])
def test_controllers_hear_longer_of_an_arm_than_it_waits_for_them(tmp_path, wait, timeout):
    plant = plant_file(tmp_path, f'{{wait_for_commands: {wait}}}')
    nodes = by_name(System(plant=plant, standby='gravity'))
    for name in ('adaptive_controller', 'gravity_compensation_controller'):
        assert nodes[name].parameters['state_timeout'] == timeout


@pytest.mark.parametrize('values', ['{payload_mass: 1.0}', '{wait_for_commands: often}'])
def test_an_arm_that_does_not_wait_keeps_the_timeout(tmp_path, values):
    nodes = by_name(System(plant=plant_file(tmp_path, values)))
    assert 'state_timeout' not in nodes['adaptive_controller'].parameters


@pytest.mark.parametrize('controller', ['adaptive', 'none'])
def test_a_plant_that_is_of_another_node_is_refused(tmp_path, controller):
    path = tmp_path / 'mine.yaml'
    path.write_text('simulated_robot: {ros__parameters: {payload_mass: 1.0}}\n')
    with pytest.raises(BringupError,
                       match='has sections for simulated_robot, none for /simulated_arm'):
        System(plant=str(path), controller=controller).processes()


@pytest.mark.parametrize(('name', 'namespace'), [
    ('simulated_arm', ''), ('/**', ''), ('/*', ''), ('/**', 'left'), ('/**', 'cell/left'),
    ('/left/simulated_arm', 'left'), ('/*/simulated_arm', 'left'), ('/**/simulated_arm', 'left')])
def test_a_plant_has_only_parameters_of_the_arm(tmp_path, name, namespace):
    path = tmp_path / 'mine.yaml'
    path.write_text(f'{name}: {{ros__parameters: {{payload_mass: 1.0}}}}\n'
                    'reference: {ros__parameters: {payload_mass: 2.0}}\n')
    assert System(plant=str(path), namespace=namespace).plant_parameters() == {'payload_mass': 1.0}


@pytest.mark.parametrize('name', ['simulated_arm', '/right/simulated_arm', '/*', 'left'])
def test_a_plant_of_an_arm_elsewhere_is_refused(tmp_path, name):
    path = tmp_path / 'mine.yaml'
    path.write_text(f'{name}: {{ros__parameters: {{payload_mass: 1.0}}}}\n')
    with pytest.raises(BringupError, match='none for /left/simulated_arm; write: /left/simul'):
        System(plant=str(path), namespace='left').processes()


def test_only_a_simulated_arm_is_moved_again_by_itself():
    assert by_name(System(rate=200.0))['adaptive_controller'].parameters['resume_after'] == 40
    for controller in ('adaptive', 'feedforward_lq', 'computed_torque', 'pd_gravity', 'elastic_pd',
                       'gravity'):
        for node in System(controller=controller, plant='none').processes():
            assert 'resume_after' not in node.parameters
