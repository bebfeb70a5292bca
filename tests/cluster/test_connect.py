"""Ways to get to a cluster."""

from pathlib import Path

import pytest
from distributed import LocalCluster
from lib.workers import DASK_WARNINGS

from luce import LuceError
from luce.cli import main
from luce.cluster.connect import check_cluster, connected, workers_of

pytestmark = [pytest.mark.cluster, *DASK_WARNINGS]


def test_ways_to_name_a_cluster(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with connected(None) as nobody:
        assert nobody is None
    with connected(cluster.scheduler_address) as own:
        assert own is not None
        assert len(workers_of(own)) == 2
        with connected(own) as same:
            assert same is own
    assert own.status == "closed"
    monkeypatch.setattr("luce.cluster.connect.PATIENCE_SECONDS", 0.5)
    with (
        pytest.raises(LuceError, match="no Dask scheduler answers at 'tcp://127"),
        connected("tcp://127.0.0.1:9"),
    ):
        pytest.fail("somebody answered")


def test_what_is_no_cluster_is_refused() -> None:
    for wrong in (5, ["local"], b"local"):
        with pytest.raises(LuceError, match="cluster = "):
            check_cluster(wrong)
        with pytest.raises(LuceError, match="cluster = "), connected(wrong):  # type: ignore[arg-type]
            pytest.fail("it is no cluster")
    for named in (None, "local", "tcp://127.0.0.1:9"):
        check_cluster(named)  # without looking for it


def test_processes_of_this_machine_are_started_and_stopped() -> None:
    with connected("local", workers=1) as client:
        assert client is not None
        assert client.submit(sum, [1, 2]).result(timeout=30) == 3
    assert client.status == "closed"


@pytest.mark.slow
def test_the_command_draws_on_a_cluster(
    cluster: LocalCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("luce.cluster.connect.PATIENCE_SECONDS", 2.0)
    pairs = [(k % 6, (k * k + k // 6 + 1 + k % 6) % 6) for k in range(400)]
    rows = [f"player {a},player {b}" for a, b in pairs if a != b]
    (tmp_path / "games.csv").write_text("\n".join(["winner,loser", *rows]))
    common = ["fit", str(tmp_path / "games.csv"), "--seed", "1", "--draws", "2000"]
    assert main(common) == 0
    here = capsys.readouterr().out
    assert main([*common, "--cluster", cluster.scheduler_address]) == 0
    assert capsys.readouterr().out == here
    assert main([*common, "--cluster", "tcp://127.0.0.1:9"]) == 1
    assert "no Dask scheduler answers" in capsys.readouterr().err
