"""Arrays that live on a GPU: tell them apart, bring them to the host, find the functions that work on them.

PyTorch, CuPy and JAX are never imported here. `array-api-compat` finds the functions of the array API standard for an
array that the caller made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_HOST = frozenset({1, 3, 11})
"""DLPack's numbers of the host's memory: plain, pinned for CUDA and pinned for ROCm."""

_MAGNITUDE, _LEAST_NORMAL = 0x7FFF_FFFF, 0x0080_0000
"""Bits of a float32 number without its sign, and those of 2^-126."""


def on_device(values: object) -> bool:
    """Return whether values are an array on a device that can be evaluated there.

    An array in the host's memory is none, whichever library made it: NumPy reads it in place. Neither is one on a
    device without 64-bit numbers (Apple's GPUs, JAX unless it is configured): its sums would not be exact.

    >>> on_device(np.zeros(3)), on_device([0, 1])
    (False, False)
    """
    if isinstance(values, np.ndarray | np.generic) or not hasattr(values, "__dlpack_device__"):
        return False
    if int(values.__dlpack_device__()[0]) in _HOST and _read_by_numpy(values):
        return False
    from array_api_compat import is_array_api_obj

    return bool(is_array_api_obj(values)) and _has_64_bits(values)


def to_host(values: Any) -> Any:
    """Return values as NumPy reads them: an array of another library as a NumPy array, anything else as it is."""
    if isinstance(values, np.ndarray | np.generic) or not hasattr(values, "__dlpack_device__"):
        return values
    from array_api_compat import is_cupy_array, is_torch_array, to_device

    plain = detached(values)
    if is_torch_array(plain) or is_cupy_array(plain):
        return np.asarray(to_device(_numpy_kind(plain), "cpu"))
    return np.asarray(plain) if _read_by_numpy(plain) else np.from_dlpack(plain)


def detached(array: Any) -> Any:
    """Return an array without the gradient that PyTorch records."""
    return array.detach() if hasattr(array, "detach") else array


def namespace_of(array: Any) -> Any:
    """Return the functions of the array API standard for an array."""
    from array_api_compat import array_namespace

    return array_namespace(array)


def device_of(array: Any) -> Any:
    """Return the device on which an array lies."""
    from array_api_compat import device

    return device(array)


def sorted_with_order(xp: Any, array: Any) -> tuple[Any, Any]:
    """Sort an array in ascending order; return it with the places that its elements had.

    PyTorch sorts both at once. The standard has no such function: elsewhere the order is sorted and then applied.
    """
    from array_api_compat import is_torch_array

    if is_torch_array(array):
        ordered, order = array.sort()
        return ordered, order
    order = xp.argsort(array, stable=False)
    return array[order], order


def is_gpu_tensor(array: Any) -> bool:
    """Return whether an array is a PyTorch tensor in the memory of a GPU."""
    from array_api_compat import is_torch_array

    return bool(is_torch_array(array) and array.is_cuda)


def without_subnormals(array: Any) -> Any:
    """Return floats that their library tells apart.

    CuPy compiles its functions so that they take float32 numbers below 2^-126 for zeros. If there are such numbers, the
    array becomes one of float64.
    """
    from array_api_compat import is_cupy_array

    return _widened(namespace_of(array), array) if is_cupy_array(array) and array.dtype == np.float32 else array


def _widened(xp: Any, array: Any) -> Any:
    """Return float32 numbers as float64 if some are subnormal, which are read as integers."""
    bits = array.view(np.int32)
    magnitude = bits & _MAGNITUDE
    subnormal = (magnitude > 0) & (magnitude < _LEAST_NORMAL)
    if not bool(xp.any(subnormal)):
        return array
    small = magnitude.astype(np.float64) * 2.0**-149
    return xp.where(subnormal, xp.where(bits < 0, -small, small), array.astype(np.float64))


def least_and_largest(xp: Any, array: Any) -> tuple[float, float]:
    """Return the ends of an array. Both are NaN if any element is."""
    from array_api_compat import is_torch_array

    if is_torch_array(array):
        least, largest = array.aminmax()  # one pass instead of two
        return float(least), float(largest)
    return float(xp.min(array)), float(xp.max(array))


def _has_64_bits(array: Any) -> bool:
    """Return whether the device has float64; where it does, it has int64 too."""
    info = namespace_of(array).__array_namespace_info__()
    return "float64" in info.dtypes(device=device_of(array), kind="real floating")


def _read_by_numpy(array: Any) -> bool:
    try:
        np.asarray(detached(array)[:0])
    except (TypeError, RuntimeError, ValueError, IndexError):
        return False
    return True


def _numpy_kind(tensor: Any) -> Any:
    """Return a tensor of a kind that NumPy has too: not bfloat16."""
    return tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor
