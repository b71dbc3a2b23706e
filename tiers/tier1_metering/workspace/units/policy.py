"""Numbers that more than one package goes by, so that no package has to import another for them."""

from __future__ import annotations

SLOTS = 96
DUE_DAYS = 10
#:if R4
FREE_DAYS = <<rem_free>>
#:else
#:if R8
FREE_DAYS = <<rem_free>>
#:end
#:end
