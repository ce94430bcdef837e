"""Lines of LLVM code for one row of a dense block: its columns held in vector registers, the last one masked."""

from dataclasses import dataclass, field

Part = tuple[int, int, int]
"""Offset in the row, lanes of the register, lanes in use."""


@dataclass
class Row:
    """Emits code that loads, scales, adds and stores a row of ``width`` numbers.

    Attributes:
        width: numbers in a row.
        kind: ``float`` or ``double``.
        register_bytes: bytes of the machine's widest vector register.
        declared: declarations of the intrinsic functions that the emitted code calls.
    """

    width: int
    kind: str
    register_bytes: int
    declared: set[str] = field(default_factory=set)

    @property
    def size(self) -> int:
        """Bytes of a number."""
        return {"float": 4, "double": 8}[self.kind]

    @property
    def parts(self) -> list[Part]:
        """The registers that a row takes, each as narrow as its share of the row allows."""
        parts, offset = [], 0
        while offset < self.width:
            lanes = self.register_bytes // self.size
            while lanes // 2 >= self.width - offset:
                lanes //= 2
            parts.append((offset, lanes, min(lanes, self.width - offset)))
            offset += lanes
        return parts

    @property
    def lanes(self) -> list[int]:
        """The different register widths among the parts."""
        return sorted({lanes for _, lanes, _ in self.parts})

    @property
    def full(self) -> "Row":
        """A row that fills the same registers, so that none of them needs a mask."""
        return Row(sum(lanes for _, lanes, _ in self.parts), self.kind, self.register_bytes, self.declared)

    def type(self, lanes: int) -> str:
        """The type of a register with so many lanes."""
        return f"<{lanes} x {self.kind}>" if lanes > 1 else self.kind

    def zero(self, lanes: int) -> str:
        """A register of zeros."""
        return "zeroinitializer" if lanes > 1 else "0.0"

    def load(self, name: str, base: str, part: Part) -> str:
        """``name = base[part]``."""
        offset, lanes, used = part
        kind = self.type(lanes)
        address = f"{name}.p = getelementptr {self.kind}, ptr {base}, i64 {offset}\n"
        if lanes == used:
            return address + f"{name} = load {kind}, ptr {name}.p, align {self.size}\n"
        call = self._intrinsic("masked.load", lanes, f"{kind} @%(name)s.p0(ptr, i32, <{lanes} x i1>, {kind})")
        return (
            address
            + f"{name} = call {kind} {call}.p0(ptr {name}.p, i32 {self.size}, {_mask(part)}, {kind} zeroinitializer)\n"
        )

    def store(self, value: str, base: str, part: Part) -> str:
        """``base[part] = value``."""
        offset, lanes, used = part
        kind, address = self.type(lanes), f"{value}.to"
        line = f"{address} = getelementptr {self.kind}, ptr {base}, i64 {offset}\n"
        if lanes == used:
            return line + f"store {kind} {value}, ptr {address}, align {self.size}\n"
        call = self._intrinsic("masked.store", lanes, f"void @%(name)s.p0({kind}, ptr, i32, <{lanes} x i1>)")
        return line + f"call void {call}.p0({kind} {value}, ptr {address}, i32 {self.size}, {_mask(part)})\n"

    def spread(self, name: str, scalar: str, lanes: int) -> str:
        """``name`` = the scalar in every lane."""
        kind = self.type(lanes)
        if lanes == 1:
            return f"{name} = select i1 true, {kind} {scalar}, {kind} {scalar}\n"
        return (
            f"{name}.0 = insertelement {kind} poison, {self.kind} {scalar}, i32 0\n"
            f"{name} = shufflevector {kind} {name}.0, {kind} poison, <{lanes} x i32> zeroinitializer\n"
        )

    def multiply(self, name: str, a: str, b: str, lanes: int) -> str:
        """``name = a b``."""
        return f"{name} = fmul {self.type(lanes)} {a}, {b}\n"

    def add(self, name: str, a: str, b: str, lanes: int) -> str:
        """``name = a + b``."""
        return f"{name} = fadd {self.type(lanes)} {a}, {b}\n"

    def positive(self, name: str, a: str, lanes: int) -> str:
        """``name = max(a, 0)``, with a NaN kept."""
        kind, zero = self.type(lanes), self.zero(lanes)
        mask = f"<{lanes} x i1>" if lanes > 1 else "i1"
        return f"{name}.c = fcmp olt {kind} {a}, {zero}\n{name} = select {mask} {name}.c, {kind} {zero}, {kind} {a}\n"

    def fused(self, name: str, a: str, b: str, c: str, lanes: int) -> str:
        """``name = a b + c``."""
        kind = self.type(lanes)
        call = self._intrinsic("fma", lanes, f"{kind} @%(name)s({kind}, {kind}, {kind})")
        return f"{name} = call {kind} {call}({kind} {a}, {kind} {b}, {kind} {c})\n"

    def prefetch(self, name: str, base: str) -> str:
        """Ask for the cache lines of a row that will be read soon."""
        self.declared.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        lines = ""
        for byte in range(0, self.width * self.size, 64):
            lines += f"{name}.{byte} = getelementptr i8, ptr {base}, i64 {byte}\n"
            lines += f"call void @llvm.prefetch.p0(ptr {name}.{byte}, i32 0, i32 3, i32 1)\n"
        return lines

    def _intrinsic(self, operation: str, lanes: int, signature: str) -> str:
        name = f"llvm.{operation}.{f'v{lanes}' if lanes > 1 else ''}f{8 * self.size}"
        self.declared.add(f"declare {signature % {'name': name}}")
        return f"@{name}"


def _mask(part: Part) -> str:
    _, lanes, used = part
    return f"<{lanes} x i1> <{', '.join(f'i1 {str(i < used).lower()}' for i in range(lanes))}>"


def module_code(row: Row, *functions: str) -> str:
    """A whole module: the functions, and before them what they call."""
    return "\n".join(sorted(row.declared)) + "\n" + "".join(functions)
