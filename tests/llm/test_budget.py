import asyncio

import pytest

from storyalign.errors import RecipeError
from storyalign.llm.answers import Reply
from storyalign.llm.budget import Budget, CallSize, Purse
from storyalign.llm.endpoint import Price

DOLLAR = Price(prompt=0.0, reply=1_000_000.0)  # a dollar for each token of a reply
CALL = CallSize(prompt_tokens=0, reply_tokens=4)


def test_budgets_share_a_purse():
    purse = Purse(10.0)
    one, other = Budget(None, DOLLAR, purse), Budget(None, DOLLAR, purse)

    async def spend() -> None:
        assert await one.reserve(CALL)  # 4 of 10
        assert await other.reserve(CALL)  # 8 of 10
        waiting = asyncio.create_task(one.reserve(CALL))  # 12 would be too much, but calls are under way
        await asyncio.sleep(0.05)
        assert not waiting.done()
        other.settle(CALL, billed=True, reply=Reply("x", 0, 1))  # 4 + 1
        assert await waiting  # 4 + 1 + 4 = 9
        one.settle(CALL, billed=False)
        one.settle(CALL, billed=True)  # no counts: the bound, 4; 5 are spent
        assert await other.reserve(CALL)  # 9
        other.settle(CALL, billed=True, reply=Reply("x", 0, 4))  # 9 are spent
        assert not await one.reserve(CALL)
        assert not await other.reserve(CALL)

    asyncio.run(spend())
    assert (one.spent, other.spent) == (4.0, 5.0)
    assert one.used_up
    assert other.used_up


def test_a_limit_needs_a_price():
    with pytest.raises(RecipeError, match="a cost limit needs a price"):
        Budget(None, None, Purse(1.0))
    assert Budget(None, None).spent is None
