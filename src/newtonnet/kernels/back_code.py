"""LLVM code of the way back through a linear map and the ReLU and dropout before it, in one pass over the nodes."""

from .row_code import Row, module_code


def back_code(row: Row) -> str:
    """``back``: for rows lo to hi and one member, the slopes of a layer drop(ReLU(z)) W from the slopes of its result.

    With the layer's value h (0 where it was cut or dropped) and the slopes g of its C results: the slopes of z,
    ``scale`` (g W') where h > 0, their sum over the rows, and the sums of g h', which are the slopes of W'.
    """
    kind = row.kind
    code = (
        "define void @back(ptr noalias %g, i64 %g.wide, ptr noalias %weight, ptr noalias %h, i64 %h.wide, "
        "ptr noalias %z, ptr noalias %weight.slope, ptr noalias %bias.slope, i64 %wide, i64 %classes, "
        f"{kind} %scale, i64 %lo, i64 %hi) {{\nentry:\n"
    )
    code += "".join(row.spread(f"%scale{lanes}", "%scale", lanes) for lanes in row.lanes)
    code += "%any = icmp slt i64 %lo, %hi\nbr i1 %any, label %row, label %exit\n"
    code += "row:\n%i = phi i64 [%lo, %entry], [%next, %write]\n"
    for q, (_, lanes, _) in enumerate(row.parts):
        code += f"%sum{q} = phi {row.type(lanes)} [{row.zero(lanes)}, %entry], [%sum.next{q}, %write]\n"
    code += "%next = add i64 %i, 1\n%g.o = mul i64 %i, %g.wide\n%h.o = mul i64 %i, %h.wide\n"
    for block, offset in (("g", "g.o"), ("h", "h.o"), ("z", "h.o")):
        code += f"%{block}.row = getelementptr {kind}, ptr %{block}, i64 %{offset}\n"
    code += "".join(row.load(f"%h{q}", "%h.row", part) for q, part in enumerate(row.parts))
    code += "br label %class\nclass:\n%c = phi i64 [0, %row], [%c.next, %class]\n"
    for q, (_, lanes, _) in enumerate(row.parts):
        code += f"%a{q} = phi {row.type(lanes)} [{row.zero(lanes)}, %row], [%b{q}, %class]\n"
    code += f"%c.next = add i64 %c, 1\n%gc.p = getelementptr {kind}, ptr %g.row, i64 %c\n%gc = load {kind}, ptr %gc.p\n"
    code += "%w.o = mul i64 %c, %wide\n"
    for block in ("weight", "weight.slope"):
        code += f"%{block}.row = getelementptr {kind}, ptr %{block}, i64 %w.o\n"
    code += "".join(row.spread(f"%gc{lanes}", "%gc", lanes) for lanes in row.lanes)
    for q, part in enumerate(row.parts):
        lanes = part[1]
        code += row.load(f"%w{q}", "%weight.row", part) + row.fused(f"%b{q}", f"%gc{lanes}", f"%w{q}", f"%a{q}", lanes)
        code += row.load(f"%s{q}", "%weight.slope.row", part)
        code += row.fused(f"%t{q}", f"%gc{lanes}", f"%h{q}", f"%s{q}", lanes)
        code += row.store(f"%t{q}", "%weight.slope.row", part)
    code += "%more = icmp slt i64 %c.next, %classes\nbr i1 %more, label %class, label %write\nwrite:\n"
    for q, part in enumerate(row.parts):
        lanes = part[1]
        mask = f"<{lanes} x i1>" if lanes > 1 else "i1"
        code += row.multiply(f"%d{q}", f"%b{q}", f"%scale{lanes}", lanes)
        code += f"%on{q} = fcmp ogt {row.type(lanes)} %h{q}, {row.zero(lanes)}\n"
        code += f"%e{q} = select {mask} %on{q}, {row.type(lanes)} %d{q}, {row.type(lanes)} {row.zero(lanes)}\n"
        code += row.store(f"%e{q}", "%z.row", part) + row.add(f"%sum.next{q}", f"%sum{q}", f"%e{q}", lanes)
    code += "%go = icmp slt i64 %next, %hi\nbr i1 %go, label %row, label %exit\nexit:\n"
    for q, (_, lanes, _) in enumerate(row.parts):
        code += f"%end{q} = phi {row.type(lanes)} [{row.zero(lanes)}, %entry], [%sum.next{q}, %write]\n"
    code += "".join(row.store(f"%end{q}", "%bias.slope", part) for q, part in enumerate(row.parts))
    return module_code(row, code + "ret void\n}\n")
