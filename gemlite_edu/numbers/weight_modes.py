"""The names of all the ways in which scales and zeros are applied."""

from enum import Enum


class WeightMode(Enum):
    """The formula that turns a code q into a weight, group by group, before products are added.

    >>> print(WeightMode.FMA.value)
    W = q s + z', with z' = -z s rounded at pack
    """

    NONE = "W = q"
    SHIFT = "W = q - z"
    SCALE = "W = q s"
    SHIFT_SCALE = "W = (q - z) s"
    FMA = "W = q s + z', with z' = -z s rounded at pack"


class ChannelScaleMode(Enum):
    """The factors that multiply a complete sum over K.

    >>> ChannelScaleMode.of(True, False).name
    'WEIGHT'
    """

    NONE = "nothing"
    WEIGHT = "the scale of its channel n"
    ACTIVATION = "the scale of its token m"
    WEIGHT_AND_ACTIVATION = "the scales of its channel n and its token m"

    @staticmethod
    def of(has_channel_scales: bool, has_token_scales: bool) -> "ChannelScaleMode":
        """The mode that has these factors."""
        names = {
            (False, False): "NONE",
            (True, False): "WEIGHT",
            (False, True): "ACTIVATION",
            (True, True): "WEIGHT_AND_ACTIVATION",
        }
        return ChannelScaleMode[names[bool(has_channel_scales), bool(has_token_scales)]]
