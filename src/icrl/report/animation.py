"""`icrl render DIR`: a run's policy at work,
with the cost that its learned constraint charges, as an animation."""

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from icrl.agent.policy_file import load_policy
from icrl.agent.state import Policy
from icrl.constraint.found import cost_function
from icrl.constraint.learned import LearnedConstraint
from icrl.errors import InputError, unknown_name
from icrl.experiment.directory.provenance import constraint_of_run
from icrl.experiment.directory.run_directory import CONSTRAINT, POLICY, RunDirectory
from icrl.experiment.run.inputs import scenario_of_run
from icrl.files import make_folder, write_whole
from icrl.tasks.batched import BatchedEnv
from icrl.tasks.task import Task
from icrl.types import THRESHOLD, AnyArray

FORMATS = ("webp", "gif", "mp4")
MOST_STEPS = 200
"""Steps shown unless told otherwise (or a whole episode, when that is shorter)."""
MOST_FRAMES = 100
MOST_BYTES = 3_000_000
STEP_SECONDS = 0.05
"""How long a step is shown where the task has no clock of its own."""
_STRIP = 58
"""Height of the strip under the picture, in pixels."""
_INK = (35, 42, 52)
_GREY = (110, 119, 131)
_PAPER = (255, 255, 255)
_ALLOWED = np.array([37, 99, 201])
_FORBIDDEN = np.array([214, 39, 40])

OnStep = Callable[[int, int], None]
"""(steps done, steps in all)"""


class Moment(NamedTuple):
    """One frame: the picture, and what the strip under it says."""

    picture: AnyArray
    """[height, width, 3] uint8"""
    step: int
    seconds: float | None
    """None: the task has no clock."""
    total_reward: float
    """Return so far."""


class Animation(NamedTuple):
    """An episode as frames."""

    moments: list[Moment]
    costs: list[float] | None
    """Learned cost of every step; None: the run has no constraint."""
    threshold: float
    """Above this cost a step counts as forbidden."""
    milliseconds: int
    """Per frame."""


def render_run(
    directory: Path,
    out: Path | None,
    seed: int,
    steps: int | None,
    form: str,
    on_step: OnStep = lambda *_: None,
    *,
    task_name: str | None = None,
    allow_import: bool = False,
) -> Path:
    """Play the policy of a run directory for one episode and write the animation; returns where."""
    if form not in FORMATS:
        raise unknown_name("format", form, FORMATS)
    path = out or directory / f"policy.{form}"
    if path.suffix != f".{form}":
        raise InputError(
            f"--out {path} does not end in .{form}: change it, or give --format "
            f"{path.suffix[1:] or form}."
        )
    writer = {"webp": _write_webp, "gif": _write_gif, "mp4": _write_mp4}[form]
    if form == "mp4":
        _video_writer()  # before the work, not after it
    task, policy, constraint = _open(directory, task_name, allow_import)
    animation = play(
        task, policy, constraint, seed, steps or min(task.horizon, MOST_STEPS), on_step
    )
    make_folder(path.parent)
    write_whole(path, writer(draw_frames(animation), animation.milliseconds))
    return path


def render_small(directory: Path) -> Path:
    """`policy.webp` for the run's page: half as many frames at two thirds of the size,
    made in a few seconds."""
    path = directory / "policy.webp"
    task, policy, constraint = _open(directory)
    steps = min(task.horizon, MOST_STEPS)
    animation = play(
        task, policy, constraint, 0, steps, lambda *_: None, most_frames=MOST_FRAMES // 2
    )
    frames = [
        frame.resize((frame.width * 2 // 3, frame.height * 2 // 3))
        for frame in draw_frames(animation)
    ]
    # method 2: quicker, at the price of a larger file. A run waits for this.
    options = {"quality": 60, "method": 2, "kmin": 9, "kmax": 30}
    write_whole(path, _save(frames, "WEBP", animation.milliseconds, options))
    return path


def _open(
    directory: Path, task_name: str | None = None, allow_import: bool = False
) -> tuple[Task, Policy, LearnedConstraint | None]:
    """What is played: the run's task, its policy, and its constraint if it has one."""
    config = RunDirectory(directory).config()
    task = scenario_of_run(
        config, directory=directory, task=task_name, allow_import=allow_import
    ).task
    if not (directory / CONSTRAINT).exists():
        return task, load_policy(directory / POLICY, task), None
    constraint = constraint_of_run(directory, config, task)
    return task, load_policy(directory / POLICY, task, cost_function(constraint)), constraint


def play(
    task: Task,
    policy: Policy,
    constraint: LearnedConstraint | None,
    seed: int,
    steps: int,
    on_step: OnStep,
    most_frames: int = MOST_FRAMES,
) -> Animation:
    """One episode of at most `steps` steps; every k-th is pictured,
    so that there are at most `most_frames`."""
    env = task.make_env(1)
    if not isinstance(env, BatchedEnv):
        raise InputError(
            f"task {task.name!r} cannot be pictured: its environment is not one of ours."
        )
    every = math.ceil(steps / most_frames)
    clock: float | None = getattr(env, "dt", None)
    if clock is None:
        dt = STEP_SECONDS
    else:
        dt = clock
    # A stream of its own: with the seed alone the policy would draw the numbers that the
    # environment of that seed draws.
    rng = np.random.default_rng([seed, 0xF11A])
    observations, _ = env.reset(seed=seed)
    moments: list[Moment] = []
    costs: list[float] = []
    total = 0.0
    for step in range(steps):
        # Before the step: the picture shows where the action was chosen, and so does its cost (F6).
        if step % every == 0:
            moments.append(
                Moment(env.render_env(0), step, None if clock is None else step * dt, total)
            )
        # Behind the shield, as the agent is used.
        actions = policy.choose(rng, np.asarray(observations, np.float32)).taken
        if constraint is not None:
            costs.append(float(constraint.cost(observations, actions)[0]))
        observations, rewards, terminated, truncated, _ = env.step(actions)
        total += float(rewards[0])
        on_step(step + 1, steps)
        if terminated[0] or truncated[0]:
            break
    env.close()
    known = None
    threshold = THRESHOLD
    if constraint is not None:
        known = costs
        threshold = constraint.threshold
    return Animation(
        moments,
        known,
        1.0 - threshold,
        round(1000 * dt * every),
    )


def draw_frames(animation: Animation) -> list[Any]:
    """Pictures with their strips, as Pillow images."""
    return [_with_strip(moment, animation) for moment in animation.moments]


def cost_colour(cost: float) -> tuple[int, int, int]:
    """Blue where allowed (0), red where forbidden (1), grey between."""
    middle = np.array([190, 190, 196])
    if cost < 0.5:
        low = _ALLOWED
        high = middle
        share = 2 * cost
    else:
        low = middle
        high = _FORBIDDEN
        share = 2 * cost - 1
    red, green, blue = np.rint(low + (high - low) * share).astype(int).tolist()
    return red, green, blue


def _with_strip(moment: Moment, animation: Animation) -> Any:
    """The picture, and under it: time and return, the learned cost now as a bar,
    and of all steps so far as a band."""
    from PIL import Image, ImageDraw, ImageFont

    height, width = moment.picture.shape[:2]
    image = Image.new("RGB", (width, height + _STRIP), _PAPER)
    image.paste(Image.fromarray(moment.picture), (0, 0))
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=15)
    small = ImageFont.load_default(size=12)
    draw.text((12, height + 7), f"step {moment.step}", _INK, font)
    draw.text((102, height + 7), f"return {moment.total_reward:,.0f}", _INK, font)
    if moment.seconds is not None:
        draw.text((12, height + 28), f"{moment.seconds:.1f} s", _GREY, small)
    if animation.costs is None:
        draw.text((width // 2, height + 8), "no constraint was learned", _GREY, small)
        return image
    cost = animation.costs[moment.step]
    left = width // 2
    right = width - 60
    top = height + 8
    draw.rectangle([left, top, right, top + 14], fill=(236, 239, 243))
    draw.rectangle(
        [left, top, left + max(1, round((right - left) * cost)), top + 14], fill=cost_colour(cost)
    )
    limit = left + round((right - left) * animation.threshold)
    draw.line([limit, top - 3, limit, top + 17], fill=_INK)
    draw.text((right + 8, top - 2), f"{cost:.2f}", _INK, font)
    forbidden = cost > animation.threshold
    if forbidden:
        word = "learned cost: forbidden"
    else:
        word = "learned cost: allowed"
    draw.text((left, top + 20), word, tuple(_FORBIDDEN.tolist()) if forbidden else _GREY, small)
    _draw_band(draw, animation.costs, moment.step, width, height + _STRIP)
    return image


def _draw_band(draw: Any, costs: list[float], step: int, width: int, bottom: int) -> None:
    """The cost of every step so far, along the lower edge; its full width is the whole episode."""
    draw.rectangle([0, bottom - 8, width, bottom], fill=(236, 239, 243))
    for index in range(step + 1):
        start = round(width * index / len(costs))
        end = round(width * (index + 1) / len(costs))
        draw.rectangle(
            [start, bottom - 8, max(start, end - 1), bottom], fill=cost_colour(costs[index])
        )


def _write_webp(frames: list[Any], milliseconds: int) -> bytes:
    """Animated WebP; the quality falls, then frames are left out,
    until the file is small enough."""
    # Quality first: a coarse picture still shows a gait, which half of the frames may not.
    for quality in (60, 40, 25):
        data = _save(
            frames, "WEBP", milliseconds, {"quality": quality, "method": 3, "kmin": 9, "kmax": 30}
        )
        if len(data) <= MOST_BYTES or len(frames) < 3:
            return data
    # Twice as long each: the episode keeps its pace.
    return _write_webp(frames[::2], milliseconds * 2)


def _write_gif(frames: list[Any], milliseconds: int) -> bytes:
    """GIF: 128 colours, no dithering (it would shimmer);
    frames are left out until the file is small enough."""
    from PIL import Image

    colours = [frame.quantize(128, dither=Image.Dither.NONE) for frame in frames]
    data = _save(colours, "GIF", milliseconds, {"optimize": True})
    small = len(data) <= MOST_BYTES or len(frames) < 3
    if small:
        return data
    return _write_gif(frames[::2], milliseconds * 2)


def _save(frames: list[Any], form: str, milliseconds: int, options: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    frames[0].save(
        buffer,
        form,
        save_all=True,
        append_images=frames[1:],
        duration=milliseconds,
        loop=0,
        **options,
    )
    return buffer.getvalue()


def _write_mp4(frames: list[Any], milliseconds: int) -> bytes:
    """H.264 through imageio's ffmpeg."""
    pictures = np.stack(
        # H.264 stores colours for two by two pixels: odd sizes are refused.
        [np.asarray(frame)[: frame.height // 2 * 2, : frame.width // 2 * 2] for frame in frames]
    )
    options = {"fps": 1000 / milliseconds, "codec": "libx264", "macro_block_size": 2}
    data = _video_writer()("<bytes>", pictures, extension=".mp4", plugin="FFMPEG", **options)
    return bytes(data)


def _video_writer() -> Any:
    try:
        import imageio.v3
        import imageio_ffmpeg
    except ImportError as error:
        raise InputError(
            f"MP4 needs the extra 'video' ({error}): pip install 'icrl[video]', or use --format "
            "webp or gif."
        ) from error
    imageio_ffmpeg.get_ffmpeg_exe()
    return imageio.v3.imwrite
