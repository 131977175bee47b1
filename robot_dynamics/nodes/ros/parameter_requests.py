# SPDX-License-Identifier: Apache-2.0
"""How much of a node's parameters may be asked for, or changed, in one request.

rclpy goes through a request from one end to the other, and a controller answers no joint
state meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)

#: Parameters in a request that asks for them, and in one that changes them: more than any node
#: has, for ``ros2 param load`` sends all of a file in one.
MOST_ASKED_FOR, MOST_CHANGED = 250, 100

#: Of each request: the field that counts, and the most in it.
_BOUNDS: dict[type, tuple[str, int]] = {
    DescribeParameters: ('names', MOST_ASKED_FOR), GetParameters: ('names', MOST_ASKED_FOR),
    GetParameterTypes: ('names', MOST_ASKED_FOR), ListParameters: ('prefixes', MOST_ASKED_FOR),
    SetParameters: ('parameters', MOST_CHANGED),
    SetParametersAtomically: ('parameters', MOST_CHANGED)}

Serve = Callable[[Any, Any], Any]


def bounded(srv_type: type, callback: Serve) -> Serve:
    """Return what serves requests that are not too large by a callback, and refuses the others.

    Parameters
    ----------
    srv_type : type
        Of the service. Where it is none for parameters, the callback itself is returned.
    callback : callable
        Takes request and response and returns the response.
    """
    field, most = _BOUNDS.get(srv_type, ('', 0))
    if not field:
        return callback

    def serve(request: Any, response: Any) -> Any:
        count = len(getattr(request, field))
        if count <= most:
            return callback(request, response)
        refusal = SetParametersResult(
            successful=False, reason=f'{count} {field}, more than {most}: ask in parts')
        if srv_type is SetParameters:
            # One answer for all of them: as many would take as long as what is refused.
            response.results = [refusal]
        elif srv_type is SetParametersAtomically:
            response.result = refusal
        return response

    return serve
