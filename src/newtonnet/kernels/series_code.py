"""LLVM code of a whole Chebyshev series of sparse products in one call, several threads in step."""

from .product_code import rows_code
from .row_code import Row, module_code

SPINS = 4000
"""Looks at the other threads' progress before giving the processor away: some microseconds."""


def series_code(row: Row, *, weighted: bool, inner: bool, ahead: bool) -> str:
    """``series``: the sum of c_k T_k(-A) x for rows lo to hi, in step with the other threads after every product.

    Between the first and the last step the rows fill whole registers, whatever the block's width.

    Args:
        row: the columns of the block.
        weighted: the matrix has values of its own; else it is a pattern of ones and every row has a factor.
        inner: also sum the products of every T_k(-A) x with another block over the rows.
        ahead: as in :func:`product_code`.
    """
    code = [
        _copy(row, "enter", scatter=False),
        _copy(row, "leave", scatter=True),
        _start(row, inner=inner),
        _term(row, weighted=weighted, inner=inner, ahead=ahead),
        _WAIT,
        _series(row, inner=inner),
    ]
    return module_code(row, "".join(code))


def _term(row: Row, *, weighted: bool, inner: bool, ahead: bool) -> str:
    """``term``: out = alpha f A now + beta before, total += weights out, and the inner products with ``against``."""
    outside, row = row, row.full
    head = (
        "define internal void @term(ptr noalias %indptr, ptr noalias %indices, ptr noalias %data, ptr noalias %factor, "
        "ptr %now, ptr %before, ptr %out, ptr noalias %total, ptr noalias %weights, ptr noalias %against, "
        f"ptr noalias %inner, {row.kind} %alpha, {row.kind} %beta, i64 %lo, i64 %hi) {{\nentry:\n"
    )
    head += "".join(row.spread(f"%beta{lanes}", "%beta", lanes) for lanes in row.lanes)
    head += "".join(outside.load(f"%weight{q}", "%weights", part) for q, part in enumerate(outside.parts))
    write = f"%far = mul i64 %i, {row.width}\n%factor.p = getelementptr {row.kind}, ptr %factor, i64 %i\n"
    write += f"%own = load {row.kind}, ptr %factor.p\n%scale = fmul {row.kind} %own, %alpha\n"
    for block in ("before", "out", "total", "against"):
        write += f"%{block}.row = getelementptr {row.kind}, ptr %{block}, i64 %far\n"
    write += "".join(row.spread(f"%scale{lanes}", "%scale", lanes) for lanes in row.lanes)
    for q, part in enumerate(row.parts):
        lanes = part[1]
        write += row.load(f"%g{q}", "%before.row", part) + row.multiply(f"%h{q}", f"%g{q}", f"%beta{lanes}", lanes)
        write += row.fused(f"%k{q}", f"%sum{q}", f"%scale{lanes}", f"%h{q}", lanes)
        write += row.store(f"%k{q}", "%out.row", part) + row.load(f"%l{q}", "%total.row", part)
        write += row.fused(f"%m{q}", f"%k{q}", f"%weight{q}", f"%l{q}", lanes) + row.store(f"%m{q}", "%total.row", part)
        if inner:
            write += row.load(f"%n{q}", "%against.row", part)
            write += row.fused(f"%o{q}", f"%n{q}", f"%k{q}", f"%p{q}", lanes)
    phis, end = _inner(row, "write") if inner else ("", "")
    stride = str(row.width)
    return head + rows_code(
        row, weighted=weighted, ahead=ahead, x="%now", stride=stride, write=write, phis=phis, end=end
    )


def _inner(row: Row, block: str) -> tuple[str, str]:
    """Sums %p over the rows, taken on by %o in ``block``, and their end: stored at %inner."""
    phis, end = "", ""
    for q, (_, lanes, _) in enumerate(row.parts):
        phis += f"%p{q} = phi {row.type(lanes)} [{row.zero(lanes)}, %entry], [%o{q}, %{block}]\n"
        end += f"%q{q} = phi {row.type(lanes)} [{row.zero(lanes)}, %entry], [%o{q}, %{block}]\n"
    end += "".join(row.store(f"%q{q}", "%inner", part) for q, part in enumerate(row.parts))
    return phis, end


def _start(row: Row, *, inner: bool) -> str:
    """``start``: total = weights now, and the inner products of the first term."""
    outside, row = row, row.full
    phis, end = _inner(row, "row") if inner else ("", "")
    code = (
        "define internal void @start(ptr noalias %now, ptr noalias %total, ptr noalias %weights, "
        "ptr noalias %against, ptr noalias %inner, i64 %lo, i64 %hi) {\nentry:\n"
    )
    code += "".join(outside.load(f"%weight{q}", "%weights", part) for q, part in enumerate(outside.parts))
    code += "%any = icmp slt i64 %lo, %hi\nbr i1 %any, label %row, label %exit\n"
    code += f"row:\n%i = phi i64 [%lo, %entry], [%next, %row]\n{phis}%next = add i64 %i, 1\n"
    code += f"%far = mul i64 %i, {row.width}\n"
    for block in ("now", "total", "against"):
        code += f"%{block}.row = getelementptr {row.kind}, ptr %{block}, i64 %far\n"
    for q, part in enumerate(row.parts):
        code += row.load(f"%x{q}", "%now.row", part) + row.multiply(f"%y{q}", f"%x{q}", f"%weight{q}", part[1])
        code += row.store(f"%y{q}", "%total.row", part)
        if inner:
            code += row.load(f"%n{q}", "%against.row", part) + row.fused(
                f"%o{q}", f"%n{q}", f"%x{q}", f"%p{q}", part[1]
            )
    return code + f"%go = icmp slt i64 %next, %hi\nbr i1 %go, label %row, label %exit\nexit:\n{end}ret void\n}}\n"


def _copy(row: Row, name: str, *, scatter: bool) -> str:
    """Rows lo to hi of a compact block from (or to) rows order[i] of a wide one, each times its scale."""
    near, far = ("from", "to") if scatter else ("to", "from")
    code = (
        f"define internal void @{name}(ptr %order, ptr noalias %from, ptr noalias %to, ptr noalias %scale, "
        "i64 %stride, i64 %lo, i64 %hi) {\nentry:\n%any = icmp slt i64 %lo, %hi\n"
        "br i1 %any, label %row, label %exit\nrow:\n%i = phi i64 [%lo, %entry], [%next, %row]\n"
        "%next = add i64 %i, 1\n%order.p = getelementptr i32, ptr %order, i64 %i\n%node.32 = load i32, ptr %order.p\n"
        f"%node = zext i32 %node.32 to i64\n%far = mul i64 %node, %stride\n%near = mul i64 %i, {row.full.width}\n"
        f"%scale.p = getelementptr {row.kind}, ptr %scale, i64 %i\n%s = load {row.kind}, ptr %scale.p\n"
        f"%{near}.row = getelementptr {row.kind}, ptr %{near}, i64 %near\n"
        f"%{far}.row = getelementptr {row.kind}, ptr %{far}, i64 %far\n"
    )
    code += "".join(row.spread(f"%s{lanes}", "%s", lanes) for lanes in row.lanes)
    source, target = (row.full, row) if scatter else (row, row.full)
    for q, (here, there) in enumerate(zip(source.parts, target.parts, strict=True)):
        code += source.load(f"%x{q}", "%from.row", here) + row.multiply(f"%y{q}", f"%x{q}", f"%s{here[1]}", here[1])
        code += target.store(f"%y{q}", "%to.row", there)
    return code + "%go = icmp slt i64 %next, %hi\nbr i1 %go, label %row, label %exit\nexit:\nret void\n}\n"


_WAIT = f"""declare i32 @sched_yield()
define internal void @wait(ptr %counter, i64 %target) {{
entry:
%old = atomicrmw add ptr %counter, i64 1 acq_rel
br label %look
look:
%n = phi i64 [0, %entry], [%n.next, %again]
%now = load atomic i64, ptr %counter acquire, align 8
%done = icmp uge i64 %now, %target
br i1 %done, label %exit, label %hold
hold:
%n.next = add i64 %n, 1
%long = icmp ugt i64 %n, {SPINS}
br i1 %long, label %yield, label %again
yield:
%ignored = call i32 @sched_yield()
br label %again
again:
br label %look
exit:
ret void
}}
"""


def _series(row: Row, *, inner: bool) -> str:
    against = "call void @enter(ptr %order, ptr %other, ptr %against, ptr %unscale, i64 %stride, i64 %lo, i64 %hi)"
    # T_1 = -A x, then T_k = -2 A T_{k-1} - T_{k-2}, which overwrites T_{k-2}.
    return f"""define void @series(ptr %order, ptr %indptr, ptr %indices, ptr %data, ptr %factor, ptr %scale,
ptr %unscale, ptr %x, ptr %other, ptr %z, i64 %stride, ptr %a, ptr %b, ptr %total, ptr %against, ptr %weights,
i64 %columns, ptr %inner, i64 %degree, i64 %lo, i64 %hi, ptr %counter, i64 %threads) {{
entry:
call void @enter(ptr %order, ptr %x, ptr %a, ptr %scale, i64 %stride, i64 %lo, i64 %hi)
{against if inner else ""}
call void @start(ptr %a, ptr %total, ptr %weights, ptr %against, ptr %inner, i64 %lo, i64 %hi)
%any = icmp sge i64 %degree, 1
br i1 %any, label %loop, label %exit
loop:
%k = phi i64 [1, %entry], [%k.next, %loop]
%now = phi ptr [%a, %entry], [%out, %loop]
%out = phi ptr [%b, %entry], [%now, %loop]
%target = mul i64 %k, %threads
call void @wait(ptr %counter, i64 %target)
%first = icmp eq i64 %k, 1
%alpha = select i1 %first, {row.kind} -1.0, {row.kind} -2.0
%beta = select i1 %first, {row.kind} 0.0, {row.kind} -1.0
%before = select i1 %first, ptr %now, ptr %out
%weights.o = mul i64 %k, %columns
%weights.k = getelementptr {row.kind}, ptr %weights, i64 %weights.o
%inner.o = mul i64 %k, {row.full.width}
%inner.k = getelementptr {row.kind}, ptr %inner, i64 %inner.o
call void @term(ptr %indptr, ptr %indices, ptr %data, ptr %factor, ptr %now, ptr %before, ptr %out, ptr %total,
ptr %weights.k, ptr %against, ptr %inner.k, {row.kind} %alpha, {row.kind} %beta, i64 %lo, i64 %hi)
%k.next = add i64 %k, 1
%more = icmp sle i64 %k.next, %degree
br i1 %more, label %loop, label %exit
exit:
call void @leave(ptr %order, ptr %total, ptr %z, ptr %unscale, i64 %stride, i64 %lo, i64 %hi)
ret void
}}
"""
