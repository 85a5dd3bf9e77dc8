"""What calls cost: an estimate before they are made, a limit that is never passed, and what was really spent."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass

from storyalign.errors import RecipeError
from storyalign.llm.answers import CallFailed, Reply
from storyalign.llm.endpoint import Price


@dataclass(frozen=True, slots=True)
class CallSize:
    """Upper bounds of what one call is charged for."""

    prompt_tokens: int
    reply_tokens: int


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text without a tokenizer: three and a half ASCII characters make one, any other is one.

    English comes out some 15% high, Chinese some 30% high.

    >>> estimate_tokens("The sea was calm."), estimate_tokens("海很平静。")
    (5, 5)
    """
    ascii_characters = len(text.encode("ascii", "ignore"))
    return round(ascii_characters / 3.5) + len(text) - ascii_characters


def dollars(amount: float) -> str:
    """Write an amount so that small ones show.

    >>> dollars(1234.5), dollars(0.00071), dollars(0.0)
    ('$1,234.50', '$0.00071', '$0.00')
    """
    return f"${amount:,.2f}" if amount >= 0.1 or amount == 0 else f"${amount:.2g}"


class Purse:
    """Money that several budgets may share, each in a thread of its own."""

    def __init__(self, limit: float | None):
        """Set the limit in US dollars; None means no limit."""
        self.limit = limit
        self._lock = threading.Lock()
        self._spent = self._reserved = 0.0
        self._under_way = 0

    def take(self, amount: float) -> bool | None:
        """Set an amount aside. None: no room as long as calls are under way; False: no room at all."""
        with self._lock:
            if self.limit is not None and self._spent + self._reserved + amount > self.limit:
                return None if self._under_way else False
            self._reserved += amount
            self._under_way += 1
            return True

    def settle(self, amount: float, cost: float) -> None:
        """Replace an amount that was set aside by what was spent."""
        with self._lock:
            self._reserved -= amount
            self._under_way -= 1
            self._spent += cost


class Budget:
    """Money for calls. A call reserves its upper bound before it is made, so the limit holds with many at once."""

    def __init__(self, limit: float | None, price: Price | None, purse: Purse | None = None):
        """Set the limit in US dollars; None means no limit. A purse that is given brings its own.

        Raises:
            RecipeError: a limit without a known price.
        """
        self._purse = purse or Purse(limit)
        if self.limit is not None and price is None:
            raise RecipeError(
                "a cost limit needs a price; add price: {prompt: ..., reply: ...} to the endpoint's entry"
            )
        self.price = price
        self.prompt_tokens = self.reply_tokens = 0
        self.used_up = False
        """A call did not fit any more; nothing is asked from then on."""

    @property
    def limit(self) -> float | None:
        """US dollars; None means no limit."""
        return self._purse.limit

    @property
    def spent(self) -> float | None:
        """US dollars so far, by the endpoint's own counts where it gives them; None where no price is known."""
        return None if self.price is None else self.price.cost(self.prompt_tokens, self.reply_tokens)

    async def reserve(self, size: CallSize) -> bool:
        """Set the bound of one call aside; waits for calls under way, False when the limit leaves no room."""
        bound = self._bound(size)
        while not self.used_up:
            taken = self._purse.take(bound)
            if taken:
                return True
            self.used_up = taken is False
            await asyncio.sleep(0.01)
        return False

    def settle(self, size: CallSize, *, billed: bool, reply: Reply | CallFailed | None = None) -> CallSize:
        """Replace the reservation of one try by its cost and return that in tokens.

        The cost is what the endpoint counted, of a failed try as well, else the bound where the try may be billed.
        """
        charged = CallSize(0, 0)
        if billed:
            prompt = reply.prompt_tokens if reply else None
            answer = reply.reply_tokens if reply else None
            charged = CallSize(
                size.prompt_tokens if prompt is None else prompt, size.reply_tokens if answer is None else answer
            )
            self.prompt_tokens += charged.prompt_tokens
            self.reply_tokens += charged.reply_tokens
        self._purse.settle(self._bound(size), self._bound(charged))
        return charged

    def _bound(self, size: CallSize) -> float:
        return 0.0 if self.price is None else self.price.cost(size.prompt_tokens, size.reply_tokens)
