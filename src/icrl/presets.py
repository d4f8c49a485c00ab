"""Settings by name: `paper` is the paper's table (Appendix, Table 1),
each value with its source; `authors` is what the authors' public code does; `default` is ours.

Where the paper is silent a value comes from the authors' public code (marked "authors"), was chosen
by a sweep (marked "sweep": trial 24 of results/sweep-paper-lap-grid, decision 0025) or is our own
(marked "ours"). In `authors`, "README" is a flag of the command that its README gives for the task,
"default" the default of that flag, and F5 and so on are rows of docs/fidelity.md.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from icrl.config import (
    Activation,
    BackwardConfig,
    ForwardConfig,
    KLUnit,
    LearnConfig,
    MultiplierConfig,
    Respect,
    TerminateConfig,
    Weights,
)

if TYPE_CHECKING:
    from icrl.tasks.task import Task  # it imports gymnasium, which help texts do without

PRESETS = ("default", "paper", "authors")


@dataclass(frozen=True, kw_only=True)
class _Sizes:
    """What differs from task to task: budgets, and the step sizes of PPO.

    The method is the same everywhere.
    """

    steps: int
    """Environment steps of a whole run: the x-axes of the paper's figures."""
    forward_steps: int
    paper_forward_steps: int | None = None
    """Of a round of `paper`, where zeta is learned; None: as many as ours."""
    num_envs: int = 16
    rollout_steps: int = 128
    paper_rollout_steps: int = 128
    minibatch: int = 64
    learning_rate: float = 3e-4
    gae_lambda: float = 0.95
    initial_log_std: float = 0.0
    cut_is_end: bool = False


# Short rollouts, so that the policy that acts is never far behind the one that learns; and
# little noise: with as much as the action space is wide, both bodies first learn to bear it
# (decision 0009).
_BODY = _Sizes(
    steps=3_850_000,
    forward_steps=102_400,
    # half of ours, where LapGridWorld has a third: 13 samples of 1,000 steps are paid for out of
    # the same budget, and take 20 % of it
    paper_forward_steps=51_200,
    num_envs=64,
    rollout_steps=32,
    paper_rollout_steps=160,
    minibatch=256,
    initial_log_std=-1.0,
)
_SIZES = {
    "lap-grid": _Sizes(steps=120_000, forward_steps=6_144, paper_forward_steps=2_048),
    "bridges": _Sizes(steps=300_000, forward_steps=20_480, paper_forward_steps=10_240),
    "ant-broken": replace(_BODY, steps=3_000_000),
    # as long as the transfer without the turn
    "ant-broken-turned": replace(_BODY, steps=3_000_000),
    # where its episodes are cut nobody comes by earlier:
    # the value of such states would rest on itself (decision 0015)
    "point": _Sizes(steps=1_500_000, forward_steps=20_480, cut_is_end=True),
}
_OTHER = _Sizes(
    steps=2_000_000,
    forward_steps=10_240,
    num_envs=32,
    rollout_steps=64,
    minibatch=256,
    learning_rate=5e-4,
    gae_lambda=0.9,
    initial_log_std=-0.5,
)
"""For a user's own task: ours (docs/decisions/0016)."""

_ANT = ("ant-wall", "ant-broken", "ant-broken-turned")
_BODIES = ("half-cheetah-wall", "half-cheetah-back", *_ANT)
"""Those of ours that are like bodies (`like_a_body`; a test compares)."""
_A_BODY = "a body"
"""What presets call a user's own task that is like one."""
_OBSERVED_OF_BODIES = 10
_ACTED_BY_BODIES = 3
"""Least features and actions of a body (decision 0034)."""


def like_a_body(task: "Task") -> bool:
    """Many features and several continuous actions at once, as a body has joints: what it earns by
    chance is next to nothing, so that it learns slowly and from small steps."""
    return (
        not task.discrete
        and not task.one_hot
        and len(task.observation_names) >= _OBSERVED_OF_BODIES
        and len(task.action_names) >= _ACTED_BY_BODIES
    )


def known_as(task: "Task") -> str:
    """The name by which presets know a task: its own, but for bodies that are none of ours."""
    if task.name not in (*_SIZES, *_BODIES) and like_a_body(task):
        return _A_BODY
    return task.name


def _sizes_of(task: str) -> _Sizes:
    if task in _SIZES:
        return _SIZES[task]
    if task in (*_BODIES, _A_BODY):
        return _BODY
    return _OTHER


EPISODES = {"lap-grid": 1, "half-cheetah-wall": 10, "ant-wall": 45, "bridges": 20}
"""Expert rollouts: Table 1 (bridges: ours)."""
EXPERTS = {"ant-wall": 5}
"""Experts that share them, where more than one: ours (decision 0008)."""


@dataclass(frozen=True, kw_only=True)
class BaselineChoice:
    """What the sweep of a baseline chose on LapGridWorld; the values here are what stood before."""

    restart_above: float | None = None
    short_rounds: bool = False
    """As long as those of `paper`, else as ours."""
    scale_cost_advantages: bool = False
    normalize_observations: bool = True
    learning_rate_decay: float = 1.0
    """Of zeta's step, per round."""
    initial_bias: float = 0.0


NO_CHOICE = BaselineChoice()
"""Of a method for which no sweep was made."""
CLASSIFIER_CHOICE = BaselineChoice(
    restart_above=0.05,
    short_rounds=True,
    scale_cost_advantages=True,
    normalize_observations=False,
    initial_bias=2.0,
)
"""results/sweep-binary-classifier-lap-grid: trial 20, 0.851 (what stood: 0.820)."""
GAIL_CHOICE = BaselineChoice(
    short_rounds=True,
    scale_cost_advantages=True,  # of no effect: it has no cost
    learning_rate_decay=0.9,
    initial_bias=2.0,
)
"""results/sweep-gail-constraint-lap-grid: trial 19, 0.854 (what stood: 0.567)."""


def baseline(task: str, name: str, choice: BaselineChoice) -> LearnConfig:
    """The baselines as the paper has them (the Lagrangian agent in the paper's loop),
    with the PPO of the preset.

    Their loss has no KL limits; the multiplier, zeta's size,
    learning rate and updates per round are those of Table 1; with `authors` those of their README.
    What the paper does not say of them was chosen for each by a sweep: `default` alone has it.
    """
    if name == "authors":
        return _authors_baseline(task)
    settings, ours = paper(task), default(task)
    chosen = choice
    if name == "paper":
        chosen = NO_CHOICE
    # One PPO for all methods of a table, but for what was swept: else part of a distance is the
    # agent's, not the constraint's (decision 0006).
    forward = replace(
        ours.forward,
        respect=Respect.lagrangian,
        multiplier=settings.forward.multiplier,
        shield=False,
        # as it was when their sweeps were made
        choice_bonus=0.0,
    )
    if name == "paper":
        forward = settings.forward
    steps = ours.forward.steps
    if chosen.short_rounds:
        steps = settings.forward.steps
    forward = replace(
        forward,
        steps=steps,
        scale_cost_advantages=chosen.scale_cost_advantages,
        normalize_observations=chosen.normalize_observations,
    )
    backward = replace(
        settings.backward,
        learning_rate_decay=chosen.learning_rate_decay,
        initial_bias=chosen.initial_bias,
        max_kl_old_new=None,
        max_kl_new_old=None,
        weights=Weights.none,
    )
    return replace(
        settings,
        num_samples=ours.num_samples,
        restart_above=chosen.restart_above,
        forward=forward,
        backward=backward,
    )


def default(task: str) -> LearnConfig:
    """Ours: one set of choices for every task, by evidence; only sizes differ."""
    sizes = _sizes_of(task)
    return LearnConfig(
        steps=sizes.steps,
        num_samples=10,
        scouts=3,
        forward=ForwardConfig(
            steps=sizes.forward_steps,
            num_envs=sizes.num_envs,
            rollout_steps=sizes.rollout_steps,
            minibatch=sizes.minibatch,
            learning_rate=sizes.learning_rate,
            learning_rate_end=0.0,
            gae_lambda=sizes.gae_lambda,
            initial_log_std=sizes.initial_log_std,
            cut_is_end=sizes.cut_is_end,
            respect=Respect.terminate,
            shield=True,
            terminate=TerminateConfig(soft=0.5),
        ),
    )


def paper(task: str) -> LearnConfig:
    """The paper's algorithm with the values of its Table 1,
    exact where the paper is exact (docs/fidelity.md)."""
    sizes = _sizes_of(task)
    ant = task in _ANT
    return LearnConfig(
        steps=sizes.steps,  # x-axes of Figures 3 and 4
        # fidelity F13: with the authors' 10 the limit 2.5 on KL(new || old) could never fire
        num_samples=13,
        # sweep; "learn the policy by solving (9)": it starts afresh where zeta moved far
        restart_above=0.05,
        # Algorithm 1 starts with the untrained zeta, and every sample of every round is evidence
        scouts=0,
        forward=ForwardConfig(
            # sweep, on LapGridWorld (authors: 2e5 for the bodies)
            steps=sizes.paper_forward_steps or sizes.forward_steps,
            num_envs=sizes.num_envs,  # ours
            rollout_steps=sizes.paper_rollout_steps,  # ours
            epochs=10,  # authors
            minibatch=128 if ant else 64,  # Table 1: Batch Size
            learning_rate=3e-5 if ant else 3e-4,  # Table 1: Learning Rate
            learning_rate_end=1.0,  # Table 1 gives one rate
            adam_epsilon=1e-5,  # authors (the default of their PPO)
            clip=0.2,  # authors
            target_kl=0.01,  # Table 1: PPO Target KL
            gamma=0.99,  # Table 1: Reward-GAE-gamma
            cut_is_end=sizes.cut_is_end,  # authors: everywhere (fidelity F8)
            gae_lambda=0.90 if ant else 0.95,  # Table 1: Reward-GAE-lambda
            cost_gamma=0.99,  # Table 1: Cost-GAE-gamma
            cost_gae_lambda=0.95,  # Table 1: Cost-GAE-lambda
            entropy_bonus=0.0,  # Table 1: Entropy Bonus, 1/beta
            choice_bonus=0.0,  # the same, where actions are choices
            hidden=(64, 64),  # Table 1: Policy, Value and Cost Value Network
            initial_log_std=0.0,  # authors (the default of their PPO)
            normalize_observations=True,  # sweep; authors too, but for LapGridWorld
            scale_cost_advantages=True,  # sweep; authors: not (fidelity F12)
            respect=Respect.lagrangian,  # Eq. 9
            shield=False,  # the paper has none
            terminate=TerminateConfig(soft=0.0),  # of no use to a Lagrangian agent
            multiplier=MultiplierConfig(
                initial=0.1 if ant else 1.0,  # Table 1: Initial Value
                learning_rate=1.0 if ant else 0.1,  # Table 1: Learning Rate
                budget=0.0,  # Table 1: Budget
            ),
        ),
        backward=BackwardConfig(
            updates=10,  # Table 1: Backward Iterations
            learning_rate=0.01,  # Table 1: Learning Rate
            learning_rate_decay=1.0,  # sweep; Table 1 gives one rate
            initial_bias=2.0,  # sweep: zeta begins at about 0.88
            hidden=(40, 40) if ant else (20,),  # Table 1: Architecture
            weights=Weights.step,  # Eq. 11
            sparsity=0.6 if ant else 0.5,  # Table 1: Regularizer Weight
            max_kl_old_new=10.0,  # Table 1: Max Forward KL
            max_kl_new_old=2.5,  # Table 1: Max Backward KL
            kl_unit=KLUnit.trajectory,  # sweep; authors too (fidelity F13)
        ),
    )


@dataclass(frozen=True, kw_only=True)
class _AuthorsZeta:
    """What the README's commands say of zeta, where it is learned."""

    learning_rate: float
    updates: int
    """Those that a round really makes."""
    baseline_updates: int
    """-bi of the binary classifier, which has no KL limits."""
    baseline_hidden: tuple[int, ...]
    baseline_learning_rate: float
    samples: int
    sparsity: float
    hidden: tuple[int, ...] = (20,)
    decay: float = 1.0
    weights: Weights = Weights.none
    max_kl_old_new: float | None = None


_AUTHORS_BODY = _AuthorsZeta(
    learning_rate=0.05,  # README: -clr 0.05
    decay=0.9,  # README: -aclr 0.9
    # README: -bi 10. The code tests its KLs before the next update; they overflow or are noise on
    # products of a thousand steps, so a round makes one update, of any length (F1, F5).
    updates=1,
    samples=10,  # README: -er 10, which is also the number of sampled episodes
    sparsity=0.5,  # README: -crc 0.5
    baseline_updates=10,  # README: -bi 10, with -nis: no weights, so no KL either
    baseline_hidden=(30,),  # README: -cl 30
    baseline_learning_rate=0.05,  # README: -clr 0.05
)
_AUTHORS_ZETA = {
    "lap-grid": _AuthorsZeta(
        learning_rate=0.003,  # README: -clr 0.003
        updates=20,  # README: -bi 20; products of 200 steps are still numbers
        weights=Weights.trajectory,  # README: no -psis, so one weight for a trajectory, normalised
        # default: -ctkon 10. Its -ctkno 10 can never fire with 20 samples (F13). What oversteps is
        # kept there and shortened here (F5).
        max_kl_old_new=10.0,
        samples=20,  # README: -er 20
        sparsity=0.0,  # default: -crc 0
        baseline_updates=10,  # README: -bi 10
        baseline_hidden=(20,),  # README: -cl 20
        baseline_learning_rate=0.01,  # README: -clr 0.01
    ),
    "ant-wall": replace(
        _AUTHORS_BODY,
        learning_rate=0.005,  # README: -clr 0.005 (Table 1: 0.01)
        samples=45,  # README: -er 45
        sparsity=0.6,  # README: -crc 0.6
        hidden=(40, 40),  # README: -cl 40 40
        baseline_updates=5,  # README: -bi 5
        baseline_hidden=(40, 40),  # README: -cl 40 40
        baseline_learning_rate=0.005,  # README: -clr 0.005
    ),
}
_NOT_THEIRS_TO_LEARN = ("point", "ant-broken", "ant-broken-turned", "half-cheetah-back")
"""Transfers: a constraint is given, and the multiplier has its own rate."""


def authors(task: str) -> LearnConfig:
    """What the authors' public code does, as far as our settings can say it; what they cannot is
    listed below the table of docs/fidelity.md. Tasks that the authors never ran have the values of
    their HalfCheetah, in rounds of our length."""
    like_paper = paper(task)
    zeta = _AUTHORS_ZETA.get(task, _AUTHORS_BODY)
    return LearnConfig(
        steps=_authors_steps(task, like_paper.steps),
        num_samples=zeta.samples,
        scouts=0,
        forward=_authors_forward(task, like_paper.forward),
        backward=BackwardConfig(
            updates=zeta.updates,
            learning_rate=zeta.learning_rate,
            learning_rate_decay=zeta.decay,
            hidden=zeta.hidden,
            activation=Activation.relu,  # their create_mlp (F9)
            input_clip=20.0,  # default: -co 20
            weights=zeta.weights,
            sparsity=zeta.sparsity,
            max_kl_old_new=zeta.max_kl_old_new,
            max_kl_new_old=None,
        ),
    )


def _authors_steps(task: str, steps: int) -> int:
    """Environment steps of a run: those of the paper's figures, so that budgets are equal. The
    README's commands run on to 6M (-ni 30) and 4M (-ni 20) on HalfCheetah and Ant."""
    if task == "lap-grid":
        # README: -ni 10 rounds of -ft 0.5e5; in the figure's 0.12M there would be room for two
        return 10 * (51_200 + 20 * 200)
    return steps


def _authors_forward(task: str, like_paper: ForwardConfig) -> ForwardConfig:
    """PPO of the README's commands: 5 processes of 2,048 steps a rollout on all of their tasks."""
    ant = task in _ANT
    theirs = task in _BODIES or task in ("lap-grid", "point")
    plain = task == "lap-grid"  # README: -dno -dnr -dnc
    steps = _sizes_of(task).forward_steps
    rollout_steps = like_paper.rollout_steps
    if theirs:
        rollout_steps = 5 * 2_048 // like_paper.num_envs  # default: -nt 5, --n_steps 2048
    if task in _BODIES:
        steps = 204_800  # README: -ft 2e5, in whole rollouts
    elif task == "lap-grid":
        steps = 51_200  # README: -ft 0.5e5, in whole rollouts
    multiplier_rate = 0.05 if ant else 0.1  # README of the Ant: -plr 0.05; default
    if task in _NOT_THEIRS_TO_LEARN:
        multiplier_rate = 1.0  # README: -plr 1.0
    return replace(
        like_paper,
        steps=steps,
        rollout_steps=rollout_steps,
        epochs=20 if ant else 10,  # README: --n_epochs 20; default
        minibatch=128 if ant else 64,  # README: --batch_size 128; default
        learning_rate=3e-5 if ant else 3e-4,  # README: --learning_rate 3e-5; default
        clip=0.4 if ant else 0.2,  # README: --clip_range 0.4; default
        # README: -tk 0.02 where the Ant's constraint is learned, else -tk 0.01
        target_kl=0.02 if task == "ant-wall" else 0.01,
        gae_lambda=0.9 if ant else 0.95,  # README: --reward_gae_lambda 0.9; default
        # README: --cost_gae_lambda 0.9 where the Ant's constraint is learned; default
        cost_gae_lambda=0.9 if task == "ant-wall" else 0.95,
        cut_is_end=True,  # time-outs are treated as deaths (F8)
        normalize_observations=not plain,
        normalize_rewards=not plain,
        scale_cost_advantages=False,  # centred, not scaled (F12)
        multiplier=MultiplierConfig(
            initial=0.1 if task == "ant-wall" else 1.0,  # README: -piv 0.1; default
            learning_rate=multiplier_rate,
            budget=0.0,  # default
        ),
    )


def _authors_baseline(task: str) -> LearnConfig:
    """The binary classifier's commands. Their GAIL constraint has a loop of its own, with an update
    after every rollout; here it runs in the same loop as the classifier."""
    settings = authors(task)
    zeta = _AUTHORS_ZETA.get(task, _AUTHORS_BODY)
    backward = replace(
        settings.backward,
        updates=zeta.baseline_updates,
        hidden=zeta.baseline_hidden,
        learning_rate=zeta.baseline_learning_rate,
        weights=Weights.none,
        max_kl_old_new=None,
    )
    forward = settings.forward
    steps = settings.steps
    if task == "lap-grid":
        # README: -ft 10000 --n_steps 2000 -ni 12
        forward = replace(forward, steps=10_240)
        steps = 12 * (10_240 + 20 * 200)
    return replace(settings, steps=steps, forward=forward, backward=backward)


def forward_alone(config: LearnConfig) -> LearnConfig:
    """The same agent, but nothing is learned about a constraint:
    transfers, and the reference agents beside them."""
    return replace(config, scouts=0)


def expert(task: str) -> tuple[ForwardConfig, int]:
    """Forward step and environment steps for training an expert (or a nominal agent): ours."""
    config = default(task)
    steps = {"bridges": 200_000, "half-cheetah-wall": 1_000_000, "ant-wall": 800_000}.get(
        task, config.steps
    )
    # The whole rate to the end, and no bonus: the demonstrations that ship were recorded so
    # (decisions 0012 and 0030).
    return replace(config.forward, learning_rate_end=1.0, choice_bonus=0.0), steps
