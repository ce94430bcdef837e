"""LLVM code of a sparse product with a dense block, and of the loop over rows that every such product shares."""

from .noise_code import keep_code
from .row_code import Row, module_code

AHEAD = 32
"""Entries between the one that is summed and the one whose row is asked for from memory."""

UNROLLED = {1: 4, 2: 3}
"""Entries summed side by side, by the registers that a row takes: enough to hide the latency of an addition."""


def summed_at_once(row: Row) -> int:
    """Entries that a product sums side by side for such rows."""
    return UNROLLED.get(len(row.parts), 2)


def product_code(row: Row, *, ahead: bool, activate: bool, drop: bool) -> str:
    """``multiply``: out = A x for rows lo to hi, with rows of x and out at any distance from each other.

    Args:
        row: the columns of the block.
        ahead: ask for rows of x before they are needed, where x does not stay in a core's own cache; the indices
            must go on for :data:`AHEAD` entries after the last.
        activate: out = max(A x + bias, 0) instead.
        drop: each number of out is then kept times ``scale``, or dropped, as the key decides.
    """
    head = (
        "define void @multiply(ptr noalias %indptr, ptr noalias %indices, ptr noalias %data, ptr noalias %x, "
        "i64 %stride, ptr noalias %out, i64 %wide, ptr noalias %bias, i64 %key, i64 %words, i64 %skipped, "
        f"i16 %threshold, {row.kind} %scale, i64 %lo, i64 %hi) {{\nentry:\n"
    )
    write = f"%far = mul i64 %i, %wide\n%to = getelementptr {row.kind}, ptr %out, i64 %far\n"
    if activate:
        head += "".join(row.load(f"%bias{q}", "%bias", part) for q, part in enumerate(row.parts))
    if drop:
        write += "%before.row = mul i64 %i, %words\n%word = add i64 %before.row, %skipped\n"
    for q, part in enumerate(row.parts):
        result = f"%sum{q}"
        if activate:
            write += row.add(f"%in{q}", f"%sum{q}", f"%bias{q}", part[1])
            write += row.positive(f"%up{q}", f"%in{q}", part[1])
            result = f"%up{q}"
        if drop:
            write += keep_code(row, f"%kept{q}", result, part)
            result = f"%kept{q}"
        write += row.store(result, "%to", part)
    body = head + rows_code(row, weighted=True, ahead=ahead, x="%x", stride="%stride", write=write)
    return module_code(row, body)


def rows_code(
    row: Row, *, weighted: bool, ahead: bool, x: str, stride: str, write: str, phis: str = "", end: str = ""
) -> str:
    """A loop over rows lo to hi: the row's entries are summed into %sum0, %sum1, ..., then ``write`` uses them."""
    parts, unroll = row.parts, summed_at_once(row)
    code = "%any = icmp slt i64 %lo, %hi\nbr i1 %any, label %row, label %exit\n"
    code += f"row:\n%i = phi i64 [%lo, %entry], [%next, %write]\n{phis}"
    code += f"""%next = add i64 %i, 1
%first.p = getelementptr i32, ptr %indptr, i64 %i
%last.p = getelementptr i32, ptr %indptr, i64 %next
%first.32 = load i32, ptr %first.p
%last.32 = load i32, ptr %last.p
%first = zext i32 %first.32 to i64
%last = zext i32 %last.32 to i64
%entries = sub i64 %last, %first
%rounds = udiv i64 %entries, {unroll}
%even = mul i64 %rounds, {unroll}
%middle = add i64 %first, %even
%many = icmp ult i64 %first, %middle
br i1 %many, label %body, label %fold
body:
%t = phi i64 [%first, %row], [%t.next, %body]
"""
    grid = [(r, q, lanes) for r in range(unroll) for q, (_, lanes, _) in enumerate(parts)]
    for r, q, lanes in grid:
        code += f"%a{r}.{q} = phi {row.type(lanes)} [{row.zero(lanes)}, %row], [%b{r}.{q}, %body]\n"
    for r in range(unroll):
        code += f"%t.{r} = add i64 %t, {r}\n"
        sums = [(f"%a{r}.{q}", f"%b{r}.{q}") for q in range(len(parts))]
        code += _entry(row, f"%u{r}", f"%t.{r}", sums, x=x, stride=stride, weighted=weighted, ahead=ahead)
    code += f"%t.next = add i64 %t, {unroll}\n%more = icmp ult i64 %t.next, %middle\n"
    code += "br i1 %more, label %body, label %fold\nfold:\n"
    for r, q, lanes in grid:
        code += f"%c{r}.{q} = phi {row.type(lanes)} [{row.zero(lanes)}, %row], [%b{r}.{q}, %body]\n"
    folded = [f"%c0.{q}" for q in range(len(parts))]
    for r, q, lanes in grid:
        if r:
            code += row.add(f"%d{r}.{q}", folded[q], f"%c{r}.{q}", lanes)
            folded[q] = f"%d{r}.{q}"
    code += "%odd = icmp ult i64 %middle, %last\nbr i1 %odd, label %tail, label %write\n"
    code += "tail:\n%s = phi i64 [%middle, %fold], [%s.next, %tail]\n"
    for q, (_, lanes, _) in enumerate(parts):
        code += f"%e{q} = phi {row.type(lanes)} [{folded[q]}, %fold], [%f{q}, %tail]\n"
    sums = [(f"%e{q}", f"%f{q}") for q in range(len(parts))]
    code += _entry(row, "%v", "%s", sums, x=x, stride=stride, weighted=weighted, ahead=ahead)
    code += "%s.next = add i64 %s, 1\n%s.more = icmp ult i64 %s.next, %last\n"
    code += "br i1 %s.more, label %tail, label %write\nwrite:\n"
    for q, (_, lanes, _) in enumerate(parts):
        code += f"%sum{q} = phi {row.type(lanes)} [{folded[q]}, %fold], [%f{q}, %tail]\n"
    code += f"{write}%go = icmp slt i64 %next, %hi\nbr i1 %go, label %row, label %exit\nexit:\n{end}ret void\n}}\n"
    return code


def _entry(
    row: Row, name: str, at: str, sums: list[tuple[str, str]], *, x: str, stride: str, weighted: bool, ahead: bool
) -> str:
    """Add one entry of the matrix, times its row of x, to the sums."""
    code = f"{name}.ip = getelementptr i32, ptr %indices, i64 {at}\n"
    code += f"{name}.ap = getelementptr i32, ptr {name}.ip, i64 {AHEAD}\n"
    for here, tag in (("ip", "x"), ("ap", "y"))[: 1 + ahead]:
        code += f"{name}.{tag}32 = load i32, ptr {name}.{here}\n{name}.{tag}64 = zext i32 {name}.{tag}32 to i64\n"
        code += f"{name}.{tag}o = mul i64 {name}.{tag}64, {stride}\n"
        code += f"{name}.{tag} = getelementptr {row.kind}, ptr {x}, i64 {name}.{tag}o\n"
    if ahead:
        code += row.prefetch(f"{name}.y", f"{name}.y")
    if weighted:
        code += (
            f"{name}.dp = getelementptr {row.kind}, ptr %data, i64 {at}\n{name}.d = load {row.kind}, ptr {name}.dp\n"
        )
        code += "".join(row.spread(f"{name}.w{lanes}", f"{name}.d", lanes) for lanes in row.lanes)
    for q, (part, (old, new)) in enumerate(zip(row.parts, sums, strict=True)):
        code += row.load(f"{name}.r{q}", f"{name}.x", part)
        if weighted:
            code += row.fused(new, f"{name}.w{part[1]}", f"{name}.r{q}", old, part[1])
        else:
            code += row.add(new, old, f"{name}.r{q}", part[1])
    return code
