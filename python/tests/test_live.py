"""Real sockets from Python, over the loopback of this host."""

import asyncio
import inspect
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import thalweg
import thalweg.aio
from thalweg import _thalweg


@pytest.fixture(autouse=True)
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "keys"))
    # Several threads may request the first key at once.
    with ThreadPoolExecutor(4) as pool:
        public_keys = set(pool.map(lambda _: thalweg.key(), range(4)))
    assert len(public_keys) == 1 and len(public_keys.pop()) > 20


def free_port() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


class Aimd(thalweg.Controller):
    def on_ack(self, sample: thalweg.Sample) -> None:
        self.window += 1

    def on_loss(self, sample: thalweg.Sample) -> None:
        self.window = max(2, self.window / 2)


def test_files_go_from_one_thread_to_another(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(range(256)) * 1000)
    address, received = free_port(), []
    receiver = threading.Thread(
        target=lambda: received.append(thalweg.recv(tmp_path / "inbox", listen=address, trust="new", controllers={"aimd": Aimd}, allow_scheme="aimd"))
    )
    receiver.start()
    sent = thalweg.send([tmp_path / "data"], address, Aimd, trust="new", keep_trying=True)
    receiver.join(timeout=60)
    assert (tmp_path / "inbox/data").read_bytes() == (tmp_path / "data").read_bytes()
    assert sent["command"] == "send" and received[0]["command"] == "recv"


def test_the_default_scheme_is_that_of_the_commands() -> None:
    code, printed, _, _ = _thalweg.call(["bench", "--json", "--time=200 ms"], [], "")
    scheme = json.loads(printed)["scheme"]
    assert code == 0 and scheme.startswith("thalweg")
    assert thalweg.bench(time="200 ms")["scheme"] == asyncio.run(thalweg.aio.bench(time="200 ms"))["scheme"] == scheme
    for call in (thalweg.send, thalweg.aio.send):
        assert inspect.signature(call).parameters["scheme"].default is None


def test_warnings_of_coroutines_are_at_the_call() -> None:
    path = {
        "duration": "2 s",
        "link": [{"name": "core", "between": ["a", "b"], "rate": "10 Mbit/s", "delay": "5 ms", "queue": "50 pkt"}],
        "flow": [{"from": "a", "to": "b", "scheme": "dctcp"}],
    }

    async def calls() -> None:
        await thalweg.aio.run(path)
        failing = {**path, "flow": [*path["flow"], {"name": "other", "from": "a", "to": "b", "scheme": "failing"}]}
        with pytest.raises(thalweg.RunError):
            await thalweg.aio.run(failing, controllers={"failing": thalweg.Controller})

    with pytest.warns(thalweg.ScenarioWarning, match="no queue on their way marks") as caught:
        asyncio.run(calls())
    assert [warned.filename for warned in caught if "marks" in str(warned.message)] == [__file__] * 2


def test_asyncio_runs_and_ends_runs() -> None:
    async def both() -> None:
        one, other = await asyncio.gather(
            thalweg.aio.run("two-flows", seed=3, set={"duration": "6 s"}), thalweg.aio.compare("two-flows", ["cubic"], seed=3, set={"duration": "6 s"})
        )
        assert one.fingerprint == thalweg.run("two-flows", seed=3, set={"duration": "6 s"}).fingerprint and len(other.fingerprints) == 1
        long = asyncio.create_task(thalweg.aio.run("dumbbell", set={"duration": "100000 s"}))
        await asyncio.sleep(0.1)
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long

    asyncio.run(asyncio.wait_for(both(), timeout=120))


@pytest.mark.parametrize("turns", range(4))
def test_asyncio_ends_runs_cancelled_in_any_turn(turns: int) -> None:
    async def cancelled() -> None:
        long = asyncio.create_task(thalweg.aio.run("dumbbell", set={"duration": "200 s"}))
        for _ in range(turns):
            await asyncio.sleep(0)
        long.cancel()
        # Another cancellation ends the waiting no sooner.
        asyncio.get_running_loop().call_soon(long.cancel)
        with pytest.raises(asyncio.CancelledError):
            await long
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(cancelled())


def test_asyncio_goes_on_while_bytes_move_and_ends_them(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"x" * 100_000)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    async def both() -> None:
        ticking = asyncio.create_task(tick())
        address = free_port()
        await asyncio.gather(
            thalweg.aio.recv(tmp_path / "inbox", listen=address, trust="new"),
            thalweg.aio.send([tmp_path / "data"], address, trust="new", keep_trying=True),
        )
        waiting = asyncio.create_task(thalweg.aio.recv(tmp_path / "other", listen=address, trust="new"))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        ticking.cancel()

    asyncio.run(asyncio.wait_for(both(), timeout=120))
    assert (tmp_path / "inbox/data").stat().st_size == 100_000 and ticks > 5
