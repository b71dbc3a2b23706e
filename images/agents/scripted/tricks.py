"""Every trick by the name of its agent; what each hopes for and must get stands in cheats.py."""

from __future__ import annotations

import against_limits
import against_pytest
import against_python
import against_readers
import against_wiring

TRICKS = {
    **against_limits.tricks,
    **against_pytest.tricks,
    **against_python.tricks,
    **against_readers.tricks,
    **against_wiring.tricks,
}
