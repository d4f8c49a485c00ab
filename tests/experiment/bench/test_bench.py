"""`icrl bench`: turns, ratios, processes side by side. Timings themselves are never asserted."""

import json
from itertools import count

import pytest

from icrl.cli import main
from icrl.config import Respect
from icrl.errors import InputError
from icrl.experiment.bench import table as bench_table
from icrl.experiment.bench import throughput as bench
from icrl.experiment.bench.meters import Setting, forward_config, make_meter, plain_ppo
from icrl.experiment.bench.throughput import (
    Result,
    Turn,
    combine,
    load_warning,
    measure,
    run_setting,
    take_turn,
)
from icrl.experiment.bench.throughput import throughput_settings as rows_of


def test_rates_add_up_over_processes_and_ratios_are_taken_turn_by_turn():
    first = {
        "raw": [Turn(100.0, 1.0), Turn(50.0, 1.0), Turn(10.0, 0.5)],
        "terminate": [Turn(50.0, 1.0)] * 3,
    }
    second = {
        "raw": [Turn(100.0, 1.0), Turn(150.0, 1.0), Turn(90.0, 1.0)],
        "terminate": [Turn(30.0, 1.0)] * 3,
    }
    results = combine([first, second])
    # raw: 200, 200, 100; training: 80, 80, 80; ratios 0.4, 0.4, 0.8
    assert results["raw"] == Result(200.0, 1.0, 1.0, [200.0, 200.0, 100.0])
    assert results["terminate"] == Result(80.0, 0.4, 1.0, [80.0, 80.0, 80.0])
    assert combine([{"rollout": [Turn(5.0, 1.0)]}])["rollout"].ratio_to_raw is None


def test_a_turn_is_whole_chunks_and_one_at_least(monkeypatch):
    clock = count(start=0.0, step=1.0)
    monkeypatch.setattr(bench.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(bench.time, "process_time", lambda: 0.0)
    # start at 0; after the chunks the clock shows 1, 2, 3 (over 2.5: stop);
    # the end is read at 4: 3 chunks in 4 s
    assert take_turn(lambda: 8, 2.5).steps_per_second == 6.0
    # over at once: one chunk all the same
    assert take_turn(lambda: 8, 0.0).steps_per_second == 4.0


def test_batch_is_kept_when_the_number_of_environments_grows():
    for num_envs in (16, 64, 256):
        config = forward_config(
            Setting(task="ant-wall", num_envs=num_envs, width=32), Respect.lagrangian
        )
        assert (config.num_envs, config.num_envs * config.rollout_steps) == (num_envs, 2_048)
        assert (config.hidden, config.respect) == ((32, 32), Respect.lagrangian)
    with pytest.raises(InputError, match=r"divides the 2048 rows of an update, got 7"):
        forward_config(Setting(task="ant-wall", num_envs=7), Respect.terminate)
    assert plain_ppo(Setting(task="half-cheetah-wall")).target_kl is None


def test_the_table_holds_every_row_the_issue_asks_for():
    rows = rows_of(["half-cheetah-wall", "ant-wall"], 1.0, peers=True)
    for task in ("half-cheetah-wall", "ant-wall"):
        own = [row for row in rows if row.task == task and "raw" in row.meters]
        assert {(row.processes, row.threads) for row in own} == {(1, 1), (1, 2), (2, 1)}
        assert {row.num_envs for row in own} == {None, 16, 256}
        assert {row.width for row in own} == {64, 128, 256}
    assert sum("sb3-dummy" in row.meters for row in rows) == 2
    assert not any("sb3-dummy" in row.meters for row in rows_of(["ant-wall"], 1.0, peers=False))


def test_every_meter_makes_the_steps_it_says():
    setting = Setting(task="half-cheetah-wall", num_envs=8, rows=64)
    assert {name: make_meter(name, setting)() for name in setting.meters} == dict.fromkeys(
        setting.meters, 64
    )


def test_meters_take_turns(monkeypatch):
    calls = []
    monkeypatch.setattr(bench, "make_meter", lambda name, setting: lambda: calls.append(name) or 1)
    turns = measure(Setting(task="lap-grid", meters=("raw", "rollout"), rounds=2, seconds=1e-9))
    # two warm-up chunks each, then turn by turn
    assert calls == ["raw", "raw", "rollout", "rollout", "raw", "rollout", "raw", "rollout"]
    assert {name: len(own) for name, own in turns.items()} == {"raw": 2, "rollout": 2}


def test_processes_run_side_by_side():
    setting = Setting(
        task="half-cheetah-wall",
        processes=2,
        num_envs=4,
        rows=16,
        meters=("raw",),
        rounds=2,
        seconds=0.01,
    )
    result = run_setting(setting)["raw"]
    assert len(result.rates) == 2
    assert result.steps_per_second > 0
    assert result.ratio_to_raw == 1.0


def test_a_process_that_cannot_measure_says_why():
    with pytest.raises(InputError, match=r"lap-grid has no MuJoCo physics"):
        run_setting(Setting(task="lap-grid", meters=("raw",)))


def test_a_busy_machine_is_called_busy():
    assert load_warning({"load_average": [0.1, 9, 9], "cores": 2}) is None
    assert "3.00 on 2 cores" in (load_warning({"load_average": [3.0, 0, 0], "cores": 2}) or "")


def test_the_verb_prints_a_table_and_writes_all_numbers(monkeypatch, tmp_path, capsys):
    answer = {"raw": Result(100.0, 1.0, 1.0, [100.0]), "terminate": Result(50.0, 0.5, 1.0, [50.0])}
    peers = {"ours": Result(90.0, None, 1.0, [90.0]), "sb3-dummy": Result(9.0, None, 1.0, [9.0])}
    monkeypatch.setattr(
        bench_table, "run_setting", lambda setting: peers if "ours" in setting.meters else answer
    )
    monkeypatch.setenv("COLUMNS", "80")
    out = tmp_path / "new" / "throughput.json"
    main(["bench", "throughput", "--tasks", "ant-wall", "--peers", "--out", str(out)])
    printed = capsys.readouterr().out
    assert ">= 0.80" in printed
    assert "10.0 x Stable-Baselines3" in printed
    content = json.loads(out.read_text())
    assert content["settings"][0]["results"]["terminate"]["ratio_to_raw"] == 0.5
    assert {"cores", "load_average", "versions"} <= set(content["machine"])
    assert set(bench_table.MEANINGS) >= {
        name for row in rows_of(["ant-wall"], 1.0, True) for name in row.meters
    }


def test_unknown_names_are_refused(capsys):
    for arguments, message in (
        (["bench", "speed"], "unknown benchmark 'speed'"),
        (["bench", "--tasks", "ant"], "unknown task 'ant'"),
        (["bench", "--seconds", "0"], "--seconds must be above 0"),
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        assert message in capsys.readouterr().err
