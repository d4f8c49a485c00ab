"""A callback of your own: stop a run once its agent has earned as much as the
demonstrations two rounds running."""

import icrl


class StopWhenAsGood(icrl.Callback):
    """Counts the rounds in which the agent earns what the demonstrations earn,
    and looks at no truth."""

    def __init__(self, wanted: float, patience: int = 2) -> None:
        self.wanted = wanted
        self.patience = patience
        self.good_rounds = 0

    def on_round(self, snapshot, metrics):
        """End the run after `patience` good rounds in a row,
        if ζ forbids no more than a hundredth of them."""
        handed_out = metrics["constraint/phase"] == "final"  # before it, others show and judge
        good = (
            handed_out
            and metrics["agent/return"] >= self.wanted
            and metrics["constraint/cost_samples"] < 0.01
        )
        self.good_rounds = self.good_rounds + 1 if good else 0
        if self.good_rounds == self.patience:
            raise icrl.StopRun


if __name__ == "__main__":
    demos = icrl.load_demos(icrl.shipped_demos("lap-grid.npz"))
    wanted = 0.95 * float(demos.trajectories.returns.mean())
    result = icrl.run("lap-grid", "runs/stopped-early", callbacks=[StopWhenAsGood(wanted)])
    planned = icrl.preset("default", "lap-grid").steps
    print(
        f"stopped after {result.scores.steps:,} of {planned:,} steps; return "
        f"{result.details['nominal_return']:.1f}"
    )
