"""Prints the address of the container engine that answers, looked for where takeover itself looks.

Exit code 1 when none does; 2 when the one that the user named does not, and a line on stderr says which.
"""

from __future__ import annotations

import sys

from takeover.sandbox.dockerapi import connect
from takeover.sandbox.endpoint import default_endpoints
from takeover.sandbox.errors import EngineUnavailable

TIMEOUT = 5


def main() -> int:
    """0, 1 or 2 as the module says."""
    try:
        places = default_endpoints()
    except EngineUnavailable as error:
        print(error, error.hint or "", sep="\n", file=sys.stderr)
        return 2
    for place in places:
        try:
            connect(place, TIMEOUT).close()
        except EngineUnavailable as error:
            if place.named:
                print(error, error.hint or "", sep="\n", file=sys.stderr)
                return 2
        else:
            print(place.url)
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
