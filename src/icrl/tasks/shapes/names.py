"""The names of the worlds, by themselves: listing tasks imports nothing else."""

FAMILY = "shapes/"
"""Before the name of a world in the name of its task."""

NAMES = (
    "disc",
    "gate",
    "diagonal",
    "tube",
    "two-walls",
    "zone-speed",
    "zone-action",
    "one-way",
    "action-limit",
    "never-action",
    "octant",
    "blocked-cells",
    "plant",
    "distractors",
    "noise",
    "fuel-meter",
    "no-rule",
    "weak-expert",
)
