"""What `icrl evaluate` says of many runs without knowing the truth,
and how right their constraints are in truth.

Run `python benchmarks/trust_runs.py runs/half-cheetah --out results/half-cheetah --first`: writes
trust.md (with the command) and trust.json.gz. Each run takes up to a minute or two, so --first
judges one seed of each method, with the others as its witnesses.
"""

from typing import Any

from runs_pages import write_page

from icrl.agent.policy_file import load_policy
from icrl.evaluate import play_episodes
from icrl.experiment.directory.run_directory import POLICY
from icrl.experiment.run.constraint_scores import judge_against_truth
from icrl.experiment.run.inputs import demos_of_run, scenario_of_run
from icrl.report.records import RunRecord
from icrl.trust.of_run import judge_run

EPISODES = 20
NOTE = (
    "The verdict does not know the truth; IoU does. Definitions: "
    "[docs/trust.md](../../docs/trust.md)."
)


def judge(run: RunRecord) -> tuple[list[str], dict[str, Any]]:
    """The row of one run, and all that `icrl evaluate` says of it."""
    scenario = scenario_of_run(run.config)
    demos = demos_of_run(run.config, scenario)
    policy = load_policy(run.directory / POLICY, scenario.task)
    played = play_episodes(scenario.task, policy, EPISODES, run.seed + 1)
    said = judge_run(run.directory, scenario.task, demos, played).as_json()
    right = judge_against_truth(run.directory, scenario, demos)
    reasons = [
        f"{name} ({check['level']}): {check['reason']}"
        for name, check in said["checks"].items()
        if check["level"] != "good"
    ]
    return [said["verdict"], "; ".join(reasons) or "-", f"{right['iou']:.2f}"], {
        **said,
        "constraint": right,
    }


if __name__ == "__main__":
    title, headers = (
        "What `icrl evaluate` says of each run",
        ("verdict", "what is not good", "IoU with the truth"),
    )
    write_page(__doc__, "trust", title, headers, NOTE, judge)
