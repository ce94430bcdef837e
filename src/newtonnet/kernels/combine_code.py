"""LLVM code of a linear map to a few columns, member by member: too few for the vendor's product to be fast."""

from .row_code import Row, module_code

SIDE_BY_SIDE = 4
"""Inputs summed side by side; their number must be a multiple of it."""


def combine_code(row: Row) -> str:
    """``combine``: out = h W + b for rows lo to hi of one member; W has as many columns as the row is wide."""
    kind, parts = row.kind, row.parts
    grid = [(s, q, lanes) for s in range(SIDE_BY_SIDE) for q, (_, lanes, _) in enumerate(parts)]
    code = (
        "define void @combine(ptr noalias %h, i64 %h.wide, ptr noalias %weight, ptr noalias %bias, ptr noalias %out, "
        "i64 %out.wide, i64 %inputs, i64 %lo, i64 %hi) {\nentry:\n"
    )
    code += "".join(row.load(f"%bias{q}", "%bias", part) for q, part in enumerate(parts))
    code += (
        "%any = icmp slt i64 %lo, %hi\nbr i1 %any, label %row, label %exit\n"
        "row:\n%i = phi i64 [%lo, %entry], [%next, %write]\n%next = add i64 %i, 1\n%h.o = mul i64 %i, %h.wide\n"
        f"%h.row = getelementptr {kind}, ptr %h, i64 %h.o\nbr label %input\n"
        "input:\n%j = phi i64 [0, %row], [%j.next, %input]\n"
    )
    for s, q, lanes in grid:
        start = f"%bias{q}" if s == 0 else row.zero(lanes)
        code += f"%a{s}.{q} = phi {row.type(lanes)} [{start}, %row], [%b{s}.{q}, %input]\n"
    for s in range(SIDE_BY_SIDE):
        code += f"%j{s} = add i64 %j, {s}\n%x{s}.p = getelementptr {kind}, ptr %h.row, i64 %j{s}\n"
        code += f"%x{s} = load {kind}, ptr %x{s}.p\n%w{s}.o = mul i64 %j{s}, {row.width}\n"
        code += f"%w{s}.row = getelementptr {kind}, ptr %weight, i64 %w{s}.o\n"
        code += "".join(row.spread(f"%x{s}.{lanes}", f"%x{s}", lanes) for lanes in row.lanes)
        for q, part in enumerate(parts):
            code += row.load(f"%w{s}.{q}", f"%w{s}.row", part)
            code += row.fused(f"%b{s}.{q}", f"%x{s}.{part[1]}", f"%w{s}.{q}", f"%a{s}.{q}", part[1])
    code += f"%j.next = add i64 %j, {SIDE_BY_SIDE}\n%more = icmp slt i64 %j.next, %inputs\n"
    code += "br i1 %more, label %input, label %write\nwrite:\n%out.o = mul i64 %i, %out.wide\n"
    code += f"%out.row = getelementptr {kind}, ptr %out, i64 %out.o\n"
    for q, part in enumerate(parts):
        code += row.add(f"%c{q}", f"%b0.{q}", f"%b1.{q}", part[1]) + row.add(f"%d{q}", f"%b2.{q}", f"%b3.{q}", part[1])
        code += row.add(f"%e{q}", f"%c{q}", f"%d{q}", part[1]) + row.store(f"%e{q}", "%out.row", part)
    code += "%go = icmp slt i64 %next, %hi\nbr i1 %go, label %row, label %exit\nexit:\nret void\n}\n"
    return module_code(row, code)
