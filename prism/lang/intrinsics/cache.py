"""Cache hints of vector accesses, as C++: for each word of 1 to 16 bytes an overload that loads or stores it with the hint."""

from __future__ import annotations

LOADS = {"streaming": ".cs", "last_use": ".lu", "no_allocate": ".global.nc.L1::no_allocate"}
STORES = {"streaming": ".cs", "no_allocate": ".global.L1::no_allocate"}
# C++ type of the word, PTX type, register class, registers
_WORDS = (
    ("unsigned char", "u8", "r", 1),
    ("unsigned short", "u16", "h", 1),
    ("unsigned int", "u32", "r", 1),
    ("uint2", "v2.u32", "r", 2),
    ("uint4", "v4.u32", "r", 4),
)


def _fields(count: int) -> list[str]:
    return [f"w.{c}" for c in "xyzw"[:count]] if count > 1 else ["w"]


def _list(first: int, count: int) -> str:
    names = ", ".join(f"%{first + k}" for k in range(count))
    return f"{{{names}}}" if count > 1 else names


def _address(hint: str) -> str:
    return "__cvta_generic_to_global(p)" if ".global" in hint else "p"


def load_words(cache: str) -> str:
    """Return the overloads of `px_load_<cache>(p, w)`."""
    hint, lines = LOADS[cache], []
    for word, type_, register, count in _WORDS:
        head = f"static __device__ __forceinline__ void px_load_{cache}(const void* p, {word}& w)"
        if word == "unsigned char":
            load = f'asm volatile("ld{hint}.u8 %0, [%1];" : "=r"(x) : "l"({_address(hint)}));'
            text = f"unsigned int x;\n    {load}\n    w = (unsigned char)x;"
        else:
            outs = ", ".join(f'"={register}"({field})' for field in _fields(count))
            text = f'asm volatile("ld{hint}.{type_} {_list(0, count)}, [%{count}];" : {outs} : "l"({_address(hint)}));'
        lines.append(f"{head} {{\n    {text}\n}}")
    return "\n".join(lines) + "\n"


def store_words(cache: str) -> str:
    """Return the overloads of `px_store_<cache>(p, w)`."""
    hint, lines = STORES[cache], []
    for word, type_, register, count in _WORDS:
        head = f"static __device__ __forceinline__ void px_store_{cache}(void* p, const {word}& w)"
        fields = ["(unsigned int)w"] if word == "unsigned char" else _fields(count)
        ins = ", ".join(f'"{register}"({field})' for field in fields)
        text = f'asm volatile("st{hint}.{type_} [%0], {_list(1, count)};" :: "l"({_address(hint)}), {ins} : "memory");'
        lines.append(f"{head} {{\n    {text}\n}}")
    return "\n".join(lines) + "\n"
