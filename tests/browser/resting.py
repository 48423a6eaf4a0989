"""When a page has done what it was told: a test that looks earlier sees whatever was there before.

A page is at rest when it waits for no answer and for no timer, and has drawn what came of the last one. That is seen in
the page itself, so it holds on a machine of any speed.
"""

from __future__ import annotations

# Run before anything of the page: what it waits for is counted. An answer has come when all of it is there, not when
# its first line is; and what the page does with it is over two frames later. A timer of half a second or more is for a
# studio that is gone, to ask again: the page does not wait for it.
WATCHING = """
(() => {
  const ask = window.fetch;
  const [later, never] = [window.setTimeout, window.clearTimeout];
  const timers = new Set();
  let asked = 0;
  window.waitsForSomething = () => asked > 0 || timers.size > 0;
  window.fetch = async (...given) => {
    asked += 1;
    try {
      const answer = await ask(...given);
      await answer.clone().arrayBuffer();
      return answer;
    } finally {
      later(() => { asked -= 1; }, 0);
    }
  };
  window.setTimeout = (act, delay = 0, ...more) => {
    const timer = later((...given) => { timers.delete(timer); act(...given); }, delay, ...more);
    if (delay < 500) timers.add(timer);
    return timer;
  };
  window.clearTimeout = (timer) => { timers.delete(timer); never(timer); };
})()
"""

_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
_WATCH_SIZE = "() => { window.resized = false; addEventListener('resize', () => { window.resized = true; }); }"


def rest(page) -> None:
    """Wait until the page is at rest."""
    while True:
        page.wait_for_function("() => !window.waitsForSomething()")
        page.evaluate(_FRAMES)
        if not page.evaluate("() => window.waitsForSomething()"):
            return


def resize(page, width: int, height: int) -> None:
    """Another size of the window, and wait until the page has followed it."""
    if page.viewport_size != {"width": width, "height": height}:
        page.evaluate(_WATCH_SIZE)
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function("() => window.resized")
    rest(page)
