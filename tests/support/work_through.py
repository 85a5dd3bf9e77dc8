"""Judges every group for one person and says each verdict once it is saved: ``work_through.py STORE NAME PAUSE``."""

import sys
import time

from storyalign.annotation.store import Store
from storyalign.annotation.verdicts import Answer, make_verdict

store = Store(sys.argv[1])
store.change_settings(check_every=0)
me = store.sign_in(sys.argv[2])
while (claim := store.claim_next(me)) is not None:
    order = tuple(range(len(claim.task.stories)))
    answer = Answer(order, tuple(10 - place for place in order))
    store.give(make_verdict(claim.task, answer, me.key, claim.kind, 1.0))
    print(claim.task.id, me.key, flush=True)
    time.sleep(float(sys.argv[3]))
