"""The columns of a ranking."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Places: TypeAlias = NDArray[np.int64]
Scores: TypeAlias = NDArray[np.float64]
