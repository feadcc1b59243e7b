"""What a fleet has, holds and has left: nodes and pods in, figures out. Pure; the clock is an argument."""

from gpupolicy.inventory.counting import capacity as capacity
from gpupolicy.inventory.figures import Capacity as Capacity

__all__ = ["Capacity", "capacity"]
